"""Comparisons of an expression with itself, or with true and false."""

from __future__ import annotations

from ...planner.model.expressions import Call, Expression
from .calls import is_false, is_true, negate, truth
from .semantics import same


def simplify_comparisons(expression: Expression) -> Expression:
    """`a = true` -> `a`, `a = false` -> `NOT a`, `a <=> a` -> `true`, `a >= a` -> `true`.

    A comparison with itself is decided only where the operand cannot be null.
    """
    assert isinstance(expression, Call)
    left, right = expression.arguments
    if same(left, right):
        if expression.name == "<=>":
            return truth(True)
        if not left.nullable and not right.nullable:
            return truth(expression.name in ("=", ">=", "<="))
    if expression.name not in ("=", "<=>"):
        return expression
    for constant, other in ((right, left), (left, right)):
        if expression.name == "<=>" and other.nullable:
            continue
        if is_true(constant):
            return other
        if is_false(constant):
            return negate(other)
    return expression
