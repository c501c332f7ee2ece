"""FILTER and WITHIN GROUP (ORDER BY ...) of aggregate functions."""

from __future__ import annotations

from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AggregateExpression, Call, Expression, SortOrder
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.schemas.types import BooleanType
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ....planner.model.tree import replace
from ..context import Context
from ..failures import failure, unsupported_syntax


def check_aggregate_filter(function: UnresolvedFunction) -> None:
    """Check a FILTER whose names are resolved.

    Raises:
        AnalysisError: INVALID_AGGREGATE_FILTER.*.
    """
    condition = function.filter
    if condition is None or not condition.resolved:
        return
    if not condition.deterministic:
        raise _invalid(function, condition, "NON_DETERMINISTIC")
    if not isinstance(condition.data_type, BooleanType):
        raise _invalid(function, condition, "NOT_BOOLEAN")
    for node in condition.walk():
        match node:
            case AggregateExpression():
                case, parameter = "CONTAINS_AGGREGATE", "aggExpr"
            case WindowExpression():
                case, parameter = "CONTAINS_WINDOW_FUNCTION", "windowExpr"
            case _:
                continue
        raise _invalid(function, condition, case, **{parameter: to_sql_expr(node)})


def _invalid(
    function: UnresolvedFunction, condition: Expression, case: str, /, **parameters: Any
) -> AnalysisError:
    return failure(
        f"INVALID_AGGREGATE_FILTER.{case}",
        origin=function.origin,
        filterExpr=to_sql_expr(condition),
        **parameters,
    )


_PERCENTILES = ("percentile_cont", "percentile_disc")
_LISTS = ("listagg", "string_agg")


def ordered_call(function: UnresolvedFunction, name: str, context: Context) -> Expression | None:
    """The resolved call of a function with an order; None for one without.

    Raises:
        AnalysisError: the function takes no order, needs one, or another number of columns.
    """
    order = [o for o in function.within if isinstance(o, SortOrder)]
    if name in _PERCENTILES:
        return _percentile(function, name, order, context)
    if not order:
        return None
    if name == "mode":
        wanted = 0 if function.arguments else 1
        if len(order) != wanted:
            raise _refused(
                function, name, "WRONG_NUM_ORDERINGS", expectedNum=wanted, actualNum=len(order)
            )
        call = context.call(name, order[0].child, origin=function.origin)
        return _with_options(call, (order[0].ascending,))
    if name in _LISTS:
        call = context.call(name, *function.arguments, origin=function.origin)
        if not isinstance(call, Call):
            return call
        # With an order the function forgets by which of its names it was called.
        return replace(call, name=_LISTS[0], arguments=(*call.arguments, *order))
    raise unsupported_syntax(name, "WITHIN GROUP (ORDER BY ...)", function.origin)


def _percentile(
    function: UnresolvedFunction, name: str, order: list[SortOrder], context: Context
) -> Expression:
    if function.distinct:
        raise _refused(function, name, "DISTINCT_UNSUPPORTED")
    if not order:
        raise _refused(function, name, "WITHIN_GROUP_MISSING")
    if len(order) != 1:
        raise _refused(function, name, "WRONG_NUM_ORDERINGS", expectedNum=1, actualNum=len(order))
    call = context.call(name, order[0].child, *function.arguments, origin=function.origin)
    return _with_options(call, (not order[0].ascending,))


def _with_options(call: Expression, options: tuple[object, ...]) -> Expression:
    return replace(call, options=options) if isinstance(call, Call) else call


def _refused(
    function: UnresolvedFunction, name: str, case: str, /, **parameters: Any
) -> AnalysisError:
    return failure(
        f"INVALID_WITHIN_GROUP_EXPRESSION.{case}",
        origin=function.origin,
        funcName=to_sql_id(name),
        **parameters,
    )
