"""One side of a join of two streams: its new rows, its kept rows, and which have had a match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...state import NEVER, Found
from ...state.marks import FLAGS, flags, known_matched, marks_layout, marks_on, names_of
from ...state.rows import columns_of, equal_rows, never
from ...state.sorting import stable_order
from ...state.store import present
from ..grouping import by_key
from ..kernel import (
    Input,
    Int64,
    Keys,
    Layout,
    Mask,
    StateRows,
    StateStore,
    at_or_below,
    event_times,
    select,
    take,
)
from .pairs import Grouped, Partners


@dataclass(frozen=True)
class Moment:
    """The event time of a row as it travels.

    Attributes:
        place: the column: a time, or a window, of which the end counts.
        later: how many microseconds after it.
    """

    place: int
    later: int = 0

    def of(self, rows: Any) -> Int64:
        """In microseconds; `NEVER` for null."""
        times = event_times(rows.column(self.place))
        return np.where(times == NEVER, NEVER, times + self.later) if self.later else times


@dataclass(frozen=True)
class JoinSide:
    """One side; times in microseconds.

    Attributes:
        columns: the Arrow schema of its rows, as they are kept and given.
        places: where these columns stand in a row as it travels.
        fits: the column there that says whether the row fulfils the conditions on this side alone;
            None: there are none.
        time: its event time.
        late: up to which time its rows are late.
        kept_time: the time by which a row leaves the state; None: it never does.
        evict: up to which of these times rows leave.
    """

    columns: Any
    places: tuple[int, ...]
    fits: int | None = None
    time: Moment | None = None
    late: int | None = None
    kept_time: Moment | None = None
    evict: int | None = None

    def values(self, keys: int) -> tuple[int, ...]:
        """The columns that are no keys; of the keys there are so many, behind the side's tag."""
        return tuple(i for i, place in enumerate(self.places) if place > keys)

    def layout(self, keys: Any, *, flagged: bool) -> Layout:
        """What is kept of its rows; `flagged`: also whether they have had a match."""
        fields = [self.columns.field(i) for i in self.values(len(keys))]
        if flagged:
            fields += FLAGS
        return Layout(keys, pa.schema(fields), self.kept_time is not None, adds=True)

    @property
    def marks(self) -> Layout:
        """What is kept of rows that had their first match after their own batch."""
        return marks_layout(timed=self.kept_time is not None)


@dataclass(frozen=True)
class Arrived:
    """The new rows of a side that may match, those of a key together.

    Attributes:
        keys: of each row.
        grouped: the same, by key.
        columns: the rows.
        times: when they leave the state.
        gone: which of them leave in this batch.
        hit: which have a match in it.
        unfit: the rows that fail the conditions on this side alone.
        dropped: how many were late.
    """

    keys: Keys
    grouped: Grouped
    columns: Any
    times: Int64
    gone: Mask
    hit: Mask
    unfit: Any
    dropped: int

    def kept(self, side: JoinSide, number: int, *, flagged: bool) -> StateRows:
        """The rows as they are kept; `number`: of the version that the batch makes."""
        layout = side.layout(self.keys.columns.schema, flagged=flagged)
        arrays = [self.columns.column(i) for i in side.values(len(layout.keys))]
        count = len(self.keys)
        if flagged:
            arrays += flags(number, self.hit)
        return StateRows(self.keys, self.times, columns_of(arrays, layout.values, count))


