"""Subqueries as expressions: EXISTS by itself, single rows, and their own optimization."""

from __future__ import annotations

from collections.abc import Callable

from ....planner.model.expressions.core import Alias, Expression, lit, without_alias
from ....planner.model.expressions.subqueries import (
    Exists,
    OuterReference,
    ScalarSubquery,
    SubqueryExpression,
)
from ....planner.model.plans.logical import GlobalLimit, LocalLimit, Project, Sort
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ..operators.collapse_projects import collapse_projects
from ..operators.names import eliminate_names
from ..support.calls import call
from ..support.executor import run_nested

Rewrite = Callable[[Expression], Expression]


def has_subquery(plan: LogicalPlan) -> bool:
    """Whether any expression in the tree holds a subquery."""
    return plan.uses(SubqueryExpression)


def rewrite_expressions(plan: LogicalPlan, rewrite: Rewrite) -> LogicalPlan:
    """Every expression of the plan that holds a subquery, rewritten bottom-up."""
    if not has_subquery(plan):
        return plan
    node = plan.map_children(lambda child: rewrite_expressions(child, rewrite))
    return node.map_expressions(
        lambda e: e.transform_up(rewrite) if e.holds(SubqueryExpression) else e
    )


def rewrite_lone_exists(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """EXISTS that has nothing to do with the row around it asks for one value.

    `exists [plan]` -> `isnotnull(scalar-subquery [Limit 1, Project [1 AS col], plan])`. Idempotent.
    """

    def rewrite(expression: Expression) -> Expression:
        if not isinstance(expression, Exists) or expression.correlated:
            return expression
        one = Project(child=expression.plan, project_list=(Alias(child=lit(1), name="col"),))
        limited = GlobalLimit(child=LocalLimit(child=one, limit=lit(1)), limit=lit(1))
        return call("isnotnull", ScalarSubquery(plan=limited, expr_id=expression.expr_id))

    return rewrite_expressions(plan, rewrite)


def inline_one_row_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A scalar subquery that reads nothing is its expression: `(SELECT a + 1)` -> `a + 1`."""

    def rewrite(expression: Expression) -> Expression:
        if not isinstance(expression, ScalarSubquery):
            return expression
        inner = collapse_projects(eliminate_names(expression.plan, conf), conf)
        match inner:
            case Project(child=OneRowRelation(), project_list=(item,)):
                value = without_alias(item)
                return value.transform_up(without_outer)
        return expression

    return rewrite_expressions(plan, rewrite)


def without_outer(expression: Expression) -> Expression:
    """The column itself for a reference to a column of the query around."""
    return expression.column if isinstance(expression, OuterReference) else expression


def optimize_subqueries(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """The plans of subqueries optimized, each by itself; their order does not matter."""

    def rewrite(expression: Expression) -> Expression:
        if not isinstance(expression, SubqueryExpression):
            return expression
        best = run_nested(expression.plan, conf)
        return replace(expression, plan=_without_order(best))

    return rewrite_expressions(plan, rewrite)


def _without_order(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case Sort(child=child):
            return child
        case Project(child=Sort(child=child)):
            return replace(plan, child=child)
        case _:
            return plan
