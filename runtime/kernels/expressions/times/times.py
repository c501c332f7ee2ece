"""Dates, timestamps and their arithmetic, in the session's time zone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import unscaled_words
from ...columns.ordering import valid
from ..programs.accepting_times import WEEKDAYS
from ..programs.program import Step, decimal_of
from ..values import messages
from ..values.dates import first_days
from ..values.division import rest_of, towards_zero
from ..values.saturation import saturated
from ..values.vectors import Value, made, null_where, nulled, numbers, of_one_length
from ..values.zones import DAY, MICROS, MOST_DAYS, Zone, zone_of

_MONTH_UNITS = {
    **dict.fromkeys(("MON", "MONTH", "MM"), 1),
    "QUARTER": 3,
    **dict.fromkeys(("YEAR", "YYYY", "YY"), 12),
}
CLOCK_UNITS = {"DAY": DAY, "DD": DAY, "HOUR": 3600 * MICROS, "MINUTE": 60 * MICROS}
EXACT_UNITS = {"SECOND": MICROS, "MILLISECOND": 1000, "MICROSECOND": 1}
_INTERVAL_FIELDS = {
    "extractansiintervalhours": (DAY, 3600 * MICROS),
    "extractansiintervalminutes": (3600 * MICROS, 60 * MICROS),
    "extractansiintervalseconds": (60 * MICROS, 1),
}
"""Of which time a field is a part, and its unit."""
MOST_MICROS = 9.2e18
"""What is nearer to 0 has 64 bits, whatever a zone adds."""


def own_zone(step: Step) -> Zone:
    """The zone in which a step reckons: none for a timestamp without one."""
    return zone_of("UTC" if step.kinds[0] in ("timestamp_ntz", "date") else step.zone)


def months_and_days(days: Any) -> tuple[Any, Any]:
    """Months since 1970 and the days in the month, from 0."""
    low, high = (int(days.min()), int(days.max())) if days.size else (0, 0)
    if high - low < days.size:  # fewer days than rows: each once
        months, rest = _months_of(np.arange(low, high + 1))
        return months[days - low], rest[days - low]
    return _months_of(days)


def _months_of(days: Any) -> tuple[Any, Any]:
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    return months.astype(np.int64), (dates - months.astype("datetime64[D]")).astype(np.int64)


def date_field(step: Step, value: Any) -> Any:
    """`year`, `quarter`, `month`, `dayofmonth`, `dayofweek`, `weekday`, `dayofyear`, ..."""
    days = numbers(value).astype(np.int64)
    match step.name:
        case "dayofweek":
            found = (days + 4) % 7 + 1
        case "weekday":
            found = (days + 3) % 7
        case "weekofyear":
            # A week belongs to the year of its Thursday.
            thursday = days - (days + 3) % 7 + 3
            year = thursday.astype("datetime64[D]").astype("datetime64[Y]")
            found = (thursday - year.astype("datetime64[D]").astype(np.int64)) // 7 + 1
        case _:
            found = _field_of_month(step.name, days)
    return made(found.astype(np.int32), value)


_DAYS = pa.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"])
_MONTHS = pa.array(
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
)


def name_of_field(step: Step, value: Any) -> Any:
    """`dayname` and `monthname`: three letters."""
    days = numbers(value).astype(np.int64)
    if step.name == "dayname":
        found = _DAYS.take(pa.array((days + 3) % 7))
    else:
        found = _MONTHS.take(pa.array(_field_of_month("month", days) - 1))
    return nulled(found, value)


def _field_of_month(name: str, days: Any) -> Any:
    months, rest = months_and_days(days)
    match name:
        case "year":
            return months // 12 + 1970
        case "quarter":
            return months % 12 // 3 + 1
        case "month":
            return months % 12 + 1
        case "dayofmonth" | "day":
            return rest + 1
        case "dayofyear":
            return days - first_days(months - months % 12) + 1
        case _:  # last_day
            return first_days(months + 1) - 1


def clock_field(step: Step, value: Any) -> Any:
    """`hour`, `minute`, `second`."""
    unit, limit = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}[step.name]
    local = own_zone(step).local(numbers(value))
    return made(rest_of(local // (unit * MICROS), limit).astype(np.int32), value)


def second_with_fraction(step: Step, value: Any) -> Any:
    """`extract(SECOND FROM time)`: a decimal of six places."""
    local = own_zone(step).local(numbers(value))
    return _seconds(rest_of(local, 60 * MICROS), value)


def _seconds(micros: Any, value: Any) -> Any:
    whole = made(micros.astype(np.int64), value).cast(pa.decimal128(19, 0))
    return whole.view(pa.decimal128(8, 6))


def date_trunc(step: Step, unit: Value, value: Any) -> Any:
    """`date_trunc(unit, timestamp)`, the unit a constant."""
    word = unit.as_py().upper()
    times = numbers(value)
    zone = zone_of(step.zone)
    if word in EXACT_UNITS:
        return made(times - rest_of(times, EXACT_UNITS[word]), value)
    offsets = zone.offsets(times)
    local = times + offsets
    if word in CLOCK_UNITS:
        in_range(step, local // DAY)
        return made(zone.resolved(local - rest_of(local, CLOCK_UNITS[word]), offsets), value)
    return made(zone.starts(in_range(step, _truncated_days(local // DAY, word))), value)


def trunc(step: Step, value: Any, unit: Value) -> Any:
    """`trunc(date, unit)`, the unit a constant, a week or longer."""
    days, word = numbers(value), unit.as_py().upper()
    if word == "WEEK":  # the Monday after the day a week earlier, in 32 bits, as Java counts
        earlier = days.astype(np.int32) - np.int32(7)
        monday = earlier + np.int32(1) + np.fmod(np.fmod(np.int32(3) - earlier, 7) + 7, 7)
        return made(monday.astype(np.int32), value)
    firsts = _truncated_days(days.astype(np.int64), word)
    if word == "QUARTER":  # Spark checks its first day; a month's or year's wraps around in 32 bits
        return _dates(step, firsts, value)
    return made(firsts.astype(np.int32), value)


def in_range(step: Step, days: Any) -> Any:
    """Days, all of which have their microseconds in 64 bits; if not, an error."""
    if np.any(np.abs(days) > MOST_DAYS):
        raise messages.overflow(step, "long overflow")
    return days


def _truncated_days(days: Any, word: str) -> Any:
    if word == "WEEK":
        return days - (days + 3) % 7
    months = months_and_days(days)[0]
    return first_days(months - months % _MONTH_UNITS[word])


# ------------------------------------------------------------------------------------ arithmetic


def unix(step: Step, value: Any) -> Any:
    """`unix_micros`, `unix_millis`, `unix_seconds`."""
    unit = {"unix_micros": 1, "unix_millis": 1000, "unix_seconds": MICROS}[step.name]
    return value if unit == 1 else made(numbers(value) // unit, value)


def from_unix(step: Step, value: Any) -> Any:
    """`timestamp_micros`, `timestamp_millis`, `timestamp_seconds` of whole numbers."""
    unit = {"timestamp_micros": 1, "timestamp_millis": 1000, "timestamp_seconds": MICROS}[step.name]
    data = numbers(value).astype(np.int64)
    limit = np.iinfo(np.int64).max // unit
    bad = (data > limit) | (data < -limit) if unit > 1 else np.zeros(len(data), bool)
    if bad.any():
        word = "milliseconds" if unit == 1000 else "seconds"
        raise messages.datetime_overflow(step, int(data[np.argmax(bad)]), word)
    return made(data * unit, value)


def from_seconds(step: Step, value: Any) -> Any:
    """`timestamp_seconds`: fractions of microseconds are cut off; null of what is no number."""
    if step.kinds[0] in ("float", "double"):
        data = numbers(value).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            micros = saturated(data * MICROS, np.int64)
        return null_where(made(micros, value), ~np.isfinite(data))
    scale = decimal_of(step.kinds[0])
    if scale is None:
        return from_unix(step, value)
    return made(unscaled_words(value) * 10 ** (6 - scale[1]), value)


def unchanged(step: Step, value: Any) -> Any:
    """A value under another type, or for the optimizer's eyes."""
    return value


