"""Aggregation in steps: partial, merge and final operators over an aggregate's buffers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..planner.model.expressions import (
    AggregateExpression,
    AttributeReference,
    Expression,
    to_attribute,
)
from .plan import UnaryExec


@dataclass(frozen=True, kw_only=True)
class BaseAggregateExec(UnaryExec):
    """One step of an aggregation.

    Attributes:
        keys: the grouping columns as they come in (named expressions in the partial step).
        aggregates: the functions, each with this step's mode.
        buffers: per function, its buffer columns: what Partial and PartialMerge give, and what
            PartialMerge and Final read.
        results: what the step gives: keys and buffers, or in the last step the result expressions
            over keys and the functions' result attributes.
        required_keys: the keys that the child must be clustered on, None where it need not be.
        is_streaming: part of a streaming aggregation.
        num_shuffle_partitions: the store count for a streaming step, set by the state rule.
    """

    expression_fields = ("keys", "aggregates", "results")

    keys: tuple[Expression, ...]
    aggregates: tuple[AggregateExpression, ...]
    buffers: tuple[tuple[AttributeReference, ...], ...]
    results: tuple[Expression, ...]
    required_keys: tuple[Expression, ...] | None = None
    is_streaming: bool = True
    num_shuffle_partitions: int | None = None

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.results)

    @property
    def key_attributes(self) -> tuple[AttributeReference, ...]:
        """The grouping columns as the step gives them."""
        return tuple(to_attribute(e) for e in self.keys)


@dataclass(frozen=True, kw_only=True)
class HashAggregateExec(BaseAggregateExec):
    """Aggregates in a hash table with mutable buffers."""


@dataclass(frozen=True, kw_only=True)
class ObjectHashAggregateExec(BaseAggregateExec):
    """Aggregates in a hash table of objects (collect_list and the like)."""


@dataclass(frozen=True, kw_only=True)
class SortAggregateExec(BaseAggregateExec):
    """Aggregates rows sorted by the keys: where a buffer's type cannot be updated in place."""


@dataclass(frozen=True, kw_only=True)
class MergingSessionsExec(UnaryExec):
    """Merges overlapping sessions of rows sorted by the keys and the session's start."""

    expression_fields = ("keys", "aggregates", "results")

    keys: tuple[Expression, ...]  # the session column among them, in grouping order
    session: AttributeReference
    aggregates: tuple[AggregateExpression, ...]  # in mode PartialMerge
    buffers: tuple[tuple[AttributeReference, ...], ...]
    results: tuple[Expression, ...]
    required_keys: tuple[Expression, ...] | None = None
    is_streaming: bool = True
    num_shuffle_partitions: int | None = None
    initial_buffer_offset: int = 0

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return tuple(to_attribute(e) for e in self.results)

    @property
    def keys_without_session(self) -> tuple[Expression, ...]:
        return tuple(k for k in self.keys if to_attribute(k).expr_id != self.session.expr_id)
