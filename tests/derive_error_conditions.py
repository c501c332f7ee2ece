"""Asks a live Spark for the templates of the conditions that the table holds.

    python tests/derive_error_conditions.py

writes tests/spark_error_conditions.json, with which tests/test_error_conditions.py compares.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stateplan.planner.model.conditions import conditions

OUT = Path(__file__).with_name("spark_error_conditions.json")


def main() -> None:
    """Write the file."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = session.getOrCreate()
    try:
        jvm: Any = spark.sparkContext._jvm
        reader = jvm.org.apache.spark.SparkThrowableHelper.errorReader()
        names = [name for name in conditions() if not name.startswith("STATEPLAN_")]
        groups = {name.split(".")[0] for name in names if "." in name}
        found = {
            name: {
                "sql_state": reader.getSqlState(name.split(".")[0]) or "",
                "template": reader.getMessageTemplate(name),
                "parameters": sorted(set(reader.getMessageParameters(name).mkString("\n").split())),
            }
            for name in names
            if name not in groups
        }
    finally:
        spark.stop()
    for entry in found.values():
        entry["parameters"] = [p for p in entry["parameters"] if p != "docroot"]
    OUT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
