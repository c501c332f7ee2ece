"""Answer random queries on the session that there is: a script for Spark and for `stateplan run`.

Arguments: the folder of the tables, the first query's number, how many, the file for the answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from queries import SCHEMA, RandomQuery


def main(folder: str, first: int, count: int, out: str) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.config("spark.sql.session.timeZone", "Europe/Paris")
    spark = builder.config("spark.sql.shuffle.partitions", "3").getOrCreate()
    tables = {n: spark.read.schema(SCHEMA).json(f"{folder}/{n}.json") for n in ("q", "t", "u")}
    with Path(out).open("w") as file:
        for seed in range(first, first + count):
            answer = _answer(lambda seed=seed: RandomQuery(spark, tables, seed).frame())
            file.write(json.dumps(answer) + "\n")


def _answer(query: Any) -> list[str]:
    try:
        frame = query()
        return [str(frame.dtypes), *sorted(str(_plain(tuple(row))) for row in frame.collect())]
    except Exception as error:
        condition = getattr(error, "getCondition", lambda: None)()
        return [f"{type(error).__name__} {condition}"]


def _plain(value: Any) -> Any:
    """A value without the last digits of doubles, which depend on the order of rows."""
    if isinstance(value, float):
        return float(f"{value:.12g}") + 0.0
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
