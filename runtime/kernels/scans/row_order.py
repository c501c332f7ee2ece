"""Rows in the order, and in the numbers, in which they are worked on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.rows import concat
from ..expressions.values.vectors import joined
from .parquet_files import CHUNK


def row_by_row(results: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Columns of all that is made of a row, then of the next: `first` and lists see the order."""
    if len(results) == 1:
        return results[0]
    rows = len(results[0][0])
    order = pa.array(np.arange(len(results) * rows).reshape(len(results), rows).T.ravel())
    return [joined(parts).take(order) for parts in zip(*results, strict=True)]


def in_chunks(batches: Iterable[Any]) -> Iterator[Any]:
    """Rows as they come, in batches of about CHUNK rows."""
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= CHUNK:
            yield concat(waiting)
            waiting, count = [], 0
    if waiting:
        yield concat(waiting)
