"""Observed metrics."""

from __future__ import annotations

from ..planner.model.expressions.core import Expression
from ..planner.model.frozen import dataclass
from .plan import UnaryExec
from .text import arguments, bracketed


@dataclass(frozen=True, kw_only=True)
class CollectMetricsExec(UnaryExec):
    """`observe`: rows pass, aggregates over them are told with the batch's progress."""

    expression_fields = ("metrics",)
    keeps_partitioning = True
    keeps_ordering = True

    name: str
    metrics: tuple[Expression, ...]

    def arguments(self, max_fields: int) -> str:
        return arguments(self.name, bracketed(self.metrics, max_fields))
