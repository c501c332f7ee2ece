"""`import dlt`, and the names that Databricks has in `pyspark.pipelines` besides Spark's.

Functions are called when all are known, each after those that it reads: unlike those of Spark's own
pipelines they may look into their inputs. Expectations check rows, so no plan shows them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspark.pipelines as spark_pipelines
from pyspark.errors import PySparkException
from pyspark.pipelines.add_pipeline_analysis_context import add_pipeline_analysis_context
from pyspark.pipelines.flow import AutoCdcFlow, Flow
from pyspark.pipelines.graph_element_registry import (
    GraphElementRegistry,
    graph_element_registration_context,
)
from pyspark.pipelines.output import MaterializedView, Output, StreamingTable, TemporaryView
from pyspark.pipelines.source_code_location import (
    SourceCodeLocation,
    get_caller_source_code_location,
)

from ..pipelines.resolution import PENDING, is_target
from .stand_ins import StandIn

_EXPECTATIONS = (
    *("expect", "expect_or_drop", "expect_or_fail"),
    *("expect_all", "expect_all_or_drop", "expect_all_or_fail"),
)
_TABLE_OPTIONS = ("table_properties", "partition_cols", "cluster_by", "schema", "format")


@dataclass
class _Definition:
    """A function below a decorator."""

    name: str
    target: str
    function: Callable[[], Any]
    location: Any
    options: dict[str, Any] = field(default_factory=dict)
    view: bool = False


class DltNames:
    """The names of `dlt`, over one graph.

    Args:
        registry: takes the definitions.
        spark: the session.
        graph: the graph's id.
        note: tells people something.
    """

    def __init__(self, registry: Any, spark: Any, graph: str, note: Callable[[str], None]) -> None:
        self.registry = registry
        self.spark = spark
        self.graph = graph
        self.note = note
        self._pending: dict[str, _Definition] = {}
        self._under_way: set[str] = set()

    def provide(self) -> None:
        """Let files import `dlt`, unless there is such a module, and find the names in Spark's."""
        names = self._names()
        target: Any = spark_pipelines
        for name in (*_EXPECTATIONS, "view", "read", "read_stream", "readStream"):
            if not hasattr(target, name):
                setattr(target, name, names[name])
        if importlib.util.find_spec("dlt") is None:
            sys.modules["dlt"] = _DltModule(names)

    def _names(self) -> dict[str, Any]:
        names: dict[str, Any] = {
            "table": self._decorator(view=False),
            "view": self._decorator(view=True),
            "temporary_view": self._decorator(view=True),
            "materialized_view": self._decorator(view=False),
            "append_flow": self._append_flow,
            "create_sink": spark_pipelines.create_sink,
            "read": lambda name: self.spark.read.table(name),
        }
        for name in ("read_stream", "readStream"):
            names[name] = lambda table: self.spark.readStream.table(table)
        for name in (
            *("create_streaming_table", "create_streaming_live_table"),
            "create_target_table",
        ):
            names[name] = self._create_table
        for name in ("apply_changes", "create_auto_cdc_flow"):
            names[name] = self._apply_changes
        for name in _EXPECTATIONS:
            names[name] = self._expectation
        return names

    def _expectation(self, *conditions: Any, **named: Any) -> Callable[[Any], Any]:
        self.note("expectations check rows when a pipeline runs: no plan shows them")
        return lambda function: function

    def _decorator(self, *, view: bool) -> Callable[..., Any]:
        def decorate(function: Any = None, *, name: str | None = None, **options: Any) -> Any:
            location = get_caller_source_code_location(stacklevel=1)

            def define(decorated: Callable[[], Any]) -> Callable[[], Any]:
                own = name or decorated.__name__
                as_view = view or bool(options.get("temporary"))
                self._add(_Definition(own, own, decorated, location, options, as_view))
                return decorated

            return define if function is None else define(function)

        return decorate

    def _append_flow(
        self, target: str, name: str | None = None, spark_conf: Any = None, **_: Any
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        location = get_caller_source_code_location(stacklevel=1)

        def define(decorated: Callable[[], Any]) -> Callable[[], Any]:
            options = {"spark_conf": spark_conf or {}}
            flow = name or decorated.__name__
            self._add(_Definition(flow, target, decorated, location, options))
            return decorated

        return define

    def _apply_changes(
        self, *arguments: Any, ignore_null_updates: Any = None, **named: Any
    ) -> None:
        named.pop("apply_as_truncates", None)
        with self._at(get_caller_source_code_location(stacklevel=1)):
            spark_pipelines.create_auto_cdc_flow(*arguments, **named)

    def _create_table(self, name: str, **options: Any) -> None:
        known = {
            key: value for key, value in options.items() if key in (*_TABLE_OPTIONS, "comment")
        }
        with self._at(get_caller_source_code_location(stacklevel=1)):
            spark_pipelines.create_streaming_table(name, **known)

    @contextmanager
    def _at(self, location: SourceCodeLocation) -> Iterator[None]:
        """What is registered meanwhile is the user's line, and not this file's."""
        with graph_element_registration_context(_Located(self.registry, location)):
            yield

    def _add(self, definition: _Definition) -> None:
        key = definition.name.lower()
        while key in self._pending:
            key += "'"  # the graph tells that there are two
        self._pending[key] = definition

    # -------------------------------------------------------------------------------------- define

    def define(self) -> None:
        """Call all functions and send what they define.

        Raises:
            PySparkException: one is refused.
        """
        while self._pending:
            self._define(next(iter(self._pending)))

    def _define(self, key: str) -> None:
        definition = self._pending[key]
        self._under_way.add(key)
        try:
            frame, streaming = self._called(definition)
        finally:
            self._under_way.discard(key)
        if self._pending.pop(key, None) is None:
            return
        options = definition.options
        if definition.name == definition.target:
            common: dict[str, Any] = {
                "name": definition.name,
                "comment": _text(options.get("comment")),
                "source_code_location": definition.location,
            }
            table: dict[str, Any] = {name: options.get(name) for name in _TABLE_OPTIONS}
            table["table_properties"] = table["table_properties"] or {}
            if definition.view:
                self.registry.register_output(TemporaryView(**common))
            else:
                kind = StreamingTable if streaming else MaterializedView
                self.registry.register_output(kind(**common, **table))
        self.registry.register_flow(
            Flow(
                name=definition.name,
                target=definition.target,
                spark_conf=options.get("spark_conf") or {},
                source_code_location=definition.location,
                func=lambda: frame,
            )
        )

    def _called(self, definition: _Definition) -> tuple[Any, bool]:
        """What a function gives, and whether it is a stream; those that it reads come first."""
        while True:
            waiting = [one.target for k, one in self._pending.items() if k not in self._under_way]
            self.spark.conf.set(PENDING, "\n".join(waiting))
            context = add_pipeline_analysis_context(
                spark=self.spark, dataflow_graph_id=self.graph, flow_name=definition.name
            )
            try:
                with context:
                    frame = definition.function()
                    return frame, bool(frame.isStreaming)
            except PySparkException as error:
                missing = self._missing(error)
                if missing is None:
                    raise
                error.expected = True  # type: ignore[attr-defined]
                self._define(missing)

    def _missing(self, error: PySparkException) -> str | None:
        """The definition that a function waits for, if a table is not there that is defined."""
        if error.getCondition() != "TABLE_OR_VIEW_NOT_FOUND":
            return None
        name = (error.getMessageParameters() or {}).get("subject", "")
        for key, definition in self._pending.items():
            if is_target(definition.target, name):
                return None if key in self._under_way else key
        return None


class _DltModule(ModuleType):
    """`dlt`; what it has and stateplan does not know is a stand-in."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__("dlt")
        self.__dict__.update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"dlt.{name}")


class _Located(GraphElementRegistry):
    """Registers with another line of code."""

    def __init__(self, registry: GraphElementRegistry, location: SourceCodeLocation) -> None:
        self.registry = registry
        self.location = location

    def register_output(self, output: Output) -> None:
        self.registry.register_output(replace(output, source_code_location=self.location))

    def register_flow(self, flow: Flow) -> None:
        self.registry.register_flow(replace(flow, source_code_location=self.location))

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        self.registry.register_auto_cdc_flow(replace(flow, source_code_location=self.location))

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        self.registry.register_sql(sql_text, file_path)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
