"""Names of time zones, without numpy: which there are, which never change."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

_UTC = ("UTC", "Z", "GMT", "UT", "Etc/UTC", "Etc/GMT")
_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?")


def fixed_offset(name: str) -> int | None:
    """The seconds of a zone that never changes, such as `UTC` or `+02:00`; None: of another."""
    if name in _UTC:
        return 0
    found = _FIXED.fullmatch(name)
    if found is None:
        return None
    seconds = int(found[2]) * 3600 + int(found[3] or 0) * 60 + int(found[4] or 0)
    return -seconds if found[1] == "-" else seconds


def known_zone(name: str) -> bool:
    """Whether there is such a zone here."""
    if fixed_offset(name) is not None:
        return True
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True
