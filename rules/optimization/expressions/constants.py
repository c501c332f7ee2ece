"""Constant folding, and the constants of sums and products gathered into one."""

from __future__ import annotations

from functools import reduce

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
    lit,
)
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.functions.build import is_false, is_true, value_over_no_rows
from ....planner.model.schemas.types import IntegralType
from ....planner.model.text.text import plan_text
from ....planner.model.tree import replace
from ..support import settings


def fold(expression: Expression) -> Expression:
    """A constant expression becomes the literal of its value; `size(array(a, b))` of columns too.

    What cannot be evaluated (or fails, as a division by zero does) stays as it is.
    """
    if isinstance(expression, Literal | Alias):
        return expression
    match expression:
        case Call(name="size" | "cardinality", arguments=(Call(name="array" | "map") as made,)):
            if _never_fails(made):
                return lit(len(made.arguments) // (2 if made.name == "map" else 1))
    value = evaluate(expression) if expression.foldable else None
    return expression if value is None else value


def _never_fails(part: Expression) -> bool:
    """Whether a value is made of nothing but columns and literals."""
    if isinstance(part, Call):
        made = part.name in ("array", "map", "named_struct")
        return made and all(map(_never_fails, part.arguments))
    return isinstance(part, AttributeReference | Literal)


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
    moved = _joined(expression, [*others, _joined(expression, constants)])
    return expression if plan_text(moved) == plan_text(expression) else moved


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
    return reduce(lambda left, right: replace(model, arguments=(left, right)), parts)


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
