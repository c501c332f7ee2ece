"""IN lists of constants."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Expression, Literal
from ....planner.model.expressions.equality import ExpressionSet
from ....planner.model.tree import replace
from ..support.calls import call
from ..support.settings import current


def optimize_in(expression: Expression) -> Expression:
    """Repetitions in a list of literals go; a list of one becomes `=`, a long one a set.

    `a IN (1, 1, 2)` -> `a IN (1, 2)`; `a IN (1)` -> `a = 1`; more than ten: `a INSET ...`.
    """
    assert isinstance(expression, Call)
    value, *items = expression.arguments
    if not items or not all(isinstance(item, Literal) for item in items):
        return expression
    distinct = list(ExpressionSet(items))
    if len(distinct) == 1 and not _is_struct(value) and not _is_struct(distinct[0]):
        return call("=", value, distinct[0])
    if len(distinct) > current().in_set:
        return replace(expression, name="inset", arguments=(value, *distinct))
    if len(distinct) < len(items):
        return replace(expression, arguments=(value, *distinct))
    return expression


def _is_struct(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.name in ("named_struct", "struct")
