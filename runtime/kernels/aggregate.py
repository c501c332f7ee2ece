"""Streaming aggregation: StateStoreRestore, the merge and StateStoreSave in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from ..state.rows import concat_rows, never
from .buffers import Buffers
from .kernel import (
    Figures,
    Input,
    Int64,
    Keys,
    Layout,
    Outcome,
    StateRows,
    StateStore,
    at_or_below,
    concat,
    event_times,
    select,
    take,
)

Mode = Literal["append", "update", "complete"]


@dataclass(frozen=True)
class AggregateKernel:
    """Merges one row per key, its buffers over the batch, into the stored buffers.

    append: keys that the watermark passed are emitted and leave.
    update: the batch's keys are emitted; those that the watermark passed leave in silence.
    complete: all keys are emitted, nothing is late and nothing leaves.

    Attributes:
        keys, buffers: their columns; the input has the keys first, then the buffers. Without keys
            there is one row in every batch.
        time: which key is the event time (a timestamp, or a window, by its end); None: none is.
        late: keys with an event time at or below it are dropped, microseconds.
        evict: state with an event time at or below it leaves.
    """

    keys: Any
    buffers: Buffers
    mode: Mode
    time: int | None = None
    late: int | None = None
    evict: int | None = None

    @property
    def layout(self) -> Layout:
        return Layout(self.keys, self.buffers.schema, self.time is not None)

    @property
    def input(self) -> Any:
        return _joined(self.keys, self.buffers.schema)

    @property
    def output(self) -> Any:
        return _joined(self.keys, self.buffers.output)

    @property
    def evicts(self) -> int | None:
        return self.evict if self.time is not None and self.mode != "complete" else None

    def run(self, rows: Input, store: StateStore) -> Outcome:
        rows = rows.take(np.argsort(rows.hashes, kind="stable"))
        times = self._times(rows)
        dropped = 0
        if self.mode != "complete":
            late = at_or_below(times, self.late)
            dropped = int(late.sum())
            if dropped:
                rows, times = rows.take(np.flatnonzero(~late)), times[~late]
        merged, known = self._merge(rows, times, store)
        figures = Figures(updated=len(merged), dropped=dropped, added=len(merged) - known)
        if self.mode == "complete":
            everything = concat_rows([merged, store.scan(merged.keys)])
            return Outcome(self._emit(everything), merged, figures)
        if self.evicts is None:
            return Outcome(self._emit(merged), merged, figures)
        passed = at_or_below(merged.times, self.evicts)
        gone = concat_rows([merged.take(passed), store.expired(self.evicts, merged.keys)])
        figures = Figures(
            updated=figures.updated,
            dropped=dropped,
            removed=len(gone),
            added=figures.added - len(gone),
        )
        emitted = gone if self.mode == "append" else merged
        return Outcome(self._emit(emitted), merged.take(~passed), figures)

    def _times(self, rows: Input) -> Int64:
        if self.time is None:
            return never(len(rows.hashes))
        return event_times(rows.rows.column(self.time))

    def _merge(self, rows: Input, times: Int64, store: StateStore) -> tuple[StateRows, int]:
        """The batch's keys with their merged buffers, and how many of them were stored."""
        width = len(self.keys)
        keys = rows.keys(tuple(range(width)), self.keys)
        columns = tuple(range(width, width + len(self.buffers.schema)))
        values = select(rows.rows, columns, self.buffers.schema)
        found = store.get(keys)
        known = len(found.queries)
        if known:
            merged = self.buffers.merge(found.rows.values, take(values, found.queries))
            place = np.arange(len(keys), dtype=np.int64)
            place[found.queries] = len(keys) + np.arange(known)
            values = take(concat([values, merged]), place)
        return StateRows(Keys(keys.hashes, keys.places, keys.columns), times, values), known

    def _emit(self, rows: StateRows) -> Any:
        buffers = self.buffers.finish(rows.values)
        return _beside(rows.keys.columns, buffers, self.output)


def _joined(first: Any, second: Any) -> Any:
    schema = first
    for field in second:
        schema = schema.append(field)
    return schema


def _beside(left: Any, right: Any, schema: Any) -> Any:
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=schema)
