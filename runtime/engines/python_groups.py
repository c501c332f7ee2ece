"""Calls of the user's Python functions over groups of rows, by PySpark's own worker code.

Rows are brought together by their keys as Spark's exchange and sort do it; the worker gets group by
group, each as an Arrow stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ..kernels.columns.ordering import in_order, valid
from ..kernels.hashes.rows import places_of
from ..state.rows import Int64, Mask, take
from ..state.sorting import order_by, stable_order
from .python_calls import INT, GivenColumns, WorkerCalls, in_structs, whole_of, write_rows


@dataclass(frozen=True, kw_only=True)
class GroupedRows:
    """Rows that a function gets by their keys.

    Attributes:
        keys: which columns make the key.
        given: the columns that the worker gets.
    """

    keys: tuple[int, ...]
    given: GivenColumns


@dataclass(frozen=True, kw_only=True)
class PythonGroups(WorkerCalls):
    """A call of a function for the rows of each key, of one input or of two.

    Attributes:
        sides: the inputs.
        placing: which of the keys say in which of Spark's partitions a row is.
        partitions: how many of these there are.
        together: whether keys are sorted over all of them; else in each.
    """

    sides: tuple[GroupedRows, ...]
    placing: tuple[int, ...]
    partitions: int
    together: bool

    def results(self, inputs: Sequence[Sequence[Any]]) -> Iterator[Any]:
        """What the function gives, key by key.

        Args:
            inputs: the record batches of each side.

        Raises:
            KernelError: as `worked`.
        """
        sides = list(map(whole_of, inputs))
        keys = [
            [rows.column(key) for key in side.keys]
            for side, rows in zip(self.sides, sides, strict=True)
            if rows is not None
        ]
        if not keys:
            return iter(())
        counts = [0 if rows is None else rows.num_rows for rows in sides]
        order, starts = self._grouped(keys, [count for count in counts if count])
        cuts: list[tuple[Any, Int64]] = []
        first = 0
        for side, rows, count in zip(self.sides, sides, counts, strict=True):
            mine = (order >= first) & (order < first + count)
            given = take(side.given.of(rows, self.zone), order[mine] - first)
            if self._gets_structs:
                given = in_structs(given)
            cuts.append((given, np.concatenate(([0], np.cumsum(mine)))[starts]))
            first += count
        return self.worked(self._stream(cuts), "", rows=True)

    @property
    def _gets_structs(self) -> bool:
        """Whether rows are one column of structs on their way to the function."""
        from pyspark.util import PythonEvalType

        return self.kind in (
            PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF,
            PythonEvalType.SQL_GROUPED_MAP_ARROW_ITER_UDF,
        )

    def _grouped(
        self, sides: Sequence[Sequence[Any]], counts: Sequence[int]
    ) -> tuple[Int64, Int64]:
        """The order that brings the rows of keys together, and where each begins, and the end.

        Args:
            sides: the columns of keys of each side that has rows.
            counts: how many.
        """
        found = [self._arranged(keys, count) for keys, count in zip(sides, counts, strict=True)]
        firsts = np.cumsum([0, *counts[:-1]])
        rows = np.concatenate([own + first for (own, _), first in zip(found, firsts, strict=True)])
        columns: list[Any] = [np.concatenate([places for _, places in found])]
        for parts in zip(*sides, strict=True):
            key = pa.concat_arrays(parts)
            there = valid(key)
            columns += [there, np.where(there, in_order(key), 0)]
        order = rows[order_by(*(column[rows] for column in columns))]
        heads = np.zeros(len(order), np.bool_)
        heads[0] = True
        for column in columns:
            ordered = column[order]
            heads[1:] |= ordered[1:] != ordered[:-1]
        return order, np.append(np.flatnonzero(heads), len(order))

    def _arranged(self, keys: Sequence[Any], count: int) -> tuple[Int64, Int64]:
        """The order in which Spark sorts the rows of a side; and in which of its sorts each is."""
        by_radix = len(keys) == 1 and keys[0].null_count and _sorts_by_radix(keys[0].type)
        everywhere = np.zeros(count, np.int64)
        if self.together and not by_radix:
            return np.arange(count), everywhere
        hashes = places_of([keys[i] for i in self.placing], count)
        places = hashes.astype(np.int64) % self.partitions
        rows = stable_order(places)
        if self.together:
            places = everywhere
        if by_radix:
            rows = rows[_turned(places[rows], ~valid(keys[0])[rows])]
        return rows, places

    def _stream(self, cuts: Sequence[tuple[Any, Int64]]) -> BytesIO:
        """All groups: how many inputs they have, and the rows of each."""
        stream = BytesIO()
        bounds = zip(*(pairwise(starts.tolist()) for _, starts in cuts), strict=True)
        for group in bounds:
            stream.write(INT.pack(len(cuts)))
            for (rows, _), (start, end) in zip(cuts, group, strict=True):
                write_rows(stream, rows.slice(start, end - start), self.longest, least=1)
        stream.write(INT.pack(0))
        stream.seek(0)
        return stream


def _sorts_by_radix(kind: Any) -> bool:
    """Whether Spark's sort by one column needs no comparison (`canSortFullyWithPrefix`)."""
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.precision <= _LONG_DIGITS)
    return bool(types.is_primitive(kind))


_LONG_DIGITS = 18


def _turned(places: Int64, nulls: Mask) -> Int64:
    """Rows as they stand before Spark sorts them by radix, partition by partition.

    A null takes the place of the first row that has a value, which goes to the end
    (`UnsafeInMemorySorter.insertRecord`).

    Args:
        places: the partition of each row; those of one lie together.
        nulls: whether its key is null.
    """
    found = []
    for rows in np.split(np.arange(len(places)), np.flatnonzero(np.diff(places)) + 1):
        null = nulls[rows]
        first = np.count_nonzero(np.logical_and.accumulate(null))  # nulls that move no value
        behind = null[first:]
        source = np.where(behind, np.cumsum(behind) - 1, np.arange(len(behind)))
        while behind[source].any():
            source = source[source]
        found += [rows[null], rows[first:][source[np.count_nonzero(behind) :]]]
    return np.concatenate(found)
