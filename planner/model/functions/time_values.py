"""Values of functions of dates and times over constants.

Each takes the call and its arguments' plain values (dates as days, times as microseconds) and gives
Spark's value. A ValueError, LookupError or ArithmeticError says that the value is not known here.
"""

from __future__ import annotations

import calendar
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime
from datetime import timedelta as span
from decimal import Decimal
from typing import Any

from ..expressions.core import Call
from ..schemas.types import DateType, StringType, TimestampNTZType, TimestampType
from ..text.literal_text import session_time_zone
from .cast_values import MICROS, local_micros, utc_micros
from .operator_values import moved, truncated

_DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
EPOCH = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1)


def _zone(call: Call) -> str:
    return call.time_zone or session_time_zone()


def _local(call: Call, micros: int) -> datetime:
    return _EPOCH + span(microseconds=local_micros(micros, _zone(call)))


def months_between(call: Call, one: int, other: int, rounded: bool) -> float:
    """A month has 31 days, unless both are the same day or the last of their months."""
    a, b = _local(call, one), _local(call, other)
    months = (a.year - b.year) * 12 + a.month - b.month
    last = all(t.day == calendar.monthrange(t.year, t.month)[1] for t in (a, b))
    if a.day == b.day or last:
        return float(months)

    def seconds(t: datetime) -> int:
        return t.day * 86_400 + t.hour * 3600 + t.minute * 60 + t.second

    value = months + (seconds(a) - seconds(b)) / (31 * 86_400)
    return math.floor(value * 1e8 + 0.5) / 1e8 if rounded else value


_READ = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_SHOWN = {
    **_READ,
    "M": "%-m",
    "d": "%-d",
    "H": "%-H",
    "m": "%-M",
    "s": "%-S",
    "yy": "%y",
    "hh": "%I",
    "h": "%-I",
    "a": "%p",
    "E": "%a",
    "EE": "%a",
    "EEE": "%a",
    "EEEE": "%A",
    "MMM": "%b",
    "MMMM": "%B",
}


def _pattern(text: str, known: Mapping[str, str]) -> str:
    """A pattern of Java's of plain parts in Python's notation."""
    found = ""
    while text:
        size = len(text) - len(text.lstrip(text[0]))
        letters = text[:size]
        if text[0].isalpha():
            found += known[letters]
        elif text[0] == "'":
            letters, closed, _ = text[1:].partition("'")
            if not letters or not closed or "%" in letters:
                raise ValueError(text)
            found += letters
            size = len(letters) + 2
        elif text[0] in "[]{}#%":
            raise ValueError(text)
        else:
            found += letters
        text = text[size:]
    return found


def date_format(call: Call, time: int, pattern: str) -> str:
    """Not before the year 1000, whose digits Java writes otherwise."""
    moment = _local(call, time)
    if moment.year < 1000:
        raise ValueError(moment)
    return moment.strftime(_pattern(pattern, _SHOWN))


def from_unixtime(call: Call, seconds: int, pattern: str) -> str:
    """`date_format` of seconds."""
    return date_format(call, seconds * MICROS, pattern)


def unix_timestamp(call: Call, time: object, pattern: str) -> int:
    """Seconds of a time, of a date, or of a text in a plain pattern."""
    match call.arguments[0].data_type, time:
        case TimestampType(), int():
            return time // MICROS
        case DateType(), int():
            return utc_micros(time * 86_400 * MICROS, _zone(call)) // MICROS
        case StringType(), str():
            return read_time(time, pattern, _zone(call)) // MICROS
    raise ValueError(time)


def read_time(text: str, pattern: str, zone: str) -> int:
    """The microseconds of a text in a plain pattern."""
    form = _pattern(pattern, _READ)
    moment = datetime.strptime(text, form).replace(tzinfo=UTC)
    if moment.strftime(form) != text:
        raise ValueError(text)
    if "%Y" not in form:
        moment = moment.replace(year=1970)
    return utc_micros(int(moment.timestamp()) * MICROS, zone)


def _start(moment: date, unit: str) -> date | None:
    match unit.upper():
        case "YEAR" | "YYYY" | "YY":
            return moment.replace(month=1, day=1)
        case "QUARTER":
            return moment.replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH" | "MM" | "MON":
            return moment.replace(day=1)
        case "WEEK":
            return moment - span(days=moment.weekday())
    return None


