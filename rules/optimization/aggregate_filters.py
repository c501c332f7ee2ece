"""FILTER clauses that are always true or never."""

from __future__ import annotations

from ...planner.model.expressions import AggregateExpression, Expression, Literal
from ...planner.model.tree import replace
from ...planner.model.types import ArrayType
from .calls import is_false, is_true

_COUNTS = frozenset(("count", "approx_count_distinct", "regr_count"))


def eliminate_aggregate_filter(expression: Expression) -> Expression:
    """`sum(a) FILTER (WHERE true)` -> `sum(a)`; WHERE false: the value over no rows at all."""
    assert isinstance(expression, AggregateExpression)
    if expression.filter is None:
        return expression
    if is_true(expression.filter):
        return replace(expression, filter=None)
    if not is_false(expression.filter):
        return expression
    value: object = None
    if expression.function.name in _COUNTS:
        value = 0
    elif isinstance(expression.data_type, ArrayType):
        value = ()
    return Literal(value=value, type_=expression.data_type)
