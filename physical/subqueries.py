"""Subqueries that run before the operator whose expressions ask for their value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from ..planner.model.expressions.base import Typed
from ..planner.model.expressions.bound import Written
from ..planner.model.frozen import dataclass
from ..planner.model.lazy import cached_property
from ..planner.model.schemas.types import DataType
from ..planner.model.tree import replace
from .distribution import Partitioning
from .plan import SparkPlan, UnaryExec


@dataclass(frozen=True, kw_only=True)
class SubqueryExec(UnaryExec):
    """A plan that gives one value (`Subquery` in plans); `plan_id` names it in texts."""

    name: str
    plan_id: int = 0

    def arguments(self, max_fields: int) -> str:
        return f"{self.name}, [id=#{self.plan_id}]"

    @cached_property
    def output_partitioning(self) -> Partitioning:
        return self.child.output_partitioning


@dataclass(frozen=True, kw_only=True)
class ReusedSubqueryExec(SparkPlan):
    """The value of a subquery that stands elsewhere in the plan, and runs there once."""

    subquery: SubqueryExec = field(compare=False)

    def arguments(self, max_fields: int) -> str:
        return f"{self.subquery.node_name} {self.subquery.arguments(max_fields)}"


@dataclass(frozen=True, kw_only=True)
class PlannedSubquery(Typed, Written):
    """The value of a subquery, once it is planned."""

    plan: SubqueryExec | ReusedSubqueryExec
    type_: DataType
    expr_id: int

    @property
    def text(self) -> str:
        return f"{self.plan.node_name} {self.plan.arguments(0)}"

    @property
    def computed(self) -> SubqueryExec:
        """The subquery whose value it is."""
        return self.plan.subquery if isinstance(self.plan, ReusedSubqueryExec) else self.plan

    @property
    def view(self) -> str:
        """The name under which a runtime finds the subquery's row."""
        return f"stateplan_{re.sub('[^0-9a-z]', '_', self.computed.name)}"

    @property
    def sql(self) -> str:
        return f"(SELECT * FROM {self.view})"


def with_plan(subquery: PlannedSubquery, plan: SparkPlan) -> PlannedSubquery:
    """The subquery over another plan; itself if it is the same."""
    if plan is subquery.computed.child:
        return subquery
    computed = replace(subquery.computed, child=plan)
    if isinstance(subquery.plan, ReusedSubqueryExec):
        return replace(subquery, plan=replace(subquery.plan, subquery=computed))
    return replace(subquery, plan=computed)


def planned_subqueries(plan: SparkPlan) -> Iterator[SubqueryExec | ReusedSubqueryExec]:
    """The plans of the subqueries in an operator's own expressions, in order."""
    for expression in plan.expressions:
        for node in expression.collect(PlannedSubquery):
            yield node.plan
