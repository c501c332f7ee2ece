"""Constants that cannot be computed."""

from __future__ import annotations

import re
from typing import Any

from ....planner.model.errors import PlanningError
from ....planner.model.expressions.core import Call, CaseWhen, Cast, Expression, Literal, Origin
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.memo import remembered
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.open_schemas import is_open_text
from ....planner.model.schemas.types import (
    ArrayType,
    BooleanType,
    DataType,
    DatetimeType,
    DateType,
    IntegralType,
    NumericType,
    StringType,
    TimestampNTZType,
)
from ....planner.model.settings.conf import Conf
from ....planner.model.text.literal_text import pretty_sql
from ....planner.model.text.quoting import fragment_context, in_quotes, to_sql_type
from ....planner.model.text.text import plan_text
from ....planner.model.text.time_zones import zone

_BYPASS = {"config": in_quotes("spark.sql.ansi.enabled")}


def refuse_failing_constants(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A query that computes a constant which must fail is refused: `1 / 0`, `CAST('x' AS INT)`.

    Gives the plan itself. Not inside of IF, CASE and COALESCE, not even in what they evaluate
    first, unless all of them is constant.

    Raises:
        PlanningError: DIVIDE_BY_ZERO, REMAINDER_BY_ZERO, ARITHMETIC_OVERFLOW,
            CAST_INVALID_INPUT or CAST_OVERFLOW, in Spark's words.
    """
    if conf.ansi:
        for expression in (e for node in plan.walk() for e in node.expressions):
            refuse_failing(expression)
    return plan


def refuse_failing(constant: Expression) -> None:
    """Refuse a constant that must fail, in ANSI mode.

    Raises:
        PlanningError: as `refuse_failing_constants`.
    """
    if not _is_fine(constant):
        _refuse(constant, None)


@remembered
def _is_fine(expression: Expression) -> bool:
    """Whether nothing in it is a constant but literals."""
    return isinstance(expression, Literal) or (
        not (expression.children and expression.foldable)
        and all(map(_is_fine, expression.children))
    )


def _refuse(expression: Expression, around: Origin | None) -> None:
    # An implicit cast stands where the operator stands that asked for it.
    origin = expression.origin if expression.origin is not None else around
    conditional = isinstance(expression, CaseWhen) or (
        isinstance(expression, Call) and expression.spec.conditional
    )
    if conditional and not expression.foldable:
        return
    children = expression.children[:1] if conditional else expression.children
    for child in children:
        if not _is_fine(child):
            _refuse(child, origin)
    match expression:
        case Call(ansi=True, spec=spec) if spec.divides:
            _check_division(expression, origin)
        case Call(ansi=True, spec=spec) if spec.ansi_error == "ARITHMETIC_OVERFLOW":
            _check_sum(expression, origin)
        case Cast(mode="ANSI"):
            _check_cast(expression, origin)
        case Call(name="get_array_item" | "element_at"):
            _check_index(expression, origin)
        case Call(name="divide_interval"):
            _check_interval(expression, origin)


def _check_division(division: Call, origin: Origin | None) -> None:
    left, right = (evaluate(argument) for argument in division.arguments)
    if left is None or right is None or left.value is None or right.value != 0:
        return
    condition = division.spec.ansi_error
    assert condition is not None
    hint = f"Divide by something else, or use {division.spec.tolerant}."
    raise _failure(condition, origin, hint=hint, **_BYPASS)


def _check_interval(division: Call, origin: Origin | None) -> None:
    by = evaluate(division.arguments[1])
    if by is None or by.value is None or by.value != 0:
        return
    raise _failure("INTERVAL_DIVIDED_BY_ZERO", origin)


def _check_index(access: Call, origin: Origin | None) -> None:
    """An element that an array has not: brackets count from 0, element_at from 1 or the end."""
    array, index = (evaluate(argument) for argument in access.arguments[:2])
    match access.ansi, array, index:
        case True, Literal(value=tuple(items), type_=ArrayType()), Literal(value=int(place)):
            size = len(items)
        case _:
            return
    if access.name == "element_at" and place == 0:
        raise _failure("INVALID_INDEX_OF_ZERO", origin)
    fits = abs(place) <= size if access.name == "element_at" else 0 <= place < size
    if fits:
        return
    raise _failure(access.spec.ansi_error or "", origin, indexValue=place, arraySize=size)


def _check_sum(call: Call, origin: Origin | None) -> None:
    """Whole numbers whose sum, difference or product does not fit their type."""
    if not isinstance(call.data_type, IntegralType) or evaluate(call) is not None:
        return
    if any(evaluate(argument) is None for argument in call.arguments):
        return
    instead = call.spec.tolerant
    raise _failure(
        "ARITHMETIC_OVERFLOW",
        origin,
        hint=f"Cast an operand to BIGINT, or use {instead}.",
        message="overflow",
        alternative=f" Use '{instead}' to tolerate overflow and return NULL instead.",
        **_BYPASS,
    )


def _check_cast(cast: Cast, origin: Origin | None) -> None:
    value = evaluate(cast.child) if cast.child.foldable else None
    target = cast.type_
    if value is None or value.value is None or evaluate(cast) is not None:
        return
    if isinstance(value.type_, StringType) and _is_malformed(str(value.value), target):
        if is_open_text(str(value.value)):
            return
        raise _failure(
            "CAST_INVALID_INPUT",
            origin,
            hint=f"Write a value of the type {target.sql}, or use try_cast.",
            expression=pretty_sql(value.value, value.type_),
            sourceType=to_sql_type(value.type_),
            targetType=to_sql_type(target),
        )
    if isinstance(value.type_, IntegralType) and isinstance(target, IntegralType):
        raise _failure(
            "CAST_OVERFLOW",
            None,
            value=plan_text(value),
            sourceType=to_sql_type(value.type_),
            targetType=to_sql_type(target),
        )


_DAY = r"[+-]?(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})"
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d*)?\s*(\S.*)?)?)?"
_DATE = re.compile(rf"{_DAY}(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(rf"{_DAY}(?:[ T](?:{_CLOCK})?)?)?)?", re.DOTALL)
_TIME = re.compile(rf"T?{_CLOCK}", re.DOTALL)
# Texts that the optimizer reads as times of today.
_NAMED_TIMES = frozenset(("epoch", "now", "today", "tomorrow", "yesterday"))
# What Java knows besides the names of regions.
_SHORT_ZONES = frozenset(
    ("Z", "ACT", "AET", "AGT", "ART", "AST", "BET", "BST", "CAT", "CNT", "CST", "CTT", "EAT", "ECT",
     "IET", "IST", "JST", "MIT", "NET", "NST", "PLT", "PNT", "PRT", "PST", "SST", "VST")
)  # fmt: skip
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _is_malformed(text: str, target: DataType) -> bool:
    """Whether no reading of the text gives the type."""
    if isinstance(target, NumericType | BooleanType):
        return True
    if not isinstance(target, DatetimeType):
        return False
    text = text.strip()
    if text.lower() in _NAMED_TIMES:
        return False
    if isinstance(target, DateType):
        day = _DATE.fullmatch(text)
        return day is None or not _is_day(day[1], day[2], day[3])
    moment = _TIMESTAMP.fullmatch(text)
    if moment is None:
        if isinstance(target, TimestampNTZType):
            return True  # not even a time of today
        today = _TIME.fullmatch(text) if text.startswith("T") or ":" in text else None
        return today is None or not _is_time(*today.groups())
    return not (_is_day(moment[1], moment[2], moment[3]) and _is_time(*moment.groups()[3:]))


def _is_day(year: str, month: str | None, day: str | None) -> bool:
    if len(year) > 6:
        return False
    months, days = int(month or 1), int(day or 1)
    leap = int(year) % 4 == 0 and (int(year) % 100 != 0 or int(year) % 400 == 0)
    return 1 <= months <= 12 and 1 <= days <= (29 if leap and months == 2 else _DAYS[months - 1])


def _is_time(hour: str | None, minute: str | None, second: str | None, place: str | None) -> bool:
    fits = int(hour or 0) < 24 and int(minute or 0) < 60 and int(second or 0) < 60
    return fits and (place is None or _is_zone(place))


def _is_zone(text: str) -> bool:
    try:
        zone(text)
    except (KeyError, ValueError, OSError):
        return text in _SHORT_ZONES
    return True


def _failure(
    condition: str, origin: Origin | None, /, *, hint: str = "", **parameters: Any
) -> PlanningError:
    error = PlanningError.of(condition, hint=hint, **parameters)
    if origin is not None and origin.source and (context := fragment_context(origin)):
        error.message += f"\n{context}"
    return error
