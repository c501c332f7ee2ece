"""Columns as nullable as where they come from."""

from __future__ import annotations

from ....planner.model.expressions.core import AttributeReference, Expression
from ....planner.model.plans.logical import Aggregate, Deduplicate, Join, Union
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf

CHANGE_NULLABILITY = frozenset((Aggregate, Deduplicate, Union, Join))


def update_nullability(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """References say nullable where the column below is, and not where it is not.

    The state of an aggregate, the inputs of a union, the padded side of an outer join change that
    after a reference was made. Idempotent.
    """
    return _updated(plan)


def _updated(plan: LogicalPlan) -> LogicalPlan:
    if not any(_may_change(child) for child in plan.children):
        return plan
    node = plan.map_children(_updated)
    nullable: dict[int, bool] = {}
    for child in node.children:
        for column in child.output:
            nullable[column.expr_id] = nullable.get(column.expr_id, False) or column.nullable

    def visit(expression: Expression) -> Expression:
        if isinstance(expression, AttributeReference):
            return expression.with_nullability(
                nullable.get(expression.expr_id, expression.nullable)
            )
        return expression.map_children(visit) if expression.references else expression

    return node.map_expressions(visit)


def _may_change(plan: LogicalPlan) -> bool:
    return not CHANGE_NULLABILITY.isdisjoint(plan.classes)
