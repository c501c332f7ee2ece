"""Time zones over whole columns: java.time's rules, with numpy.

An offset is found in a table of the zone's changes, which is made once per zone and process.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import Any

import numpy as np

from .....planner.model.text.time_zones import fixed_offset, zone
from ....state.rows import Int64
from .dates import shown_date

MICROS = 1_000_000
DAY = 86_400 * MICROS
MOST_DAYS = (2**63 - 1) // DAY - 1
"""So many days have their microseconds in 64 bits, in any zone."""
_CYCLE = 146_097 * 86_400  # seconds of 400 years, after which the calendar and its weekdays repeat
_FIRST = -5_000_000_000  # 1811: older than any zone's first change
_LAST = 20_000_000_000  # 2603: rules of today hold for all later years
_LATE = 7_000_000_000  # 2191: behind it the rules of today hold, a cycle before _LAST too
_STEP = 3 * 86_400


class Zone:
    """A time zone.

    Attributes:
        fixed: its offset in microseconds, if that never changes.
    """

    def __init__(self, fixed: int | None, changes: Int64, offsets: Int64) -> None:
        self.fixed = fixed
        self._changes = changes
        self._offsets = offsets
        # From here on a local time belongs to the later offset: one in a gap or in an overlap
        # belongs to the earlier.
        self._local = changes + np.maximum(offsets[:-1], offsets[1:])

    def offsets(self, times: Any) -> Any:
        """The offsets at some moments (microseconds of UTC)."""
        if self.fixed is not None:
            return self.fixed
        places = np.searchsorted(self._changes, _folded(times), side="right")
        return self._offsets[places]

    def local(self, times: Any) -> Any:
        """Moments as the zone's local times."""
        return times + self.offsets(times)

    def utc(self, local: Any) -> Any:
        """Local times as moments: in a gap that much later, in an overlap the earlier one."""
        if self.fixed is not None:
            return local - self.fixed
        places = np.searchsorted(self._local, _folded(local), side="right")
        return local - self._offsets[places]

    def resolved(self, local: Any, preferred: Any) -> Any:
        """Local times as moments; where two are possible, the one with the preferred offset."""
        if self.fixed is not None:
            return local - self.fixed
        times = local - preferred
        return np.where(self.offsets(times) == preferred, times, self.utc(local))

    def starts(self, days: Any) -> Any:
        """The first moments of days since 1970."""
        local = days.astype(np.int64) * DAY
        if self.fixed is not None:
            return local - self.fixed
        times = self.utc(local)
        # Midnight in a gap: the day starts where the gap ends.
        places = np.searchsorted(self._changes, _folded(times), side="right")
        changed = np.where(places > 0, self._changes[np.maximum(places, 1) - 1], times)
        gap = (self.local(times) != local) & (local == _folded(local))
        return np.where(gap, changed, times)


def _folded(times: Any) -> Any:
    """Far times, moved by whole cycles of the calendar to where the table has them."""
    late = times >= _LAST * MICROS
    if not np.any(late):
        return times
    over = (times - _LATE * MICROS) // (_CYCLE * MICROS)
    return np.where(late, times - over * (_CYCLE * MICROS), times)


@cache
def zone_of(name: str) -> Zone:
    """A zone by Spark's name for it, such as `UTC`, `+02:00` or `Europe/Berlin`.

    Raises:
        KeyError, ValueError, OSError: there is none.
    """
    empty = np.empty(0, np.int64)
    seconds = fixed_offset(name)
    if seconds is not None:
        micros = seconds * MICROS
        return Zone(micros, empty, np.full(1, micros, np.int64))
    return _tabled(zone(name))


def _tabled(info: tzinfo) -> Zone:
    start = datetime(1970, 1, 1, tzinfo=UTC)

    def offset(second: int) -> int:
        moment = (start + timedelta(seconds=second)).astimezone(info)
        return (moment.utcoffset() or timedelta()) // timedelta(seconds=1)

    changes, offsets = [], [offset(_FIRST)]
    for before in range(_FIRST, _LAST, _STEP):
        # Two changes within three days would hide each other: no zone has them.
        low, high = before, before + _STEP
        if offset(high) == offsets[-1]:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if offset(middle) == offsets[-1]:
                low = middle
            else:
                high = middle
        changes.append(high)
        offsets.append(offset(high))
    seconds = np.array(changes, np.int64)
    return Zone(None, seconds * MICROS, np.array(offsets, np.int64) * MICROS)


def shown_timestamp(micros: int, zone: str) -> str:
    """A timestamp as Spark shows it: `2024-01-02 03:04:05.6`."""
    local = int(zone_of(zone).local(np.int64(micros)))
    day, rest = divmod(local, DAY)
    moment = datetime(1970, 1, 1) + timedelta(microseconds=rest)
    fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
    return f"{shown_date(day)} {moment:%H:%M:%S}{fraction}"
