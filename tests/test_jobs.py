"""Jobs as people have them, and PySpark's own examples: explained as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyspark
import pytest
from command_line import stateplan
from example_cases import JOBS, PLANS, SEPARATOR

from stateplan.physical.explain.normalise import normalise

# What each file starts, as the title of each plan tells it.
STARTED = {
    "alerts.py": ["query, update mode, to kafka"],
    "bronze_to_silver.ipynb": ["query, append mode, to table silver_events"],
    "clicks_sql.py": ["query 'purchases_per_minute', append mode, to memory"],
    "enriched.py": ["query, append mode, to table gold.clicks"],
    "gold_notebook.py": [
        "query 'display', complete mode, to memory",
        "query, append mode, to table main.gold.daily_orders",
    ],
    "merge_customers.py": ["query, append mode, to foreachBatch"],
    "orders.py": ["query 'revenue', append mode, to delta s3a://shop-lake/gold/revenue"],
    "quality.py": ["query 'quality', append mode, to delta /gold/quality"],
    "sensors.py": [
        "query 'hourly', append mode, to parquet /data/hourly",
        "query 'broken', append mode, to console",
    ],
    "sessions.py": ["query, append mode, to parquet visits"],
    "stateful.py": ["query, update mode, to console"],
    "totals.py": ["query, complete mode, to foreachBatch"],
    "upserts.py": ["query, append mode, to foreachBatch"],
}
ARGUMENTS = {"orders.py": ["--trigger", "30"], "totals.py": ["--folder", "/data/totals"]}
# Those that are no scripts of their own, and their options.
ALONE = {"bronze_to_silver.ipynb": [], "gold_notebook.py": [], "quality.py": ["--call", "Job.run"]}
STREAMING = Path(pyspark.__file__).parent / "examples/src/main/python/sql/streaming"
# How each of PySpark's own examples is started.
PYSPARK_EXAMPLES = {
    "structured_blockchain_admission_control.py": [],
    "structured_kafka_wordcount.py": ["localhost:9092", "subscribe", "words"],
    "structured_network_wordcount.py": ["localhost", "9999"],
    "structured_network_wordcount_session_window.py": ["localhost", "9999"],
    "structured_network_wordcount_windowed.py": ["localhost", "9999", "10", "5"],
    "structured_sessionization.py": ["localhost", "9999"],
}
# It aggregates sessions in update mode, which Spark refuses too.
REFUSED = "structured_sessionization.py"
MARK = "== script "
RUN_ALL = f"""\
import json, runpy, sys
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
for script, *arguments in json.loads(sys.argv[1]):
    print("{MARK}" + script, flush=True)
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    except PySparkException as error:
        print("refused:", error, flush=True)
    except SystemExit as error:
        print("ended:", error.code, flush=True)
    if session := SparkSession.getActiveSession():
        session.stop()
"""


def explain(path: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of `stateplan explain`."""
    done = stateplan(path.parent, "explain", str(path), *arguments)
    return done.returncode, done.stdout, done.stderr


