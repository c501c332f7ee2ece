"""Dates, timestamps and intervals made of their parts, as java.time checks these, or of texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .....planner.model.expressions.intervals import IntervalError, read_interval
from ...columns.decimals import unscaled_words
from ...columns.distinct import each
from ...columns.ordering import valid
from ...errors import not_exact
from ..programs.program import Step
from ..values import messages
from ..values.dates import MONTHS, first_days
from ..values.vectors import (
    Value,
    null_where,
    numbers,
    of_one_length,
    repeated,
    row_count,
)
from ..values.zones import DAY, MICROS, MOST_DAYS, zone_of

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_DATE = (
    ("Year", -999_999_999, 999_999_999, "-999999999 - 999999999"),
    ("MonthOfYear", 1, 12, "1 - 12"),
    ("DayOfMonth", 1, 31, "1 - 28/31"),
)
_CLOCK = (
    ("HourOfDay", 0, 23, "0 - 23"),
    ("MinuteOfHour", 0, 59, "0 - 59"),
    ("SecondOfMinute", 0, 59, "0 - 59"),
)
"""Fields in the order in which they are checked, their least and greatest values."""
_LAST_DAY, _LAST_REST = divmod(2**63 - 1, DAY)
_FIRST_DAY, _FIRST_REST = divmod(-(2**63), DAY)


def date_of(step: Step, year: Value, month: Value, day: Value) -> Any:
    """`make_date(year, month, day)`: null, or under ANSI an error, where there is no such day."""
    fields, known = _numbers((year, month, day))
    days, fits = _days(step, fields, known)
    limits = np.iinfo(np.int32)
    if (fits & ((days < limits.min) | (days > limits.max))).any():
        raise messages.overflow(step)
    return null_where(pa.array(days.astype(np.int32)), ~fits)


def time_of(step: Step, *parts: Value) -> Any:
    """`make_timestamp(year, month, day, hour, minute, second, zone)` and its like.

    The second is a decimal, and 60 of them the next minute. The zone is a constant.

    Raises:
        KernelError: under ANSI a part is out of its range; the time has no 64 bits; it is near
            where these end, in a zone with changes (`STATEPLAN_NOT_EXACT`).
    """
    count = row_count(*parts[:6])
    zone = parts[6] if len(parts) > 6 else None
    if zone is not None and not zone.is_valid:
        return pa.nulls(count, pa.int64())
    second = repeated(parts[5], count)
    fields, known = _numbers([repeated(part, count) for part in parts[:5]])
    # Spark keeps 32 bits of the microseconds.
    micros = unscaled_words(second).astype(np.int32).astype(np.int64)
    whole, fraction = np.divmod(micros, MICROS)
    known &= valid(second)
    odd = known & (whole == 60) & (fraction > 0)
    if odd.any() and _fails(step):
        shown = f"{second[int(np.argmax(odd))].as_py().normalize():f}"
        raise messages.error(step, "INVALID_FRACTION_OF_SECOND", secAndMicros=shown)
    full = whole == 60
    days, fits = _days(step, fields[:3], known & ~odd)
    clock = [*fields[3:5], np.where(full, 0, whole)]
    fits = _in_ranges(step, _CLOCK, clock, fits)
    hours, minutes, seconds = (np.where(fits, part, 0) for part in (*clock[:2], whole))
    rest = ((hours * 60 + minutes) * 60 + seconds) * MICROS + np.where(fits, fraction, 0)
    days, rest = np.where(fits, days + rest // DAY, 0), rest % DAY
    name = "UTC" if step.kind == "timestamp_ntz" else step.zone if zone is None else zone.as_py()
    return null_where(pa.array(_moments(step, days, rest, name)), ~fits)


def _numbers(parts: Sequence[Value]) -> tuple[list[Numbers], Flags]:
    """Columns of whole numbers, and where none is null."""
    columns = of_one_length(*parts)
    known: Flags = np.logical_and.reduce([valid(column) for column in columns])
    return [numbers(column).astype(np.int64) for column in columns], known


def _days(step: Step, fields: Sequence[Numbers], known: Flags) -> tuple[Numbers, Flags]:
    """The days since 1970, and where there are such days."""
    fits = _in_ranges(step, _DATE, fields, known)
    year, month, day = (np.where(fits, part, 1) for part in fields)
    months = (year - 1970) * 12 + month - 1
    first = first_days(months)
    bad = fits & (day > first_days(months + 1) - first)
    if bad.any() and _fails(step):
        row = int(np.argmax(bad))
        why = f"Invalid date '{MONTHS[month[row] - 1].upper()} {day[row]}'"
        if month[row] == 2 and day[row] == 29:
            why = f"Invalid date 'February 29' as '{year[row]}' is not a leap year"
        raise messages.field_out_of_bounds(step, why)
    fits = fits & ~bad
    return np.where(fits, first + day - 1, 0), fits


def _in_ranges(
    step: Step,
    ranges: Sequence[tuple[str, int, int, str]],
    fields: Sequence[Numbers],
    known: Flags,
) -> Flags:
    """Where all fields are in their ranges."""
    for (name, least, most, shown), values in zip(ranges, fields, strict=True):
        bad = known & ((values < least) | (values > most))
        if bad.any() and _fails(step):
            value = values[np.argmax(bad)]
            why = f"Invalid value for {name} (valid values {shown}): {value}"
            raise messages.field_out_of_bounds(step, why)
        known = known & ~bad
    return known


def _moments(step: Step, days: Numbers, rest: Numbers, zone: str) -> Numbers:
    """Microseconds of UTC of local days and microseconds of these days."""
    late = (days > _LAST_DAY) | ((days == _LAST_DAY) & (rest > _LAST_REST))
    early = (days < _FIRST_DAY) | ((days == _FIRST_DAY) & (rest < _FIRST_REST))
    known = zone_of(zone)
    far = np.abs(days) > MOST_DAYS - 1
    if known.fixed != 0 and far.any():
        if (np.abs(days) > MOST_DAYS + 2).any():
            raise messages.overflow(step, "long overflow")
        raise not_exact("A timestamp is made that has hardly 64 bits.", of_rows=True)
    if (late | early).any():
        raise messages.overflow(step, "long overflow")
    found: Numbers = known.utc(days * DAY + rest)
    return found


def _fails(step: Step) -> bool:
    return step.mode == "ANSI" and not step.name.startswith("try_")


def interval_of_text(step: Step, texts: Any) -> Any:
    """`CAST(text AS INTERVAL)` as a day-time interval; each text is read once.

    Raises:
        KernelError: one has months, or a day where days differ in length (`STATEPLAN_NOT_EXACT`).
    """
    fixed = bool(step.options[0])
    return each(texts, lambda text: _micros(text, fixed), pa.int64())


def _micros(text: str, fixed: bool) -> int | None:
    if not text.isascii():
        return None
    try:
        months, days, micros = read_interval(text)
    except IntervalError:
        return None
    if max(abs(months), abs(days)) >= 2**31 or not -(2**63) <= micros < 2**63:
        return None
    total = days * DAY + micros
    if months or not (fixed or (days == 0 and abs(micros) < DAY)) or abs(total) >= 2**63:
        what = "months" if months else "days, in a time zone in which these differ in length,"
        raise not_exact(f"The interval '{text}' of a row has {what} and is not read.", of_rows=True)
    return total