def moved_days(step: Step, date: Value, days: Value) -> Any:
    """`date_add` and `date_sub`: 32-bit days, which wrap around."""
    left, right = numbers(date), numbers(days)
    right = right.astype(np.int32)
    with np.errstate(over="ignore"):
        return made(left + right if step.name == "date_add" else left - right, date, days)


def days_between(step: Step, end: Value, start: Value) -> Any:
    """`datediff`."""
    with np.errstate(over="ignore"):
        return made(numbers(end) - numbers(start), end, start)


def interval_between(step: Step, end: Value, start: Value) -> Any:
    """`end - start` of dates or timestamps: microseconds of the local clock."""
    left, right = numbers(end), numbers(start)
    if step.kinds[0] == "date":
        days = made(left.astype(np.int64) - right.astype(np.int64), end, start)
        if np.any(np.abs(numbers(days)) > MOST_DAYS):
            raise messages.overflow(step, "long overflow")
        return made(numbers(days) * DAY, end, start)
    zone = own_zone(step)
    return made(zone.local(left) - zone.local(right), end, start)


def moved_months(step: Step, date: Value, months: Value) -> Any:
    """`add_months`, and a date and a year-month interval: at most at that month's end."""
    days = with_months(numbers(date).astype(np.int64), numbers(months))
    return _dates(step, days, date, months)


def _dates(step: Step, days: Any, *sources: Value) -> Any:
    """64-bit days as dates; an error, ANSI or not, where a date has not that many bits."""
    limits = np.iinfo(np.int32)
    result = made(days.astype(np.int32), *sources)
    bad = (days < limits.min) | (days > limits.max)
    if np.any(bad & result.is_valid().to_numpy(zero_copy_only=False)):
        raise messages.overflow(step)
    return result


