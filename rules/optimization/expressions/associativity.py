"""Constants of sums and products of whole numbers, gathered into one."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Expression, Literal
from ....planner.model.schemas.types import IntegralType
from ....planner.model.text.text import plan_text
from ....planner.model.tree import replace
from ..support import settings
from .constants import fold


def gather_constants(expression: Expression) -> Expression:
    """All constants of a whole-number sum (or product) become one, on the right.

    `1 + a + 2` -> `a + 3`; a constant that changes nothing goes: `a + 0` -> `a`.
    """
    assert isinstance(expression, Call)
    if not expression.deterministic or not isinstance(expression.data_type, IntegralType):
        return expression
    operands = _operands(expression, expression)
    constants = [e for e in operands if e.foldable]
    if not constants:
        return expression
    others = [e for e in operands if not e.foldable]
    constant = _joined(expression, constants)
    if "fold" not in settings.current().excluded:
        constant = fold(constant)
    elif len(constants) > 1:
        return _with_constants_last(expression, others, constants)
    if not isinstance(constant, Literal):
        return expression
    if not others:
        return constant
    neutral = 0 if expression.name == "+" else 1
    if constant.value == neutral:
        return _joined(expression, others)
    if len(constants) == 1 and expression.arguments[1] == constant:
        return expression
    return _joined(expression, [*others, constant])


def _with_constants_last(
    expression: Call, others: list[Expression], constants: list[Expression]
) -> Expression:
    """The constants in one place, not computed: `1 + a + 2` -> `a + (1 + 2)`."""
    if not others:
        return expression
    made = _joined(expression, [*others, _joined(expression, constants)])
    return expression if plan_text(made) == plan_text(expression) else made


def _operands(expression: Expression, model: Call) -> list[Expression]:
    if (
        isinstance(expression, Call)
        and expression.name == model.name
        and expression.ansi == model.ansi
        and expression.options == model.options
    ):
        return [part for side in expression.arguments for part in _operands(side, model)]
    return [expression]


def _joined(model: Call, parts: list[Expression]) -> Expression:
    result = parts[0]
    for part in parts[1:]:
        result = replace(model, arguments=(result, part))
    return result