def trunc(call: Call, days: int, unit: str) -> int | None:
    """The first day of the unit that the day is in; null for another unit."""
    start = _start(EPOCH + span(days=days), unit)
    return None if start is None else (start - EPOCH).days


UNIT_MICROS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": MICROS, "MINUTE": 60 * MICROS}
UNIT_MICROS |= {"HOUR": 3600 * MICROS, "DAY": 86_400 * MICROS, "DD": 86_400 * MICROS}
"""The length of the units of one length that `date_trunc` knows."""


def date_trunc(call: Call, unit: str, micros: int) -> int | None:
    """The start of the unit that the time is in; null for another unit."""
    local = local_micros(micros, _zone(call))
    size = UNIT_MICROS.get(unit.upper(), 0)
    if size:
        return utc_micros(local // size * size, _zone(call))
    start = _start(EPOCH + span(days=local // (86_400 * MICROS)), unit)
    if start is None:
        return None
    return utc_micros((start - EPOCH).days * 86_400 * MICROS, _zone(call))


_MOVES = {
    **{unit: (0, 0, micros) for unit, micros in UNIT_MICROS.items() if micros < 86_400 * MICROS},
    **{unit: (0, days, 0) for unit, days in (("DAY", 1), ("DAYOFYEAR", 1), ("WEEK", 7))},
    **{unit: (months, 0, 0) for unit, months in (("MONTH", 1), ("QUARTER", 3), ("YEAR", 12))},
}
"""Units of `timestampadd` in months, days and microseconds."""


def timestampadd(call: Call, unit: str, count: int, time: int) -> int:
    """A time so many units later."""
    return moved(call, time, *(count * part for part in _MOVES[unit.upper()]))


def timestampdiff(call: Call, unit: str, start: int, end: int) -> int:
    """Whole units from one time to another, by the local clock."""
    months, days, micros = _MOVES[unit.upper()]
    a, b = (local_micros(time, _zone(call)) for time in (start, end))
    size = micros or days * 86_400 * MICROS
    if size:
        return truncated(b - a, size)
    (first, begun), (last, ended) = (divmod(time, 86_400 * MICROS) for time in (a, b))
    if last > first and ended < begun:
        last -= 1
    elif last < first and ended > begun:
        last += 1
    one, other = (EPOCH + span(days=day) for day in (first, last))
    apart = (other.year - one.year) * 12 + other.month - one.month
    return truncated(truncated(apart * 32 + other.day - one.day, 32), months)


def make_timestamp(call: Call, *parts: Any) -> int:
    """Of year, month, day, hour, minute, second and maybe a zone."""
    year, month, day, hour, minute, second, *zone = parts
    micros = int(second * MICROS)
    if not 0 <= micros <= 60 * MICROS:
        raise ValueError(second)
    local = datetime(year, month, day, hour, minute) - _EPOCH + span(microseconds=micros)
    if isinstance(call.data_type, TimestampNTZType):
        return local // span(microseconds=1)
    return utc_micros(local // span(microseconds=1), zone[0] if zone else _zone(call))


def second(call: Call, micros: int) -> Decimal:
    """The second of a time, with its fraction."""
    is_local = isinstance(call.arguments[0].data_type, TimestampNTZType)
    local = micros if is_local else local_micros(micros, _zone(call))
    return Decimal(local % (60 * MICROS)).scaleb(-6)


_INTERVAL_PARTS = {
    "years": (0, 12),
    "months": (12, 1),
    "hours": (86_400 * MICROS, 3600 * MICROS),
    "minutes": (3600 * MICROS, 60 * MICROS),
    "seconds": (60 * MICROS, 1),
}
"""Fields of intervals: what the field above is, if there is one, and what they count."""


def interval_part(call: Call, amount: int) -> int | Decimal:
    """A field of an interval, with its sign."""
    field = call.name.removeprefix("extractansiinterval")
    above, unit = _INTERVAL_PARTS[field]
    rest = amount - truncated(amount, above) * above if above else amount
    return Decimal(rest).scaleb(-6) if field == "seconds" else truncated(rest, unit)


def next_day(call: Call, days: int, name: str) -> int:
    """The first such day of the week after that day."""
    wanted = _DAYS.index(name.upper()[:2])
    return days + 1 + (wanted - (days + 1 + 3)) % 7  # 1970-01-01 was a Thursday
