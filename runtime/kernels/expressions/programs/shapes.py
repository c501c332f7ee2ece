"""Expressions that are compiled in a way of their own, and the places of all in the query."""

from __future__ import annotations

from .....planner.model.expressions.core import Call, CaseWhen, Expression, Literal
from .....planner.model.functions.build import call
from .....planner.model.text.quoting import fragment_context
from .day_times import is_zero


def positive_remainder(case: CaseWhen) -> tuple[Expression, Expression] | None:
    """What `CASE WHEN x % n < 0 THEN x % n + n ELSE x % n END` divides, and by what.

    So Spark's TimeWindowing finds out how far behind the start of its window a time is.
    """
    match case:
        case CaseWhen(
            conditions=(Call(name="<", arguments=(first, zero)),),
            values=(Call(name="+", arguments=(second, moved)),),
            otherwise=Call(
                name="%", arguments=(value, Literal(value=int(size)) as divisor)
            ) as rest,
        ) if size > 0 and moved == divisor and first == rest == second and is_zero(zero):
            return value, divisor
    return None


def by_others(function: Call) -> Expression | None:
    """A function as those give it that are computed here."""
    match function:
        case Call(name="nanvl", arguments=(value, instead)):
            return call("if", call("isnan", value), instead, value)
        case Call(name="array_union", arguments=arrays):
            return call("array_distinct", call("concat", *arrays))
    return None


def context_of(expression: Expression) -> str:
    """Where in the query an expression stands, as Spark's messages end."""
    origin = expression.origin
    if origin is None or not origin.source:
        return ""
    return fragment_context(origin) or ""
