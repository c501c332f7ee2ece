"""Literals: numbers with suffixes, typed strings, intervals."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from math import isinf

from ..model.errors import AnalysisError
from ..model.expressions.core import Literal, Origin
from ..model.expressions.intervals import (
    DAY_TIME_ORDER,
    IntervalError,
    read_amount,
    read_interval,
    read_range,
    singular,
)
from ..model.schemas.types import (
    BINARY,
    BYTE,
    DATE,
    DAY_TIME_FIELDS,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    YEAR_MONTH_FIELDS,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    IntegralType,
    YearMonthIntervalType,
)
from ..model.settings.conf import Conf
from .datetimes import parse_date, parse_timestamp
from .errors import fragment_error, unsupported

_INTEGRAL_SUFFIXES: dict[str, IntegralType] = {"L": LONG, "S": SHORT, "Y": BYTE}


def number_literal(text: str, origin: Origin) -> Literal:
    """`1`, `10L`, `2S`, `1Y`, `1.5`, `1.5BD`, `1e3`, `1.2D`, `3F`, any of them with a minus."""
    upper = text.upper()
    if upper.endswith("BD"):
        return _decimal(upper[:-2], origin, marked=True)
    suffix = upper[-1]
    if suffix in _INTEGRAL_SUFFIXES:
        kind = _INTEGRAL_SUFFIXES[suffix]
        value = int(upper[:-1])
        _check_range(value, kind, text, origin)
        return Literal(value=value, type_=kind, origin=origin)
    if suffix in ("D", "F"):
        return _floating(upper[:-1], suffix, origin)
    if "E" in upper:
        return _floating(text, "D", origin)
    if "." in upper:
        return _decimal(upper, origin)
    value = int(upper)
    for kind in (INT, LONG):
        if _fits(value, kind):
            return Literal(value=value, type_=kind, origin=origin)
    return _decimal(upper, origin)


def _fits(value: int, kind: IntegralType) -> bool:
    limit = 1 << (kind.bits - 1)
    return -limit <= value < limit


def _check_range(value: int, kind: IntegralType, text: str, origin: Origin) -> None:
    if not _fits(value, kind):
        limit = 1 << (kind.bits - 1)
        raise _out_of_range(text[:-1], kind.simple, str(-limit), str(limit - 1), origin)


def _out_of_range(text: str, kind: str, low: str, high: str, origin: Origin) -> Exception:
    return fragment_error(
        "INVALID_NUMERIC_LITERAL_RANGE",
        f"[INVALID_NUMERIC_LITERAL_RANGE] Numeric literal {text} is outside the valid range for "
        f"{kind} with minimum value of {low} and maximum value of {high}. Please adjust the value "
        "accordingly. SQLSTATE: 22003",
        origin,
        hint="Use a literal of a wider type.",
    )


def _floating(text: str, suffix: str, origin: Origin) -> Literal:
    value = float(text)
    if suffix == "D":
        if isinf(value):
            limit = "1.7976931348623157E+308"
            raise _out_of_range(text, "double", f"-{limit}", limit, origin)
        return Literal(value=value, type_=DOUBLE, origin=origin)
    try:
        single = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        limit = "3.4028234663852886E+38"
        raise _out_of_range(text, "float", f"-{limit}", limit, origin) from None
    return Literal(value=single, type_=FLOAT, origin=origin)


def _decimal(text: str, origin: Origin, *, marked: bool = False) -> Literal:
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    if exponent > 0:
        digits, exponent = digits + (0,) * exponent, 0
        value = Decimal(int(value))
    scale = -exponent
    precision = max(len(digits), scale)
    if precision > DecimalType.MAX_PRECISION:
        condition = "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION"
        message = (
            f"[{condition}] Decimal precision {precision} exceeds max precision"
            f" {DecimalType.MAX_PRECISION}. SQLSTATE: 22003"
        )
        hint = "Write a number of at most 38 digits."
        if marked:  # Spark tells the place of a number with BD only
            raise fragment_error(condition, message, origin, hint=hint)
        raise AnalysisError(condition, message, hint=hint)
    return Literal(value=value, type_=DecimalType(precision, scale), origin=origin)


def _binary(text: str, origin: Origin) -> Literal:
    """`X'1F'`; an odd number of digits has a zero before it."""
    try:
        value = bytes.fromhex("0" + text if len(text) % 2 else text)
    except ValueError:
        raise _invalid("X", text, origin) from None
    return Literal(value=value, type_=BINARY, origin=origin)


_KINDS = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME")


def _in_quotes(kind: str) -> str:
    return f'"{kind}"'


def typed_literal(kind: str, text: str, conf: Conf, origin: Origin) -> Literal:
    """`DATE '...'`, `TIMESTAMP '...'`, `TIMESTAMP_NTZ '...'`, `TIMESTAMP_LTZ '...'`, `X'...'`."""
    if kind not in _KINDS:
        raise fragment_error(
            "UNSUPPORTED_TYPED_LITERAL",
            f'[UNSUPPORTED_TYPED_LITERAL] Literals of the type "{kind}" are not supported.'
            f" Supported types are {', '.join(map(_in_quotes, _KINDS))}. SQLSTATE: 0A000",
            origin,
            hint="Is a comma missing before the string?",
        )
    if kind == "X":
        return _binary(text, origin)
    if kind == "DATE":
        days = parse_date(text)
        if days is None:
            raise _invalid(kind, text, origin)
        return Literal(value=days, type_=DATE, origin=origin)
    if kind == "TIME":
        raise unsupported("A TIME literal", origin)
    plain_without = conf["spark.sql.timestampType"].upper() == "TIMESTAMP_NTZ"
    without_zone = kind == "TIMESTAMP_NTZ" or (kind == "TIMESTAMP" and plain_without)
    parsed = parse_timestamp(text, "UTC" if without_zone else conf.time_zone)
    if parsed is None or (without_zone and parsed[1]):
        raise _invalid(kind, text, origin)
    kind_type = TIMESTAMP_NTZ if without_zone else TIMESTAMP
    return Literal(value=parsed[0], type_=kind_type, origin=origin)


def _invalid(kind: str, text: str, origin: Origin) -> Exception:
    return fragment_error(
        "INVALID_TYPED_LITERAL",
        f"[INVALID_TYPED_LITERAL] The value of the typed literal \"{kind}\" is invalid: '{text}'. "
        "SQLSTATE: 42604",
        origin,
        hint="Dates read 2026-01-31, timestamps 2026-01-31 12:30:00, intervals '10 minutes'.",
    )


# ---------------------------------------------------------------------------------- intervals


@dataclass(frozen=True, kw_only=True)
class WrittenInterval:
    """What stands behind INTERVAL.

    Attributes:
        values: each with its minus, if it has one.
        units: as written, one for each value; none where they stand within the string.
        to: the last unit of a range such as DAY TO HOUR.
        quoted: a value is a string.
    """

    values: tuple[str, ...]
    units: tuple[str, ...] = ()
    to: str = ""
    quoted: bool = False


def interval_literal(written: WrittenInterval, origin: Origin, body: Origin) -> Literal:
    """INTERVAL in any of its forms; `body` is what stands behind the word INTERVAL."""
    if written.to:
        return _range_literal(written, origin, body)
    if not written.units:
        return _string_interval(written.values[0], origin)
    return _units_literal(written, origin, body)


def _range_literal(written: WrittenInterval, origin: Origin, body: Origin) -> Literal:
    value, low, high = written.values[0], written.units[0].lower(), written.to.lower()
    if not written.quoted:
        raise fragment_error(
            "_LEGACY_ERROR_TEMP_0027", "The value of from-to unit must be a string.", body
        )
    fields = YEAR_MONTH_FIELDS if low in YEAR_MONTH_FIELDS else DAY_TIME_FIELDS
    if high not in fields or fields.index(low) >= fields.index(high):
        raise fragment_error(
            "_LEGACY_ERROR_TEMP_0028",
            f"Intervals FROM {low} TO {high} are not supported.",
            body,
        )
    try:
        amount = read_range(value, low, high)
    except IntervalError as error:
        raise _bad_range(value, low, high, error, body) from None
    kind = YearMonthIntervalType if fields is YEAR_MONTH_FIELDS else DayTimeIntervalType
    return Literal(value=amount, type_=kind(fields.index(low), fields.index(high)), origin=origin)


_RANGE_FORMATS = {
    ("day", "hour"): "d h",
    ("day", "minute"): "d h:m",
    ("day", "second"): "d h:m:s.n",
    ("hour", "minute"): "h:m",
    ("hour", "second"): "h:m:s.n",
    ("minute", "second"): "m:s.n",
    ("year", "month"): "y-m",
}


def _bad_range(text: str, low: str, high: str, error: IntervalError, body: Origin) -> Exception:
    if str(error) != "format":
        return fragment_error("_LEGACY_ERROR_TEMP_0063", str(error), body)
    form = _RANGE_FORMATS[(low, high)]
    family = "year-month" if low == "year" else "day-time"
    notice = (
        ""
        if low == "year"
        else (
            ' Set "spark.sql.legacy.fromDayTimeString.enabled" to "true" to restore the behavior '
            "before Spark 3.0."
        )
    )
    condition = "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING" + (
        "" if low == "year" else "_WITH_NOTICE"
    )
    return fragment_error(
        condition,
        f"[{condition}] Error parsing '{text}' to interval. Please ensure that the value provided "
        "is in a valid format for defining an interval. You can reference the documentation for "
        f"the correct format. Interval string does not match {family} format of `[+|-]{form}`, "
        f"`INTERVAL [+|-]'[+|-]{form}' {low.upper()} TO {high.upper()}` when cast to interval "
        f"{low} to {high}: {text}.{notice} SQLSTATE: 22006",
        body,
    )


def _string_interval(text: str, origin: Origin) -> Literal:
    """`INTERVAL '1 day 2 hours'`: a typed literal whose units decide its type."""
    try:
        months, days, micros = read_interval(text)
    except IntervalError:
        raise _invalid("INTERVAL", text, origin) from None
    words = {singular(word) for word in text.split() if word.isalpha()} - {"interval"}
    if months and (days or micros):
        raise _mixed(f"interval '{text}'", origin)
    return _typed(words, months, days * 86_400_000_000 + micros, origin)


def _mixed(text: str, origin: Origin) -> Exception:
    return fragment_error(
        "_LEGACY_ERROR_TEMP_0029",
        f"Cannot mix year-month and day-time fields: {text}.",
        origin,
        hint="Use either years and months, or weeks down to microseconds.",
    )


def _typed(units: set[str], months: int, micros: int, origin: Origin) -> Literal:
    """A literal whose type spans the units that were written."""
    year_month = sorted(YEAR_MONTH_FIELDS.index(u) for u in units if u in YEAR_MONTH_FIELDS)
    if year_month:
        months_type: DataType = YearMonthIntervalType(year_month[0], year_month[-1])
        return Literal(value=months, type_=months_type, origin=origin)
    found = sorted(DAY_TIME_ORDER.index(_field(unit)) for unit in units)
    span = DayTimeIntervalType(found[0], found[-1])
    return Literal(value=micros, type_=span, origin=origin)


def _field(unit: str) -> str:
    """The field of a day-time interval that a unit belongs to."""
    if unit == "week":
        return "day"
    return unit if unit in DAY_TIME_ORDER else "second"


def _units_literal(written: WrittenInterval, origin: Origin, body: Origin) -> Literal:
    units = [singular(unit) for unit in written.units]
    months = micros = 0
    for value, unit in zip(written.values, units, strict=True):
        try:
            amount = read_amount(value, unit)
        except IntervalError as error:
            raise _bad_amount(value, written, error, body) from None
        if unit in YEAR_MONTH_FIELDS:
            months += amount
        else:
            micros += amount
    if abs(months) >= 1 << 31 or abs(micros) >= 1 << 63:
        raise _too_large(written)
    if set(units) & set(YEAR_MONTH_FIELDS) and set(units) - set(YEAR_MONTH_FIELDS):
        shown = origin.source[origin.start : body.start].split()[0]
        raise _mixed(f"{shown} {origin.source[body.start : body.stop + 1]}", origin)
    return _typed(set(units), months, micros, origin)


def _amounts(written: WrittenInterval) -> str:
    """The interval as Spark's parser puts it together again."""
    pairs = zip(written.values, written.units, strict=True)
    return "".join(f" {amount} {unit}" for amount, unit in pairs)


