"""`import dlt`, and the names that Databricks has in `pyspark.pipelines` besides Spark's.

Functions are called when all are known, each after those that it reads: unlike those of Spark's own
pipelines they may look into their inputs. Expectations check rows, so no plan shows them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

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

from ...pipelines.model import is_target
from ..protocol import ONCE, PENDING, UNKNOWN_TABLE
from .stand_ins import StandIn, StandInNeeded, lacking

_EXPECTATIONS = (
    *("expect", "expect_or_drop", "expect_or_fail"),
    *("expect_all", "expect_all_or_drop", "expect_all_or_fail"),
)
_OWN = {
    name: getattr(spark_pipelines, name)
    for name in ("create_streaming_table", "create_auto_cdc_flow", "create_sink")
}
_NOT_RUN = {"apply_as_truncates", "ignore_null_updates"}  # by Spark 4.3
_TABLE_OPTIONS = ("table_properties", "partition_cols", "cluster_by", "schema", "format")


@dataclass
class _Definition:
    """A function below a decorator."""

    name: str
    target: str
    function: Callable[[], Any]
    location: Any
    options: dict[str, Any] = field(default_factory=dict)
    kind: type[Output] | None = None  # else what the query makes of it


class DltNames:
    """The names of `dlt`, over one graph.

    Args:
        registry: takes the definitions.
        spark: the session.
        graph: the graph's id.
        note: prints a note for the user.

    Attributes:
        failed: errors of functions, by what these would have defined.
    """

    def __init__(self, registry: Any, spark: Any, graph: str, note: Callable[[str], None]) -> None:
        self.registry = registry
        self.spark = spark
        self.graph = graph
        self.note = note
        self.failed: dict[str, Exception] = {}
        self._pending: dict[str, _Definition] = {}
        self._under_way: set[str] = set()
        self._tables: dict[str, Callable[[], None]] = {}

    @property
    def defined(self) -> bool:
        """Whether a file has defined something that is still to be sent."""
        return bool(self._pending or self._tables)

    def provide(self) -> None:
        """Let files import `dlt`, and find its names in Spark's module.

        Spark's own are Databricks' there, too: `@table` over a query at rest is no mistake.
        """
        names = self._names()
        target: Any = spark_pipelines
        target.__dict__.update(names)
        target.__getattr__ = lacking("dlt")
        module = ModuleType("dlt")
        module.__dict__.update(names, __getattr__=lacking("dlt"))
        sys.modules["dlt"] = module  # another library may have the name

    def _names(self) -> dict[str, Any]:
        names: dict[str, Any] = {
            "table": self._decorator(),
            "view": self._decorator(TemporaryView),
            "temporary_view": self._decorator(TemporaryView),
            "materialized_view": self._decorator(MaterializedView),
            "append_flow": self._append_flow,
            "create_sink": _OWN["create_sink"],
            "foreach_batch_sink": self._batch_sink,
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
        for name in ("apply_changes_from_snapshot", "create_auto_cdc_from_snapshot_flow"):
            names[name] = self._apply_snapshots
        for name in _EXPECTATIONS:
            names[name] = self._expectation
        return names

    def _expectation(self, *conditions: Any, **named: Any) -> Callable[[Any], Any]:
        self.note("expectations check rows when a pipeline runs: no plan shows them")
        return lambda function: function

    def _decorator(self, kind: type[Output] | None = None) -> Callable[..., Any]:
        def decorate(function: Any = None, *, name: str | None = None, **options: Any) -> Any:
            location = get_caller_source_code_location(stacklevel=1)

            def define(decorated: Callable[[], Any]) -> Callable[[], Any]:
                own = name or decorated.__name__
                made = TemporaryView if options.get("temporary") else kind
                self._add(_Definition(own, own, decorated, location, options, made))
                return decorated

            return define if function is None else define(function)

        return decorate

    def _append_flow(
        self,
        target: str,
        name: str | None = None,
        spark_conf: Any = None,
        once: bool = False,
        **_: Any,
    ) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
        location = get_caller_source_code_location(stacklevel=1)

        def define(decorated: Callable[[], Any]) -> Callable[[], Any]:
            options = {"spark_conf": {**(spark_conf or {}), **({ONCE: "true"} if once else {})}}
            flow = name or decorated.__name__
            self._add(_Definition(flow, target, decorated, location, options))
            return decorated

        return define

    def _batch_sink(
        self, function: Any = None, *, name: str | None = None, **_: Any
    ) -> Callable[..., Any]:
        location = get_caller_source_code_location(stacklevel=1)

        def define(decorated: Callable[..., Any]) -> Callable[..., Any]:
            with self._at(location):
                _OWN["create_sink"](name or decorated.__name__, "foreachBatch")
            return decorated

        return define if function is None else define(function)

    def _apply_changes(self, *arguments: Any, **given: Any) -> None:
        # What Spark's has not changes no plan.
        known = inspect.signature(_OWN["create_auto_cdc_flow"]).parameters.keys() - _NOT_RUN
        named = {name: value for name, value in given.items() if name in known}
        with self._at(get_caller_source_code_location(stacklevel=1)):
            _OWN["create_auto_cdc_flow"](*arguments, **named)

    def _create_table(self, name: str, **options: Any) -> None:
        known = {
            key: value for key, value in options.items() if key in (*_TABLE_OPTIONS, "comment")
        }
        location = get_caller_source_code_location(stacklevel=1)

        def create() -> None:
            with self._at(location):
                _OWN["create_streaming_table"](name, **known)

        self._tables[name] = create

    def _apply_snapshots(self, target: str, *arguments: Any, **named: Any) -> None:
        self._tables.pop(target, None)
        self.note(f"'{target}' is made by comparing whole snapshots: that is no stream, no plan")

    @contextmanager
    def _at(self, location: SourceCodeLocation) -> Iterator[None]:
        """What is registered meanwhile is the user's line, and not this file's."""
        with graph_element_registration_context(_Located(self.registry, location)):
            yield

    def _add(self, definition: _Definition) -> None:
        key = definition.name.lower()
        while key in self._pending:
            key += "'"  # the graph refuses the second
        self._pending[key] = definition

    # -------------------------------------------------------------------------------------- define

    def define(self) -> None:
        """Call all functions and send what they define; errors are kept in `failed`."""
        for create in self._tables.values():
            create()
        while self._pending:
            with suppress(_Failed):
                self._define(next(iter(self._pending)))

    def errors(self) -> list[Exception]:
        """What functions have failed for, without those that only read what others define."""
        return [error for error in self.failed.values() if not isinstance(error, _Failed)]

    def _define(self, key: str) -> None:
        definition = self._pending[key]
        self._under_way.add(key)
        try:
            frame, streaming = self._called(definition)
        except _Failed:
            self._fail(key, None)
        except Exception as error:
            self._fail(key, error)
        finally:
            self._under_way.discard(key)
        if self._pending.pop(key, None) is None:
            return
        options = definition.options
        if definition.name == definition.target:
            comment = options.get("comment")
            common: dict[str, Any] = {
                "name": definition.name,
                "comment": None if comment is None else str(comment),
                "source_code_location": definition.location,
            }
            table: dict[str, Any] = {name: options.get(name) for name in _TABLE_OPTIONS}
            table["table_properties"] = table["table_properties"] or {}
            usual = StreamingTable if streaming else MaterializedView
            kind: Any = definition.kind or usual
            columns = {} if kind is TemporaryView else table
            self.registry.register_output(kind(**common, **columns))
        self.registry.register_flow(
            Flow(
                name=definition.name,
                target=definition.target,
                spark_conf=options.get("spark_conf") or {},
                source_code_location=definition.location,
                func=lambda: frame,
            )
        )

    def _fail(self, key: str, error: Exception | None) -> NoReturn:
        """Leave a definition out: what does not read it is planned all the same."""
        definition = self._pending.pop(key)
        if error is not None or definition.target not in self.failed:
            self.failed[definition.target] = error or _Failed()
        raise _Failed from error

    def _called(self, definition: _Definition) -> tuple[Any, bool]:
        """What a function gives, and whether it is a stream; those that it reads come first."""
        while True:
            waiting = [one.target for k, one in self._pending.items() if k not in self._under_way]
            waiting += self.failed
            self.spark.conf.set(PENDING, "\n".join(waiting))
            context = add_pipeline_analysis_context(
                spark=self.spark, dataflow_graph_id=self.graph, flow_name=definition.name
            )
            try:
                with context:
                    frame = definition.function()
                    if isinstance(frame, StandIn):
                        raise StandInNeeded(frame._stand_in, "plan")
                    return frame, bool(frame.isStreaming)
            except PySparkException as error:
                missing = self._missing(error)
                if missing is None:
                    raise
                if missing in self.failed:
                    error.expected = True  # type: ignore[attr-defined]
                    self.note(f"'{definition.name}' reads '{missing}', which has no plan")
                    raise _Failed from None
                error.expected = True  # type: ignore[attr-defined]
                self._define(missing)

    def _missing(self, error: PySparkException) -> str | None:
        """The definition that a function waits for, if a table is not there that is defined."""
        if error.getCondition() not in UNKNOWN_TABLE:
            return None
        name = (error.getMessageParameters() or {}).get("subject", "")
        for target in self.failed:
            if is_target(target, name):
                return target
        for key, definition in self._pending.items():
            if is_target(definition.target, name):
                return None if key in self._under_way else key
        return None


class _Failed(Exception):
    """A definition, or one that it reads, has failed."""


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
