"""Small pipelines, and what becomes of them: on a live Spark, or here.

`tests/pipelines/cases.yaml` holds the pipelines with Spark's answers, which `derive_pipelines.py`
wrote. An answer is `COMPLETED`, or the error of the run and those of its flows.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml_files
from pyspark.pipelines.add_pipeline_analysis_context import add_pipeline_analysis_context
from pyspark.pipelines.block_session_mutations import block_session_mutations
from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run

CASES = Path(__file__).resolve().parent / "pipelines" / "cases.yaml"
HEAD = """\
from pyspark import pipelines as dp
from pyspark.sql.connect import functions as F
"""
RAW = """\
@dp.table
def raw(): return spark.readStream.format('rate').load()
"""
COMPLETED = "COMPLETED"


def load() -> dict[str, dict[str, Any]]:
    """The cases by name."""
    found: dict[str, dict[str, Any]] = yaml_files.load(CASES)
    return found


def define(spark: Any, case: dict[str, Any]) -> str:
    """Send a case's definitions, as `spark-pipelines` does; gives the graph's id."""
    graph: str = create_dataflow_graph(
        spark,
        default_catalog=None,
        default_database=case.get("database"),
        sql_conf=case.get("conf", {}),
    )
    registry = SparkConnectGraphElementRegistry(spark, graph)
    code = HEAD + ("" if case.get("bare") else RAW) + textwrap.dedent(case.get("python", ""))
    with graph_element_registration_context(registry):
        context = add_pipeline_analysis_context(
            spark=spark, dataflow_graph_id=graph, flow_name=None
        )
        with context, block_session_mutations():
            exec(compile(code, "job.py", "exec"), {"spark": spark})
        if "sql" in case:
            registry.register_sql(case["sql"], Path("job.sql"))
    return graph


def events(spark: Any, graph: str, *, dry: bool, storage: str) -> Iterator[str]:
    """What a run says while it goes on."""
    for result in start_run(
        spark, graph, full_refresh=[], full_refresh_all=False, refresh=[], dry=dry, storage=storage
    ):
        if "pipeline_event_result" in result:
            yield result["pipeline_event_result"].event.message


def comparable(message: str) -> str:
    """A message without what only Spark or only we print: plans, search paths, qualified names."""
    text = re.split(
        r";\n\s*['~]?[A-Z]\w+|\nSearch path:| Verify the spelling|\nTo tolerate", message
    )[0]
    text = text.replace("`spark_catalog`.", "").replace("`default`.", "").strip()
    text = re.sub(r"^\(java\.[\w.]+\) ", "", text)
    return re.sub(r"\s+", " ", text)
