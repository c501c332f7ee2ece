"""Streaming deduplication, for ever or within the watermark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..state import NEVER
from ..state.rows import never
from ..state.sorting import stable_order
from ..state.version import task_of
from .grouping import by_key
from .kernel import (
    Figures,
    Input,
    Int64,
    Keys,
    Layout,
    OneStoreKernel,
    Outcome,
    StateRows,
    StateStore,
    at_or_below,
    event_times,
    select,
    take,
)


@dataclass(frozen=True)
class DeduplicateKernel(OneStoreKernel):
    """Lets the first row of each key through.

    Late rows are dropped wherever there is an event time. A key leaves when the watermark passes
    its own event time, if that is a part of it; within the watermark, when the watermark passes
    the event time of its first row plus the delay.

    The rows of one store come out after those of another, each in the order they came in: so they
    do where each store has a task of its own, as in Spark.

    Attributes:
        rows: the Arrow schema of the rows.
        keys: the columns that make the key.
        time: the event-time column; None: there is none.
        within: the delay in microseconds after which a key is forgotten; None: it lives as long
            as its own event time says.
        late, evict: watermarks in microseconds.
    """

    rows: Any
    keys: tuple[int, ...]
    time: int | None = None
    within: int | None = None
    late: int | None = None
    evict: int | None = None

    @property
    def _key_schema(self) -> Any:
        return pa.schema([self.rows.field(i) for i in self.keys])

    @property
    def _expires(self) -> bool:
        return self.within is not None or self.time in self.keys

    @property
    def layout(self) -> Layout:
        return Layout(self._key_schema, pa.schema([]), self._expires)

    @property
    def input(self) -> Any:
        return self.rows

    @property
    def output(self) -> Any:
        return self.rows

    @property
    def evicts(self) -> int | None:
        return self.evict if self._expires else None

    def run(self, rows: Input, store: StateStore) -> Outcome:
        times = self._times(rows)
        late = at_or_below(times, self.late)
        dropped = int(late.sum())
        if dropped:
            rows, times = rows.take(np.flatnonzero(~late)), times[~late]
        keys = rows.keys(self.keys, self._key_schema)
        order, heads = by_key(keys)
        first = order[heads]
        candidates = keys.take(first)
        unseen = np.ones(len(first), dtype=np.bool_)
        decided = self.within is None and self.time in self.keys
        known = store.get(candidates, times[first] if decided else None)
        unseen[known.queries] = False
        passes = np.zeros(len(keys), dtype=np.bool_)
        passes[first[unseen]] = True
        new = np.flatnonzero(passes)
        if store.stores > 1:
            new = new[stable_order(task_of(rows.places[new], store.stores))]
        changes = self._state(candidates.take(unseen), times[first[unseen]])
        removed = int(at_or_below(changes.times, self.evicts).sum())
        if self.evicts is not None:
            # A key that is new has no live row, and one that has a live row is not written again.
            removed += store.count_expired(self.evicts)
        figures = Figures(
            updated=len(new), removed=removed, dropped=dropped, added=len(new) - removed
        )
        return Outcome(take(rows.rows, new), changes, figures)

    def _times(self, rows: Input) -> Int64:
        if self.time is None:
            return never(len(rows.hashes))
        return event_times(rows.rows.column(self.time))

    def _state(self, keys: Keys, times: Int64) -> StateRows:
        if self.within is not None:
            # Spark reads a null event time as the beginning of 1970.
            times = np.where(times == NEVER, 0, times) + self.within
        elif not self._expires:
            times = never(len(keys))
        return StateRows(keys, times, select(keys.columns, (), pa.schema([])))
