"""What lies between two timestamps in some unit, and units added to timestamps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...columns.ordering import valid
from ...errors import not_exact
from ..programs.program import Step
from ..values import messages
from ..values.dates import first_days
from ..values.division import parted, towards_zero
from ..values.vectors import Value, made, nulled, numbers, of_one_length
from ..values.zones import DAY, MICROS, MOST_DAYS, Zone, zone_of
from .times import (
    CLOCK_UNITS,
    EXACT_UNITS,
    MOST_MICROS,
    in_range,
    months_and_days,
    moved,
    moved_by_months,
    own_zone,
    with_months,
)

_DIFFERENT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DIFFERENT_DAYS = {"DAY": 1, "WEEK": 7}
_MOST_MONTHS = 2**31 - 1
_ADDED = {
    "MONTH": 1,
    "QUARTER": 3,
    "YEAR": 12,
    "DAY": DAY,
    "WEEK": 7 * DAY,
    "HOUR": 3600 * MICROS,
    "MINUTE": 60 * MICROS,
    **EXACT_UNITS,
}
"""What is added of a unit: months, or microseconds."""


def added(step: Step, unit: Value, number: Value, time: Value) -> Any:
    """`timestampadd(unit, number, timestamp)`, the unit a constant.

    Raises:
        KernelError: the time has no 64 bits.
    """
    word = unit.as_py().upper()
    number, time = of_one_length(number, time)
    given = valid(number) & valid(time)
    amounts, times = np.where(given, numbers(number), 0), np.where(given, numbers(time), 0)
    size, months = _ADDED[word], word in _DIFFERENT_MONTHS
    own = replace(step, kinds=step.kinds[2:])
    zone = own_zone(own)
    most = _MOST_MONTHS if months else np.iinfo(np.int64).max
    bad = (amounts > most // size) | (amounts < -((most + 1) // size))
    units = np.where(bad, 0, amounts) * size
    if months:
        bad |= np.abs(with_months(zone.local(times) // DAY, units)) > MOST_DAYS
    else:
        with np.errstate(over="ignore"):
            total = units + times
        bad |= (units ^ total) & (times ^ total) < 0
        far = np.abs(total.astype(np.float64)) > MOST_MICROS
        by_calendar = word in _DIFFERENT_DAYS and zone.fixed is None
        if by_calendar and (far & ~bad).any():
            raise not_exact("A timestamp is moved to where it hardly has 64 bits.", of_rows=True)
    if bad.any():
        row = int(np.argmax(bad))
        raise messages.cannot_add(step, int(amounts[row]), word, int(times[row]))
    if not months and not by_calendar:
        return made(total, number, time)
    moved_ = (moved_by_months if months else moved)(own, pa.array(times), pa.array(units))
    return nulled(moved_, number, time)


def months_between(step: Step, end: Value, start: Value, rounds: Value) -> Any:
    """`months_between`: whole months where the days are the same or both the last ones."""
    zone, sides = zone_of(step.zone), []
    for times in _moments(end, start):
        local = zone.local(times)
        if np.any(local // DAY < -MOST_DAYS - 1):  # the start of that day is no timestamp
            raise messages.overflow(step, "long overflow")
        months, rest = months_and_days(local // DAY)
        last = first_days(months + 1) - first_days(months) - 1 == rest
        sides.append((months, rest, last, _seconds_of_day(zone, times, local // DAY)))
    (months, days, last, seconds), (months_2, days_2, last_2, seconds_2) = sides
    whole = (months - months_2).astype(np.float64)
    part = ((days - days_2) * 86_400 + seconds - seconds_2) / (31 * 86_400.0)
    found = whole + part
    if rounds.as_py():
        scaled = found * 1e8
        floor = np.floor(scaled)
        found = (floor + (scaled - floor >= 0.5)) / 1e8
    return made(np.where((days == days_2) | (last & last_2), whole, found), end, start)


def _moments(one: Value, other: Value) -> list[Any]:
    """Two columns of times, 0 where either is null."""
    columns = of_one_length(one, other)
    used = valid(columns[0]) & valid(columns[1])
    return [numbers(column) * used for column in columns]


def timestampdiff(step: Step, unit: Value, start: Value, end: Value) -> Any:
    """`timestampdiff(unit, start, end)`, the unit a constant: whole units of the local clock."""
    word, zone = unit.as_py().upper(), zone_of(step.zone)
    (first, early), (last, late) = (parted(zone.local(t), DAY) for t in _moments(start, end))
    # A day that is not over counts as hours, in either direction.
    begun = np.where((last > first) & (late < early), -1, 0)
    begun += np.where((last < first) & (late > early), 1, 0)
    if word in _DIFFERENT_MONTHS:
        packed = [months * 32 + day for months, day in map(months_and_days, (first, last + begun))]
        return made(towards_zero(packed[1] - packed[0], 32 * _DIFFERENT_MONTHS[word]), start, end)
    days, micros = last + begun - first, late - early - begun * DAY
    if word in _DIFFERENT_DAYS:
        return made(towards_zero(days, _DIFFERENT_DAYS[word]), start, end)
    size = (CLOCK_UNITS | EXACT_UNITS)[word]
    if size == 1:
        in_range(step, days)
    return made(days * (DAY // size) + towards_zero(micros, size), start, end)


def _seconds_of_day(zone: Zone, times: Any, days: Any) -> Any:
    """Seconds since a day began, cut off as Java does."""
    micros = np.broadcast_to(times, days.shape) - zone.starts(days)
    return towards_zero(micros, MICROS)
