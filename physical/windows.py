"""Functions with OVER, of tables: rows of a partition in order."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal

from ..planner.model.expressions.core import (
    AttributeReference,
    Expression,
    SortOrder,
    ascending,
    to_attribute,
)
from ..planner.model.frozen import dataclass
from ..planner.model.text.text import plan_text
from .distribution import (
    Distribution,
    UnspecifiedDistribution,
    clustered,
)
from .plan import UnaryExec
from .text import arguments, listed


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

    windows: tuple[Expression, ...]

    def arguments(self, max_fields: int) -> str:
        return arguments(
            listed(self.windows, max_fields),
            listed(self.partition_by, max_fields),
            listed(self.order_by, max_fields),
        )

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output + tuple(to_attribute(e) for e in self.windows)


@dataclass(frozen=True, kw_only=True)
class WindowGroupLimitExec(WindowExecBase):
    """The rows of each partition that can have a rank of at most `limit`.

    Partial within the partitions of the input, Final where a group's rows are together.
    """

    expression_fields = ("partition_by", "order_by", "rank")

    rank: Expression
    limit: int
    mode: Literal["Partial", "Final"]

    def arguments(self, max_fields: int) -> str:
        return arguments(
            listed(self.partition_by, max_fields),
            listed(self.order_by, max_fields),
            plan_text(self.rank),
            str(self.limit),
            self.mode,
        )

    @cached_property
    def required_child_distribution(self) -> tuple[Distribution, ...]:
        if self.mode == "Partial":
            return (UnspecifiedDistribution(),)
        return super().required_child_distribution
