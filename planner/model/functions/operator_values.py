"""What the operators make of constants. Failures raise: the call is then left to run time."""

from __future__ import annotations

import calendar
import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Context, Decimal, localcontext
from typing import Any, cast

from ..expressions.core import Call
from ..expressions.intervals import DAY_MICROS
from ..schemas.types import (
    AnsiIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegralType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)
from ..text.literal_text import float_text, session_time_zone
from .cast_values import fit_decimal, local_micros, utc_micros, wrap

Binary = Callable[..., object]
_EXACT = Context(prec=120)  # decimals have up to 38 digits, their quotients twice as many


def _number(call: Call, value: object) -> object:
    """A result in the call's type: wrapped or refused where it does not fit."""
    kind = call.data_type
    match kind:
        case IntegralType():
            whole = cast(int, value)
            half = 1 << (kind.bits - 1)
            if -half <= whole < half:
                return whole
            if "TRY" in call.options:
                return None
            if call.ansi:
                raise OverflowError(whole)
            return wrap(whole, kind.bits)
        case DecimalType():
            try:
                return fit_decimal(cast(Decimal, value), kind)
            except OverflowError:
                if call.ansi and "TRY" not in call.options:
                    raise
                return None
        case FloatType():
            return float(float_text(cast(float, value)))
        case AnsiIntervalType():
            amount = cast(int, value)
            bits = 64 if isinstance(kind, DayTimeIntervalType) else 32
            if wrap(amount, bits) != amount:
                raise OverflowError(amount)
            return amount
        case _:
            return value


def _exact(function: Callable[..., object]) -> Binary:
    def evaluate(call: Call, left: object, right: object) -> object:
        if isinstance(left, tuple):
            raise ValueError(left)
        with localcontext() as context:
            context.prec = 100
            return _number(call, function(left, right))

    return evaluate


def truncated(left: int, right: int) -> int:
    """A quotient without its fraction, as Java divides whole numbers."""
    quotient = abs(left) // abs(right)
    return -quotient if (left < 0) != (right < 0) else quotient


def _division(compute: Binary) -> Binary:
    """By zero it is an error in ANSI mode, null without it."""

    def evaluate(call: Call, left: object, right: object) -> object:
        if right != 0:
            return compute(call, left, right)
        if call.ansi and "TRY" not in call.options:
            raise ZeroDivisionError
        return None

    return evaluate


def _rest(left: object, right: object) -> Any:
    """What a division leaves, with the dividend's sign."""
    if isinstance(left, float):
        return math.fmod(left, cast(float, right))
    if isinstance(left, Decimal):
        # A BigDecimal that is zero has no sign.
        return _EXACT.plus(_EXACT.remainder(left, cast(Decimal, right)))
    a, b = cast(int, left), cast(int, right)
    return a - truncated(a, b) * b


@_division
def _remainder(call: Call, left: object, right: object) -> object:
    return _number(call, _rest(left, right))


@_division
def _integral_divide(call: Call, left: object, right: object) -> object:
    if isinstance(left, Decimal):
        return _number(call, int(_EXACT.divide_int(left, cast(Decimal, right))))
    return _number(call, truncated(cast(int, left), cast(int, right)))


@_division
def pmod(call: Call, left: object, right: object) -> object:
    """The remainder with the divisor's sign, as pmod gives it."""
    with localcontext(_EXACT):
        rest = _rest(left, right)
        if rest < 0:
            rest = _rest(rest + right, right)
    return _number(call, rest)


ARITHMETIC: dict[str, Binary] = {
    "+": _exact(lambda a, b: a + b),
    "-": _exact(lambda a, b: a - b),
    "*": _exact(lambda a, b: a * b),
    "/": _division(_exact(lambda a, b: a / b)),
    "%": _remainder,
    "div": _integral_divide,
    "&": lambda call, a, b: a & b,
    "|": lambda call, a, b: a | b,
    "^": lambda call, a, b: a ^ b,
}


def negative(call: Call, value: object) -> object:
    """`- value`."""
    if isinstance(value, tuple):
        return tuple(-part for part in value)
    return _number(call, -cast(int, value))


def absolute(call: Call, value: object) -> object:
    """`abs(value)`."""
    return _number(call, abs(cast(int, value)))


# ---------------------------------------------------------------------------------- comparisons


def compare(left: object, right: object) -> int:
    """-1, 0 or 1, NaN being equal to itself and greater than any number.

    Raises:
        ValueError: the values are not plain.
    """
    if isinstance(left, tuple | None) or isinstance(right, tuple | None):
        raise ValueError(left)
    if isinstance(left, float) and isinstance(right, float):
        left_nan, right_nan = math.isnan(left), math.isnan(right)
        if left_nan or right_nan:
            return left_nan - right_nan
    a, b = cast(int, left), cast(int, right)
    return (a > b) - (a < b)


