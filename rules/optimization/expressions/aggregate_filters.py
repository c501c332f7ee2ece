"""FILTER clauses that are always true or never."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, Expression
from ....planner.model.tree import replace
from ..support.calls import is_false, is_true, value_over_no_rows


def eliminate_aggregate_filter(expression: Expression) -> Expression:
    """`sum(a) FILTER (WHERE true)` -> `sum(a)`; WHERE false: the value over no rows at all."""
    assert isinstance(expression, AggregateExpression)
    if expression.filter is None:
        return expression
    if is_true(expression.filter):
        return replace(expression, filter=None)
    if not is_false(expression.filter):
        return expression
    return value_over_no_rows(expression.function)
