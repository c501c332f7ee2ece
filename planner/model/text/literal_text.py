"""Constants as Spark writes them in plans and in column names."""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from typing import TYPE_CHECKING, cast

from ..expressions.intervals import interval_text
from ..expressions.packed_arrays import PackedArray, packed_text
from ..schemas.types import (
    DAY_TIME_FIELDS,
    AnsiIntervalType,
    ArrayType,
    BinaryType,
    BooleanType,
    CalendarIntervalType,
    DataType,
    DatetimeType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)
from ..scopes import scope
from .time_zones import zone

if TYPE_CHECKING:
    from ..expressions.core import Literal

_ZONE: ContextVar[str] = ContextVar("stateplan_time_zone", default="UTC")
_EPOCH = datetime(1970, 1, 1)
_SECOND = 1_000_000
_EXACT = Context(prec=80)  # a decimal has up to 38 digits


def time_zone_scope(time_zone: str) -> AbstractContextManager[None]:
    """Write timestamp constants in this session time zone."""
    return scope(_ZONE, time_zone)


def session_time_zone() -> str:
    """The session time zone under which constants are written."""
    return _ZONE.get()


def literal_text(literal: Literal) -> str:
    """The form in plans: Literal.toString."""
    if literal.value is None:
        return "null"
    match literal.type_:
        case BinaryType():
            return "0x" + cast(bytes, literal.value).hex().upper()
        case AnsiIntervalType():
            return _ansi_interval(literal.value, literal.type_)
        case ArrayType() | MapType() | StructType():
            return _internal_text(literal.value, literal.type_)
        case _:
            return value_text(literal.value, literal.type_)


def literal_pretty(literal: Literal) -> str:
    """The form in column names: bare strings and numbers, SQL for everything else."""
    value, data_type = literal.value, literal.type_
    if value is None:
        bare = isinstance(data_type, NullType | StringType | NumericType | BooleanType)
        return "NULL" if bare else f"CAST(NULL AS {data_type.sql})"
    if isinstance(data_type, StringType | NumericType):
        return value_text(value, data_type)
    return pretty_sql(value, data_type)


def pretty_sql(value: object, data_type: DataType) -> str:
    """Spark's Literal.sql."""
    if value is None:
        return "NULL" if isinstance(data_type, NullType) else f"CAST(NULL AS {data_type.sql})"
    text = value_text(value, data_type)
    match data_type:
        case StringType():
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case DateType():
            return f"DATE '{text}'"
        case TimestampType():
            return f"TIMESTAMP '{text}'"
        case TimestampNTZType():
            return f"TIMESTAMP_NTZ '{text}'"
        case BinaryType():
            return f"X'{cast(bytes, value).hex().upper()}'"
        case CalendarIntervalType():
            return f"INTERVAL '{text}'"
        case DecimalType():
            return f"{text}BD"
        case DoubleType() if text in ("NaN", "Infinity", "-Infinity"):
            return f"CAST('{text}' AS DOUBLE)"
        case FloatType():
            return f"CAST('{text}' AS FLOAT)"
        case DoubleType():
            return f"{text}D"
        case NumericType():
            suffix = {"bigint": "L", "smallint": "S", "tinyint": "Y"}.get(data_type.simple, "")
            return text + suffix
        case ArrayType(element_type=element):
            items = cast("tuple[object, ...]", value)
            return f"ARRAY({', '.join(pretty_sql(item, element) for item in items)})"
        case MapType(key_type=key, value_type=inner):
            pairs = cast("tuple[tuple[object, object], ...]", value)
            keys = ", ".join(pretty_sql(k, key) for k, _ in pairs)
            values = ", ".join(pretty_sql(v, inner) for _, v in pairs)
            return f"MAP_FROM_ARRAYS(ARRAY({keys}), ARRAY({values}))"
        case StructType(fields=fields):
            row = cast("tuple[object, ...]", value)
            parts = (
                f"'{f.name}', {pretty_sql(v, f.data_type)}"
                for f, v in zip(fields, row, strict=True)
            )
            return f"NAMED_STRUCT({', '.join(parts)})"
        case _:
            return text


def value_text(value: object, data_type: DataType, time_zone: str | None = None) -> str:
    """A value as `CAST(value AS STRING)` gives it, for atomic types."""
    match data_type:
        case BooleanType():
            return "true" if value else "false"
        case DoubleType():
            return double_text(cast(float, value))
        case FloatType():
            return float_text(cast(float, value))
        case DateType():
            return date_text(cast(int, value))
        case TimestampType():
            return timestamp_text(cast(int, value), time_zone or session_time_zone())
        case TimestampNTZType():
            return timestamp_text(cast(int, value), "UTC")
        case CalendarIntervalType():
            return interval_text(*cast("tuple[int, int, int]", value))
        case AnsiIntervalType():
            return _ansi_interval(value, data_type)
        case BinaryType():
            return cast(bytes, value).decode("utf-8", "replace")
        case DecimalType(scale=scale):
            return str(cast(Decimal, value).quantize(Decimal(1).scaleb(-scale), context=_EXACT))
        case _:
            return str(value)


