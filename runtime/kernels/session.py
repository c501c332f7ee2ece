"""Session windows: restore a key's sessions, merge those that meet, save."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...planner.model.output_modes import OutputMode
from ..state.rows import concat_rows
from ..state.sorting import order_by
from .aggregates.buffers import Buffers, RowBuffers
from .grouping import by_key, grouping_keys
from .intervals import distinct, reaches
from .kernel import (
    Figures,
    Input,
    Int32,
    Int64,
    Keys,
    Layout,
    Mask,
    OneStoreKernel,
    Outcome,
    StateRows,
    StateStore,
    at_or_below,
    concat,
    event_times,
    select,
    take,
)

_SESSION = pa.schema([pa.field("start", pa.int64()), pa.field("end", pa.int64())])


@dataclass(frozen=True)
class SessionKernel(OneStoreKernel):
    """Merges the batch's sessions with the stored ones of their keys.

    Sessions of a key merge where one starts at or before the end of another. The state of a key is
    all its open sessions: start, end, buffers; touched keys are written anew as a whole.

    Attributes:
        keys: the schema of the keys without the session.
        session: the session column's field: a struct of start and end.
        position: where among the keys the session stands in the output.
        buffers: the input has the keys, start and end of a session, the buffers.
        gap: how much later than its start each row's session ends, in microseconds; the input then
            has no ends. None: rows differ.
        mode: append emits the sessions that the watermark passed, complete all of them.
        made: how the buffers come from the input's columns; None: they are these.
        merge_first: rows are late by the session that they make with those of their origin.
        late, evict: watermarks in microseconds; None without a watermark. Late rows are dropped in
            every mode, complete mode included, where an aggregation keeps them.
    """

    keys: Any
    session: Any
    position: int
    buffers: Buffers
    mode: OutputMode
    gap: int | None = None
    made: RowBuffers | None = None
    merge_first: bool = False
    late: int | None = None
    evict: int | None = None

    @property
    def _values(self) -> Any:
        return pa.schema([*_SESSION, *self.buffers.schema])

    @property
    def layout(self) -> Layout:
        return Layout(self.keys, self._values, True)

    @property
    def input(self) -> Any:
        bounds = [self.session.type.field(i) for i in range(2 if self.gap is None else 1)]
        given = self.buffers.schema if self.made is None else self.made.columns
        return pa.schema([*self.keys, *bounds, *given])

    @property
    def output(self) -> Any:
        fields = list(self.keys)
        fields.insert(self.position, self.session)
        return pa.schema([*fields, *self.buffers.output])

    @property
    def evicts(self) -> int | None:
        return None if self.mode == "complete" else self.evict

    def run(self, rows: Input, store: StateStore) -> Outcome:
        batch, dropped = self._in_time(*self._read(rows))
        order, new = by_key(batch.keys)
        touched = batch.keys.take(order[new])
        found = store.get(touched)
        rows_by_key = take(batch.values, order)
        near = _meeting(rows_by_key, new, found.queries, found.rows)
        # Stored sessions first: where two start together, the stored one is the earlier.
        count = int(near.sum())
        values = concat([take(found.rows.values, np.flatnonzero(near)), rows_by_key])
        group = np.concatenate([found.queries[near], np.cumsum(new) - 1])
        merged, kept = self._merge(values, touched, np.arange(len(group)), group, count)
        figures = Figures(
            updated=len(found.rows) - count + len(merged),
            removed=count - kept,
            dropped=dropped,
            added=len(merged) - count,
        )
        if self.evicts is None:
            present = concat_rows([found.rows.take(~near), merged])
            return Outcome(self._emit([present, store.scan(touched)]), present, figures, touched)
        old = store.expired(self.evicts, touched)
        return self._evict(found.rows, ~near, merged, old, figures, touched)

    def _evict(
        self,
        found: StateRows,
        far: Mask,
        merged: StateRows,
        old: StateRows,
        figures: Figures,
        touched: Keys,
    ) -> Outcome:
        """Emit what the watermark passed: of the stored sessions `far` from the batch's, of the
        merged ones, and all the old ones of other keys."""
        passed = at_or_below(found.times, self.evicts)
        ended = at_or_below(merged.times, self.evicts)
        kept = concat_rows([found.take(far & ~passed), merged.take(~ended)])
        emitted = self._emit([(found, far & passed), (merged, ended), old])
        count = emitted.num_rows
        figures = replace(figures, removed=figures.removed + count, added=figures.added - count)
        return Outcome(emitted, kept, figures, touched)

    def _read(self, rows: Input) -> tuple[StateRows, Int32]:
        """The sessions of the rows, and the partitions they came from."""
        width = len(self.keys)
        start, *given = rows.rows.columns[width:]
        start = start.cast(pa.int64())
        if self.gap is None:
            end, *given = given
            end = end.cast(pa.int64())
        else:
            end = pc.add_checked(start, self.gap)
        keys, origins = grouping_keys(rows, self.keys), _origins(rows)
        if self.made is not None:
            made = self.made.make(given, self.buffers.travelling, len(rows.hashes))
            if self.buffers.starts or self.buffers.rounds:
                order, heads = _equal_sessions(keys, start.to_numpy(), end.to_numpy(), origins)
                if not heads.all():
                    first = order[heads]
                    made = take(made, order)
                    keys, origins = keys.take(first), origins[first]
                    start, end = (bound.take(pa.array(first)) for bound in (start, end))
                made = self.buffers.gathered(made, heads, of_rows=True)
            given = made.columns
        values = pa.RecordBatch.from_arrays([start, end, *given], schema=self._values)
        return StateRows(keys, event_times(values.column(1)), values), origins

    def _in_time(self, batch: StateRows, origins: Int32) -> tuple[StateRows, int]:
        """The sessions that are not late, and how many are: Spark counts behind each partition's
        partial aggregation, where a key's equal sessions are one."""
        if self.merge_first:
            order, new = by_key(batch.keys)
            # Within each key by origin: numbers of pairs, ascending.
            number = np.cumsum(new) - 1
            order = order[order_by(number, origins[order])]
            origins = origins[order]
            ends = np.flatnonzero((np.diff(number) != 0) | (np.diff(origins) != 0)) + 1
            pairs = np.zeros(len(order), np.int64)
            pairs[ends] = 1
            keys = batch.keys.take(order[np.append(0, ends)] if len(order) else order)
            batch, _ = self._merge(batch.values, keys, order, np.cumsum(pairs), 0)
        late = at_or_below(batch.times, self.late)
        if not late.any():
            return batch, 0
        count = int(late.sum())
        if not self.merge_first:
            gone = batch.take(late)
            count = distinct(gone.keys, (_starts(gone), gone.times, origins[late]))
        return batch.take(~late), count

    def _merge(
        self, values: Any, keys: Keys, order: Int64, group: Int64, stored: int
    ) -> tuple[StateRows, int]:
        """The sessions that rows make, group by group.

        Also how many of the first `stored` rows, the sessions that there were, keep their start:
        a session is stored under it, and all others of these go.

        Args:
            values: sessions: start, end, buffers.
            keys: the key of each group.
            order: positions that put the rows group by group.
            group: numbers of groups, in that order; among the first `stored`, and behind them,
                ascending.
            stored: how many rows, the first in that order, are stored sessions.
        """
        starts, ends = (values.column(i).to_numpy() for i in range(2))
        by_start = order_by(group, starts[order])
        order, group = order[by_start], group[by_start]
        if self.gap is None or self.merge_first:
            order = _by_end(group, starts[order], ends[order], order, stored)
        starts = starts[order]
        heads, reach = reaches(group, starts, ends[order])
        first = np.flatnonzero(heads)
        last = reach[np.append(first[1:], len(order)) - 1] if len(first) else reach
        buffers = select(values, tuple(range(2, len(self._values))), self.buffers.schema)
        folded = self.buffers.fold(take(buffers, order), heads)
        merged = pa.RecordBatch.from_arrays(
            [pa.array(starts[first]), pa.array(last), *folded.columns], schema=self._values
        )
        old = np.flatnonzero(order < stored)
        own = starts[old] == starts[first[np.searchsorted(first, old, "right") - 1]]
        return StateRows(keys.take(group[first]), last, merged), int(own.sum())

    def _emit(self, parts: Sequence[StateRows | tuple[StateRows, Mask]]) -> Any:
        """The output's rows of sessions, or of those of them that a mask chooses."""
        batches = []
        for part in parts:
            rows, chosen = part if isinstance(part, tuple) else (part, None)
            both = (rows.keys.columns, rows.values)
            if chosen is not None and not chosen.all():
                at = np.flatnonzero(chosen)
                both = (take(both[0], at), take(both[1], at))
            batches.append(self._emitted(*both))
        return concat(batches)

    def _emitted(self, keys: Any, values: Any) -> Any:
        fields = [self.session.type.field(i) for i in range(2)]
        bounds = [values.column(i).cast(field.type) for i, field in enumerate(fields)]
        columns = list(keys.columns)
        columns.insert(self.position, pa.StructArray.from_arrays(bounds, fields=fields))
        buffers = select(values, tuple(range(2, len(self._values))), self.buffers.schema)
        columns += self.buffers.finish(buffers).columns
        return pa.RecordBatch.from_arrays(columns, schema=self.output)


