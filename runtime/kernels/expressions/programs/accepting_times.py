"""What must hold, beyond their types, of the arguments of operations of dates and times.

The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from .....planner.model.text.time_zones import known_zone
from . import time_formats
from .operation_facts import Arguments

DATE_UNITS = frozenset(("WEEK", "MON", "MONTH", "MM", "QUARTER", "YEAR", "YYYY", "YY"))
CLOCK_UNITS = frozenset(("DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"))
"""What dates, and beside it timestamps, are truncated to."""
DIFFERENCE_UNITS = CLOCK_UNITS - {"DD"} | {"WEEK", "MONTH", "QUARTER", "YEAR"}
"""The units of the difference of two times."""

_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
WEEKDAYS = {name[:size]: i for i, name in enumerate(_DAYS) for size in (2, 3, len(name))}
"""The names of days that `next_day` takes, and their places from Monday."""


def truncation_unit(given: Arguments) -> bool:
    """Whether a time is truncated to a known unit: for others Spark always gives null."""
    units = DATE_UNITS if given.kinds[0] == "date" else DATE_UNITS | CLOCK_UNITS
    unit = given.values[1] if given.kinds[0] == "date" else given.values[0]
    return isinstance(unit, str) and unit.upper() in units


def difference_unit(given: Arguments) -> bool:
    """Whether there is a unit of the difference of two times."""
    unit = given.values[0]
    return isinstance(unit, str) and unit.upper() in DIFFERENCE_UNITS


def timestamp_parts(given: Arguments) -> bool:
    """Whether a timestamp is made of seconds in microseconds, in a zone that is known."""
    zones = given.values[6:]
    known = all(zone is None or (isinstance(zone, str) and known_zone(zone)) for zone in zones)
    return given.kinds[5] == "decimal(16,6)" and known


def weekday(given: Arguments) -> bool:
    """Whether `next_day` knows a day."""
    return isinstance(given.values[1], str) and given.values[1].upper() in WEEKDAYS


def printed_format(given: Arguments) -> bool:
    """Whether times are shown in a pattern."""
    return time_formats.is_shown(given.values[1])


def read_format(given: Arguments) -> bool:
    """Whether times are read by a pattern, or are no texts."""
    return given.kinds[0] != "string" or time_formats.is_read(given.values[1])


def known_zones(given: Arguments) -> bool:
    """Whether all zones are known here."""
    names = [v for kind, v in zip(given.kinds, given.values, strict=True) if kind == "string"]
    return all(isinstance(name, str) and known_zone(name) for name in names)
