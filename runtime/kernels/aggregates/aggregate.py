"""Streaming aggregation: StateStoreRestore, the merge and StateStoreSave in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....planner.model.output_modes import OutputMode
from ...state.rows import columns_of, concat_rows, never
from ..grouping import by_key, grouping_keys, keys_of_all_rows
from ..kernel import (
    Figures,
    Input,
    Keys,
    Layout,
    OneStoreKernel,
    Outcome,
    StateRows,
    StateStore,
    at_or_below,
    concat,
    event_times,
    take,
)
from .buffers import Buffers, RowBuffers

ROWS = "__rows"


@dataclass(frozen=True)
class AggregateKernel(OneStoreKernel):
    """Merges each key's buffers over the batch into the stored buffers.

    append: keys that the watermark passed are emitted and leave.
    update: the batch's keys are emitted; those that the watermark passed leave in silence.
    complete: all keys are emitted, nothing is late and nothing leaves.

    Attributes:
        keys, buffers: their columns.
        rows: how a row's own buffers are made. The input then has the keys and what `rows` reads;
            without it partial results: a key, what its buffers over some rows start from, and of
            how many rows they are. Without keys there is one of these at least in every batch.
        time: which key is the event time (a timestamp, or a window, by its end); None: none is.
        late: keys with an event time at or below it are dropped, microseconds.
        evict: state with an event time at or below it leaves.
    """

    keys: Any
    buffers: Buffers
    mode: OutputMode
    time: int | None = None
    late: int | None = None
    evict: int | None = None
    rows: RowBuffers | None = None

    @property
    def layout(self) -> Layout:
        return Layout(self.keys, self.buffers.schema, self.time is not None)

    @property
    def input(self) -> Any:
        if self.rows is not None:
            return pa.schema([*self.keys, *self.rows.columns])
        return pa.schema([*self.keys, *self.buffers.travelling, pa.field(ROWS, pa.int64())])

    @property
    def output(self) -> Any:
        return pa.schema([*self.keys, *self.buffers.output])

    @property
    def evicts(self) -> int | None:
        return self.evict if self.time is not None and self.mode != "complete" else None

    def run(self, rows: Input, store: StateStore) -> Outcome:
        batch, count = self._groups(rows)
        groups = len(batch)
        dropped = 0
        if self.mode != "complete":
            late = at_or_below(batch.times, self.late)
            dropped = int(late.sum())
            if dropped:
                batch = batch.take(~late)
        merged, known = self._merge(batch, store)
        figures = Figures(
            updated=len(merged),
            dropped=dropped,
            added=len(merged) - known,
            received=count,
            groups=groups,
        )
        if self.mode == "complete":
            everything = concat_rows([merged, store.scan(merged.keys)])
            return Outcome(self._emit(everything), merged, figures)
        if self.evicts is None:
            return Outcome(self._emit(merged), merged, figures)
        passed = at_or_below(merged.times, self.evicts)
        gone = concat_rows([merged.take(passed), store.expired(self.evicts, merged.keys)])
        figures = replace(figures, removed=len(gone), added=figures.added - len(gone))
        emitted = gone if self.mode == "append" else merged
        kept = merged.take(~passed) if passed.any() else merged
        return Outcome(self._emit(emitted), kept, figures)

    def _groups(self, rows: Input) -> tuple[StateRows, int]:
        """The batch's keys by hash, with their buffers over it; and how many rows they are of."""
        width = len(self.keys)
        columns = rows.rows.columns[width:]
        keys = grouping_keys(rows, self.keys)
        order, heads = by_key(keys)
        if self.rows is None:
            count = int(pc.sum(columns.pop()).as_py() or 0)
            values = take(columns_of(columns, self.buffers.travelling, len(keys)), order)
            gathered = self.buffers.gathered(values, heads, of_rows=False)
            return self._timed(keys.take(order[heads]), gathered), count
        count = len(order)
        if not count and not width:
            # A group of all rows is there without any.
            one = keys_of_all_rows(self.keys)
            return self._timed(one, self.rows.of_no_rows(self.buffers.schema)), 0
        positions = pa.array(order)
        values = self.rows.make(
            [column.take(positions) for column in columns], self.buffers.travelling, count
        )
        first = keys.take(order[heads] if count else order)
        return self._timed(first, self.buffers.gathered(values, heads, of_rows=True)), count

    def _timed(self, keys: Keys, values: Any) -> StateRows:
        times = (
            never(len(keys)) if self.time is None else event_times(keys.columns.column(self.time))
        )
        return StateRows(keys, times, values)

    def _merge(self, batch: StateRows, store: StateStore) -> tuple[StateRows, int]:
        """The batch's keys with their merged buffers, and how many of them were stored."""
        found = store.get(batch.keys, None if self.time is None else batch.times)
        known = len(found.queries)
        if not known:
            return batch, 0
        if known == len(batch):
            return replace(batch, values=self.buffers.merge(found.rows.values, batch.values)), known
        merged = self.buffers.merge(found.rows.values, take(batch.values, found.queries))
        place = np.arange(len(batch), dtype=np.int64)
        place[found.queries] = len(batch) + np.arange(known)
        return replace(batch, values=take(concat([batch.values, merged]), place)), known

    def _emit(self, rows: StateRows) -> Any:
        buffers = self.buffers.finish(rows.values)
        return _beside(rows.keys.columns, buffers, self.output)


def _beside(left: Any, right: Any, schema: Any) -> Any:
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=schema)
