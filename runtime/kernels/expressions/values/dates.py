"""Strings as dates (SparkDateTimeUtils.stringToDate), and dates of far years as strings."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import numpy as np

SPACES = "".join(map(chr, range(33))) + "\x7f"
"""What Spark strips from a string before it reads a value: blanks and control characters."""

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII)


def read_date(text: str) -> int:
    """Days since 1970 of a string.

    Raises:
        ValueError: it is no date.
    """
    found = _DATE.fullmatch(text.strip(SPACES))
    if found is None:
        raise ValueError(text)
    days = _days(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    if not -(1 << 31) <= days < 1 << 31:
        raise ValueError(text)
    return days


def _days(year: int, month: int, day: int) -> int:
    # The calendar repeats after 400 years: Python's has no years before 1 or after 9999.
    cycles, rest = divmod(year, 400)
    if rest == 0:
        cycles, rest = cycles - 1, 400
    moment = date(rest, month, day) - date(1970, 1, 1)
    return moment // timedelta(days=1) + cycles * 146_097


def shown_date(days: int) -> str:
    """A date as Spark shows it: years beyond 9999 with a plus sign."""
    cycles, rest = divmod(days, 146_097)
    day = date(1970, 1, 1) + timedelta(days=rest)
    year = day.year + cycles * 400
    shown = f"{abs(year):04d}-{day:%m-%d}"
    return f"-{shown}" if year < 0 else f"+{shown}" if year > 9999 else shown


def first_days(months: Any) -> Any:
    """The days since 1970 on which months since 1970 begin."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def days_of(years: Any, months: Any, days: Any) -> tuple[Any, Any]:
    """Years, months and days as days since 1970 (32 bits), and where there are such days."""
    fits = (months >= 1) & (months <= 12) & (days >= 1)
    months = np.where(fits, (years - 1970) * 12 + months - 1, 0)
    first = first_days(months)
    fits &= days <= first_days(months + 1) - first
    return np.where(fits, first + days - 1, 0).astype(np.int32), fits