@dataclass
class Kept:
    """Some kept rows of a side.

    Attributes:
        queries: per row, which of the keys that were looked up is its own.
        columns: the rows.
        matched: which were known, in their own batch, to have a match.
        hit: which have a match in this batch.
        names: the rows' names, if it is kept whether they have had a match.
        times: when they leave the state.
    """

    queries: Int64
    columns: Any
    matched: Mask
    hit: Mask
    names: Keys | None
    times: Int64

    @classmethod
    def of(cls, found: Found, side: JoinSide, keys: int) -> Kept:
        """The kept rows that a look-up found; `keys`: how many columns the key has."""
        rows, count = found.rows, len(found.rows)
        own = {i: n for n, i in enumerate(side.values(keys))}
        arrays = [
            rows.values.column(own[i]) if i in own else rows.keys.columns.column(place - 1)
            for i, place in enumerate(side.places)
        ]
        names, matched = None, np.zeros(count, np.bool_)
        if rows.values.num_columns > len(own):
            names, matched = names_of(rows), known_matched(rows)
        columns = columns_of(arrays, side.columns, count)
        hit = np.zeros(count, np.bool_)
        return cls(found.queries, columns, matched, hit, names, rows.times)

    def of_each(self, others: Grouped) -> Partners:
        """The partners, here, of all rows of the other side, by whose keys these were looked up."""
        starts = np.searchsorted(self.queries, np.arange(len(others.keys) + 1))
        own = Grouped(others.keys, starts)
        found = np.flatnonzero(own.sizes)
        return Partners.of(others, found, own, found)

    @property
    def all(self) -> Int64:
        """The positions of all rows."""
        return np.arange(len(self.queries), dtype=np.int64)

    def take(self, rows: Int64) -> Kept:
        """The rows at some positions."""
        names = None if self.names is None else self.names.take(rows)
        return Kept(
            self.queries[rows],
            take(self.columns, rows),
            self.matched[rows],
            self.hit[rows],
            names,
            self.times[rows],
        )

    def unmatched_before(self, marks: StateStore, rows: Int64) -> Int64:
        """Those of the rows at some positions that had no match in an earlier batch."""
        assert self.names is not None
        unknown = rows[~self.matched[rows]]
        known = np.zeros(len(unknown), np.bool_)
        known[marks.get(self.names.take(unknown)).queries] = True
        return unknown[~known]

    def without(self, rows: Int64, marks: StateRows) -> Int64:
        """The positions of those rows that no mark names."""
        assert self.names is not None
        return rows[~present(self.names.take(rows), marks.keys)]

    def marked(self, rows: Int64) -> StateRows:
        """Marks on the rows at some positions."""
        assert self.names is not None
        return marks_on(self.names.take(rows), self.times[rows])


def rows_by_side(rows: Input) -> Mapping[str, Int64]:
    """The positions of each side's rows."""
    right = rows.rows.column(0).to_numpy(zero_copy_only=False)
    return {"left": np.flatnonzero(~right), "right": np.flatnonzero(right)}


def arrived(rows: Input, own: Int64, side: JoinSide, keys: Any) -> Arrived:
    """The new rows of a side.

    Args:
        rows: all rows of the task.
        own: the positions of this side's.
        side: the side.
        keys: the schema of the keys.
    """
    dropped = 0
    if side.time is not None and side.late is not None and len(own):
        late = at_or_below(side.time.of(rows.rows)[own], side.late)
        dropped = int(late.sum())
        own = own[~late] if dropped else own
    unfit = np.empty(0, np.int64)
    if side.fits is not None:
        fits = pc.fill_null(rows.rows.column(side.fits), False).to_numpy(zero_copy_only=False)[own]
        unfit, own = own[~fits], own[fits]
    order, heads = _by_key(rows, own, len(keys))
    at = own[order]
    columns = tuple(range(1, 1 + len(keys)))
    each = Keys(rows.hashes[at], rows.places[at], take(select(rows.rows, columns, keys), at))
    starts = np.flatnonzero(heads)
    times = never(len(at))
    if side.kept_time is not None:
        times = side.kept_time.of(rows.rows)[at]
    given = select(rows.rows, side.places, side.columns)
    return Arrived(
        keys=each,
        grouped=Grouped(each.take(starts), np.append(starts, len(at))),
        columns=take(given, at),
        times=times,
        gone=at_or_below(times, side.evict),
        hit=np.zeros(len(at), np.bool_),
        unfit=take(given, unfit),
        dropped=dropped,
    )


def _by_key(rows: Input, own: Int64, keys: int) -> tuple[Int64, Mask]:
    """As `by_key` of the keys of some rows, whose columns are not copied for it."""
    order = stable_order(rows.hashes[own])
    at = own[order]
    hashes = rows.hashes[at]
    heads = np.ones(len(at), dtype=np.bool_)
    heads[1:] = hashes[1:] != hashes[:-1]
    second = np.flatnonzero(~heads)
    columns = tuple(range(1, 1 + keys))
    schema = pa.schema([rows.rows.schema.field(i) for i in columns])
    batch = select(rows.rows, columns, schema)
    if equal_rows(take(batch, at[second]), take(batch, at[second - 1])).all():
        return order, heads
    return by_key(Keys(rows.hashes[own], rows.places[own], take(batch, own)))
