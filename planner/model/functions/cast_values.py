"""What CAST makes of a constant: exact, or not at all (`NotFolded`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import cast

from ..expressions.intervals import DAY_MICROS, IntervalError, read_interval
from ..registry import NotFolded
from ..schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
    same_type,
)
from ..text.literal_text import float_text, value_text
from ..text.time_zones import fixed_offset, zone

MICROS = 1_000_000
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
# What follows a day does not matter to a date.
_DAY = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_MOMENT = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](?:(\d{1,2})"
    r"(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?\s*(\S.*)?)?)?)?)?)?)?",
    re.DOTALL,
)


# Microseconds of a day, an hour, a minute and a second.
_UNITS = (DAY_MICROS, 3600 * MICROS, 60 * MICROS, MICROS)


def cast_value(
    value: object, source: DataType, target: DataType, mode: str, time_zone: str | None
) -> object:
    """The value of `CAST(value AS target)`; None where it is null.

    Raises:
        NotFolded: it fails, as it would at run time, or is not done here.
    """
    if same_type(source, target):
        return value
    zone_name = time_zone or "UTC"
    try:
        return _cast(value, source, target, mode, zone_name)
    except (ValueError, ArithmeticError, OverflowError):
        if mode == "ANSI":
            raise NotFolded from None
        return None


def _cast(value: object, source: DataType, target: DataType, mode: str, time_zone: str) -> object:
    match target:
        case StringType():
            return _to_string(value, source, time_zone)
        case BooleanType():
            return _to_boolean(value, source)
        case IntegralType():
            return _to_integral(value, source, target, mode)
        case DoubleType() | FloatType():
            number = _to_float(value, source)
            return float(float_text(number)) if isinstance(target, FloatType) else number
        case DecimalType():
            return _to_decimal(value, source, target)
        case DateType():
            return _to_date(value, source, time_zone)
        case TimestampType():
            return _to_timestamp(value, source, time_zone)
        case TimestampNTZType():
            return _to_timestamp_ntz(value, source, time_zone)
        case CalendarIntervalType() if isinstance(source, StringType):
            with suppress(IntervalError):
                return read_interval(str(value))
            return None  # in ANSI mode, too
        case BinaryType() if isinstance(source, StringType):
            return str(value).encode()
        case DayTimeIntervalType() if isinstance(source, DayTimeIntervalType):
            unit = (*_UNITS[:3], 1)[target.end]
            return _whole_units(cast(int, value), unit) * unit
        case YearMonthIntervalType() if isinstance(source, YearMonthIntervalType):
            if target.end != 1:
                raise NotFolded
            return value
        case ArrayType(element_type=element) if isinstance(source, ArrayType):
            kind = source.element_type

            def item(inner: object) -> object:
                return None if inner is None else cast_value(inner, kind, element, mode, time_zone)

            return tuple(item(inner) for inner in cast("tuple[object, ...]", value))
        case _:
            raise NotFolded


def _whole_units(amount: int, unit: int) -> int:
    """How many units an interval has, towards zero."""
    return abs(amount) // unit * (-1 if amount < 0 else 1)


def _to_string(value: object, source: DataType, time_zone: str) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:  # a string of Spark's may hold any bytes
            raise NotFolded from None
    if isinstance(source, ArrayType | MapType | StructType):
        raise NotFolded
    return value_text(value, source, time_zone)


def _to_boolean(value: object, source: DataType) -> bool:
    match source:
        case StringType():
            word = str(value).strip().lower()
            if word in _TRUE or word in _FALSE:
                return word in _TRUE
            raise ValueError(word)
        case NumericType():
            return bool(value)
        case _:
            raise NotFolded


def _to_integral(value: object, source: DataType, target: IntegralType, mode: str) -> int:
    match source:
        case BooleanType():
            whole = int(cast(bool, value))
        case StringType():
            text = str(value).strip()
            if mode != "LEGACY" and not re.fullmatch(r"[+-]?\d+", text):
                raise ValueError(text)
            if not re.fullmatch(r"[+-]?\d+(\.\d*)?", text):
                raise ValueError(text)
            whole = int(text.split(".")[0])
        case DayTimeIntervalType(end=end):
            whole = _whole_units(cast(int, value), _UNITS[end])
        case YearMonthIntervalType(end=end):
            whole = _whole_units(cast(int, value), 1 if end else 12)
        case IntegralType() | DecimalType():
            whole = int(cast(Decimal, value))
            if mode == "LEGACY":
                return wrap(whole, target.bits)
        case DoubleType() | FloatType():
            number = cast(float, value)
            if mode == "LEGACY":
                return _saturated(number, target.bits)
            whole = int(number)
        case TimestampType():
            whole = cast(int, value) // MICROS
        case _:
            raise NotFolded
    if not -(1 << (target.bits - 1)) <= whole < 1 << (target.bits - 1):
        raise OverflowError(whole)
    return whole


def wrap(value: int, bits: int) -> int:
    """A whole number cut to so many bits, as two's complement does."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def _saturated(number: float, bits: int) -> int:
    if number != number:
        return 0
    wide = 64 if bits == 64 else 32
    low, high = -(1 << (wide - 1)), (1 << (wide - 1)) - 1
    whole = low if number <= low else high if number >= high else int(number)
    return wrap(whole, bits)


