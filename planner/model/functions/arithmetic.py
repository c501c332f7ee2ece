"""`+ - * / % div`, bits, signs, and what they become over dates, times and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expressions.core import Call, Expression
from ..registry import FunctionSpec, Show, lookup, null_if_any, register
from ..schemas.types import (
    DOUBLE,
    LONG,
    AnsiIntervalType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    NullType,
    NumericType,
)
from ..settings.conf import Conf
from ..tree import replace
from . import operator_values as values
from .coercion import adjusted_decimal, cast_to, with_fields_of
from .datetime_arithmetic import add_datetime, interval_times, subtract_datetime
from .mismatch import require_count
from .operands import check_operands, coerce_operands, infix, strings_as_doubles
from .shapes import Check, always_null, each, first_type, resolve, scalar, with_arguments

_SIGN = "-"
_NUMERIC = "numeric"
_WITH_INTERVALS = "numeric|daytime|yearmonth|interval"


def _sum_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return adjusted_decimal(whole + scale + 1, scale)


def _quotient_type(left: DecimalType, right: DecimalType) -> DecimalType:
    whole = left.precision - left.scale + right.scale
    scale = max(6, left.scale + right.precision + 1)
    return adjusted_decimal(whole + scale, scale)


def _remainder_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return adjusted_decimal(whole + scale, scale)


def _result(decimal: Callable[[DecimalType, DecimalType], DecimalType]) -> Callable[..., DataType]:
    def result(call: Call) -> DataType:
        left, right = (a.data_type for a in call.arguments)
        if isinstance(left, DecimalType) and isinstance(right, DecimalType):
            return decimal(left, right)
        if isinstance(left, AnsiIntervalType) and isinstance(right, type(left)):
            return with_fields_of(left, right)
        return left

    return result


def _decimal_nullable(call: Call) -> bool:
    """A decimal result that overflows is null where that is no error."""
    lenient = not call.ansi and isinstance(call.data_type, DecimalType)
    return null_if_any(call) or lenient or "TRY" in call.options


TRY_NAMES = {
    "+": "try_add",
    "-": "try_subtract",
    "*": "try_multiply",
    "/": "try_divide",
    "%": "try_mod",
}


def _infix_sql(call: Call, show: Show) -> str:
    """The operator, or where it must not fail its try_ function."""
    if "TRY" in call.options:
        return f"{TRY_NAMES[call.name]}({', '.join(show(a) for a in call.arguments)})"
    return infix(call, show)


def _check_plus(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) == 1:
        return resolve("positive", call.arguments, conf)
    require_count(call, 2)
    found = add_datetime(call, conf)
    if found is None:
        typed = coerce_operands(call, conf, _WITH_INTERVALS)
        if any(isinstance(a.data_type, DateType) for a in typed.arguments):
            # A string beside a date became a date too: then it is date_add, which refuses it.
            return resolve("date_add", typed.arguments, conf)
        return check_operands(typed, _WITH_INTERVALS)
    return found


def _check_minus(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) == 1:
        # `-x` and `negative(x)` are one function, but columns are named as it was written.
        check = lookup("negative").check
        assert check is not None
        return check(replace(call, name="negative", options=(_SIGN,)), conf)
    require_count(call, 2)
    found = subtract_datetime(call, conf)
    if found is None:
        return check_operands(coerce_operands(call, conf, _WITH_INTERVALS), _WITH_INTERVALS)
    return found


def _check_times(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    found = interval_times(call, "*", conf)
    return found or check_operands(coerce_operands(call, conf, _NUMERIC), _NUMERIC)


def _check_divide(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    found = interval_times(call, "/", conf)
    if found is not None:
        return found
    typed = coerce_operands(call, conf, "double|decimal")
    left, right = (a.data_type for a in typed.arguments)
    decimals = isinstance(left, DecimalType) and isinstance(right, DecimalType)
    numbers = all(isinstance(t, NumericType | NullType) for t in (left, right))
    if numbers and not decimals:
        typed = with_arguments(typed, [cast_to(a, DOUBLE, conf) for a in typed.arguments])
    return check_operands(typed, "double|decimal")


def _check_div(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    takes = "bigint|decimal|yearmonth|daytime"

    def widened(side: Expression) -> Expression:
        small = isinstance(side.data_type, IntegralType) and side.data_type != LONG
        return cast_to(side, LONG, conf) if small else side

    typed = call if conf.ansi else strings_as_doubles(call, conf)
    typed = coerce_operands(typed, conf, takes)
    typed = with_arguments(typed, [widened(side) for side in typed.arguments])
    typed = coerce_operands(typed, conf, takes)
    return check_operands(typed, takes)


def check_numeric(call: Call, conf: Conf) -> Expression:
    """Two numbers at one type."""
    require_count(call, 2)
    return check_operands(coerce_operands(call, conf, _NUMERIC), _NUMERIC)


def _check_bits(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    return check_operands(coerce_operands(call, conf, "integral"), "integral")


def _operator(
    name: str, check: Check, result: Callable[[Call], DataType], **fields: Any
) -> FunctionSpec:
    return FunctionSpec(
        name=name,
        data_type=result,
        check=check,
        text=infix,
        pretty=infix,
        sql=_infix_sql,
        null_intolerant=True,
        evaluate=values.ARITHMETIC.get(name),
        pushed_into_branches=True,
        **{"parsed_operands": (2, 2), **fields},
    )


def _negative_text(call: Call, show: Show) -> str:
    (value,) = (show(argument) for argument in call.arguments)
    return f"(- {value})" if call.options == (_SIGN,) else f"negative({value})"


def _unscaled_sql(call: Call, show: Show) -> str:
    (value,) = call.arguments
    assert isinstance(value.data_type, DecimalType)
    return f"CAST({show(value)} * {10**value.data_type.scale}BD AS BIGINT)"


def _decimal_of_options(call: Call) -> DecimalType:
    precision, scale = call.options
    assert isinstance(precision, int) and isinstance(scale, int)
    return DecimalType(precision, scale)


def _make_decimal_text(call: Call, show: Show) -> str:
    precision, scale = call.options
    return f"MakeDecimal({show(call.arguments[0])},{precision},{scale})"


def _make_decimal_sql(call: Call, show: Show) -> str:
    decimal = _decimal_of_options(call)
    whole = f"CAST({show(call.arguments[0])} AS DECIMAL(19,0))"
    unit = f"0.{'0' * (decimal.scale - 1)}1" if decimal.scale else "1"
    return f"CAST({whole} * {unit}BD AS {decimal.sql})"


register(
    *each(
        _operator(
            "+",
            _check_plus,
            _result(_sum_type),
            commutative=True,
            associative=True,
            reads_clock="of days",
            tolerant="try_add",
            parsed_operands=(1, 2),
        ),
        _operator(
            "-",
            _check_minus,
            _result(_sum_type),
            reads_clock="of days",
            tolerant="try_subtract",
            parsed_operands=(1, 2),
        ),
        _operator(
            "*",
            _check_times,
            _result(
                lambda a, b: adjusted_decimal(a.precision + b.precision + 1, a.scale + b.scale)
            ),
            commutative=True,
            associative=True,
            tolerant="try_multiply",
        ),
        nullable=_decimal_nullable,
        ansi_error="ARITHMETIC_OVERFLOW",
    ),
    *each(
        _operator(
            "/",
            _check_divide,
            _result(_quotient_type),
            ansi_error="DIVIDE_BY_ZERO",
            tolerant="try_divide",
        ),
        _operator(
            "%",
            check_numeric,
            _result(_remainder_type),
            ansi_error="REMAINDER_BY_ZERO",
            tolerant="try_mod",
        ),
        _operator(
            "div", _check_div, lambda call: LONG, ansi_error="DIVIDE_BY_ZERO", tolerant="try_divide"
        ),
        nullable=always_null,
    ),
    *each(
        *(_operator(name, _check_bits, first_type) for name in ("&", "|", "^")),
        commutative=True,
        associative=True,
        ansi_free=True,
    ),
    *each(
        scalar(
            "~",
            "integral",
            0,
            text="~{0}",
            pretty="~{0}",
            sql="(~{0})",
            evaluate=lambda call, value: ~value,
        ),
        scalar(
            "negative",
            _WITH_INTERVALS,
            0,
            text="-{0}",
            pretty=_negative_text,
            sql="(- {0})",
            evaluate=values.negative,
        ),
        scalar(
            "positive",
            _WITH_INTERVALS,
            0,
            text="positive({0})",
            pretty="(+ {0})",
            sql="(+ {0})",
            replacement=lambda call: call.arguments[0],
        ),
        parsed_operands=(1, 1),
    ),
    scalar(
        "abs", "numeric|daytime|yearmonth", 0, evaluate=values.absolute, pushed_into_branches=True
    ),
    # A small decimal as its unscaled whole number and back: what sums of decimals are planned as.
    # `unscaledvalue(m)`: 1.25 as 125; its argument is a decimal of at most 18 digits.
    scalar(
        "unscaledvalue",
        "decimal",
        LONG,
        text="UnscaledValue({0})",
        sql=_unscaled_sql,
        written=False,
    ),
    # `makedecimal(whole)` with options precision and scale: 125 as 1.25.
    scalar(
        "makedecimal",
        "any",
        _decimal_of_options,
        nullable=always_null,
        text=_make_decimal_text,
        sql=_make_decimal_sql,
        written=False,
        options_hold="type",
    ),
)
