"""PIVOT as written."""

from __future__ import annotations

from ..expressions.core import Expression
from ..frozen import dataclass
from .query_plan import UnaryNode, UnresolvedNode


@dataclass(frozen=True, kw_only=True)
class UnresolvedPivot(UnresolvedNode, UnaryNode):
    """One row per group: its `aggregates` over the rows with each of `values` in `column`.

    `grouping` of None stands for the columns that neither `column` nor `aggregates` name.
    """

    expression_fields = ("grouping", "column", "values", "aggregates")

    column: Expression
    values: tuple[Expression, ...]
    aggregates: tuple[Expression, ...]
    grouping: tuple[Expression, ...] | None = None
