"""The state variables and timers of a task's keys, as they change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...state import NEVER
from ...state.rows import Int64, columns_of
from ...state.sorting import stable_order
from ..kernel import Changes, Keys, Layout, StateRows, StateStore
from .unsafe_rows import order_of_key, order_of_time
from .values import from_arrow, to_arrow
from .variables import Variable

_LAST_MS = (NEVER - 1) // 1000
UPDATED, REMOVED = "updated", "removed"
"""How many values of variables calls have put, and removed."""
EXPIRED = "numValuesRemovedDueToTTLExpiry"


@dataclass(frozen=True)
class Entry:
    """A value of a variable, or an element of a list, or an entry of a map.

    Attributes:
        value, key: in their internal form; `key`: of a map's entry.
        expires_ms: when it expires; None: never.
    """

    value: tuple[Any, ...]
    key: tuple[Any, ...] | None = None
    expires_ms: int | None = None


class Table:
    """The rows of one variable for the keys of a task, by the keys' places among them.

    Args:
        variable: the variable.
        keys: the keys, in the order of their hashes.
        store: its part of the state.
        now_ms: the time of the batch.
        counts: takes in what calls do.
    """

    def __init__(
        self, variable: Variable, keys: Keys, store: StateStore, now_ms: int, counts: Counter[str]
    ) -> None:
        self.variable = variable
        self._keys, self._now_ms, self._counts = keys, now_ms, counts
        found = store.get(keys)
        columns = list(found.rows.values.columns)
        expiries = [None] * len(found.rows)
        if variable.ttl_ms is not None:
            expiries = columns.pop().to_pylist()
        values = from_arrow(columns.pop(), variable.value_schema)
        user_keys = [None] * len(values)
        if columns:
            user_keys = from_arrow(columns.pop(), variable.key_schema)
        self._entries: dict[int, list[Entry]] = {}
        rows = zip(found.queries, values, user_keys, expiries, strict=True)
        for place, value, key, expires in rows:
            self._entries.setdefault(int(place), []).append(Entry(value, key, expires))
        self._before = {place: self._rows(entries) for place, entries in self._entries.items()}
        self._changed: set[int] = set()

    def _rows(self, entries: list[Entry]) -> int:
        """For how many rows of its state Spark counts them: a list is one."""
        return min(len(entries), 1) if self.variable.kind == "list" else len(entries)

    def alive(self, place: int) -> list[Entry]:
        """The entries of a key that have not expired."""
        entries = self._entries.get(place, [])
        if self.variable.ttl_ms is None:
            return entries
        return [e for e in entries if e.expires_ms is None or e.expires_ms > self._now_ms]

    def pairs(self, place: int) -> list[Entry]:
        """The entries of a map that have not expired, in the order of Spark's state store."""
        schema = self.variable.key_schema
        return sorted(self.alive(place), key=lambda entry: order_of_key(entry.key or (), schema))

    def put(self, place: int, values: Iterable[tuple[Any, ...]]) -> None:
        """Put values in the place of all that there are of a key."""
        before = self._entries.get(place)
        self._entries[place] = []
        if self.variable.kind == "value" and before:
            (value,) = values
            self._replace(place, before[0], Entry(value, None, self._expiry))
        else:
            self.append(place, values)

    def append(self, place: int, values: Iterable[tuple[Any, ...]]) -> None:
        """Put values behind those of a key."""
        made = [Entry(value, None, self._expiry) for value in values]
        self._entries.setdefault(place, []).extend(made)
        self._note(place, UPDATED, len(made))

    def set(self, place: int, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:
        """Put an entry into a map."""
        before = next((e for e in self._entries.get(place, ()) if e.key == key), None)
        self._entries[place] = self._others(place, key)
        self._replace(place, before, Entry(value, key, self._expiry))

    def _replace(self, place: int, before: Entry | None, entry: Entry) -> None:
        """Put an entry; where it has a time to live, Spark does not count what changes nothing."""
        self._entries.setdefault(place, []).append(entry)
        unchanged = (
            before is not None
            and entry.expires_ms is not None
            and before.expires_ms == entry.expires_ms
            # Spark compares bytes: NaN is NaN, and 0.0 is not -0.0.
            and repr(before.value) == repr(entry.value)
        )
        self._note(place, UPDATED, 0 if unchanged else 1)

    def unset(self, place: int, key: tuple[Any, ...]) -> None:
        """Take an entry out of a map."""
        self._entries[place] = self._others(place, key)
        self._note(place, REMOVED, 1)

    def clear(self, place: int) -> None:
        """Remove all that there is of a key."""
        entries = self._entries.pop(place, [])
        # Without a time to live Spark removes a value without looking whether there is one.
        plain_value = self.variable.kind == "value" and self.variable.ttl_ms is None
        count = 1 if plain_value else len(entries)
        self._note(place, REMOVED, count)

    def _others(self, place: int, key: tuple[Any, ...]) -> list[Entry]:
        return [entry for entry in self._entries.get(place, []) if entry.key != key]

    @property
    def _expiry(self) -> int | None:
        return None if self.variable.ttl_ms is None else self._now_ms + self.variable.ttl_ms

    def _note(self, place: int, what: str, count: int) -> None:
        self._changed.add(place)
        self._counts[what] += count

    def remove_expired(self) -> None:
        """Remove what has expired."""
        for place in list(self._entries):
            alive, all_entries = self.alive(place), self._entries[place]
            if len(alive) < len(all_entries):
                self._entries[place] = alive
                self._note(place, REMOVED, len(all_entries) - len(alive))
                self._counts[EXPIRED] += len(all_entries) - len(alive)

    @property
    def added(self) -> int:
        """By how many rows the state has grown, as Spark counts them."""
        return sum(map(self._rows, self._entries.values())) - sum(self._before.values())

    def changes(self, layout: Layout) -> Changes:
        """What the batch has changed."""
        rows = [(p, e) for p in sorted(self._changed) for e in self._entries.get(p) or ()]
        gone = {p for p in self._changed if not self._entries.get(p) and p in self._before}
        entries = [entry for _, entry in rows]
        columns = [to_arrow([e.value for e in entries], self.variable.value_schema)]
        if self.variable.kind == "map":
            columns.insert(0, to_arrow([e.key for e in entries], self.variable.key_schema))
        expiries = [entry.expires_ms for entry in entries]
        if self.variable.ttl_ms is not None:
            columns.append(pa.array(expiries, pa.int64()))
        places = np.array([place for place, _ in rows], np.int64)
        return changed_rows(self._keys, places, gone, times_of(expiries), columns, layout)


class Timers:
    """The timers of a task's keys; as `Table`."""

    def __init__(self, keys: Keys, store: StateStore, counts: Counter[str]) -> None:
        self._keys, self._counts = keys, counts
        found = store.get(keys)
        self._times: dict[int, set[int]] = {}
        expiries = found.rows.values.column(0).to_pylist()
        for place, expiry in zip(found.queries, expiries, strict=True):
            self._times.setdefault(int(place), set()).add(expiry)
        self._before = set(self._times)
        self._changed: set[int] = set()

    def register(self, place: int, milliseconds: int) -> None:
        """Add a timer of a key."""
        self._times.setdefault(place, set()).add(milliseconds)
        self._changed.add(place)
        self._counts["numRegisteredTimers"] += 1

    def delete(self, place: int, milliseconds: int) -> None:
        """Remove a timer of a key, if it is there."""
        self._times.get(place, set()).discard(milliseconds)
        self._changed.add(place)
        self._counts["numDeletedTimers"] += 1

    def of(self, place: int) -> list[int]:
        """The timers of a key, in the order of Spark's state store."""
        return sorted(self._times.get(place, ()), key=order_of_time)

    def expired(self, threshold_ms: int, ranks: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """The timers that have expired by now, key and time: by time, then by the keys' ranks."""
        found = [
            (time, ranks[place], place)
            for place, times in self._times.items()
            for time in times
            if time <= threshold_ms
        ]
        return ((place, time) for time, _, place in sorted(found))

    def changes(self, layout: Layout) -> Changes:
        """What the batch has changed."""
        rows = [(p, time) for p in sorted(self._changed) for time in sorted(self._times.get(p, ()))]
        gone = {p for p in self._changed if not self._times.get(p) and p in self._before}
        times = [time for _, time in rows]
        places = np.array([place for place, _ in rows], np.int64)
        columns = [pa.array(times, pa.int64())]
        return changed_rows(self._keys, places, gone, times_of(times), columns, layout)


def times_of(milliseconds: Iterable[int | None]) -> Int64:
    """By which times the rows of a part of the state are found, in microseconds."""
    return np.array(
        [NEVER if ms is None else min(max(ms, -_LAST_MS), _LAST_MS) * 1000 for ms in milliseconds],
        np.int64,
    )


def changed_rows(
    keys: Keys, places: Int64, gone: set[int], times: Int64, columns: list[Any], layout: Layout
) -> Changes:
    """The rows that now stand for some keys, and marks that others have none any more."""
    left = np.array(sorted(gone), np.int64)
    none = [pa.nulls(len(left), column.type) for column in columns]
    every = np.concatenate([places, left])
    arrays = [pa.concat_arrays([one, other]) for one, other in zip(columns, none, strict=True)]
    live = np.arange(len(every)) < len(places)
    rows = StateRows(
        keys.take(every),
        np.concatenate([times, np.full(len(left), NEVER)]) if layout.timed else _never(len(every)),
        columns_of(arrays, layout.values, len(every)),
        live if len(left) else None,
    )
    # Keys come in the order of their hashes; the rows of a key keep theirs.
    return Changes(rows.take(stable_order(every)))


def _never(count: int) -> Int64:
    return np.broadcast_to(np.int64(NEVER), count)
