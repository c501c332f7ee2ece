"""Intervals: reading Spark's texts for them and writing them as plans show them.

A calendar interval is (months, days, microseconds); a day-time interval a number of microseconds, a
year-month interval a number of months.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from ..errors import AnalysisError
from ..schemas.open_schemas import is_open_duration
from ..schemas.types import DAY_TIME_FIELDS

DAY_MICROS = 86_400_000_000
MICROS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": DAY_MICROS,
    "week": 7 * DAY_MICROS,
}
_SIGNED_NUMBER = re.compile(r"([+-]?)\s*(\d*)(\.\d*)?")
_RANGES = {
    ("day", "hour"): r"(\d+)\s+(\d{1,2})",
    ("day", "minute"): r"(\d+)\s+(\d{1,2}):(\d{1,2})",
    ("day", "second"): r"(\d+)\s+(\d{1,2}):(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)",
    ("hour", "minute"): r"(\d+):(\d{1,2})",
    ("hour", "second"): r"(\d+):(\d{1,2}):(\d{1,2}(?:\.\d{1,9})?)",
    ("minute", "second"): r"(\d+):(\d{1,2}(?:\.\d{1,9})?)",
    ("year", "month"): r"(\d+)-(\d+)",
}
_LIMITS = {"hour": 23, "minute": 59, "second": 59, "month": 11}


class IntervalError(ValueError):
    """A text that is no interval; says what is wrong with it."""


def singular(unit: str) -> str:
    """`Days` as `day`."""
    name = unit.lower()
    return name[:-1] if name.endswith("s") else name


def in_micros(interval: tuple[int, int, int]) -> int:
    """How many microseconds a calendar interval has, a month counted as 31 days."""
    months, days, micros = interval
    return (months * 31 + days) * DAY_MICROS + micros


def parse_interval(text: str) -> tuple[int, int, int]:
    """Read `10 minutes`, `interval 1 day 2.5 seconds`, ... as (months, days, microseconds).

    Raises:
        AnalysisError: CANNOT_PARSE_INTERVAL, in Spark's words.
    """
    if is_open_duration(text):
        return 0, 0, 60_000_000
    try:
        return read_interval(text)
    except IntervalError:
        raise AnalysisError.of("CANNOT_PARSE_INTERVAL", intervalString=f"'{text}'") from None


def read_interval(text: str) -> tuple[int, int, int]:
    """As `parse_interval`, but raises IntervalError with the reason only."""
    words = text.strip()
    if words[:8].lower() == "interval" and words[8:9].isspace():
        words = words[8:].lstrip()
    if not words:
        raise IntervalError("interval string cannot be empty")
    months = days = micros = 0
    position = 0
    while position < len(words):
        match = _SIGNED_NUMBER.match(words, position)
        assert match is not None
        sign, whole, fraction = match.groups()
        if not whole and not (fraction or "")[1:]:
            raise IntervalError(f"expect a number but found '{words[position:].split()[0]}'")
        unit_match = re.compile(r"\s+([a-zA-Z]+)\s*(?=$|[\s+\-\d.])").match(words, match.end())
        if unit_match is None:
            raise IntervalError("expect a unit name after a number but hit EOL")
        unit = singular(unit_match.group(1))
        position = unit_match.end()
        factor = -1 if sign == "-" else 1
        number = int(whole or 0)
        if fraction is not None and unit != "second":
            raise IntervalError(f"'{unit_match.group(1)}' cannot have fractional part")
        if unit == "year":
            months += factor * 12 * number
        elif unit == "month":
            months += factor * number
        elif unit == "week":
            days += factor * 7 * number
        elif unit == "day":
            days += factor * number
        elif unit in MICROS:
            part = fraction or "."
            micros += factor * (number * MICROS[unit] + int(f"{part[1:]:0<6}"[:6]))
        else:
            raise IntervalError(f"invalid unit '{unit_match.group(1)}'")
    return months, days, micros


def read_range(text: str, first: str, last: str) -> int:
    """Read `1 02:03` as a value of DAY TO MINUTE, in microseconds (months for YEAR TO MONTH).

    Raises:
        IntervalError: the text has another form, or a field is out of its range.
    """
    pattern = _RANGES.get((first, last))
    match = re.fullmatch(rf"\s*([+-]?){pattern}\s*", text) if pattern else None
    if match is None:
        raise IntervalError("format")
    sign = -1 if match.group(1) == "-" else 1
    numbers = match.groups()[1:]
    if first == "year":
        _check_limit("month", Decimal(numbers[1]))
        return sign * (int(numbers[0]) * 12 + int(numbers[1]))
    start = DAY_TIME_FIELDS.index(first)
    total = Decimal(0)
    for position, number in enumerate(numbers):
        unit = DAY_TIME_FIELDS[start + position]
        if position:
            _check_limit(unit, Decimal(number))
        total += Decimal(number) * MICROS[unit]
    return sign * int(total)


def _check_limit(unit: str, number: Decimal) -> None:
    limit = _LIMITS[unit]
    if int(number) > limit:
        raise IntervalError(f"requirement failed: {unit} {int(number)} outside range [0, {limit}].")


def read_amount(text: str, unit: str) -> int:
    """A number of units in microseconds (years and months: in months). Only seconds may be parts.

    Raises:
        IntervalError: not a number, or a fraction of another unit.
    """
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        raise IntervalError("number") from None
    if number != int(number) and unit != "second":
        raise IntervalError("fraction")
    if unit in ("year", "month"):
        return int(number) * (12 if unit == "year" else 1)
    if unit == "nanosecond":
        return int(number / 1000)
    return int(number * MICROS[unit])


def interval_text(months: int, days: int = 0, micros: int = 0) -> str:
    """A calendar interval as plans show it: `1 years 2 months 3 days 4 hours 5.5 seconds`."""
    parts = [
        f"{number} {unit}"
        for number, unit in (
            (_quotient(months, 12), "years"),
            (_remainder(months, 12), "months"),
            (days, "days"),
            (_quotient(micros, MICROS["hour"]), "hours"),
            (_quotient(_remainder(micros, MICROS["hour"]), MICROS["minute"]), "minutes"),
        )
        if number
    ]
    seconds = _remainder(micros, MICROS["minute"])
    if seconds:
        shown = f"{Decimal(seconds).scaleb(-6):f}"
        parts.append(f"{shown.rstrip('0').rstrip('.') if '.' in shown else shown} seconds")
    return " ".join(parts) or "0 seconds"


def _quotient(number: int, unit: int) -> int:
    """Division towards zero, as the JVM divides."""
    return abs(number) // unit * (1 if number >= 0 else -1)


def _remainder(number: int, unit: int) -> int:
    return number - _quotient(number, unit) * unit
