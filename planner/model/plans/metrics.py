"""Observed metrics."""

from __future__ import annotations

from dataclasses import dataclass

from ..expressions.core import Expression
from .query_plan import UnaryNode


@dataclass(frozen=True, kw_only=True)
class CollectMetrics(UnaryNode):
    """`observe`: aggregates over the rows that pass, under a name."""

    expression_fields = ("metrics",)

    name: str
    metrics: tuple[Expression, ...]
