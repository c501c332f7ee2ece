"""Operators that run Python functions on rows, partitions and groups."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

from ..planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Expression,
    SortOrder,
    ascending,
    to_attribute,
)
from ..planner.model.expressions.python_functions import PythonUDF
from ..planner.model.frozen import dataclass
from ..planner.model.plans.python_operators import InPandasOrArrow
from ..planner.model.plans.query_plan import GivesAttributes
from ..planner.model.text.operator_text import arguments, listed
from .distribution import Distribution, Partitioning, clustered
from .plan import SparkPlan, UnaryExec

Attributes = tuple[AttributeReference, ...]


@dataclass(frozen=True, kw_only=True)
class EvalPythonExec(UnaryExec):
    """Calls Python functions row by row; their results stand behind the child's columns.

    Functions of kind `arrow` get Arrow batches (`ArrowEvalPython`), others pickled rows.
    """

    expression_fields: ClassVar[tuple[str, ...]] = ("functions",)

    functions: tuple[PythonUDF, ...]
    results: Attributes

    @property
    def node_name(self) -> str:
        return "ArrowEvalPython" if self.functions[0].kind == "arrow" else "BatchEvalPython"

    def arguments(self, max_fields: int) -> str:
        kind = str(self.functions[0].exact_kind) if self.functions[0].kind == "arrow" else None
        return arguments(listed(self.functions, max_fields), listed(self.results, max_fields), kind)

    @cached_property
    def output(self) -> Attributes:
        return self.child.output + self.results


@dataclass(frozen=True, kw_only=True)
class MapInPythonExec(InPandasOrArrow, UnaryExec):
    """A function over the batches of each partition."""

    expression_fields: ClassVar[tuple[str, ...]] = ("function",)
    keeps_partitioning = True
    shown = ("function", "attributes", "barrier")

    function: PythonUDF
    attributes: Attributes
    arrow: bool = False
    barrier: bool = False


@dataclass(frozen=True, kw_only=True)
class FlatMapGroupsInPythonExec(InPandasOrArrow, UnaryExec):
    """A function over each group's rows."""

    expression_fields: ClassVar[tuple[str, ...]] = ("keys", "function")
    keeps_partitioning = True
    shown = ("keys", "function", "attributes")

    keys: Attributes
    function: PythonUDF
    attributes: Attributes
    arrow: bool = False

    @property
    def keys_by_child(self) -> tuple[Attributes, ...]:
        """What makes the groups of the child."""
        return (self.keys,)

    @property
    def given_by_child(self) -> tuple[Attributes, ...]:
        """What the function gets of the child."""
        return (self.function.columns,)

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return (clustered(self.keys),)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return (ascending(self.keys),)


@dataclass(frozen=True, kw_only=True)
class AggregateInPythonExec(UnaryExec):
    """`ArrowAggregatePython`: functions over each group's columns, a row of results per group."""

    node_name = "ArrowAggregatePython"
    misses_input = True  # the results are made of columns that only the functions give
    expression_fields: ClassVar[tuple[str, ...]] = ("keys", "aggregates", "results")
    shown = ("keys", "functions", "results", "exact_kind")

    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateExpression, ...]
    results: tuple[Expression, ...]

    @property
    def functions(self) -> tuple[PythonUDF, ...]:
        """The calls."""
        calls = (aggregate.function for aggregate in self.aggregates)
        return tuple(call for call in calls if isinstance(call, PythonUDF))

    @property
    def exact_kind(self) -> int:
        """That of all calls, by PySpark's number."""
        return self.functions[0].exact_kind

    @cached_property
    def output(self) -> Attributes:
        return tuple(map(to_attribute, self.results))

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return (clustered(tuple(map(to_attribute, self.keys))),)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return (ascending(tuple(map(to_attribute, self.keys))),)


@dataclass(frozen=True, kw_only=True)
class FlatMapCoGroupsInPythonExec(InPandasOrArrow, SparkPlan):
    """A function over a key's rows of both sides."""

    child_fields = ("left", "right")
    expression_fields: ClassVar[tuple[str, ...]] = ("left_keys", "right_keys", "function")
    shown = ("left_keys", "right_keys", "function", "attributes")

    left: SparkPlan
    right: SparkPlan
    left_keys: Attributes
    right_keys: Attributes
    function: PythonUDF
    attributes: Attributes
    arrow: bool = False

    @property
    def keys_by_child(self) -> tuple[Attributes, ...]:
        """What makes the groups of each child."""
        return self.left_keys, self.right_keys

    @property
    def given_by_child(self) -> tuple[Attributes, ...]:
        """What the function gets of each child."""
        columns, count = self.function.columns, len(self.left.output) - len(self.left_keys)
        return columns[:count], columns[count:]

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return self.left.output_partitioning

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return clustered(self.left_keys), clustered(self.right_keys)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return ascending(self.left_keys), ascending(self.right_keys)


@dataclass(frozen=True, kw_only=True)
class UpdateEventTimeColumnExec(GivesAttributes, UnaryExec):
    """Marks a column of what a stateful function gave as the event time of what follows."""

    expression_fields: ClassVar[tuple[str, ...]] = ("event_time",)
    keeps_partitioning = True
    shown = ("event_time", "delay_text", "watermark_ms")

    event_time: Expression
    delay_text: str
    attributes: Attributes
    watermark_ms: int


@dataclass(frozen=True, kw_only=True)
class PlanLaterExec(SparkPlan):
    """What Spark leaves unplanned: the missing initial state of a transformWithState."""

    output = ()

    def arguments(self, max_fields: int) -> str:
        return "LocalRelation <empty>"
