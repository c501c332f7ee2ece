"""Operations on IF and CASE with constant values, pushed into the branches."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, CaseWhen, Cast, Expression, GetStructField
from ....planner.model.tree import replace
from ..support.calls import is_call, null_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


UNARY = _words(
    """isnull isnotnull abs bin factorial hex upper lower trim ltrim rtrim ascii base64 bit_length
    chr char length char_length year quarter month day dayofmonth dayofweek dayofyear weekday
    weekofyear last_day acos acosh asin asinh atan atanh cbrt ceil floor cos cosh
    cot csc degrees exp expm1 log1p log10 log2 ln radians rint sec sign signum sin sinh sqrt tan
    tanh initcap soundex unhex"""
)
BINARY = _words(
    """= <=> < <= > >= startswith endswith contains like rlike + - * / % div pmod mod & | ^ power
    pow atan2 hypot log nanvl shiftleft shiftright shiftrightunsigned add_months date_add date_sub
    datediff date_diff find_in_set round bround ceil floor timestamp_add"""
)


def push_into_branches(expression: Expression) -> Expression:
    """An operation on an IF or CASE goes into its branches, if at most one value is no constant.

    `if(c, 'a', 'b') = 'a'` -> `if(c, 'a' = 'a', 'b' = 'a')`, which folds further.
    """
    if isinstance(expression, Cast | GetStructField):
        return _pushed(expression, 0)
    assert isinstance(expression, Call)
    if expression.name in UNARY and len(expression.arguments) == 1:
        return _pushed(expression, 0)
    if expression.name in BINARY and len(expression.arguments) == 2:
        left, right = expression.arguments
        if right.foldable:
            pushed = _pushed(expression, 0)
            if pushed is not expression:
                return pushed
        if left.foldable:
            return _pushed(expression, 1)
    return expression


def _pushed(outer: Expression, position: int) -> Expression:
    inner = outer.children[position]

    def around(value: Expression) -> Expression:
        children = list(outer.children)
        children[position] = value
        return outer.with_new_children(tuple(children))

    if is_call(inner, "if"):
        assert isinstance(inner, Call)
        condition, yes, no = inner.arguments
        if sum(not value.foldable for value in (yes, no)) > 1:
            return outer
        return replace(inner, arguments=(condition, around(yes), around(no)))
    if isinstance(inner, CaseWhen):
        values = inner.values if inner.otherwise is None else (*inner.values, inner.otherwise)
        if sum(not value.foldable for value in values) > 1:
            return outer
        otherwise = inner.otherwise if inner.otherwise is not None else null_of(inner.data_type)
        return replace(
            inner,
            values=tuple(around(value) for value in inner.values),
            otherwise=around(otherwise),
        )
    return outer
