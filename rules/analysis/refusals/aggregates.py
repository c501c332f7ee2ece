"""Aggregations: aggregates of aggregates, and columns that are neither grouped nor aggregated."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Expression,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.plans.logical import Aggregate
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.quoting import in_quotes, to_sql_expr
from ....planner.model.text.text import pretty
from ..failures import failure, missing_group_by
from ..grouping.aggregates import has_aggregate
from ..names.names import as_sql


def aggregate_shape(plan: LogicalPlan) -> AnalysisError | None:
    """Aggregates of aggregates, and columns that are neither grouped nor aggregated."""
    if not isinstance(plan, Aggregate):
        return None
    for item in plan.grouping:
        if has_aggregate(item):
            return _grouped_aggregate(item)
    grouped = {canonical(item) for item in plan.grouping}
    for expression in plan.aggregates:
        error = _ungrouped(expression, grouped, plan)
        if error is not None:
            return error
    return None


def _grouped_aggregate(item: Expression) -> AnalysisError:
    found = next(n for n in item.walk() if isinstance(n, AggregateExpression))
    return failure("GROUP_BY_AGGREGATE", origin=item.origin, sqlExpr=as_sql(found))


def _arguments_of_aggregate(node: AggregateExpression) -> AnalysisError | None:
    inner = [n for a in node.children for n in a.collect(AggregateExpression)]
    if inner:
        return failure("NESTED_AGGREGATE_FUNCTION", origin=inner[0].origin)
    random = next((a for a in node.function.children if not a.deterministic), None)
    if random is None:
        return None
    return failure(
        "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
        origin=random.origin,
        sqlExpr=to_sql_expr(node),
    )


def _ungrouped(
    expression: Expression, grouped: set[Canonical], plan: Aggregate
) -> AnalysisError | None:
    if isinstance(expression, AggregateExpression):
        return _arguments_of_aggregate(expression)
    if canonical(expression) in grouped:
        return None
    if isinstance(expression, AttributeReference):
        if not plan.grouping:
            return missing_group_by(plan.origin)
        name = pretty(expression)
        return failure(
            "MISSING_AGGREGATION",
            hint=f"Add {name} to GROUP BY.",
            expression=in_quotes(name),
            expressionAnyValue=f'"any_value({name})"',
        )
    for child in expression.children:
        error = _ungrouped(child, grouped, plan)
        if error is not None:
            return error
    return None
