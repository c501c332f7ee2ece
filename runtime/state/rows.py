"""Rows of state as columns: keys with their hashes, event times and values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .sorting import stable_order

Int64 = NDArray[np.int64]
Int32 = NDArray[np.int32]
Mask = NDArray[np.bool_]

NEVER = np.iinfo(np.int64).max
"""The event time of what no watermark evicts: keys whose event time is null."""


@dataclass(frozen=True)
class Keys:
    """The keys of some rows.

    Attributes:
        hashes: Spark's `xxhash64` of the key columns.
        places: Spark's `hash` of the columns that place a row; its store is `pmod(place, stores)`.
        columns: the key columns, a pyarrow RecordBatch.
    """

    hashes: Int64
    places: Int32
    columns: Any

    def __len__(self) -> int:
        return len(self.hashes)

    def take(self, rows: Int64 | Mask) -> Keys:
        """The keys at some positions, or where a mask holds."""
        at = positions(rows)
        return Keys(self.hashes[at], self.places[at], take(self.columns, at))


@dataclass(frozen=True)
class StateRows:
    """Rows of state.

    Attributes:
        keys: their keys; rows of one key stand for all that the state holds of it.
        times: per row the event time in microseconds that a watermark is compared with, or `NEVER`.
        values: the value columns, a pyarrow RecordBatch.
        live: False marks a key that is gone; None where every row is live.
    """

    keys: Keys
    times: Int64
    values: Any
    live: Mask | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: Int64 | Mask) -> StateRows:
        """The rows at some positions, or where a mask holds."""
        at = positions(rows)
        live = None if self.live is None else self.live[at]
        return StateRows(self.keys.take(at), times_at(self.times, at), take(self.values, at), live)


def positions(rows: Int64 | Mask) -> Int64:
    """Positions as they are, or where a mask holds."""
    chosen: Int64 = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64)
    return chosen


def never(count: int) -> Int64:
    """Event times of rows that are never evicted: one number in memory, whatever their count."""
    return np.broadcast_to(np.int64(NEVER), count)


def times_at(times: Int64, rows: Int64) -> Int64:
    """The event times of the rows at some positions."""
    return never(len(rows)) if times.strides == (0,) else times[rows]


def take(batch: Any, rows: Int64) -> Any:
    """The rows of a record batch at some positions; a batch without columns keeps its count."""
    if batch.num_columns == 0:
        return columns_of([], batch.schema, len(rows))
    at = pa.array(rows)
    arrays = [pc.take(column, at, boundscheck=False) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)


def columns_of(arrays: list[Any], schema: Any, count: int) -> Any:
    """A record batch of some columns; `count` matters only where there are none."""
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    nothing = pa.Array.from_buffers(pa.struct([]), count, [None])
    return pa.RecordBatch.from_struct_array(nothing)


def concat(batches: list[Any]) -> Any:
    """Record batches of one schema as one."""
    if len(batches) == 1:
        return batches[0]
    if batches[0].num_columns == 0:
        return columns_of([], batches[0].schema, sum(b.num_rows for b in batches))
    arrays = [
        pa.concat_arrays([b.column(i) for b in batches]) for i in range(len(batches[0].schema))
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=batches[0].schema)


def concat_rows(parts: list[StateRows]) -> StateRows:
    """Rows of state one after another."""
    live = None
    if any(part.live is not None for part in parts):
        masks = [np.ones(len(p), np.bool_) if p.live is None else p.live for p in parts]
        live = np.concatenate(masks)
    keys = Keys(
        np.concatenate([p.keys.hashes for p in parts]),
        np.concatenate([p.keys.places for p in parts]),
        concat([p.keys.columns for p in parts]),
    )
    plain = all(p.times.strides == (0,) for p in parts)
    times = never(len(keys)) if plain else np.concatenate([p.times for p in parts])
    return StateRows(keys, times, concat([p.values for p in parts]), live)


# ------------------------------------------------------------------------------------- equality


def equal_rows(left: Any, right: Any) -> Mask:
    """Where the rows of two record batches are equal: nulls are, NaN is, 0.0 and -0.0 are.

    Spark normalises the keys of every stateful operator; its hashes do not tell these apart either.
    """
    result = np.ones(left.num_rows, dtype=np.bool_)
    for one, other in zip(left.columns, right.columns, strict=True):
        result &= _equal(one, other)
    return result


def _equal(left: Any, right: Any) -> Mask:
    kind = left.type
    if pa.types.is_null(kind):
        return np.ones(len(left), dtype=np.bool_)
    if left.null_count == 0 and right.null_count == 0:
        return _equal_values(left, right, kind)
    here, there = _valid(left), _valid(right)
    same: Mask = (here == there) & (~here | _equal_values(left, right, kind))
    return same


def _valid(array: Any) -> Mask:
    mask: Mask = array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def _equal_values(left: Any, right: Any, kind: Any) -> Mask:
    if pa.types.is_struct(kind):
        result = np.ones(len(left), dtype=np.bool_)
        for i in range(kind.num_fields):
            result &= _equal(left.field(i), right.field(i))
        return result
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        return _equal_lists(left, right, pa.types.is_map(kind))
    equal = pc.equal(left, right)
    if pa.types.is_floating(kind):
        equal = pc.or_(equal, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    same: Mask = pc.fill_null(equal, False).to_numpy(zero_copy_only=False)
    return same


def _equal_lists(left: Any, right: Any, is_map: bool) -> Mask:
    first, second = left.offsets.to_numpy(), right.offsets.to_numpy()
    sizes = np.where(_valid(left), np.diff(first), 0)
    same: Mask = (sizes == np.diff(second)) & _valid(left) & _valid(right)
    pairs = np.flatnonzero(same)
    owners = np.repeat(pairs, sizes[pairs])
    steps = ranges(sizes[pairs])
    here, there = pa.array(first[owners] + steps), pa.array(second[owners] + steps)
    for one, other in _inner(left, right, is_map):
        unequal = ~_equal(one.take(here), other.take(there))
        same[owners[unequal]] = False
    return same


def _inner(left: Any, right: Any, is_map: bool) -> list[tuple[Any, Any]]:
    if is_map:
        return [(left.keys, right.keys), (left.items, right.items)]
    return [(left.values, right.values)]


def ranges(sizes: NDArray[Any]) -> Int64:
    """0, 1, ... of each size, one after another: `[2, 3]` gives `[0, 1, 0, 1, 2]`."""
    ends = np.cumsum(sizes, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    steps: Int64 = np.arange(total, dtype=np.int64) - np.repeat(ends - sizes, sizes)
    return steps


def first_rows(keys: Keys) -> Int64:
    """Per row the position of the first row with the same key."""
    count = len(keys)
    leaders = np.arange(count, dtype=np.int64)
    rest = stable_order(keys.hashes)
    # Rows of one hash nearly always have one key: then a single round settles all of them.
    while len(rest):
        hashes = keys.hashes[rest]
        starts = np.ones(len(rest), dtype=np.bool_)
        starts[1:] = hashes[1:] != hashes[:-1]
        heads = rest[np.flatnonzero(starts)[np.cumsum(starts) - 1]]
        others = np.flatnonzero(~starts)
        rows, leads = rest[others], heads[others]
        same = equal_rows(take(keys.columns, rows), take(keys.columns, leads))
        leaders[rows[same]] = leads[same]
        rest = rows[~same]
    return leaders
