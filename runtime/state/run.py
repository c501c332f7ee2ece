"""One run: an Arrow IPC file of state rows sorted by the hash of their keys.

Columns: `hash`, `place`; `live` only if the run marks keys as gone; `time` where rows can be
evicted; then the keys `k0`, ... and values `v0`, ... A large run has the rows in the order of their
times, too (`order`), so that a scan by event time touches only what a watermark passes. Numbers of
a small range take fewer bytes (see `narrow`); what types they have is in the schema's metadata.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .checksums import Damaged, Sealed, open_batch
from .errors import StateError, cannot_read
from .evolution import evolved
from .locations import located
from .narrow import widened
from .rows import (
    Int32,
    Int64,
    Keys,
    Mask,
    StateRows,
    columns_of,
    equal_rows,
    never,
    ranges,
    take,
    times_at,
)
from .storage import Location, Place
from .version import RunInfo

TYPES = b"types"
"""In the schema's metadata: the types of keys and values, as an Arrow schema."""
_DENSE = 4
"""Rows a key up to which looking for each row among the keys is quicker than the reverse."""

SCANNED = 1 << 21
"""Rows: the times of so many are compared with a watermark in about two milliseconds. To sort them
takes longer than ten such scans, and most runs of this size do not last as long."""


@dataclass(frozen=True)
class Layout:
    """What the rows of a part of an operator's state hold.

    Attributes:
        keys, values: the Arrow schemas of keys and values.
        timed: whether rows have event times.
        adds: a batch's rows of a key are added to the earlier ones; otherwise they replace them.
        evolves: how rows that were written under another schema of values become these: fields go
            by `name`, or by their `place`; None: there are none.
    """

    keys: Any
    values: Any
    timed: bool
    adds: bool = False
    evolves: Literal["name", "place"] | None = None

    @property
    def text(self) -> str:
        """The types by position, for the manifest; names and nullability do not matter."""
        keys, values = (",".join(str(f.type) for f in s) for s in (self.keys, self.values))
        return f"{keys}|{values}"

    def empty_keys(self) -> Keys:
        """No keys."""
        none = np.empty(0, np.int64)
        return Keys(none, np.empty(0, np.int32), _empty(self.keys))

    def empty(self) -> StateRows:
        """No rows."""
        return StateRows(self.empty_keys(), never(0), _empty(self.values))


def _empty(schema: Any) -> Any:
    return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)


