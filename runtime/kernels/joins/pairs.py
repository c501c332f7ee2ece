"""Pairs of rows with equal keys, some at a time: a key may have many rows on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...state import Keys
from ...state.rows import Int64, columns_of, ranges
from ...state.store import matching_keys
from ..expressions.evaluator import Evaluator

MOST = 1 << 20
"""Pairs that are looked at together; one row's are never divided."""


@dataclass(frozen=True)
class Grouped:
    """Rows of which those of a key stand together.

    Attributes:
        keys: the keys, each once, in the order of their hashes.
        starts: where the rows of each key begin; behind the last, their number.
    """

    keys: Keys
    starts: Int64

    @property
    def sizes(self) -> Int64:
        """How many rows each key has."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Partners:
    """Rows of one side, and for each the rows of the other side that have its key.

    Attributes:
        rows: positions.
        starts, sizes: where on the other side the rows of its key begin, and how many there are.
    """

    rows: Int64
    starts: Int64
    sizes: Int64

    @classmethod
    def of(cls, one: Grouped, here: Int64, other: Grouped, there: Int64) -> Partners:
        """The partners of the rows of some keys: where they stand on both sides, in step."""
        sizes = one.sizes[here]
        rows = np.repeat(one.starts[here], sizes) + ranges(sizes)
        keys = np.repeat(there, sizes)
        return cls(rows, other.starts[keys], other.sizes[keys])

    @classmethod
    def between(cls, one: Grouped, other: Grouped) -> Partners:
        """The partners of all rows of one side."""
        here, there = matching_keys(one.keys, other.keys)
        return cls.of(one, here, other, there)

    def pairs(self) -> Iterator[tuple[Int64, Int64]]:
        """The pairs (row, partner), some at a time."""
        ends = np.cumsum(self.sizes)
        first, done = 0, 0
        while first < len(self.rows):
            last = max(first + 1, int(np.searchsorted(ends, done + MOST, "right")))
            part = slice(first, last)
            sizes = self.sizes[part]
            rows = np.repeat(self.rows[part], sizes)
            yield rows, np.repeat(self.starts[part], sizes) + ranges(sizes)
            first, done = last, int(ends[last - 1])


@dataclass(frozen=True)
class Condition:
    """What a match fulfils besides equal keys.

    Attributes:
        program: computes it.
        places: the columns that it needs, of those of the left and then the right side.
    """

    program: Evaluator
    places: tuple[int, ...]

    def holds(self, left: Any, i: Int64, right: Any, j: Int64) -> Int64:
        """Of the pairs (row `i` of a left batch, row `j` of a right one) those that fulfil it."""
        here, there = pa.array(i), pa.array(j)
        columns = [
            pc.take(left.column(place), here, boundscheck=False)
            if place < left.num_columns
            else pc.take(right.column(place - left.num_columns), there, boundscheck=False)
            for place in self.places
        ]
        schema = pa.schema([pa.field(str(n), c.type) for n, c in enumerate(columns)])
        _, kept = self.program.select(columns_of(columns, schema, len(i)))
        if kept is None:
            return np.arange(len(i), dtype=np.int64)
        found: Int64 = np.flatnonzero(kept.to_numpy(zero_copy_only=False))
        return found
