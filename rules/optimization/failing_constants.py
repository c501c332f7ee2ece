"""Constants that cannot be computed."""

from __future__ import annotations

import re

from ...planner.model.conf import Conf
from ...planner.model.errors import PlanningError
from ...planner.model.evaluation import evaluate
from ...planner.model.expressions import Call, CaseWhen, Cast, Expression, Literal, Origin
from ...planner.model.fragments import fragment_context
from ...planner.model.literal_text import literal_pretty
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.text import plan_text
from ...planner.model.types import (
    BooleanType,
    DataType,
    DateType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

_BYPASS = (
    'If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012'
)
_DIVISIONS = {
    "/": ("DIVIDE_BY_ZERO", "Division", "try_divide"),
    "div": ("DIVIDE_BY_ZERO", "Division", "try_divide"),
    "%": ("REMAINDER_BY_ZERO", "Remainder", "try_mod"),
    "mod": ("REMAINDER_BY_ZERO", "Remainder", "try_mod"),
}
_OVERFLOWS = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}


def refuse_failing_constants(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A query that computes a constant which must fail is refused: `1 / 0`, `CAST('x' AS INT)`.

    Gives the plan itself. Not inside of IF, CASE and COALESCE, not even in what they evaluate
    first, unless all of them is constant.

    Raises:
        PlanningError: DIVIDE_BY_ZERO, REMAINDER_BY_ZERO, ARITHMETIC_OVERFLOW,
            CAST_INVALID_INPUT or CAST_OVERFLOW, in Spark's words.
    """
    if conf.ansi:
        _refuse_in(plan)
    return plan


def refuse_failing(constant: Expression) -> None:
    """Refuse a constant that must fail, in ANSI mode.

    Raises:
        PlanningError: as `refuse_failing_constants`.
    """
    if not _is_fine(constant):
        _refuse(constant, None)


def _refuse_in(plan: LogicalPlan) -> None:
    for expression in plan.expressions:
        if not _is_fine(expression):
            _refuse(expression, None)
    for child in plan.children:
        _refuse_in(child)


def _is_fine(expression: Expression) -> bool:
    """Whether nothing in it is a constant but literals; kept on the (immutable) expression."""
    known: bool | None = expression.__dict__.get("_fine")
    if known is None:
        known = isinstance(expression, Literal) or (
            not (expression.children and expression.foldable)
            and all(_is_fine(child) for child in expression.children)
        )
        expression.__dict__["_fine"] = known
    return known


def _refuse(expression: Expression, around: Origin | None) -> None:
    # An implicit cast stands where the operator stands that asked for it.
    origin = expression.origin if expression.origin is not None else around
    conditional = isinstance(expression, CaseWhen) or (
        isinstance(expression, Call) and expression.name in ("if", "coalesce", "nanvl")
    )
    if conditional and not expression.foldable:
        return
    children = expression.children[:1] if conditional else expression.children
    for child in children:
        if not _is_fine(child):
            _refuse(child, origin)
    if isinstance(expression, Call) and expression.name in _DIVISIONS and expression.ansi:
        _check_division(expression, origin)
    elif isinstance(expression, Call) and expression.name in _OVERFLOWS and expression.ansi:
        _check_sum(expression, origin)
    elif isinstance(expression, Cast) and expression.mode == "ANSI":
        _check_cast(expression, origin)


def _check_division(division: Call, origin: Origin | None) -> None:
    left, right = (evaluate(argument) for argument in division.arguments)
    if left is None or right is None or left.value is None or right.value != 0:
        return
    condition, what, instead = _DIVISIONS[division.name]
    raise _failure(
        condition,
        f"{what} by zero. Use `{instead}` to tolerate divisor being 0 and return NULL instead. "
        f"{_BYPASS}",
        origin,
        f"Divide by something else, or use {instead}.",
    )


def _check_sum(call: Call, origin: Origin | None) -> None:
    """Whole numbers whose sum, difference or product does not fit their type."""
    if not isinstance(call.data_type, IntegralType) or evaluate(call) is not None:
        return
    if any(evaluate(argument) is None for argument in call.arguments):
        return
    instead = _OVERFLOWS[call.name]
    raise _failure(
        "ARITHMETIC_OVERFLOW",
        f"overflow. Use '{instead}' to tolerate overflow and return NULL instead. "
        + _BYPASS.replace("22012", "22003"),
        origin,
        f"Cast an operand to BIGINT, or use {instead}.",
    )


def _check_cast(cast: Cast, origin: Origin | None) -> None:
    value = evaluate(cast.child) if cast.child.foldable else None
    target = cast.type_
    if value is None or value.value is None or evaluate(cast) is not None:
        return
    if isinstance(value.type_, StringType) and _is_malformed(str(value.value), target):
        raise _failure(
            "CAST_INVALID_INPUT",
            f"The value '{literal_pretty(value)}' of the type \"STRING\" cannot be cast to "
            f'"{target.sql}" because it is malformed. Correct the value as per the syntax, or '
            "change its target type. Use `try_cast` to tolerate malformed input and return NULL "
            "instead. SQLSTATE: 22018",
            origin,
            f"Write a value of the type {target.sql}, or use try_cast.",
        )
    if isinstance(value.type_, IntegralType) and isinstance(target, IntegralType):
        raise _failure(
            "CAST_OVERFLOW",
            f'The value {plan_text(value)} of the type "{value.type_.sql}" cannot be cast to '
            f'"{target.sql}" due to an overflow. Use `try_cast` to tolerate overflow and return '
            "NULL instead. SQLSTATE: 22003",
            None,
            "Use a wider type, or try_cast.",
        )


_DAY = re.compile(r"\s*\d{4}-(\d{1,2})-(\d{1,2})\s*")
_NAMED_TIMES = frozenset(("epoch", "now", "today", "tomorrow", "yesterday"))


def _is_malformed(text: str, target: DataType) -> bool:
    """Whether no reading of the text gives the type; unusual ways to write a time are let pass."""
    if isinstance(target, NumericType | BooleanType):
        return True
    if not isinstance(target, DateType | TimestampType | TimestampNTZType):
        return False
    if not any(character.isdigit() for character in text):
        return text.strip().lower() not in _NAMED_TIMES
    day = _DAY.fullmatch(text)
    return day is not None and not (1 <= int(day[1]) <= 12 and 1 <= int(day[2]) <= 31)


def _failure(condition: str, message: str, origin: Origin | None, hint: str) -> PlanningError:
    text = f"[{condition}] {message}"
    if origin is not None and origin.source and (context := fragment_context(origin)):
        text += f"\n{context}"
    return PlanningError(condition, text, hint=hint)