def titles(text: str) -> list[str]:
    """What the plans in an output are of, without the line of code."""
    lines = [line for line in text.splitlines() if line.startswith("-- ")]
    return [line.split(": ", 1)[1] for line in lines if ": quer" in line or ": flow" in line]


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is printed for each script, all in one process: importing PySpark takes longest."""
    folder = tmp_path_factory.mktemp("jobs")
    runner = folder / "run_all.py"
    runner.write_text(RUN_ALL, encoding="utf-8")
    calls = [[str(JOBS / name), *ARGUMENTS.get(name, [])] for name in STARTED if name not in ALONE]
    # Copied: a sleep in a library's code, where PySpark's examples lie, would be a real one.
    examples = shutil.copytree(STREAMING, folder / "streaming")
    calls += [[str(examples / name), *arguments] for name, arguments in PYSPARK_EXAMPLES.items()]
    options = ("--catalog", str(JOBS / "catalog.yaml"), "--python-path", str(JOBS))
    env = ("--env", "KAFKA_BROKERS=localhost:9092")
    status, out, told = explain(runner, *options, *env, "--", json.dumps(calls))
    assert status == 0, told
    parts = out.split(MARK)[1:]
    return {Path(part.split("\n", 1)[0]).name: part.split("\n", 1)[1] for part in parts}


@pytest.mark.parametrize("name", STARTED)
def test_a_job_is_explained(name: str, explained: dict[str, str]) -> None:
    if name in ALONE:
        status, out, told = explain(
            JOBS / name, "--catalog", str(JOBS / "catalog.yaml"), *ALONE[name]
        )
        assert status == 0, told
    else:
        out = explained[name]
    assert titles(out) == STARTED[name]
    assert out.count("== Physical Plan ==") == len(STARTED[name])


def test_every_job_is_explained() -> None:
    files = [path.name for path in JOBS.iterdir() if path.suffix in (".py", ".ipynb")]
    assert {*STARTED, "flights_dlt.py"} == set(files)


def test_the_flows_of_a_pipeline_are_planned_as_spark_plans_them(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    utc = ("--conf", "spark.sql.session.timeZone=UTC")
    status, out, told = explain(JOBS / "pipeline", *utc, "--html", str(page))
    assert status == 0, told
    graph, *parts = out.split("\n-- ")
    plans = {}
    for part in parts:
        title, _, plan = part.partition("\n")
        plans[title.split("flow '")[1].split("'")[0]] = normalise(plan)
    kept = (PLANS / "pipeline.plan").read_text(encoding="utf-8").rstrip("\n").split(SEPARATOR)
    assert plans == dict(text.removeprefix("-- ").split("\n", 1) for text in kept)
    assert graph.startswith("-- pipeline 'shop': 9 data sets, 10 flows")
    assert "    flow 'publish' reads stream large_orders" in graph
    assert "    reads orders, customers" in graph
    text = page.read_text(encoding="utf-8")
    assert text.count('<g class="node') == 12 and "flow publish reads large_orders" in text


def test_a_pipeline_as_json_and_mermaid() -> None:
    status, out, _ = explain(JOBS / "pipeline" / "spark-pipeline.yml", "--mode", "json")
    document = json.loads(out)
    assert status == 0 and document["pipeline"] == "shop" and len(document["datasets"]) == 9
    flows = {flow["name"]: flow for flow in document["flows"]}
    assert flows["publish"]["reads"] == [
        {"name": "large_orders", "streaming": True, "within_pipeline": True}
    ]
    assert flows["apply_customers"]["auto_cdc"].startswith("keys id, by seq, SCD type 2")
    assert "plan" in flows["publish"] and "plan" not in flows["large_orders"]
    status, out, _ = explain(JOBS / "pipeline" / "transformations", "--mode", "mermaid")
    assert status == 0 and out.startswith("flowchart LR")
    assert '[("orders<br>streaming table")]' in out and "|web_orders|" in out


def test_the_older_names() -> None:
    status, out, told = explain(JOBS / "flights_dlt.py", "--mode", "stateful")
    assert status == 0, told
    assert "flights_clean: temporary view  (flights_dlt.py:19)\n    reads stream flights_raw" in out
    assert "carriers: materialized view" in out
    assert "latest_flights: streaming table  (flights_dlt.py:42)" in out
    assert "from:        flights_dlt.py:33: .agg(" in out
    assert "expectations check rows when a pipeline runs" in told


@pytest.mark.parametrize("name", PYSPARK_EXAMPLES)
def test_pyspark_s_own_examples(name: str, explained: dict[str, str]) -> None:
    if name == REFUSED:
        assert "refused: [STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION]" in explained[name]
    else:
        assert explained[name].count("== Physical Plan ==") == 1


def test_no_example_of_pyspark_is_left_out() -> None:
    assert {path.name for path in STREAMING.glob("*.py")} == set(PYSPARK_EXAMPLES)
