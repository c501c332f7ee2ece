"""Checks of what stands where it cannot: aggregates in WHERE, ON and ORDER BY, lone stars."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AggregateExpression, Call, Expression, SortOrder
from ....planner.model.expressions.unresolved import UnresolvedStar
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import Filter, Join, Sort
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import is_orderable
from ....planner.model.text.quoting import to_sql_expr, to_sql_id, to_sql_type
from ....planner.model.text.text import pretty
from ..failures import failure, mismatch
from ..grouping.aggregates import has_aggregate
from ..names.names import as_sql


def misplaced_aggregates(plan: LogicalPlan) -> AnalysisError | None:
    """Aggregate functions in WHERE."""
    if not isinstance(plan, Filter) or not has_aggregate(plan.condition):
        return None
    found = [n for n in plan.condition.walk() if isinstance(n, AggregateExpression)]
    return failure(
        "INVALID_WHERE_CONDITION",
        origin=plan.origin,
        condition_=to_sql_expr(plan.condition),
        expressionList=", ".join(map(as_sql, found)),
    )


def misplaced_in_operator(plan: LogicalPlan) -> AnalysisError | None:
    """Functions with OVER in ORDER BY or ON, aggregates there over rows that are not aggregated."""
    if not isinstance(plan, Sort | Join):
        return None
    kinds = AggregateExpression | WindowExpression
    found = [n for e in plan.expressions for n in e.walk() if isinstance(n, kinds)]
    if not found:
        return None
    name = type(plan).__name__
    listed = ", ".join(f'"{pretty(node)}"' for node in found)
    return failure(
        "UNSUPPORTED_EXPR_FOR_OPERATOR", origin=plan.origin, operator=name, invalidExprSqls=listed
    )


def random_in_operator(plan: LogicalPlan) -> AnalysisError | None:
    """Expressions that differ from row to row where rows may be compared more than once."""
    if not isinstance(plan, Join):
        return None
    found = [e for e in plan.expressions if not e.deterministic]
    if not found:
        return None
    listed = ", ".join(f'"{pretty(node)}"' for node in found)
    return failure("INVALID_NON_DETERMINISTIC_EXPRESSIONS", origin=plan.origin, sqlExprs=listed)


def sort_types(plan: LogicalPlan) -> AnalysisError | None:
    """ORDER BY a type without an order."""
    if not isinstance(plan, Sort):
        return None
    for order in plan.order:
        if order.resolved and not is_orderable(order.child.data_type):
            return mismatch(
                "INVALID_ORDERING_TYPE",
                pretty(order),
                order.origin,
                functionName=to_sql_id("sortorder"),
                dataType=to_sql_type(order.child.data_type),
            )
    return None


def misplaced_star(
    star: UnresolvedStar, expression: Expression, plan: LogicalPlan
) -> AnalysisError:
    """A star that is no entry of a list: its place is what it stands directly under."""
    place, position = type(plan).__name__, star.origin
    for node in expression.walk():
        if any(child is star for child in node.children) and not isinstance(node, SortOrder):
            # Spark calls it by its class.
            name = node.name if isinstance(node, Call) else type(node).__name__
            place, position = f"expression `{name.lower()}`", None
    return failure("INVALID_USAGE_OF_STAR_OR_REGEX", origin=position, elem="'*'", prettyName=place)
