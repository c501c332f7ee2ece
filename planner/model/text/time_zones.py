"""Time zones by Spark's names for them: of a region, or by their distance from UTC."""

from __future__ import annotations

import re
from datetime import UTC, timedelta, timezone, tzinfo

_UTC = ("UTC", "Z", "z", "GMT", "UT", "Etc/UTC", "Etc/GMT")
_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})|:(\d))?(?::?(\d{2}))?")
_FARTHEST = 18 * 3600


def fixed_offset(name: str) -> int | None:
    """The seconds of a zone that never changes, such as `UTC` or `+02:00`; None: of another.

    None is farther from UTC than 18 hours, as in Java.
    """
    if name in _UTC:
        return 0
    found = _FIXED.fullmatch(name)
    if found is None:
        return None
    minutes = int(found[3] or found[4] or 0)
    seconds = int(found[2]) * 3600 + minutes * 60 + int(found[5] or 0)
    if minutes > 59 or seconds > _FARTHEST:
        return None
    return -seconds if found[1] == "-" else seconds


def zone(name: str) -> tzinfo:
    """A time zone by its name, such as `UTC`, `+02:00`, `GMT+2` or `Europe/Berlin`.

    Raises:
        KeyError, ValueError, OSError: there is none.
    """
    seconds = fixed_offset(name)
    if seconds is None:
        # Hardly any plan needs the table of zones, whose module takes a while to import.
        from zoneinfo import ZoneInfo

        return ZoneInfo(name)
    return timezone(timedelta(seconds=seconds)) if seconds else UTC


def known_zone(name: str) -> bool:
    """Whether there is such a zone here."""
    try:
        zone(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
