"""A limit over the life of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ..state import Found
from ..state.rows import columns_of, never
from .kernel import (
    Figures,
    Input,
    Keys,
    Layout,
    OneStoreKernel,
    Outcome,
    StateRows,
    StateStore,
    take,
)

_COUNT = pa.schema([pa.field("count", pa.int64())])
_NO_KEYS = pa.schema([])


@dataclass(frozen=True)
class LimitKernel(OneStoreKernel):
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
        key = _key()
        found = store.get(key)
        known = len(found.queries)
        before = _count(found)
        emitted = min(max(0, self.limit - before), len(rows.hashes))
        output = take(rows.rows, np.arange(emitted, dtype=np.int64))
        total = pa.RecordBatch.from_arrays([pa.array([before + emitted])], schema=_COUNT)
        changes = StateRows(key, never(1), total)
        if not emitted:
            return Outcome(output, changes.take(np.zeros(0, np.int64)), Figures())
        return Outcome(output, changes, Figures(updated=1, added=1 - known))


def passed_before(store: StateStore) -> int:
    """How many rows a limit has let through since the query began."""
    return _count(store.get(_key()))


def rows_without_columns(count: int) -> Input:
    """Rows of which nothing is known but their number, as input of a limit of no columns."""
    none = columns_of([], _NO_KEYS, count)
    return Input(np.zeros(count, np.int64), np.zeros(count, np.int32), none)


def _key() -> Keys:
    return Keys(np.zeros(1, np.int64), np.zeros(1, np.int32), columns_of([], _NO_KEYS, 1))


def _count(found: Found) -> int:
    return int(found.rows.values.column(0)[0].as_py()) if len(found.queries) else 0
