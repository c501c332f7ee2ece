"""What stands where it cannot, or is not there: functions, columns, aggregates, stars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ....planner.model import registry
from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    SortOrder,
)
from ....planner.model.expressions.equality import Canonical, canonical
from ....planner.model.expressions.unresolved import (
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedStar,
)
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.plans.logical import Aggregate, Filter, Generate, Join, Project, Sort
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import UnresolvedWith
from ....planner.model.schemas.ddl import unsupported_time
from ....planner.model.schemas.types import is_orderable
from ....planner.model.text.logical_text import line_text
from ....planner.model.text.quoting import in_quotes, to_sql_expr, to_sql_id, to_sql_type
from ....planner.model.text.text import pretty
from ....planner.model.unsupported_functions import UNSUPPORTED_FUNCTIONS
from ...common.trees import each_once
from ..failures import (
    failure,
    mismatch,
    missing_group_by,
    routine_not_found,
    unresolved_routine,
    unsupported_function,
)
from ..grouping.grouping_sets import has_aggregate
from ..names.names import as_sql
from ..windows.window_functions import WINDOW_FUNCTIONS


def check_function_names(plan: LogicalPlan) -> None:
    """Look up every function that the query names, wherever it stands.

    Raises:
        AnalysisError: UNRESOLVED_ROUTINE, or STATEPLAN_UNSUPPORTED_FUNCTION for one of Spark's.
    """
    for operator in plan.walk():
        if isinstance(operator, UnresolvedWith):
            for _, body in operator.definitions:
                check_function_names(body)
        for expression in operator.expressions:
            for node in expression.collect(UnresolvedFunction):
                if _is_known(node):
                    continue
                if isinstance(operator, Generate) and node is operator.generator:
                    raise routine_not_found(node.name, operator.origin)
                raise _unknown(node)


_OF_TIMES = frozenset(
    (
        *("make_time", "to_time", "try_to_time", "time_trunc", "time_diff"),
        *(
            f"time_{way}_{unit}"
            for way in ("from", "to")
            for unit in ("seconds", "millis", "micros")
        ),
    )
)


def _unknown(function: UnresolvedFunction) -> AnalysisError:
    if function.name.lower() in _OF_TIMES:
        return unsupported_time()
    if function.name.lower() in UNSUPPORTED_FUNCTIONS:
        return unsupported_function(function.name, function.origin)
    return unresolved_routine(function.name, function.origin)


def _is_known(function: UnresolvedFunction) -> bool:
    name = function.name.lower()
    spec = registry.find(name)
    if spec is None:
        return name in WINDOW_FUNCTIONS
    return spec.written or not function.by_name


def trailing_comma(plan: LogicalPlan) -> AnalysisError | None:
    """TRAILING_COMMA_IN_SELECT, which Spark looks for before all else."""
    for operator in plan.walk():
        match operator:
            case Project(project_list=(_, *_, last)) | Aggregate(aggregates=(_, *_, last)):
                # `SELECT a, FROM t` reads as the column FROM under the name t.
                match last:
                    case Alias(child=UnresolvedAttribute(parts=(name,), origin=origin)):
                        if name.upper() == "FROM":
                            return failure("TRAILING_COMMA_IN_SELECT", origin=origin)
    return None


def misplaced_aggregates(plan: Filter) -> AnalysisError | None:
    """Aggregate functions in WHERE."""
    if not has_aggregate(plan.condition):
        return None
    found = [n for n in plan.condition.walk() if isinstance(n, AggregateExpression)]
    return failure(
        "INVALID_WHERE_CONDITION",
        origin=plan.origin,
        condition_=to_sql_expr(plan.condition),
        expressionList=", ".join(map(as_sql, found)),
    )


def misplaced_in_operator(plan: Sort | Join) -> AnalysisError | None:
    """Functions with OVER in ORDER BY or ON, aggregates there over rows that are not aggregated."""
    kinds = AggregateExpression | WindowExpression
    found = [n for e in plan.expressions for n in e.walk() if isinstance(n, kinds)]
    if not found:
        return None
    name = type(plan).__name__
    listed = ", ".join(f'"{pretty(node)}"' for node in found)
    return failure(
        "UNSUPPORTED_EXPR_FOR_OPERATOR", origin=plan.origin, operator=name, invalidExprSqls=listed
    )


def random_in_operator(plan: Join) -> AnalysisError | None:
    """Expressions that differ from row to row where rows may be compared more than once."""
    found = [e for e in plan.expressions if not e.deterministic]
    if not found:
        return None
    listed = ", ".join(f'"{pretty(node)}"' for node in found)
    return failure("INVALID_NON_DETERMINISTIC_EXPRESSIONS", origin=plan.origin, sqlExprs=listed)


def sort_types(plan: Sort) -> AnalysisError | None:
    """ORDER BY a type without an order."""
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


def aggregate_shape(plan: Aggregate) -> AnalysisError | None:
    """Aggregates of aggregates, and columns that are neither grouped nor aggregated."""
    for item in plan.grouping:
        if has_aggregate(item):
            found = next(n for n in item.walk() if isinstance(n, AggregateExpression))
            return failure("GROUP_BY_AGGREGATE", origin=item.origin, sqlExpr=as_sql(found))
    grouped = {canonical(item) for item in plan.grouping}
    for expression in plan.aggregates:
        error = _ungrouped(expression, grouped, plan)
        if error is not None:
            return error
    return None


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


def missing_columns(plan: LogicalPlan) -> AnalysisError | None:
    """MISSING_ATTRIBUTES, with those of the inputs that have the same name."""
    ids = plan.missing_input
    if not ids:
        return None
    mentioned = (a for e in plan.expressions for a in e.collect(AttributeReference))
    missing = each_once(a for a in mentioned if a.expr_id in ids)
    given = each_once(a for child in plan.children for a in child.output)
    names = {column.name.lower() for column in given}
    alike = [column for column in missing if column.name.lower() in names]
    operator: dict[str, Any] = {
        "missingAttributes": _listed(missing),
        "input": _listed(given),
        "operator": f"!{line_text(plan)}",
    }
    if alike:
        return failure(
            "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_APPEAR_IN_OPERATION",
            origin=plan.origin,
            operation=_listed(alike),
            **operator,
        )
    return failure(
        "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT", origin=plan.origin, **operator
    )


def _listed(columns: Iterable[AttributeReference]) -> str:
    return ", ".join(f'"{column.name}"' for column in columns)
