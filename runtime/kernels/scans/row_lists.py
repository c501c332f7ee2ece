"""The elements of lists as rows, beside what is kept of the row that has them: `explode`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..expressions.evaluator import Evaluator
from .placed_rows import passing


@dataclass(frozen=True)
class RowLists:
    """A row for each element of a row's list.

    Attributes:
        rows: what is kept of a row, then its list; of the rows that fulfil the conditions.
        numbered: whether the position of an element comes before it.
        outer: whether a row without elements stays, with nulls.
    """

    rows: Evaluator
    numbered: bool
    outer: bool

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The rows of the elements of some batches' lists: for each batch one.

        Raises:
            KernelError: a value cannot be computed.
        """
        for batch in batches:
            values, _ = self.rows.select(batch, encoded=True)
            *kept, lists = values
            lengths = pc.list_value_length(lists).fill_null(0).to_numpy().astype(np.int64)
            counts = np.maximum(lengths, 1) if self.outer else lengths
            total = int(counts.sum())
            columns = []
            if kept:
                parents = pa.array(np.repeat(np.arange(len(counts)), counts))
                columns = [column.take(parents) for column in kept]
            missing = np.repeat(lengths == 0, counts) if self.outer else np.zeros(total, np.bool_)
            if self.numbered:
                places = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
                columns.append(pa.array(places.astype(np.int32), mask=missing))
            elements = pc.list_flatten(lists)
            if missing.any():
                elements = elements.take(pa.array(np.cumsum(~missing) - 1, mask=missing))
            yield passing([*columns, elements], total)
