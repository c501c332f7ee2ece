"""The strings of DATE and TIMESTAMP literals."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo

from ..model.text.time_zones import zone

_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIMESTAMP = re.compile(
    r"(?:(?P<date>[+-]?\d{4,6}(?:-\d{1,2}(?:-\d{1,2})?)?)(?:[ T]|$))?"
    r"(?:T?(?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<part>\d*))?)?)?"
    r"\s*(?P<zone>[A-Za-z+\-].*)?"
)
_EPOCH = datetime(1970, 1, 1)
_DAY_MICROS = 86_400_000_000


def parse_date(text: str) -> int | None:
    """`2026-01-31`, `2026-1`, `2026` as days since 1970; None if it is no date."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part) if part else 1 for part in match.groups())
    try:
        return (date(year, month, day) - date(1970, 1, 1)).days
    except ValueError:
        return None


def parse_timestamp(text: str, time_zone: str) -> tuple[int, bool] | None:
    """A timestamp as microseconds since 1970 and whether the text names a zone of its own.

    Without a zone it is local time of `time_zone`; give `UTC` to read a timestamp without zone.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None or not match["date"]:
        return None
    days = parse_date(match["date"])
    micros = _time_of_day(match)
    try:
        at = zone((match["zone"] or time_zone).strip())
    except (KeyError, ValueError, OSError):
        return None
    if days is None or micros is None:
        return None
    local = days * _DAY_MICROS + micros
    return local - _offset_micros(at, local), match["zone"] is not None


def _time_of_day(match: re.Match[str]) -> int | None:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    part = int(f"{match['part'] or '':0<6}"[:6])
    return ((hour * 60 + minute) * 60 + second) * 1_000_000 + part


def _offset_micros(at: tzinfo, local_micros: int) -> int:
    if at is UTC:
        return 0
    local = (_EPOCH + timedelta(microseconds=local_micros)).replace(tzinfo=at)
    offset = local.utcoffset() or timedelta()
    return offset // timedelta(microseconds=1)
