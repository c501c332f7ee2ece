"""Subqueries that run before the operator whose expressions ask for their value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ..planner.model.bound import Written
from ..planner.model.types import DataType
from .distribution import Partitioning
from .plan import SparkPlan, UnaryExec


@dataclass(frozen=True, kw_only=True)
class SubqueryExec(UnaryExec):
    """A plan that gives one value (`Subquery` in plans); `plan_id` names it in texts."""

    name: str
    plan_id: int = 0

    def arguments(self, max_fields: int) -> str:
        return f"{self.name}, [id=#{self.plan_id}]"

    @property
    def output_partitioning(self) -> Partitioning:
        return self.child.output_partitioning


@dataclass(frozen=True, kw_only=True)
class ReusedSubqueryExec(SparkPlan):
    """The value of a subquery that stands elsewhere in the plan, and runs there once."""

    subquery: SubqueryExec = field(compare=False)

    def arguments(self, max_fields: int) -> str:
        return f"{self.subquery.node_name} {self.subquery.arguments(max_fields)}"


@dataclass(frozen=True, kw_only=True)
class PlannedSubquery(Written):
    """The value of a subquery, once it is planned."""

    plan: SubqueryExec | ReusedSubqueryExec
    type_: DataType
    expr_id: int

    @property
    def data_type(self) -> DataType:
        return self.type_

    @property
    def text(self) -> str:
        return f"{self.plan.node_name} {self.plan.arguments(0)}"


def planned_subqueries(plan: SparkPlan) -> Iterator[SubqueryExec | ReusedSubqueryExec]:
    """The plans of the subqueries in an operator's own expressions, in order."""
    for expression in plan.expressions:
        for node in expression.collect(PlannedSubquery):
            yield node.plan
