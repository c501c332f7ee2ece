"""Shuffles and sorts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..planner.model.expressions import Expression, SortOrder
from .distribution import Partitioning
from .plan import UnaryExec

ShuffleOrigin = Literal["ENSURE_REQUIREMENTS", "REQUIRED_BY_STATEFUL_OPERATOR"]


@dataclass(frozen=True, kw_only=True)
class ShuffleExchangeExec(UnaryExec):
    """Moves rows to the partitions that `partitioning` says (`Exchange` in plans)."""

    partitioning: Partitioning
    origin: ShuffleOrigin = "ENSURE_REQUIREMENTS"

    @property
    def node_name(self) -> str:
        return "Exchange"

    @property
    def output_partitioning(self) -> Partitioning:
        return self.partitioning

    @property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return ()


@dataclass(frozen=True, kw_only=True)
class SortExec(UnaryExec):
    """Sorts each partition; `is_global` where the order holds over all of them."""

    expression_fields = ("order",)

    order: tuple[SortOrder, ...]
    is_global: bool

    @property
    def output_ordering(self) -> tuple[SortOrder, ...]:
        return self.order


@dataclass(frozen=True, kw_only=True)
class TakeOrderedAndProjectExec(UnaryExec):
    """The first rows in an order as the answer."""

    expression_fields = ("order", "project_list")

    limit: int
    order: tuple[SortOrder, ...]
    project_list: tuple[Expression, ...]
