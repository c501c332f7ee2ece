"""FILTER clauses: a boolean that neither changes from row to row by chance nor aggregates."""

from __future__ import annotations

from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AggregateExpression, Expression
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.schemas.types import BooleanType
from ....planner.model.text.quoting import to_sql_expr
from ..failures import failure


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
