"""Functions of dates and times."""

from __future__ import annotations

from ..registry import register
from ..types import DATE, INT, STRING
from .shapes import scalar

register(
    scalar("date_add", "date, int|smallint|tinyint", DATE, aliases=("dateadd",)),
    scalar("date_sub", "date, int|smallint|tinyint", DATE),
    scalar("date_format", "timestamp, string", STRING, text="date_format({0}, {1}, {zone})"),
    scalar("hour", "anytimestamp", INT, text="hour({0}, {zone})"),
    scalar("minute", "anytimestamp", INT, text="minute({0}, {zone})"),
    scalar("second", "anytimestamp", INT, text="second({0}, {zone})"),
)
