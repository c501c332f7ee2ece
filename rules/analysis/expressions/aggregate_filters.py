"""FILTER clauses: a boolean that neither changes from row to row by chance nor aggregates."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AggregateExpression, Expression
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.schemas.types import BooleanType
from ....planner.model.text.text import pretty
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
        raise _invalid(
            function, condition, "NON_DETERMINISTIC", "Expected a deterministic FILTER expression."
        )
    if not isinstance(condition.data_type, BooleanType):
        raise _invalid(
            function,
            condition,
            "NOT_BOOLEAN",
            "Expected a FILTER expression of the BOOLEAN type.",
        )
    for node in condition.walk():
        match node:
            case AggregateExpression():
                kind, word = "AGGREGATE", "an aggregation"
            case WindowExpression():
                kind, word = "WINDOW_FUNCTION", "a window function"
            case _:
                continue
        reason = f'Expected a FILTER expression without {word}, but found "{pretty(node)}".'
        raise _invalid(function, condition, f"CONTAINS_{kind}", reason)


def _invalid(
    function: UnresolvedFunction, condition: Expression, kind: str, reason: str
) -> AnalysisError:
    return failure(
        f"INVALID_AGGREGATE_FILTER.{kind}",
        f'The FILTER expression "{pretty(condition)}" in an aggregate function is invalid. '
        f"{reason}",
        state="42903",
        origin=function.origin,
    )
