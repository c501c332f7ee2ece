"""Operations on IF and CASE with constant values, pushed into the branches."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, CaseWhen, Cast, Expression, GetStructField
from ....planner.model.tree import replace
from ..support.calls import is_call, null_of


def push_into_branches(expression: Expression) -> Expression:
    """An operation on an IF or CASE goes into its branches, if at most one value is no constant.

    `if(c, 'a', 'b') = 'a'` -> `if(c, 'a' = 'a', 'b' = 'a')`, which folds further.
    """
    if isinstance(expression, Cast | GetStructField):
        return _pushed(expression, 0)
    assert isinstance(expression, Call)
    if len(expression.arguments) == 1:
        return _pushed(expression, 0)
    if len(expression.arguments) == 2:
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