def _to_float(value: object, source: DataType) -> float:
    match source:
        case StringType():
            text = str(value).strip().lower()
            if text in ("nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"):
                return float(text)
            if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?", text):
                raise ValueError(text)
            return float(text.rstrip("df"))
        case BooleanType() | NumericType():
            return float(cast(float, value))
        case TimestampType():
            return cast(int, value) / MICROS
        case _:
            raise NotFolded


def _to_decimal(value: object, source: DataType, target: DecimalType) -> Decimal | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None  # in ANSI mode, too
    match source:
        case StringType():
            try:
                number = Decimal(str(value).strip())
            except InvalidOperation:
                raise ValueError(value) from None
            if not number.is_finite():
                raise ValueError(value)
        case DoubleType():
            number = Decimal(repr(cast(float, value)))
        case TimestampType():
            number = Decimal(repr(cast(int, value) / MICROS))
        case FloatType():
            number = Decimal(float_text(cast(float, value)))
        case BooleanType() | IntegralType():
            number = Decimal(int(cast(int, value)))
        case DecimalType():
            number = cast(Decimal, value)
        case _:
            raise NotFolded
    return fit_decimal(number, target)


def fit_decimal(number: Decimal, target: DecimalType) -> Decimal:
    """The number at the type's scale, rounded half up.

    Raises:
        OverflowError: it has too many digits.
    """
    digits = len(number.as_tuple().digits) + abs(number.adjusted()) + target.scale + 2
    with localcontext() as context:
        context.prec = max(digits, 80)
        rounded = number.quantize(Decimal(1).scaleb(-target.scale), rounding=ROUND_HALF_UP)
    if rounded and rounded.adjusted() + 1 > target.precision - target.scale:
        raise OverflowError(number)
    return rounded


def _to_date(value: object, source: DataType, time_zone: str) -> int:
    match source:
        case StringType():
            return (_read_day(str(value)) - date(1970, 1, 1)).days
        case TimestampType():
            return local_micros(cast(int, value), time_zone) // DAY_MICROS
        case TimestampNTZType():
            return cast(int, value) // DAY_MICROS
        case _:
            raise NotFolded


def _to_timestamp_ntz(value: object, source: DataType, time_zone: str) -> int:
    match source:
        case StringType():
            *_, rest = _read(str(value))
            if rest is not None and rest[4]:
                raise NotFolded  # a zone in the text
            return read_timestamp(str(value), "UTC")
        case DateType():
            return cast(int, value) * DAY_MICROS
        case TimestampType():
            return local_micros(cast(int, value), time_zone)
        case _:
            raise NotFolded


def _to_timestamp(value: object, source: DataType, time_zone: str) -> int:
    match source:
        case StringType():
            return read_timestamp(str(value), time_zone)
        case DateType():
            return utc_micros(cast(int, value) * DAY_MICROS, time_zone)
        case TimestampNTZType():
            return utc_micros(cast(int, value), time_zone)
        case IntegralType():
            return cast(int, value) * MICROS
        case DecimalType():
            return int(cast(Decimal, value) * MICROS)
        case DoubleType() | FloatType():
            number = cast(float, value)
            if not math.isfinite(number):
                raise ValueError(number)
            return int(number * MICROS)
        case _:
            raise NotFolded


def _read_day(text: str) -> date:
    found = _DAY.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    year, month, day = (int(found[i] or 1) for i in (1, 2, 3))
    if not 1 <= year <= 9999:
        raise NotFolded
    return date(year, month, day)


def _read(text: str) -> tuple[int, int, int, tuple[int, int, int, int, str] | None]:
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    year, month, day = (int(found[i] or 1) for i in (1, 2, 3))
    if not 1 <= year <= 9999:
        raise NotFolded
    if found[4] is None:
        return year, month, day, None
    fraction = int((found[7] or "").ljust(6, "0")[:6])
    hour, minute, second = (int(found[i] or 0) for i in (4, 5, 6))
    return year, month, day, (hour, minute, second, fraction, found[8] or "")


def read_timestamp(text: str, time_zone: str) -> int:
    """Microseconds since 1970 of a timestamp as Spark casts it from a string."""
    year, month, day, rest = _read(text)
    moment = datetime(year, month, day)
    zone_text = ""
    if rest is not None:
        hour, minute, second, fraction, zone_text = rest
        moment = moment.replace(hour=hour, minute=minute, second=second, microsecond=fraction)
    micros = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    return utc_micros(micros, zone_text or time_zone)


def _zoned(micros: int, shift: Callable[[datetime], timedelta | None]) -> int:
    try:
        moment = datetime(1970, 1, 1) + timedelta(microseconds=micros)
        offset = shift(moment)
    except (KeyError, OSError):
        raise NotFolded from None
    assert offset is not None
    return offset // timedelta(microseconds=1)


def utc_micros(local: int, time_zone: str) -> int:
    """Local microseconds as those of UTC."""
    fixed = fixed_offset(time_zone)
    if fixed is not None:
        return local - fixed * MICROS
    return local - _zoned(local, lambda m: m.replace(tzinfo=zone(time_zone)).utcoffset())


def local_micros(micros: int, time_zone: str) -> int:
    """Microseconds of UTC as local ones."""
    fixed = fixed_offset(time_zone)
    if fixed is not None:
        return micros + fixed * MICROS
    return micros + _zoned(
        micros, lambda m: m.replace(tzinfo=UTC).astimezone(zone(time_zone)).utcoffset()
    )
