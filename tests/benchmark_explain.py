"""How long explain takes, here and in a Spark: a query in a warm process, and a fresh process.

    python tests/benchmark_explain.py [--without-spark] [DESCRIPTION.yaml ...]

By default the queries are those of tests/golden that are SQL and planned. Prints milliseconds.
Warm: from the text of a query to that of its plan, the best of several rounds each. Fresh: a whole
process, interpreter start included, that explains a query in a file: `stateplan explain query.sql`
here, there a script that starts a session, declares the stream, and calls `df.explain()`. One
process that is not counted comes first: it compiles the modules, as pip does when it installs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from golden_cases import goldens

FRESH_RUNS = 7
FRESH_RUNS_OF_SPARK = 3
WARM_ROUNDS = 9

Times = dict[str, float]
"""Milliseconds by query."""

SCRIPT = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for name, schema in {sources!r}.items():
    spark.readStream.schema(schema).json({folder!r}).createOrReplaceTempView(name)
spark.sql({sql!r}).explain()
"""


def queries(paths: list[Path]) -> dict[str, dict[str, Any]]:
    """The descriptions that are SQL and that we do not refuse, by name."""
    import stateplan

    found = {}
    given = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}
    for name, description in (given or {c.name: c.description for c in goldens()}).items():
        if "sql" not in description:
            continue
        try:
            explained(description)
        except stateplan.StateplanError:
            continue
        found[name] = description
    return found


def explained(description: Mapping[str, Any]) -> str:
    """The plan's text."""
    import stateplan

    query = stateplan.sql(
        description["sql"].strip(),
        description["sources"],
        description.get("output_mode", "append"),
        description.get("conf"),
    )
    return query.explain("simple")


def warm(chosen: Mapping[str, dict[str, Any]]) -> Times:
    """The best of several rounds in this process."""
    return {name: _best(lambda d=d: explained(d)) for name, d in chosen.items()}


def _best(run: Callable[[], object]) -> float:
    took = []
    for _ in range(WARM_ROUNDS):
        start = time.perf_counter()
        run()
        took.append(time.perf_counter() - start)
    return min(took) * 1000


def warm_spark(chosen: Mapping[str, dict[str, Any]]) -> Times:
    """The same in a Spark that has planned all of them once before."""
    from random_queries.live import LivePlanner

    planner = LivePlanner()
    for description in chosen.values():
        planner.seconds(description, 1)
    times = {name: min(planner.seconds(d, WARM_ROUNDS)) * 1000 for name, d in chosen.items()}
    planner.stop()
    return times


def fresh(description: Mapping[str, Any]) -> list[float]:
    """`stateplan explain query.sql` as a process of its own, per run."""
    with tempfile.TemporaryDirectory() as folder:
        text, catalog = Path(folder, "query.sql"), Path(folder, "catalog.yaml")
        text.write_text(description["sql"], encoding="utf-8")
        catalog.write_text(yaml.safe_dump(description["sources"]), encoding="utf-8")
        command = [sys.executable, "-m", "stateplan.planner.cli", "explain", str(text)]
        mode = description.get("output_mode", "append")
        command += ["--catalog", str(catalog), "--output-mode", mode]
        return _processes(command, FRESH_RUNS)


def fresh_spark(description: Mapping[str, Any]) -> list[float]:
    """A PySpark script that explains the query, per run."""
    sources = {name: source["schema"] for name, source in description["sources"].items()}
    with tempfile.TemporaryDirectory() as folder:
        script = SCRIPT.format(sources=sources, folder=folder, sql=description["sql"])
        return _processes([sys.executable, "-c", script], FRESH_RUNS_OF_SPARK)


def _processes(command: list[str], runs: int) -> list[float]:
    took = []
    with tempfile.TemporaryDirectory() as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(runs + 1):
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=environment)
            took.append((time.perf_counter() - start) * 1000)
    return took[1:]


def show_warm(who: str, times: Times) -> None:
    """One line: the median and the worst."""
    worst = max(times, key=lambda name: times[name])
    print(
        f"warm, {who:9}: median {statistics.median(times.values()):6.1f} ms,"
        f" worst {times[worst]:6.1f} ms ({worst}), {len(times)} queries",
        flush=True,
    )


def show_fresh(who: str, times: list[float]) -> None:
    """One line: the median and the extremes."""
    print(
        f"fresh, {who:8}: median {statistics.median(times):6.0f} ms,"
        f" least {min(times):.0f} ms, most {max(times):.0f} ms, {len(times)} processes",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("descriptions", nargs="*", type=Path)
    parser.add_argument("--without-spark", action="store_true")
    arguments = parser.parse_args()
    chosen = queries(arguments.descriptions)
    one = chosen.get("tumbling-append") or next(iter(chosen.values()))
    show_fresh("stateplan", fresh(one))
    show_warm("stateplan", warm(chosen))
    if not arguments.without_spark:
        show_fresh("Spark", fresh_spark(one))
        show_warm("Spark", warm_spark(chosen))


if __name__ == "__main__":
    main()
