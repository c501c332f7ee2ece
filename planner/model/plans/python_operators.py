"""Operators whose work a Python function does on whole groups or partitions of rows."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from ..expressions.core import AttributeReference, Expression, Metadata
from ..expressions.python_functions import PythonUDF
from ..frozen import dataclass
from ..output_modes import OutputMode
from ..schemas.types import StructField, StructType
from ..tree import replace
from .query_plan import GivesAttributes, LogicalPlan, UnaryNode


def field_text(field: StructField) -> str:
    """A field of a schema as plans show it: `StructField(n,LongType,true)`."""
    nullable = str(field.nullable).lower()
    return f"StructField({field.name},{field.data_type.catalyst},{nullable})"


@dataclass(frozen=True, kw_only=True)
class PythonOperator(GivesAttributes, LogicalPlan):
    """Base: the function and the columns of what it returns."""

    expression_fields: ClassVar[tuple[str, ...]] = ("function",)

    function: PythonUDF
    attributes: tuple[AttributeReference, ...]


class InPandasOrArrow(GivesAttributes):
    """A node whose function gets pandas' frames, or Arrow's batches: its name says which.

    `MapInPython` is `MapInPandas` or `MapInArrow` in plans.
    """

    arrow: bool

    @property
    def node_name(self) -> str:
        return super().node_name.removesuffix("Python") + ("Arrow" if self.arrow else "Pandas")


class PythonStateOperator(PythonOperator):
    """Base of those whose function keeps state; its output mode must go with the query's."""

    output_mode: OutputMode

    @property
    def mode_text(self) -> str:
        """The function's output mode as plans show it."""
        return self.output_mode.capitalize()


@dataclass(frozen=True, kw_only=True)
class FlatMapGroupsInPandasWithState(PythonStateOperator, UnaryNode):
    """`applyInPandasWithState`: each group's new rows and its state.

    Attributes:
        grouping: the keys; names of columns only.
        state_type: the state's fields.
        timeout: NoTimeout, ProcessingTimeTimeout or EventTimeTimeout.
    """

    expression_fields = ("function", "grouping")
    shown = ("function", "grouping", "attributes", "state_type", "mode_text", "timeout")

    grouping: tuple[Expression, ...]
    state_type: StructType
    output_mode: OutputMode
    timeout: str


@dataclass(frozen=True, kw_only=True)
class TransformWithStateInPySpark(PythonStateOperator):
    """`transformWithState` and `transformWithStateInPandas`.

    Attributes:
        child: the keys, `key_count` of them, and then the input's columns.
        initial_state: the same of the initial state; without one a relation without columns.
        initial_type: the columns of the initial state as the function gets them.
        time_mode: NoTime, ProcessingTime or EventTime.
        rows: what the function gets: `pandas` or `row`.
    """

    child_fields = ("child", "initial_state")
    shown = (
        "function",
        "key_count",
        "attributes",
        "mode_text",
        "time_mode",
        "rows",
        "has_initial_state",
        "initial_key_count",
        "initial_type",
    )

    child: LogicalPlan
    initial_state: LogicalPlan
    key_count: int
    initial_key_count: int
    initial_type: StructType
    output_mode: OutputMode
    time_mode: str
    rows: str

    @property
    def keys(self) -> tuple[AttributeReference, ...]:
        """The columns that rows are grouped by."""
        return self.child.output[: self.key_count]

    @property
    def initial_keys(self) -> tuple[AttributeReference, ...]:
        """The initial state's keys."""
        return self.initial_state.output[: self.initial_key_count]

    @property
    def has_initial_state(self) -> bool:
        return self.initial_key_count > 0


@dataclass(frozen=True, kw_only=True)
class MapInPython(InPandasOrArrow, PythonOperator, UnaryNode):
    """`mapInPandas` and `mapInArrow` (`arrow`): a partition's rows."""

    shown = ("function", "attributes", "barrier")

    arrow: bool = False
    barrier: bool = False


@dataclass(frozen=True, kw_only=True)
class FlatMapGroupsInPython(InPandasOrArrow, PythonOperator, UnaryNode):
    """`applyInPandas` and `applyInArrow` (`arrow`): a group's rows."""

    expression_fields = ("function", "grouping")
    shown = ("grouping", "function", "attributes")

    grouping: tuple[Expression, ...]
    arrow: bool = False


@dataclass(frozen=True, kw_only=True)
class FlatMapCoGroupsInPython(InPandasOrArrow, PythonOperator):
    """`cogroup(...).applyInPandas` and `applyInArrow`: the rows of a key of both sides.

    The sides start with `left_count` and `right_count` columns of keys.
    """

    child_fields = ("left", "right")
    shown = ("left_count", "right_count", "function", "attributes")

    left: LogicalPlan
    right: LogicalPlan
    left_count: int
    right_count: int
    arrow: bool = False


@dataclass(frozen=True, kw_only=True)
class EvaluatePython(UnaryNode):
    """Calls of Python functions beside the child's columns (`BatchEvalPython`, `ArrowEvalPython`).

    Attributes:
        functions: the calls, all of one kind.
        results: the column of each.
    """

    expression_fields = ("functions",)
    shown = ("functions", "results", "arrow_kind")

    functions: tuple[PythonUDF, ...]
    results: tuple[AttributeReference, ...]

    @property
    def node_name(self) -> str:
        return "ArrowEvalPython" if self.arrow_kind else "BatchEvalPython"

    @property
    def arrow_kind(self) -> int | None:
        """PySpark's number of the calls' kind where Arrow brings the rows."""
        first = self.functions[0]
        return first.exact_kind if first.kind == "arrow" else None

    @property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output + self.results


@dataclass(frozen=True, kw_only=True)
class UpdateEventTimeColumn(UnaryNode):
    """The column of a transformWithState's result that is the event time of what follows.

    `delay_ms` and `delay_text` are the delay of the watermark below.
    """

    node_name = "UpdateEventTimeWatermarkColumn"
    expression_fields = ("event_time",)
    shown = ("event_time", "known_delay")

    event_time: Expression
    delay_ms: int
    delay_text: str

    @property
    def known_delay(self) -> str | None:
        """The delay, once analysis has found the column."""
        return self.delay_text if isinstance(self.event_time, AttributeReference) else None

    @cached_property
    def references(self) -> frozenset[int]:
        """All columns: none is pruned below, as in Spark."""
        return self.child.output_ids

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        time = self.event_time
        assert isinstance(time, AttributeReference)
        return tuple(
            replace(a, metadata=Metadata(self.delay_ms, a.metadata.window))
            if a.expr_id == time.expr_id
            else replace(a, metadata=Metadata(None, a.metadata.window))
            for a in self.child.output
        )
