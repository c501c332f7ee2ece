"""Functions with OVER, as operators."""

from __future__ import annotations

from ..expressions.core import AttributeReference, Expression, SortOrder, to_attribute
from ..frozen import dataclass
from ..lazy import cached_property
from .query_plan import UnaryNode


@dataclass(frozen=True, kw_only=True)
class Window(UnaryNode):
    """Functions with OVER of one partitioning and order beside the child's columns."""

    expression_fields = ("windows", "partition_by", "order_by")
    shown = ("windows", "partition_by", "order_by")

    windows: tuple[Expression, ...]
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[SortOrder, ...] = ()

    @cached_property
    def output(self) -> tuple[AttributeReference, ...]:
        return self.child.output + tuple(to_attribute(e) for e in self.windows)


@dataclass(frozen=True, kw_only=True)
class WindowGroupLimit(UnaryNode):
    """Of each partition only the rows that a rank function can give `limit` or less."""

    expression_fields = ("partition_by", "order_by", "rank")
    shown = ("partition_by", "order_by", "rank", "limit")

    rank: Expression
    limit: int
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[SortOrder, ...] = ()