def _equal_sessions(keys: Keys, starts: Int64, ends: Int64, origins: Int32) -> tuple[Int64, Mask]:
    """Positions that put rows of equal sessions of one partition together, as Spark's partial
    aggregation does, and which of them are the first of theirs."""
    order, new = by_key(keys)
    number = np.cumsum(new) - 1
    order = order[order_by(number, starts[order])]
    heads = _changes(number, starts[order])
    if (_changes(ends[order], origins[order]) & ~heads).any():
        within = order_by(number, starts[order], ends[order], origins[order])
        order = order[within]
        heads = _changes(number, starts[order], ends[order], origins[order])
    return order, heads


def _changes(*columns: Int64 | Int32) -> Mask:
    """Which rows are not as the rows before them in all columns; the first one is not."""
    heads = np.zeros(len(columns[0]), np.bool_)
    heads[:1] = True
    for values in columns:
        heads[1:] |= values[1:] != values[:-1]
    return heads


def _by_end(group: Int64, starts: Int64, ends: Int64, order: Int64, stored: int) -> Int64:
    """The order of Spark's merge, which lists and `first` show: where sessions of a group start
    together, the stored one comes first, then the others by their end.

    Args:
        group, starts, ends: sessions sorted by group and start.
        order: their positions, of which those below `stored` are of stored sessions.
    """
    old = order < stored
    together = (group[1:] == group[:-1]) & (starts[1:] == starts[:-1])
    if not (together & ~old[:-1] & (ends[1:] < ends[:-1])).any():
        return order
    return order[order_by(group, starts, ~old, ends)]


def _origins(rows: Input) -> Int32:
    return np.zeros(len(rows.hashes), np.int32) if rows.origins is None else rows.origins


def _starts(rows: StateRows) -> Int64:
    starts: Int64 = rows.values.column(0).to_numpy()
    return starts


def _meeting(batch: Any, new: Mask, queries: Int64, stored: StateRows) -> Mask:
    """Which stored sessions may meet the batch's of their key; all others stay as they are.

    A key's stored sessions lie apart, so one that none of the batch reaches merges with none.
    """
    first = np.flatnonzero(new)
    if not len(queries):
        return np.zeros(0, np.bool_)
    starts, ends = (batch.column(i).to_numpy() for i in range(2))
    low = np.minimum.reduceat(starts, first)[queries]
    high = np.maximum.reduceat(ends, first)[queries]
    meets: Mask = (stored.times >= low) & (_starts(stored) <= high)
    return meets
