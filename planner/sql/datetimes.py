"""The strings of DATE and TIMESTAMP literals."""

from __future__ import annotations

import re

from ..model.expressions.intervals import DAY_MICROS
from ..model.functions.cast_values import cast_value, utc_micros
from ..model.registry import NotFolded
from ..model.schemas.types import DATE, STRING
from ..model.text.time_zones import known_zone

_TIMESTAMP = re.compile(
    r"(?:(?P<date>[+-]?\d{4,6}(?:-\d{1,2}(?:-\d{1,2})?)?)(?:[ T]|$))?"
    r"(?:T?(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<part>\d*))?)?)?"
    r"\s*(?P<zone>[A-Za-z+\-].*)?"
)


def parse_date(text: str) -> int | None:
    """`2026-01-31`, `2026-1`, `2026` as days since 1970; None if it is no date."""
    try:
        days = cast_value(text, STRING, DATE, "ANSI", None)
    except NotFolded:
        return None
    assert isinstance(days, int)
    return days


def parse_timestamp(text: str, time_zone: str) -> tuple[int, bool] | None:
    """A timestamp as microseconds since 1970 and whether the text names a zone of its own.

    Without a zone it is local time of `time_zone`; give `UTC` to read a timestamp without zone.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None or not match["date"]:
        return None
    days = parse_date(match["date"])
    micros = _time_of_day(match)
    zone = (match["zone"] or time_zone).strip()
    if days is None or micros is None or not known_zone(zone):
        return None
    return utc_micros(days * DAY_MICROS + micros, zone), match["zone"] is not None


def _time_of_day(match: re.Match[str]) -> int | None:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    part = int(f"{match['part'] or '':0<6}"[:6])
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + part