COMPARISONS: dict[str, Binary] = {
    "=": lambda call, a, b: compare(a, b) == 0,
    "<": lambda call, a, b: compare(a, b) < 0,
    "<=": lambda call, a, b: compare(a, b) <= 0,
    ">": lambda call, a, b: compare(a, b) > 0,
    ">=": lambda call, a, b: compare(a, b) >= 0,
    "<=>": lambda call, a, b: a is b if a is None or b is None else compare(a, b) == 0,
}


def both(call: Call, left: bool | None, right: bool | None) -> bool | None:
    """AND with three values."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def either(call: Call, left: bool | None, right: bool | None) -> bool | None:
    """OR with three values."""
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def is_in(call: Call, value: object, *items: object) -> bool | None:
    """IN with three values."""
    if value is None:
        return None
    if any(item is not None and compare(value, item) == 0 for item in items):
        return True
    return None if None in items else False


def extreme(sign: int) -> Binary:
    """greatest (1) or least (-1), nulls left out."""

    def evaluate(call: Call, *values: object) -> object:
        best: object = None
        for value in values:
            if value is not None and (best is None or compare(value, best) * sign > 0):
                best = value
        return best

    return evaluate


# ------------------------------------------------------------------------------ dates and times


def add_months(call: Call, days: int, months: int) -> int:
    """A date so many months later, at most at that month's end."""
    day = date(1970, 1, 1) + timedelta(days=days)
    index = day.year * 12 + day.month - 1 + months
    year, month = divmod(index, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return (date(year, month + 1, min(day.day, last)) - date(1970, 1, 1)).days


def add_interval(call: Call, time: int, interval: object) -> int:
    """A timestamp and an interval: months and days by the calendar of the session's zone."""
    return moved(call, time, *_parts(interval, call.arguments[1].data_type))


def moved(call: Call, time: int, months: int, days: int, micros: int) -> int:
    """A timestamp of the call's type so much later."""
    is_local = isinstance(call.data_type, TimestampNTZType)
    zone = "UTC" if is_local else call.time_zone or session_time_zone()
    if months or days:
        local_days, rest = divmod(local_micros(time, zone), DAY_MICROS)
        time = utc_micros((add_months(call, local_days, months) + days) * DAY_MICROS + rest, zone)
    result = time + micros
    # Beyond what the calendar holds we do not vouch for the result.
    datetime(1970, 1, 1) + timedelta(microseconds=result)
    return result


def _parts(interval: object, kind: DataType) -> tuple[int, int, int]:
    match kind:
        case YearMonthIntervalType():
            return cast(int, interval), 0, 0
        case DayTimeIntervalType():
            amount = cast(int, interval)
            days = truncated(amount, DAY_MICROS)
            return 0, days, amount - days * DAY_MICROS
        case _:
            return cast("tuple[int, int, int]", interval)


def add_to_date(call: Call, days: int, interval: object) -> int:
    """A date and an interval of months, or a calendar interval of whole days."""
    months, more, micros = _parts(interval, call.arguments[1].data_type)
    if micros:
        raise ValueError(interval)
    return add_months(call, days, months) + more


def last_day(call: Call, days: int) -> int:
    """The last day of a date's month."""
    day = date(1970, 1, 1) + timedelta(days=days)
    last = calendar.monthrange(day.year, day.month)[1]
    return days + last - day.day


def days_of_interval(call: Call, micros: int) -> int:
    """Whole days of a day-time interval."""
    return truncated(micros, DAY_MICROS)


def subtract_times(call: Call, left: int, right: int) -> int:
    """Two moments' distance in microseconds, by the local clock of the session's zone."""
    if isinstance(call.arguments[0].data_type, TimestampType):
        zone = call.time_zone or session_time_zone()
        return local_micros(left, zone) - local_micros(right, zone)
    return left - right


def subtract_dates(call: Call, left: int, right: int) -> int:
    """Two dates' distance, an interval of whole days."""
    return (left - right) * DAY_MICROS


def scale_interval(call: Call, interval: object, factor: object) -> object:
    """`interval * number` and `interval / number`, rounded half up."""
    if isinstance(interval, tuple) or isinstance(call.arguments[0].data_type, DateType):
        raise ValueError(interval)
    with localcontext() as context:
        context.prec = 60
        number = Decimal(repr(factor)) if isinstance(factor, float) else Decimal(str(factor))
        exact = Decimal(cast(int, interval))
        exact = exact * number if call.name == "multiply_interval" else exact / number
        return _number(call, int(exact.to_integral_value(rounding="ROUND_HALF_UP")))