def with_months(days: Any, by: Any) -> Any:
    months, rest = months_and_days(np.asarray(days))
    target = months + by
    last = first_days(target + 1) - first_days(target) - 1
    return first_days(target) + np.minimum(rest, last)


def moved_by_months(step: Step, time: Value, months: Value) -> Any:
    """A timestamp and a year-month interval."""
    zone, times = own_zone(step), numbers(time)
    offsets = zone.offsets(times)
    local = times + offsets
    days = in_range(step, with_months(local // DAY, numbers(months)))
    return made(zone.resolved(days * DAY + rest_of(local, DAY), offsets), time, months)


def moved(step: Step, time: Value, interval: Value) -> Any:
    """A timestamp and a day-time interval: days by the local calendar, the rest by the clock."""
    zone, times, micros = own_zone(step), numbers(time), numbers(interval)
    if zone.fixed is not None:
        return _sum(step, time, interval)
    days = towards_zero(micros, DAY)
    offsets = zone.offsets(times)
    shifted = zone.resolved(times + offsets + days * DAY, offsets)
    return made(np.where(days == 0, times, shifted) + (micros - days * DAY), time, interval)


def _sum(step: Step, time: Value, interval: Value) -> Any:
    try:
        return pc.add_checked(time, interval)
    except pa.ArrowInvalid:
        raise messages.overflow(step, "long overflow") from None


def interval_of(step: Step, days: Value, hours: Value, minutes: Value, seconds: Value) -> Any:
    """`make_dt_interval(days, hours, minutes, seconds)`."""
    parts = of_one_length(days, hours, minutes, seconds)
    units = (DAY, 3600 * MICROS, 60 * MICROS)
    total, near = unscaled_words(parts[3]).copy(), np.zeros(len(parts[3]))
    for part, unit in zip(parts, units, strict=False):
        own = numbers(part).astype(np.int64)
        total, near = total + own * unit, near + own.astype(np.float64) * unit
    given = np.logical_and.reduce([valid(part) for part in parts])
    if (given & (np.abs(near) > MOST_MICROS)).any():
        raise messages.error(step, "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION")
    return made(total, *parts)


def multiplied_interval(step: Step, interval: Value, number: Value) -> Any:
    """A day-time interval times a whole number."""
    interval, number = of_one_length(interval, number)
    micros = (pa.array(numbers(value).astype(np.int64)) for value in (interval, number))
    given = valid(interval) & valid(number)
    first, second = (null_where(value, ~given) for value in micros)
    try:
        return pc.multiply_checked(first, second)
    except pa.ArrowInvalid:
        raise messages.overflow(step, "long overflow") from None


def divided_interval(step: Step, interval: Value, number: Value) -> Any:
    """A day-time interval through a whole number, rounded half away from zero."""
    interval, number = of_one_length(interval, number)
    micros, by = (numbers(value).astype(np.int64) for value in (interval, number))
    given = valid(interval) & valid(number)
    if (given & (by == 0)).any():
        raise messages.error(step, "INTERVAL_DIVIDED_BY_ZERO")
    if (given & (by == -1) & (micros == np.iinfo(np.int64).min)).any():
        raise messages.overflow(step, "long overflow")
    size, parts = np.abs(micros).view(np.uint64), np.maximum(np.abs(by).view(np.uint64), 1)
    found, rest = size // parts, size % parts
    found = (found + (rest >= parts - rest)).astype(np.int64)
    return made(np.where((micros < 0) != (by < 0), -found, found), interval, number)


def whole_days(step: Step, interval: Any) -> Any:
    """The days of a day-time interval."""
    return made(towards_zero(numbers(interval), DAY).astype(np.int32), interval)


def interval_field(step: Step, interval: Any) -> Any:
    """`extract(HOUR | MINUTE | SECOND FROM interval)` of a day-time interval; it has its sign."""
    of, unit = _INTERVAL_FIELDS[step.name]
    rest = np.fmod(numbers(interval), of)
    if unit == 1:
        return _seconds(rest, interval)
    return made(towards_zero(rest, unit).astype(np.int8), interval)


def next_day(step: Step, date: Any, weekday: Value) -> Any:
    """`next_day(date, weekday)`, the weekday a constant; 32-bit days, which wrap around."""
    days = numbers(date).astype(np.int64)
    from_thursday = (WEEKDAYS[weekday.as_py().upper()] + 4) % 7
    distance = (from_thursday - 1 - days).astype(np.int32)
    return made((days + 1 + distance % 7).astype(np.int32), date)


def in_zone(step: Step, first: Value, second: Value, time: Value | None = None) -> Any:
    """`from_utc_timestamp`, `to_utc_timestamp` and `convert_timezone` with constant zones."""
    if time is not None:  # from the first zone to the second
        moments = zone_of(first.as_py()).utc(numbers(time))
        return made(zone_of(second.as_py()).local(moments), time)
    zone, times = zone_of(second.as_py()), numbers(first)
    moved_ = zone.local(times) if step.name == "from_utc_timestamp" else zone.utc(times)
    return made(moved_, first)
