"""Strings of JSON files as dates and timestamps.

Where no format is given SparkDateTimeUtils.stringToDate and stringToTimestamp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ....planner.model.text.time_zones import fixed_offset, known_zone
from ..columns.distinct import each
from ..columns.texts import bytes_of
from ..expressions.values.dates import SPACES, read_date
from ..expressions.values.vectors import numbers, spread
from ..expressions.values.zones import DAY, MICROS, zone_of
from .errors import BadValue, Uncertain
from .support import formats_in

_TIMESTAMP = re.compile(
    r"([+-]?\d{4,6}(?:-\d{1,2}(?:-\d{1,2})?)?)"
    r"(?:(?<=\d)[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?(.*))?)?)?",
    re.ASCII | re.DOTALL,
)
_FULL_DATE = re.compile(r"[+-]?\d{4,6}-\d{1,2}-\d{1,2}", re.ASCII)
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?[+-](\d{1,2}(?=:|$)|\d{2})(?::?(\d{2}))?(?::(\d{2}))?", re.ASCII
)
_MOST_SECONDS = 18 * 3600
"""Java's zones are at most 18 hours from UTC."""


@dataclass(frozen=True)
class TimeTexts:
    """How strings are read as dates and times.

    Attributes:
        zone: the session's time zone.
        timestamp, ntz, date: patterns of java.time; None: the forms that Spark's casts take.
    """

    zone: str
    timestamp: str | None = None
    ntz: str | None = None
    date: str | None = None

    @classmethod
    def of(cls, zone: str, options: Mapping[str, str]) -> TimeTexts:
        """As the options of a reader say."""
        return cls(zone, *formats_in(options))

    def pattern(self, kind: Any) -> str | None:
        """The pattern of an Arrow type of dates or times."""
        if pa.types.is_date(kind):
            return self.date
        return self.ntz if kind.tz is None else self.timestamp

    def zone_of(self, kind: Any) -> str | None:
        """The time zone of an Arrow type: None where it is of dates, or of times without one."""
        return None if pa.types.is_date(kind) or kind.tz is None else self.zone


def read_day(text: str) -> int:
    """Days since 1970 of a string.

    Raises:
        BadValue: Spark takes it for no date.
        Uncertain: it is not known what Spark takes it for.
    """
    try:
        days = read_date(text)
    except ValueError:
        if "GMT" in text or re.fullmatch(r"[+-]?\d+", text):
            raise Uncertain(f"the date '{text}'") from None
        raise BadValue from None
    if not -(1 << 31) <= days < 1 << 31:
        raise Uncertain(f"the date '{text}'")
    return days


def read_timestamp(text: str, zone: str | None) -> int:
    """Microseconds of a string, of UTC.

    Args:
        text: the string.
        zone: the session's time zone; None: for a timestamp without one.

    Raises:
        BadValue: Spark takes it for no timestamp.
        Uncertain: it is not known here what Spark makes of it.
    """
    text = text.strip(SPACES)
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        if ":" in text or "GMT" in text or text.startswith("T"):
            raise Uncertain(f"the timestamp '{text}'")
        raise BadValue
    date, hour, minute, second, fraction, suffix = found.groups()
    clock = [int(part or 0) for part in (hour, minute, second)]
    if hour is not None and not _FULL_DATE.fullmatch(date):
        raise BadValue
    if clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        raise BadValue
    try:
        local = read_date(date) * DAY
    except ValueError:
        raise BadValue from None
    local += (clock[0] * 3600 + clock[1] * 60 + clock[2]) * MICROS
    local += int((fraction or "")[:6].ljust(6, "0"))
    micros = _moment(local, (suffix or "").strip(SPACES), zone)
    if not -(1 << 63) <= micros < 1 << 63:
        raise BadValue
    return micros


def _moment(local: int, named: str, zone: str | None) -> int:
    """A local time as a moment."""
    if zone is None:
        if named:
            raise BadValue
        return local
    if not named:
        if abs(local) >> 62:
            raise Uncertain("a timestamp of a far year")
        return int(zone_of(zone).utc(np.int64(local)))
    offset = _OFFSET.fullmatch(named)
    if offset:
        hours, minutes, seconds = (int(part or 0) for part in offset.groups())
        if minutes > 59 or seconds > 59 or hours * 3600 + minutes * 60 + seconds > _MOST_SECONDS:
            raise BadValue
        return local - (fixed_offset(named) or 0) * MICROS
    if named in ("Z", "UTC", "GMT"):
        return local
    if "/" in named and known_zone(named) and not abs(local) >> 62:
        return int(zone_of(named).utc(np.int64(local)))
    raise Uncertain(f"the time zone '{named}'")


def timestamps(texts: Any, zone: str | None) -> Any:
    """A column of strings as microseconds, of which all that are not null are timestamps.

    Raises:
        BadValue, Uncertain: one of them is none, or may be none.
    """
    valid = texts.is_valid()
    present = texts.drop_null() if texts.null_count else texts
    micros = _plain(present, zone)
    if micros is None:
        micros = each(present, lambda text: read_timestamp(text, zone), pa.int64())
    return spread(micros, valid) if texts.null_count else micros


def _plain(texts: Any, zone: str | None) -> Any:
    """`2026-01-01T10:11:12.123Z` and the like, all with a zone or all without; None: others."""
    if not len(texts):
        return pa.array([], pa.int64())
    letters, bounds = bytes_of(texts)
    starts, ends = bounds[:-1], bounds[1:]
    if (ends - starts).min() < 19:
        return None
    for place, letter in ((13, ":"), (16, ":")):
        if not (letters[starts + place] == ord(letter)).all():
            return None
    zoned = _zoned(letters, ends)
    if zoned is None or (zoned and zone is None):
        return None
    try:
        if zoned:
            return texts.cast(pa.timestamp("us", "UTC")).view(pa.int64())
        local = texts.cast(pa.timestamp("us")).view(pa.int64())
    except pa.ArrowInvalid:
        return None
    return local if zone is None else pa.array(zone_of(zone).utc(numbers(local)))


def _zoned(letters: Any, ends: Any) -> bool | None:
    """Whether all strings end with `Z` or with a possible `+01:00`, or none has a zone."""
    last = letters[ends - 1]
    if (last == ord("Z")).all():
        return True
    sixth, third = letters[ends - 6], letters[ends - 3]
    signs = (sixth == ord("+")) | (sixth == ord("-"))
    if not signs.any():
        # A seconds' or fraction's digit six from the end, or a colon: no offset of any form.
        fourth, fifth = letters[ends - 4], letters[ends - 5]
        others = [part for part in (third, fourth, fifth) if _has_sign(part)]
        return None if others or (last == ord("Z")).any() else False
    hours = (letters[ends - 5] - np.uint8(48)) * 10 + (letters[ends - 4] - np.uint8(48))
    return True if (signs & (third == ord(":")) & (hours < 18)).all() else None


def _has_sign(part: Any) -> bool:
    return bool(((part == ord("+")) | (part == ord("-"))).any())