def _internal_text(value: object, data_type: DataType) -> str:
    """A value inside a constant array, map or struct, where dates and times are bare numbers."""
    if value is None:
        return "null"
    match data_type:
        case ArrayType(element_type=element) if isinstance(value, PackedArray):
            return packed_text(value, element.simple)
        case ArrayType(element_type=element):
            items = cast("tuple[object, ...]", value)
            return "[" + ",".join(_internal_text(item, element) for item in items) + "]"
        case MapType(key_type=key, value_type=inner):
            pairs = cast("tuple[tuple[object, object], ...]", value)
            keys = ",".join(_internal_text(k, key) for k, _ in pairs)
            values = ",".join(_internal_text(v, inner) for _, v in pairs)
            return f"map(keys: [{keys}], values: [{values}])"
        case StructType(fields=fields):
            row = cast("tuple[object, ...]", value)
            parts = (_internal_text(v, f.data_type) for f, v in zip(fields, row, strict=True))
            return "[" + ",".join(parts) + "]"
        case DatetimeType() | AnsiIntervalType():
            return str(value)
        case _:
            return value_text(value, data_type)


# ------------------------------------------------------------------------------------- numbers


def double_text(value: float) -> str:
    """Java's Double.toString: `1.0E10`, `0.001`, `NaN`."""
    return _java_float(repr(value))


def float_text(value: float) -> str:
    """Java's Float.toString: the fewest digits that give the same 32-bit number."""
    if value != value or value in (float("inf"), float("-inf")):
        return _java_float(repr(value))
    single = struct.unpack("f", struct.pack("f", value))[0]
    for digits in range(1, 10):
        text = f"{single:.{digits}g}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == single:
            return _java_float(repr(float(text)))
    return _java_float(repr(single))


def _java_float(text: str) -> str:
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    if text in special:
        return special[text]
    number = Decimal(text)
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    head = "-" if sign else ""
    plain = "".join(str(digit) for digit in digits).rstrip("0") or "0"
    if plain == "0":
        return head + "0.0"
    point = len(digits) + exponent  # where the decimal point stands, from the first digit
    plain = plain.lstrip("0")
    if -3 < point <= 7:
        if point <= 0:
            return f"{head}0.{'0' * -point}{plain}"
        whole, rest = plain[:point].ljust(point, "0"), plain[point:]
        return f"{head}{whole}.{rest or '0'}"
    return f"{head}{plain[0]}.{plain[1:] or '0'}E{point - 1}"


# ------------------------------------------------------------------------------ dates and times


def date_text(days: int) -> str:
    """Days since 1970 as `yyyy-MM-dd`."""
    try:
        return (_EPOCH + timedelta(days=days)).strftime("%Y-%m-%d").rjust(10, "0")
    except OverflowError:
        return str(days)


def timestamp_text(micros: int, time_zone: str) -> str:
    """Microseconds since 1970 as `yyyy-MM-dd HH:mm:ss[.ffffff]`, no trailing zeros."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros)
    if time_zone not in ("UTC", "Etc/UTC", "GMT", "Z"):
        moment = moment.astimezone(zone(time_zone))
    text = moment.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    return f"{text}.{fraction}" if fraction else text


def _ansi_interval(value: object, data_type: DataType) -> str:
    """`INTERVAL '1 02:03:04.5' DAY TO SECOND` and `INTERVAL '1-2' YEAR TO MONTH`."""
    amount = cast(int, value)
    match data_type:
        case YearMonthIntervalType(start=start, end=end):
            sign, months = ("-", -amount) if amount < 0 else ("", amount)
            if start == end:
                body = str(months // 12 if start == 0 else months)
            else:
                body = f"{months // 12}-{months % 12}"
        case DayTimeIntervalType(start=start, end=end):
            sign, micros = ("-", -amount) if amount < 0 else ("", amount)
            body = _day_time_body(micros, start, end)
        case _:
            raise TypeError(data_type)
    fields = data_type.simple.removeprefix("interval ").upper()
    return f"INTERVAL '{sign}{body}' {fields}"


def _day_time_body(micros: int, start: int, end: int) -> str:
    units = (86_400 * _SECOND, 3_600 * _SECOND, 60 * _SECOND, _SECOND)
    parts = []
    rest = micros
    for position in range(start, end + 1):
        amount, rest = divmod(rest, units[position])
        width = 1 if DAY_TIME_FIELDS[position] == "day" else 2
        parts.append(f"{amount:0{width}d}")
    if end == 3:
        fraction = f"{rest:06d}".rstrip("0")
        parts[-1] += f".{fraction}" if fraction else ""
    if start == 0 and len(parts) > 1:
        return parts[0] + " " + ":".join(parts[1:])
    return ":".join(parts)
