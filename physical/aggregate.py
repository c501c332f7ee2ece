"""Grouped rows: aggregation in steps over an aggregate's buffers, functions with OVER."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

from ..planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Expression,
    SortOrder,
    ascending,
    to_attribute,
)
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructType,
)
from ..planner.model.text.operator_text import alone, arguments, bracketed, counted, listed
from ..planner.model.text.text import plan_text
from .distribution import (
    Distribution,
    Partitioning,
    UnspecifiedDistribution,
    clustered,
    project_ordering,
    project_partitioning,
    stateful_distribution,
)
from .plan import UnaryExec


def is_mutable(data_type: DataType) -> bool:
    """Whether a buffer of the type has a fixed place in a row (Spark's UnsafeRow.isMutable)."""
    return not isinstance(data_type, StringType | BinaryType | ArrayType | MapType | StructType)


def result_column(aggregate: AggregateExpression) -> AttributeReference:
    """The column of a function's result, under Spark's name for it: `sum(qty#2)#3L`."""
    function = aggregate.function
    if function.spec.result_name is not None:
        return aggregate.result_attribute(function.spec.result_name(function, plan_text))
    return aggregate.result_attribute(plan_text(function))


@dataclass(frozen=True, kw_only=True)
class AggregationStep(UnaryExec):
    """One step of an aggregation.

    Attributes:
        keys: the grouping columns as they come in (named expressions in the partial step).
        aggregates: the functions, each with this step's mode.
        buffers: per function, its buffer columns: what Partial and PartialMerge give, and what
            PartialMerge and Final read.
        results: what the step gives: keys and buffers, or in the last step the result expressions
            over keys and the functions' result attributes.
        required_keys: the keys that the child must be clustered on (none: one partition), None
            where the rows may lie anywhere.
        is_streaming: part of a streaming aggregation.
        num_shuffle_partitions: the store count for a streaming step, set by the state rule.
        strict_distribution: as for stateful operators, set by the state rule.
        buffers_in_use: what a partial step's formatted block names instead of the results'
            columns, if it does so: the buffers, which the step gives under other ids.
    """

    expression_fields = ("keys", "aggregates", "buffers", "results", "required_keys")

    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateExpression, ...]
    buffers: tuple[tuple[AttributeReference, ...], ...]
    results: tuple[Expression, ...]
    required_keys: tuple[Expression, ...] | None = None
    is_streaming: bool = True
    num_shuffle_partitions: int | None = None
    strict_distribution: bool = True
    buffers_in_use: tuple[AttributeReference, ...] = field(default=(), compare=False)

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.results)

    @property
    def key_attributes(self) -> tuple[AttributeReference, ...]:
        """The grouping columns as the step gives them."""
        return tuple(to_attribute(e) for e in self.keys)

    @property
    def result_attributes(self) -> tuple[AttributeReference, ...]:
        """The columns of the functions' results, as the last step's expressions name them."""
        return tuple(result_column(a) for a in self.aggregates)

    def details(self, max_fields: int) -> tuple[tuple[str, str], ...]:
        partial = all(a.mode == "Partial" for a in self.aggregates)
        attributes = self.buffers_in_use if partial else ()
        return (
            counted("Input", self.child.output),
            counted("Keys", self.keys),
            counted("Functions", self.aggregates),
            counted("Aggregate Attributes", attributes or self.result_attributes),
            counted("Results", self.results),
        )

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return project_partitioning(self.child.output_partitioning, self.results)

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        if self.required_keys is None:
            return (UnspecifiedDistribution(),)
        if not self.is_streaming:
            return (clustered(self.required_keys),)
        number = self.num_shuffle_partitions or 0
        return (stateful_distribution(self.required_keys, number, self.strict_distribution),)


@dataclass(frozen=True, kw_only=True)
class BaseAggregateExec(AggregationStep):
    """One row per group."""

    in_brackets = True
    _keys_label = "keys"

    def arguments(self, max_fields: int) -> str:
        keys = bracketed(self.keys, max_fields)
        return f"{self._keys_label}={keys}, functions={bracketed(self.aggregates, max_fields)}"

    def verbose_arguments(self, max_fields: int) -> str:
        return f"{self.arguments(max_fields)}, output={bracketed(self.output, max_fields)}"