def _too_large(written: WrittenInterval) -> Exception:
    amounts = _amounts(written)
    return AnalysisError(
        "INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION",
        f"[INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION] Error parsing '{amounts}' to interval. "
        "Please ensure that the value provided is in a valid format for defining an interval. You "
        "can reference the documentation for the correct format. Uncaught arithmetic exception "
        f"while parsing '{amounts}'. SQLSTATE: 22006",
        hint="Write a smaller interval.",
    )


def _bad_amount(
    value: str, written: WrittenInterval, error: IntervalError, body: Origin
) -> Exception:
    amounts = _amounts(written)
    if str(error) == "number" and not any(c.isalpha() for c in value):
        word = (f"{value} {_unit_of(value, written)}").split()[0].lower()
        return AnalysisError(
            "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER",
            f"[INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER] Error parsing '{amounts}' to interval. "
            "Please ensure that the value provided is in a valid format for defining an interval. "
            "You can reference the documentation for the correct format. Unrecognized number "
            f"{word}. SQLSTATE: 22006",
            hint="Write a number before the unit.",
        )
    if str(error) == "number":
        return fragment_error(
            "_LEGACY_ERROR_TEMP_0026",
            "Can only use numbers in the interval value part for multiple unit value pairs "
            f"interval form, but got invalid value: {value}.",
            body,
        )
    return AnalysisError(
        "INVALID_INTERVAL_FORMAT.INVALID_FRACTION",
        f"[INVALID_INTERVAL_FORMAT.INVALID_FRACTION] Error parsing '{amounts}' to interval. "
        "Please ensure that the value provided is in a valid format for defining an interval. You "
        "can reference the documentation for the correct format. "
        f"{_unit_of(value, written).lower()} cannot have fractional part. SQLSTATE: 22006",
        hint="Only seconds may have a fraction.",
    )


def _unit_of(value: str, written: WrittenInterval) -> str:
    pairs = zip(written.values, written.units, strict=True)
    return next(unit for amount, unit in pairs if amount == value)