@dataclass(frozen=True)
class Run:
    """A run, opened: its columns stay in the file until they are touched."""

    info: RunInfo
    batch: Any
    layout: Layout
    sealed: Sealed | None = None
    wanted: Layout | None = None

    @classmethod
    def open_evolving(cls, location: Place, info: RunInfo, layout: Layout) -> Run:
        """Open a run's file whose values may have been written under another schema.

        Raises:
            StateError: as `open`.
        """
        stored = stored_layout(location, info)
        if [f.type for f in stored.values] == [f.type for f in layout.values]:
            return cls.open(location, info, layout)
        return replace(cls.open(location, info, stored), wanted=layout)

    def _values(self, kept: Any) -> Any:
        values = _wide(kept, self.layout.values)
        if self.wanted is None:
            return values
        by_name = self.wanted.evolves == "name"
        return evolved(values, self.wanted.values, by_name=by_name)

    @classmethod
    def open(cls, location: Place, info: RunInfo, layout: Layout) -> Run:
        """Open a run's file.

        Raises:
            StateError: the file is missing, truncated or holds something else.
        """
        path = located(location) / info.file
        try:
            sealed = Sealed(path, info.size, info.check)
            batch = open_batch(sealed)
        except FileNotFoundError:
            raise StateError(
                "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
                f"A file of the state is missing: there is no file {path}.",
            ) from None
        except OSError as problem:
            raise cannot_read(path, problem) from problem
        except (pa.ArrowInvalid, Damaged) as problem:
            raise _unusable(path, str(problem)) from problem
        if batch.num_rows != info.rows:
            raise _unusable(path, f"it has {batch.num_rows} rows instead of {info.rows}")
        return cls(info, batch, layout, sealed)

    @cached_property
    def hashes(self) -> Int64:
        return self._numbers("hash")

    @cached_property
    def places(self) -> Int32:
        places: Int32 = self._column("place").to_numpy()
        return places

    @cached_property
    def times(self) -> Int64:
        if not self.layout.timed:
            return never(self.batch.num_rows)
        times: Int64 = widened(
            self._column("time"), self.batch.schema.field("time"), pa.int64()
        ).to_numpy()
        return times

    @cached_property
    def live(self) -> Mask | None:
        if "live" not in self.batch.schema.names:
            return None
        mask: Mask = self._column("live").to_numpy(zero_copy_only=False)
        return mask

    @cached_property
    def _kept_keys(self) -> Any:
        return self._kept("k", len(self.layout.keys))

    @cached_property
    def _kept_values(self) -> Any:
        return self._kept("v", len(self.layout.values))

    def keys(self, rows: Int64) -> Any:
        """The keys at some positions."""
        return _wide(take(self._kept_keys, rows), self.layout.keys)

    def _column(self, name: str) -> Any:
        """A column, compared with its checksums.

        Raises:
            StateError: it is not what was written.
        """
        column = self.batch.column(name)
        if self.sealed is not None:
            try:
                self.sealed.verify(column)
            except Damaged as problem:
                raise _unusable(self.sealed.path, str(problem)) from problem
        return column

    def _numbers(self, name: str) -> Int64:
        numbers: Int64 = self._column(name).to_numpy()
        return numbers

    def _kept(self, letter: str, count: int) -> Any:
        names = [f"{letter}{i}" for i in range(count)]
        schema = pa.schema([self.batch.schema.field(name) for name in names])
        return columns_of([self._column(name) for name in names], schema, self.batch.num_rows)

    def match(self, keys: Keys, wanted: Int64) -> tuple[Int64, Int64]:
        """All rows with the keys at the positions `wanted`: pairs (position, row), in step."""
        hashes = keys.hashes[wanted]
        if self.batch.num_rows <= _DENSE * len(hashes) and _ascends(hashes):
            # The other way round: one search instead of two.
            place = np.minimum(np.searchsorted(hashes, self.hashes), len(hashes) - 1)
            rows = np.flatnonzero(hashes[place] == self.hashes)
            queries = wanted[place[rows]]
            same = equal_rows(take(keys.columns, queries), self.keys(rows))
            return queries[same], rows[same]
        low = np.searchsorted(self.hashes, hashes, "left")
        hit = np.flatnonzero(self.hashes[np.minimum(low, self.batch.num_rows - 1)] == hashes)
        low, found = low[hit], wanted[hit]
        sizes = np.searchsorted(self.hashes, hashes[hit], "right") - low
        queries = np.repeat(found, sizes)
        rows = np.repeat(low, sizes) + ranges(sizes)
        same = equal_rows(take(keys.columns, queries), self.keys(rows))
        return queries[same], rows[same]

    def alive(self, rows: Int64, *, gone: bool = False) -> Mask:
        """Which of the rows are neither evicted nor, unless `gone` is set, marked as gone."""
        mask = np.ones(len(rows), dtype=np.bool_)
        if self.live is not None and not gone:
            mask = self.live[rows]
        if self.info.evicted is not None:
            mask = mask & (self.times[rows] > self.info.evicted)
        return mask

    def passed(self, watermark: int) -> Int64:
        """The rows with an event time above what is already evicted and at most the watermark."""
        if self.info.skipped_by(watermark):
            return np.empty(0, np.int64)
        if "order" in self.batch.schema.names:
            order = self._column("order").to_numpy()
            done = self.info.evicted
            first = 0 if done is None else self._ended(order, done)
            return np.sort(order[first : self._ended(order, watermark)]).astype(np.int64)
        chosen = self.times <= watermark
        if self.info.evicted is not None:
            chosen &= self.times > self.info.evicted
        return np.flatnonzero(chosen)

    def _ended(self, order: NDArray[np.uint32], watermark: int) -> int:
        """How many rows a watermark has passed, for the order of their times."""
        times = self.times
        return bisect_right(range(len(order)), watermark, key=lambda i: times[order[i]])

    def above(self, watermark: int | None) -> Int64:
        """The rows with an event time above a watermark in microseconds; all without one."""
        if watermark is None or watermark < self.info.low:
            return np.arange(self.info.rows, dtype=np.int64)
        rows: Int64 = np.flatnonzero(self.times > watermark)
        return rows

    def rows(self, positions: Int64) -> StateRows:
        """The rows at some positions."""
        keys = Keys(self.hashes[positions], self.places[positions], self.keys(positions))
        values = self._values(take(self._kept_values, positions))
        live = None if self.live is None else self.live[positions]
        return StateRows(keys, times_at(self.times, positions), values, live)

    def whole(self) -> StateRows:
        """All rows: what the file has as it is used is not copied."""
        keys = Keys(self.hashes, self.places, _wide(self._kept_keys, self.layout.keys))
        return StateRows(keys, self.times, self._values(self._kept_values), self.live)


def _wide(kept: Any, schema: Any) -> Any:
    """Rows of kept columns under their own types."""
    columns = [
        widened(column, was, field.type)
        for column, was, field in zip(kept.columns, kept.schema, schema, strict=True)
    ]
    return columns_of(columns, schema, kept.num_rows)


def _ascends(hashes: Int64) -> bool:
    """Whether each hash is above the one before it."""
    return bool((hashes[1:] > hashes[:-1]).all())


def _unusable(path: Location, why: str) -> StateError:
    return StateError("STATEPLAN_CORRUPT_STATE", f"The state file {path} cannot be used: {why}.")


def stored_layout(location: Place, info: RunInfo) -> Layout:
    """The types of keys and values as a run's file has them.

    Raises:
        StateError: the file cannot be used.
    """
    nothing = pa.schema([])
    schema = Run.open(location, info, Layout(nothing, nothing, False)).batch.schema
    metadata = schema.metadata or {}
    types = pa.ipc.read_schema(pa.py_buffer(metadata[TYPES])) if TYPES in metadata else schema
    keys, values = ([f for f in types if _is_part(f.name, letter)] for letter in "kv")
    return Layout(pa.schema(keys), pa.schema(values), "time" in schema.names)


def _is_part(name: str, letter: str) -> bool:
    return name[0] == letter and name[1:].isdigit()
