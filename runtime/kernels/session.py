"""Session windows: restore a key's sessions, merge those that meet, save."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..state import first_rows
from ..state.rows import concat_rows
from .aggregate import Mode
from .buffers import Buffers
from .kernel import (
    Figures,
    Input,
    Int64,
    Layout,
    Mask,
    Outcome,
    StateRows,
    StateStore,
    at_or_below,
    event_times,
    select,
)

_SESSION = pa.schema([pa.field("start", pa.int64()), pa.field("end", pa.int64())])


@dataclass(frozen=True)
class SessionKernel:
    """Merges the batch's sessions with the stored ones of their keys.

    Sessions of a key merge where one starts at or before the end of another. The state of a key is
    all its open sessions: start, end, buffers; touched keys are written anew as a whole.

    Attributes:
        keys: the schema of the keys without the session.
        session: the session column's field: a struct of start and end.
        position: where among the keys the session stands in the output.
        buffers: the input has the keys, the session, the buffers.
        mode: append emits the sessions that the watermark passed, complete all of them.
        merge_first: rows are late by the session that they make within the batch, not by their own.
        late, evict: watermarks in microseconds; None in complete mode or without a watermark.
    """

    keys: Any
    session: Any
    position: int
    buffers: Buffers
    mode: Mode
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
        return pa.schema([*self.keys, self.session, *self.buffers.schema])

    @property
    def output(self) -> Any:
        fields = list(self.keys)
        fields.insert(self.position, self.session)
        return pa.schema([*fields, *self.buffers.output])

    @property
    def evicts(self) -> int | None:
        return None if self.mode == "complete" else self.evict

    def run(self, rows: Input, store: StateStore) -> Outcome:
        batch = self._read(rows)
        if self.merge_first:
            batch, _ = self._merge(batch, first_rows(batch.keys), 0)
        late = at_or_below(batch.times, None if self.mode == "complete" else self.late)
        batch = batch.take(~late)
        leaders = first_rows(batch.keys)
        heads = np.flatnonzero(leaders == np.arange(len(leaders)))
        heads = heads[np.argsort(batch.keys.hashes[heads], kind="stable")]
        touched = batch.keys.take(heads)
        found = store.get(touched)
        number = np.empty(len(leaders), np.int64)
        number[heads] = np.arange(len(heads))
        # Stored sessions first: where two start together, the stored one is the earlier.
        group = np.concatenate([found.queries, number[leaders]])
        rows_of_keys = concat_rows([found.rows, batch])
        merged, survivors = self._merge(rows_of_keys, group, len(found.queries))
        figures = Figures(
            updated=len(merged),
            removed=len(found.queries) - survivors,
            dropped=int(late.sum()),
            added=len(merged) - len(found.queries),
        )
        if self.evicts is None:
            rest = store.scan(touched)
            return Outcome(self._emit(concat_rows([merged, rest])), merged, figures)
        return self._evict(merged, store.expired(self.evicts, touched), figures)

    def _evict(self, merged: StateRows, old: StateRows, figures: Figures) -> Outcome:
        passed = at_or_below(merged.times, self.evicts)
        gone = concat_rows([merged.take(passed), old])
        figures = Figures(
            updated=figures.updated,
            removed=figures.removed + len(gone),
            dropped=figures.dropped,
            added=figures.added - len(gone),
        )
        return Outcome(self._emit(gone), merged.take(~passed), figures)

    def _read(self, rows: Input) -> StateRows:
        width = len(self.keys)
        window = rows.rows.column(width)
        columns = [_micros(window, 0), _micros(window, 1)]
        columns += rows.rows.columns[width + 1 :]
        values = pa.RecordBatch.from_arrays(columns, schema=self._values)
        keys = rows.keys(tuple(range(width)), self.keys)
        return StateRows(keys, event_times(values.column(1)), values)

    def _merge(self, rows: StateRows, group: Int64, stored: int) -> tuple[StateRows, int]:
        """The sessions that rows make, in the order of the groups; a group has one key.

        Also how many of the first `stored` rows, the sessions that there were, keep their start:
        a session is stored under it, and all others of these go.
        """
        starts, ends = _bounds(rows)
        order = np.lexsort((starts, group))
        rows, group, starts, ends = rows.take(order), group[order], starts[order], ends[order]
        heads = session_heads(group, starts, ends)
        first = np.flatnonzero(heads)
        buffers = select(rows.values, tuple(range(2, len(self._values))), self.buffers.schema)
        folded = self.buffers.fold(buffers, heads)
        last = np.maximum.reduceat(ends, first) if len(first) else ends
        columns = [pa.array(starts[first]), pa.array(last), *folded.columns]
        values = pa.RecordBatch.from_arrays(columns, schema=self._values)
        own = starts == starts[first][np.cumsum(heads) - 1]
        kept = int((own & (order < stored)).sum())
        return StateRows(rows.keys.take(first), last, values), kept

    def _emit(self, rows: StateRows) -> Any:
        kinds = [self.session.type.field(i).type for i in range(2)]
        bounds = [rows.values.column(i).cast(kind) for i, kind in enumerate(kinds)]
        fields = [self.session.type.field(i) for i in range(2)]
        columns = list(rows.keys.columns.columns)
        columns.insert(self.position, pa.StructArray.from_arrays(bounds, fields=fields))
        buffers = select(rows.values, tuple(range(2, len(self._values))), self.buffers.schema)
        columns += self.buffers.finish(buffers).columns
        return pa.RecordBatch.from_arrays(columns, schema=self.output)


def _micros(window: Any, field: int) -> Any:
    return window.field(field).cast(pa.int64())


def _bounds(rows: StateRows) -> tuple[Int64, Int64]:
    return rows.values.column(0).to_numpy(), rows.values.column(1).to_numpy()


def session_heads(group: Int64, starts: Int64, ends: Int64) -> Mask:
    """Where a new session begins, for rows sorted by group and start.

    A row begins one if it starts after all earlier rows of its group have ended.
    """
    heads = np.ones(len(group), dtype=np.bool_)
    if len(group) < 2:
        return heads
    # The running maximum of the ends within each group: ranks of ends, raised group by group.
    order = np.argsort(ends, kind="stable")
    rank = np.empty(len(ends), dtype=np.int64)
    rank[order] = np.arange(len(ends))
    number = np.cumsum(np.concatenate([[True], group[1:] != group[:-1]])) - 1
    highest = np.maximum.accumulate(number * len(ends) + rank) - number * len(ends)
    reach = ends[order][highest]
    heads[1:] = (group[1:] != group[:-1]) | (starts[1:] > reach[:-1])
    return heads
