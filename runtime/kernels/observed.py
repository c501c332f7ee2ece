"""Metrics over the rows that pass: each batch of rows becomes one row of buffers, at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from .aggregates.buffers import Buffers, RowBuffers


class ObservedRows:
    """The buffers of all rows that have passed.

    Args:
        names: the columns of which the buffers of single rows are made, in a batch.
        rows: how they are.
        buffers: how they merge.
    """

    def __init__(self, names: Sequence[str], rows: RowBuffers, buffers: Buffers) -> None:
        self._names = names
        self._rows = rows
        self._buffers = buffers
        self._state: Any = None
        self._lock = threading.Lock()

    def take(self, batch: Any) -> None:
        """Take in rows.

        Raises:
            KernelError: an aggregate cannot be computed.
        """
        if not batch.num_rows:
            return
        given = zip(self._names, self._rows.columns, strict=True)
        columns = [batch.column(name).cast(field.type) for name, field in given]
        schema = self._buffers.travelling
        heads = np.zeros(batch.num_rows, np.bool_)
        heads[0] = True
        rows = self._rows.make(columns, schema, batch.num_rows)
        folded = self._buffers.gathered(rows, heads, of_rows=True)
        with self._lock:
            before = self._state
            self._state = folded if before is None else self._buffers.merge(before, folded)

    def result(self) -> Any:
        """One row of what the functions give of all rows so far.

        Raises:
            KernelError: an aggregate cannot be computed.
        """
        state = self._state
        if state is None:
            state = self._rows.of_no_rows(self._buffers.schema)
        return self._buffers.finish(state)