@dataclass(frozen=True, kw_only=True)
class HashAggregateExec(BaseAggregateExec):
    """Aggregates in a hash table with mutable buffers."""

    @property
    def supports_codegen(self) -> bool:
        return not any(a.function.spec.imperative for a in self.aggregates)


@dataclass(frozen=True, kw_only=True)
class ObjectHashAggregateExec(BaseAggregateExec):
    """Aggregates in a hash table of objects (collect_list and the like)."""


@dataclass(frozen=True, kw_only=True)
class SortAggregateExec(BaseAggregateExec):
    """Aggregates rows sorted by the keys: where a buffer's type cannot be updated in place.

    Or where the rows are in that order anyway.
    """

    _keys_label = "key"

    @property
    def supports_codegen(self) -> bool:
        return not any(a.function.spec.imperative for a in self.aggregates) and all(
            is_mutable(b.data_type) for group in self.buffers for b in group
        )

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return (ascending(self.keys),)

    @cached_property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return project_ordering(ascending(self.keys), self.results)


@dataclass(frozen=True, kw_only=True)
class MergingSessionsExec(AggregationStep):
    """Merges overlapping sessions of rows sorted by the keys and the session's start.

    `keys` hold the session column in grouping order; the aggregates' mode is PartialMerge and their
    filters are those of the partial step, for show. `keys_pulled_out` says how plans write the
    required keys: Spark shows the kind of its collection, which its rule for such keys changes.
    """

    session: AttributeReference
    keys_pulled_out: bool = False
    keeps_ordering = True

    @property
    def misses_input(self) -> bool:
        filters = [a.filter for a in self.aggregates if a.filter is not None]
        given = {column.expr_id for column in self.child.output}
        return any(not f.references <= given for f in filters)

    def arguments(self, max_fields: int) -> str:
        required = self.required_keys
        kind = "Vector" if self.keys_pulled_out else "List"
        return arguments(
            None if required is None else f"{kind}({', '.join(map(plan_text, required))})",
            "true" if self.is_streaming else "false",
            None if self.num_shuffle_partitions is None else str(self.num_shuffle_partitions),
            listed(self.keys, max_fields),
            alone(self.session, max_fields),
            listed(self.aggregates, max_fields),
            listed(self.result_attributes, max_fields),
            str(len(self.keys)),
            listed(self.results, max_fields),
        )

    @property
    def keys_without_session(self) -> tuple[Expression, ...]:
        return tuple(k for k in self.keys if to_attribute(k).expr_id != self.session.expr_id)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return (ascending((*self.keys_without_session, self.session)),)


@dataclass(frozen=True, kw_only=True)
class WindowExecBase(UnaryExec):
    """Rows of equal `partition_by` together, in the order of `order_by` within."""

    expression_fields: ClassVar[tuple[str, ...]] = ("partition_by", "order_by")
    keeps_partitioning = True
    keeps_ordering = True

    partition_by: tuple[Expression, ...]
    order_by: tuple[SortOrder, ...]

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        return (clustered(self.partition_by),)

    @cached_property
    def required_child_ordering(self) -> tuple[tuple[SortOrder, ...], ...]:
        return ((*ascending(self.partition_by), *self.order_by),)


@dataclass(frozen=True, kw_only=True)
class WindowExec(WindowExecBase):
    """A column per function beside the child's."""

    expression_fields = ("windows", "partition_by", "order_by")
    shown = ("windows", "partition_by", "order_by")

    windows: tuple[Expression, ...]

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output + tuple(to_attribute(e) for e in self.windows)


@dataclass(frozen=True, kw_only=True)
class WindowGroupLimitExec(WindowExecBase):
    """The rows of each partition that can have a rank of at most `limit`.

    Partial within the partitions of the input, Final where a group's rows are together.
    """

    expression_fields = ("partition_by", "order_by", "rank")
    shown = ("partition_by", "order_by", "rank", "limit", "mode")

    rank: Expression
    limit: int
    mode: Literal["Partial", "Final"]

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        if self.mode == "Partial":
            return (UnspecifiedDistribution(),)
        return super().required_child_distribution
