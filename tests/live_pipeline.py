"""What a live Spark plans for each flow of the example pipeline.

Its Python files run with PySpark's own decorators and a registry that plans each flow's DataFrame
in a classic session. The tables of the pipeline are there, empty, once a flow has written them: so
they are on Spark when a flow runs.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from pyspark.pipelines.graph_element_registry import (
    GraphElementRegistry,
    graph_element_registration_context,
)
from pyspark.pipelines.output import Table, TemporaryView
from random_queries.live import LivePlanner

from stateplan.physical.explain.normalise import normalise
from stateplan.planner.pipelines.model import DatasetKind
from stateplan.planner.pipelines.statements import SqlFile, Statement

# What an AUTO CDC flow of the second type adds to the columns that it keeps.
HISTORY = (
    "__START_AT BIGINT, __END_AT BIGINT, __spark_autocdc_metadata STRUCT<__RECORD_START_AT: BIGINT>"
)


class LiveFlows(GraphElementRegistry):
    """Plans every flow as it is defined."""

    def __init__(self, planner: LivePlanner, settings: dict[str, str]) -> None:
        self.planner = planner
        self.spark = planner.spark
        self.settings = settings
        self.plans: dict[str, str] = {}
        self.views: set[str] = set()
        self.partitions: dict[str, list[str]] = {}

    def register_output(self, output: Any) -> None:
        if isinstance(output, TemporaryView):
            self.views.add(output.name)
        if isinstance(output, Table):
            self.partitions[output.name] = list(output.partition_cols or ())

    def register_flow(self, flow: Any) -> None:
        self.planned(flow.name, flow.target, flow.func(), flow.spark_conf)

    def register_auto_cdc_flow(self, flow: Any) -> None:
        raise NotImplementedError(flow.name)

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        SqlFile(text=sql_text, name=file_path.name).statements(self._statement)

    def _statement(self, statement: Statement) -> None:
        dataset, flow = statement.dataset, statement.flow
        if dataset is not None and dataset.kind is DatasetKind.TEMPORARY_VIEW:
            self.views.add(dataset.full_name)
        if flow is None:
            return
        name, target = flow.full_name, ".".join(flow.target)
        frame = self.spark.sql(str(flow.query))
        if flow.auto_cdc is None:
            self.planned(name, target, frame, {})
        else:
            kept = frame.drop(*flow.auto_cdc.except_columns)
            self.planned(name, None, frame, {})
            columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in kept.schema)
            self.spark.sql(f"CREATE TABLE {target} ({columns}, {HISTORY}) USING parquet")

    def planned(self, name: str, target: str | None, frame: Any, conf: dict[str, str]) -> None:
        """Keep a flow's plan, and make what it writes."""
        if target in self.views:
            frame.createOrReplaceTempView(target)
            return
        for key, value in {**self.settings, **conf}.items():
            self.spark.conf.set(key, value)
        if frame.isStreaming:
            text = self.planner.started(frame, "append")
        else:
            text = normalise(frame._jdf.queryExecution().explainString(self._simple()))
        self.plans[name] = text
        table = target is not None and target in (*self.partitions, name)
        if table and not self.spark.catalog.tableExists(target):
            empty = self.spark.createDataFrame([], frame.schema)
            partitions = self.partitions.get(str(target), [])
            empty.write.partitionBy(*partitions).saveAsTable(target)

    def _simple(self) -> Any:
        modes = self.planner.jvm.org.apache.spark.sql.execution.ExplainMode
        return modes.fromString("simple")


def pipeline_plans(
    planner: LivePlanner, files: list[Path], settings: dict[str, str]
) -> dict[str, str]:
    """The plans by the flows' names; of views, which nothing runs, none."""
    registry = LiveFlows(planner, settings)
    with graph_element_registration_context(registry):
        for file in files:
            if file.suffix == ".sql":
                registry.register_sql(file.read_text(encoding="utf-8"), file)
            else:
                runpy.run_path(str(file))
    return registry.plans
