"""LIKE with patterns that need no regular expression."""

from __future__ import annotations

import re

from ....planner.model.expressions.core import Call, Expression, Literal, lit
from ....planner.model.expressions.predicates import conjunction, disjunction
from ....planner.model.schemas.types import StringType
from ....planner.model.tree import replace
from ..support.calls import NULL_BOOLEAN, call, negate
from .common_expressions import is_cheap

_STARTS = re.compile(r"([^_%]+)%")
_ENDS = re.compile(r"%([^_%]+)")
_BOTH = re.compile(r"([^_%]+)%([^_%]+)")
_CONTAINS = re.compile(r"%([^_%]+)%")
_EQUAL = re.compile(r"([^_%]*)")


def simplify_like(expression: Expression) -> Expression:
    """LIKE becomes StartsWith, EndsWith, Contains or `=` where the pattern allows it.

    `a LIKE 'x%'` -> `StartsWith(a, x)`. Patterns with an escape character stay.
    """
    assert isinstance(expression, Call)
    if expression.name == "like":
        return _like(expression)
    return _like_many(expression)


def _like(like: Call) -> Expression:
    value, pattern = like.arguments[:2]
    if not isinstance(pattern, Literal) or not isinstance(pattern.type_, StringType):
        return like
    if pattern.value is None:
        return NULL_BOOLEAN
    return _simple(value, str(pattern.value), _escape(like)) or like


def _escape(like: Call) -> str:
    if like.options:
        return str(like.options[0])
    if len(like.arguments) > 2 and isinstance(like.arguments[2], Literal):
        return str(like.arguments[2].value)
    return "\\"


def _simple(value: Expression, pattern: str, escape: str) -> Expression | None:
    if escape in pattern:
        return None
    if found := _STARTS.fullmatch(pattern):
        return call("startswith", value, lit(found[1]))
    if found := _ENDS.fullmatch(pattern):
        return call("endswith", value, lit(found[1]))
    if found := _BOTH.fullmatch(pattern):
        first, last = found[1], found[2]
        long_enough = call(">=", call("length", value), lit(len(first) + len(last)))
        ends = call("endswith", value, lit(last))
        return call("and", long_enough, call("and", call("startswith", value, lit(first)), ends))
    if found := _CONTAINS.fullmatch(pattern):
        return call("contains", value, lit(found[1]))
    if found := _EQUAL.fullmatch(pattern):
        return call("=", value, lit(found[1]))
    return None


def _like_many(like: Call) -> Expression:
    value, *patterns = like.arguments
    if not is_cheap(value):  # it would be computed once for each pattern
        return like
    if not all(isinstance(p, Literal) for p in patterns):
        return like
    made: list[Expression] = []
    left: list[Expression] = []
    for pattern in patterns:
        assert isinstance(pattern, Literal)
        simple = None if pattern.value is None else _simple(value, str(pattern.value), "\\")
        if simple is None:
            left.append(pattern)
        else:
            made.append(negate(simple) if like.name.startswith("not") else simple)
    if not made:
        return like
    join = conjunction if like.name.endswith("all") else disjunction
    if left:
        rest = replace(like, arguments=(value, *left))
        return join([join(made), rest])
    return join(made)
