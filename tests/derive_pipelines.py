"""Write what a live Spark makes of the small pipelines in tests/pipelines/cases.yaml.

    python tests/derive_pipelines.py [NAME...]

Each case gets an `answer`: COMPLETED, or the `error` of the run and the errors of its flows. Needs
the extra `spark`.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from pipeline_cases import CASES, COMPLETED, comparable, define, events, load
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_FAILED = re.compile(
    r"Failed to resolve flow(?P<below> due to upstream failure)?: '(?P<flow>.*)'\."
)


def answer(spark: Any, case: dict[str, Any], folder: Path) -> Any:
    """What becomes of one case."""
    flows: dict[str, str] = {}
    storage = folder.as_uri() + "/storage"
    try:
        graph = define(spark, case)
        for message in events(spark, graph, dry=not case.get("run"), storage=storage):
            first, _, rest = message.partition("\n")
            if found := _FAILED.match(first):
                flows[found["flow"]] = comparable(rest.removeprefix("Error: "))
    except (PySparkException, AttributeError) as error:
        text = error.getMessage() if isinstance(error, PySparkException) else str(error)
        found_error: dict[str, Any] = {"error": comparable(text or "")}
        return {**found_error, "flows": dict(sorted(flows.items()))} if flows else found_error
    return COMPLETED


class _Text(str):
    """A text of several lines, as YAML shows it best."""


def _represented(dumper: yaml.Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")


def main() -> None:
    chosen = sys.argv[1:]
    cases = load()
    with tempfile.TemporaryDirectory(prefix="sp-") as folder:
        builder: Any = SparkSession.builder
        spark = (
            builder.remote("local[2]")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
            .config("spark.sql.connect.serverStacktrace.enabled", "false")
            .getOrCreate()
        )
        # What a run leaves in the catalog, other cases would find.
        for name, case in sorted(cases.items(), key=lambda item: item[1].get("run", False)):
            if not chosen or name in chosen:
                case["answer"] = answer(spark, case, Path(folder) / name.replace(" ", "-"))
                print(name, case["answer"], flush=True)
        spark.stop()
    yaml.add_representer(_Text, _represented)
    shown = {
        name: {key: _Text(v) if isinstance(v, str) and "\n" in v else v for key, v in case.items()}
        for name, case in cases.items()
    }
    text = yaml.dump(shown, sort_keys=False, width=96, allow_unicode=True)
    CASES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
