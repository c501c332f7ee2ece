"""A limit over the life of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..state.rows import columns_of, never
from .kernel import Figures, Input, Keys, Layout, Outcome, StateRows, StateStore, take

_COUNT = pa.schema([pa.field("count", pa.int64())])
_NO_KEYS = pa.schema([])


@dataclass(frozen=True)
class LimitKernel:
    """Lets rows through until `limit` of them have been emitted since the query began.

    Attributes:
        rows: the Arrow schema of the rows; all of them are in one task.
        limit: how many.
    """

    rows: Any
    limit: int

    @property
    def layout(self) -> Layout:
        return Layout(_NO_KEYS, _COUNT, False)

    @property
    def input(self) -> Any:
        return self.rows

    @property
    def output(self) -> Any:
        return self.rows

    @property
    def evicts(self) -> int | None:
        return None

    def run(self, rows: Input, store: StateStore) -> Outcome:
        one = columns_of([], _NO_KEYS, 1)
        key = Keys(np.zeros(1, np.int64), np.zeros(1, np.int32), one)
        found = store.get(key)
        known = len(found.queries)
        before = int(found.rows.values.column(0)[0].as_py()) if known else 0
        emitted = min(max(0, self.limit - before), len(rows.hashes))
        output = take(rows.rows, np.arange(emitted, dtype=np.int64))
        total = pa.RecordBatch.from_arrays([pa.array([before + emitted])], schema=_COUNT)
        changes = StateRows(key, never(1), total)
        if not emitted:
            return Outcome(output, changes.take(np.zeros(0, np.int64)), Figures())
        return Outcome(output, changes, Figures(updated=1, added=1 - known))
