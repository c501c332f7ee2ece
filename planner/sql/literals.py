"""Literals: numbers with suffixes, typed strings, intervals."""

from __future__ import annotations

import struct
from decimal import Decimal
from math import isinf

from ..model.errors import AnalysisError
from ..model.expressions.core import Literal, Origin
from ..model.expressions.intervals import (
    DAY_MICROS,
    IntervalError,
    read_amount,
    read_interval,
    read_range,
    singular,
)
from ..model.frozen import dataclass
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
from ..model.text.quoting import in_quotes
from .datetimes import parse_date, parse_timestamp
from .errors import fragment_error, unsupported, with_fragment

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
        origin,
        rawStrippedQualifier=text,
        typeName=kind,
        minValue=low,
        maxValue=high,
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
        error = AnalysisError.of(
            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            hint="Write a number of at most 38 digits.",
            precision=precision,
            maxPrecision=DecimalType.MAX_PRECISION,
        )
        # Only numbers with BD have a place.
        raise with_fragment(error, origin) if marked else error
    return Literal(value=value, type_=DecimalType(precision, scale), origin=origin)


def _binary(text: str, origin: Origin) -> Literal:
    """`X'1F'`; an odd number of digits has a zero before it."""
    try:
        value = bytes.fromhex("0" + text if len(text) % 2 else text)
    except ValueError:
        raise _invalid("X", text, origin) from None
    return Literal(value=value, type_=BINARY, origin=origin)


_KINDS = ("DATE", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X", "TIME")


def typed_literal(kind: str, text: str, conf: Conf, origin: Origin) -> Literal:
    """`DATE '...'`, `TIMESTAMP '...'`, `TIMESTAMP_NTZ '...'`, `TIMESTAMP_LTZ '...'`, `X'...'`."""
    if kind not in _KINDS:
        raise fragment_error(
            "UNSUPPORTED_TYPED_LITERAL",
            origin,
            unsupportedType=in_quotes(kind),
            supportedTypes=", ".join(map(in_quotes, _KINDS)),
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
        "INVALID_TYPED_LITERAL", origin, valueType=in_quotes(kind), value=f"'{text}'"
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
        raise fragment_error("_LEGACY_ERROR_TEMP_0027", body)
    fields = YEAR_MONTH_FIELDS if low in YEAR_MONTH_FIELDS else DAY_TIME_FIELDS
    if high not in fields or fields.index(low) >= fields.index(high):
        raise fragment_error(
            "INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION",
            body,
            input=value,
            from_=low,
            to=high,
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
        return fragment_error("_LEGACY_ERROR_TEMP_0063", body, msg=str(error).removesuffix("."))
    form = _RANGE_FORMATS[(low, high)]
    family = "year-month" if low == "year" else "day-time"
    name = "UNMATCHED_FORMAT_STRING" if low == "year" else "UNMATCHED_FORMAT_STRING_WITH_NOTICE"
    return fragment_error(
        f"INVALID_INTERVAL_FORMAT.{name}",
        body,
        input=text,
        intervalStr=family,
        supportedFormat=(
            f"`[+|-]{form}`, `INTERVAL [+|-]'[+|-]{form}' {low.upper()} TO {high.upper()}`"
        ),
        typeName=f"interval {low} to {high}",
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
    return _typed(words, months, days * DAY_MICROS + micros, origin)


def _mixed(text: str, origin: Origin) -> Exception:
    return fragment_error("_LEGACY_ERROR_TEMP_0029", origin, literal=text)


def _typed(units: set[str], months: int, micros: int, origin: Origin) -> Literal:
    """A literal whose type spans the units that were written."""
    year_month = sorted(YEAR_MONTH_FIELDS.index(u) for u in units if u in YEAR_MONTH_FIELDS)
    if year_month:
        months_type: DataType = YearMonthIntervalType(year_month[0], year_month[-1])
        return Literal(value=months, type_=months_type, origin=origin)
    found = sorted(DAY_TIME_FIELDS.index(_field(unit)) for unit in units)
    span = DayTimeIntervalType(found[0], found[-1])
    return Literal(value=micros, type_=span, origin=origin)


def _field(unit: str) -> str:
    """The field of a day-time interval that a unit belongs to."""
    if unit == "week":
        return "day"
    return unit if unit in DAY_TIME_FIELDS else "second"


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
    return AnalysisError.of("INVALID_INTERVAL_FORMAT.ARITHMETIC_EXCEPTION", input=amounts)


def _bad_amount(
    value: str, written: WrittenInterval, error: IntervalError, body: Origin
) -> Exception:
    amounts = _amounts(written)
    if str(error) == "number" and not any(c.isalpha() for c in value):
        word = (f"{value} {_unit_of(value, written)}").split()[0].lower()
        return AnalysisError.of(
            "INVALID_INTERVAL_FORMAT.UNRECOGNIZED_NUMBER", input=amounts, number=word
        )
    if str(error) == "number":
        return fragment_error("_LEGACY_ERROR_TEMP_0026", body, value=value)
    return AnalysisError.of(
        "INVALID_INTERVAL_FORMAT.INVALID_FRACTION",
        input=amounts,
        unit=_unit_of(value, written).lower(),
    )


def _unit_of(value: str, written: WrittenInterval) -> str:
    pairs = zip(written.values, written.units, strict=True)
    return next(unit for amount, unit in pairs if amount == value)
