"""Times as strings in a pattern: java.time's rules over whole columns."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each
from ...columns.ordering import valid
from ...columns.texts import bytes_of, concatenated, of_bytes
from ..programs.program import Step
from ..programs.time_formats import format_parts
from ..values.dates import MONTHS, first_days
from ..values.division import parted, rest_of
from ..values.vectors import Value, made, nulled, numbers
from ..values.zones import DAY, MICROS, zone_of
from .times import months_and_days

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
HOUR, MINUTE = 3600 * MICROS, 60 * MICROS
_UNITS = dict.fromkeys("yMdDE", DAY) | dict.fromkeys("aHh", HOUR) | {"m": MINUTE, "s": MICROS}
"""The letters of patterns by what they depend on, those that concern offsets left out."""
_REPEATED = 4
"""From how many times to a unit it pays to show each unit once."""


def shown_times(step: Step, value: Any, pattern: Value) -> Any:
    """`date_format(time, pattern)`, and `from_unixtime(seconds, pattern)`: its product wraps."""
    times = numbers(value)
    if step.name == "from_unixtime":
        with np.errstate(over="ignore"):
            times = times * np.int64(MICROS)
    zone = zone_of("UTC" if step.kinds[0] == "timestamp_ntz" else step.zone)
    offsets, shown = zone.offsets(times), pattern.as_py()
    unit = _unit(shown)
    if unit is not None and value.null_count < len(times):
        units = (times + offsets) // unit
        used = units[valid(value)] if value.null_count else units
        low, high = int(used.min()), int(used.max())
        if (high - low) * _REPEATED < len(times):
            texts = shown_in(np.arange(low, high + 1) * unit, 0, shown)
            return nulled(texts.take(pa.array(np.clip(units, low, high) - low)), value)
    return nulled(shown_in(times, offsets, shown), value)


def _unit(pattern: str) -> int | None:
    """Of how many microseconds a time in a pattern only shows which it is in; None: of none."""
    letters = {value[0] for sort, value in format_parts(pattern) if sort != "text"}
    if not letters <= _UNITS.keys():
        return None
    return min((_UNITS[letter] for letter in letters), default=DAY)


def shown_in(times: Any, offsets: Any, pattern: str) -> Any:
    """Microseconds since 1970 in a pattern, at offsets from UTC."""
    local = times + offsets
    fixed = _of_fixed_width(local, offsets, pattern)
    if fixed is not None:
        return fixed
    parts = [
        value if sort == "text" else _shown_field(value, local, offsets)
        for sort, value in format_parts(pattern)
    ]
    joined = concatenated(*parts)
    return joined if isinstance(joined, pa.Array) else pa.repeat(joined, len(times))


_PLACES = {
    "yyyy": (0, 4),
    "MM": (5, 7),
    "dd": (8, 10),
    "HH": (11, 13),
    "mm": (14, 16),
    "ss": (17, 19),
    **{"S" * width: (20, 20 + width) for width in range(1, 7)},
}
"""Where the letters of a pattern stand in `2026-01-01 10:11:12.123456`."""
_FIRST, _LAST = -62_167_219_200 * MICROS, 253_402_300_800 * MICROS
"""The times with years of four digits."""


def _of_fixed_width(local: Any, offsets: Any, pattern: str) -> Any | None:
    """Times of which all are equally long: their letters picked from Arrow's own; None: others."""
    if not len(local) or local.min() < _FIRST or local.max() >= _LAST:
        return None
    own = np.unique(offsets)
    parts: list[Any] = []
    for sort, value in format_parts(pattern):
        if sort == "text":
            parts.append(value.encode())
        elif value in _PLACES:
            parts.append(slice(*_PLACES[value]))
        elif value[0] == "X" and len(own) == 1:
            parts.append(_shown_offsets(own, seconds=len(value) == 5)[0].as_py().encode())
        else:
            return None
    plain = bytes_of(pa.array(local).view(pa.timestamp("us")).cast(pa.string()))[0]
    letters = plain.reshape(len(local), -1)
    columns = [
        letters[:, part]
        if isinstance(part, slice)
        else np.broadcast_to(np.frombuffer(part, np.uint8), (len(local), len(part)))
        for part in parts
    ]
    shown = np.concatenate(columns, axis=1)
    return of_bytes(shown.ravel(), np.arange(len(local) + 1) * shown.shape[1])


def _shown_field(letters: str, local: Any, offsets: Any) -> Any:
    days, clock = parted(local, DAY)
    width = len(letters)
    match letters[0]:
        case "y" if width == 2:
            return _padded(np.abs(_year(days)) % 100, 2, 100)
        case "y":
            return _shown_years(_year(days), width)
        case "M":
            month = months_and_days(days)[0] % 12
            if width > 2:
                return _names("month", width).take(pa.array(month))
            return _padded(month + 1, width, 13)
        case "d":
            return _padded(months_and_days(days)[1] + 1, width, 32)
        case "D":
            months = months_and_days(days)[0]
            return _padded(days - first_days(months - months % 12) + 1, width, 367)
        case "E":
            return _names("day", width).take(pa.array((days + 3) % 7))
        case "a":
            return pc.if_else(pa.array(clock < DAY // 2), "AM", "PM")
        case "H":
            return _padded(clock // HOUR, width, 24)
        case "h":
            return _padded((clock // HOUR + 11) % 12 + 1, width, 13)
        case "m":
            return _padded(rest_of(clock // MINUTE, 60), width, 60)
        case "s":
            return _padded(rest_of(clock // MICROS, 60), width, 60)
        case "S":
            digits = pc.utf8_slice_codeunits(
                made(rest_of(clock, MICROS) + MICROS).cast(pa.string()), 1
            )
            return pc.utf8_rpad(pc.utf8_slice_codeunits(digits, 0, width), width, padding="0")
    return _shown_offsets(np.broadcast_to(offsets, local.shape), seconds=width == 5)


def _year(days: Any) -> Any:
    return months_and_days(days)[0] // 12 + 1970


def _padded(values: Any, width: int, end: int) -> Any:
    return _numerals(width, end).take(pa.array(values))


@cache
def _numerals(width: int, end: int) -> Any:
    return pa.array([str(number).rjust(width, "0") for number in range(end)])


@cache
def _names(sort: str, width: int) -> Any:
    names = MONTHS if sort == "month" else _DAYS
    return pa.array([name if width == 4 else name[:3] for name in names])


def _shown_years(years: Any, width: int) -> Any:
    """A year of more digits than the pattern has letters gets a sign, if these are four."""

    def shown(year: int) -> str:
        digits = str(abs(year)).rjust(width, "0")
        return f"-{digits}" if year < 0 else f"+{digits}" if width > 1 and year > 9999 else digits

    return each(pa.array(years), shown, pa.string())


def _shown_offsets(offsets: Any, *, seconds: bool) -> Any:
    """Offsets from UTC; with their seconds, where these are not 0 and are asked for."""

    def shown(offset: int) -> str:
        minutes, rest = divmod(abs(offset), 60)
        if not minutes and not (rest and seconds):
            return "Z"
        sign = "-" if offset < 0 else "+"
        end = f":{rest:02d}" if rest and seconds else ""
        return f"{sign}{minutes // 60:02d}:{minutes % 60:02d}{end}"

    return each(pa.array(offsets // MICROS), shown, pa.string())
