"""Constant folding."""

from __future__ import annotations

from ....planner.model.expressions.core import Alias, Call, Expression, Literal, lit
from ....planner.model.expressions.evaluation import evaluate


def fold(expression: Expression) -> Expression:
    """A constant expression becomes the literal of its value; `size(array(a, b))` too.

    What cannot be evaluated (or fails, as a division by zero does) stays as it is.
    """
    if isinstance(expression, Literal | Alias):
        return expression
    if isinstance(expression, Call) and expression.name == "size":
        return _size(expression)
    if not expression.foldable:
        return expression
    value = evaluate(expression)
    return expression if value is None else value


def _size(size: Call) -> Expression:
    made = size.arguments[0]
    if isinstance(made, Call) and made.name in ("array", "map"):
        count = len(made.arguments)
        return lit(count if made.name == "array" else count // 2)
    if not size.foldable:
        return size
    value = evaluate(size)
    return size if value is None else value
