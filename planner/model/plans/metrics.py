"""Observed metrics."""

from __future__ import annotations

from ..expressions.core import Expression
from ..frozen import dataclass
from .query_plan import UnaryNode


@dataclass(frozen=True, kw_only=True)
class CollectMetrics(UnaryNode):
    """`observe`: aggregates over the rows that pass, under a name."""

    expression_fields = ("metrics",)

    name: str
    metrics: tuple[Expression, ...]
