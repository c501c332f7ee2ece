"""QUALIFY: a condition on functions with OVER, behind the select list."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Alias, Expression
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import Filter, Project, UnresolvedQualify
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.text.quoting import to_sql_expr
from ....planner.model.text.text import pretty
from ....planner.model.tree import replace
from ..context import Context
from ..failures import failure, missing_group_by
from ..grouping.over_grouping_sets import is_aggregate_function
from ..names.names import qualified
from ..windows.over import extract_windows
from .missing import resolve_over, restored


def resolve_qualify(plan: UnresolvedQualify, child: LogicalPlan, context: Context) -> LogicalPlan:
    """`QUALIFY rank() OVER (..) = 1`: a Filter over a column that holds the function's value.

    The condition sees the select list's columns and, behind them, those of the input.

    Raises:
        AnalysisError: neither the condition nor the select list has a function with OVER, or the
            condition has an aggregate function without.
    """
    _refuse_aggregates(plan)
    (condition,), below = resolve_over((plan.condition,), child, context)
    if not condition.resolved:
        return replace(plan, condition=condition, child=below)
    columns: list[Alias] = []

    def computed(node: Expression) -> Expression:
        if not isinstance(node, WindowExpression):
            return node.map_children(computed)
        columns.append(Alias(child=node, name=pretty(qualified(node))))
        return columns[-1].to_attribute()

    condition = computed(condition)
    if columns:
        items = (*below.output, *columns)
        below = extract_windows(Project(project_list=items, child=below, origin=plan.origin))
    elif not plan.listed:
        raise failure("QUALIFY_REQUIRES_WINDOW_FUNCTION")
    return restored(Filter(condition=condition, child=below, origin=plan.origin), child)


def _refuse_aggregates(plan: UnresolvedQualify) -> None:
    def visit(node: Expression, argument: bool) -> None:
        if is_aggregate_function(node):
            raise missing_group_by(plan.origin) if argument else _not_allowed(node)
        if not isinstance(node, WindowExpression):
            for child in node.children:
                visit(child, argument)
            return
        for child in node.children:
            # The function with OVER itself may aggregate; what it is over may not.
            for part in child.children if child is node.function else (child,):
                visit(part, True)

    visit(plan.condition, False)


def _not_allowed(function: Expression) -> AnalysisError:
    return failure(
        "QUALIFY_AGGREGATE_NOT_ALLOWED", origin=function.origin, aggregateExpr=to_sql_expr(function)
    )
