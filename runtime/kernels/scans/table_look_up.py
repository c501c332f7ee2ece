"""Joins of the rows that a task reads with tables of which it has all rows in memory.

A table is read when it is first needed, and kept for the batches that follow, until one of its
files is written anew. Values of its keys are numbered: a row is looked up by the number of its key.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...state.rows import Int64, columns_of
from ...state.sorting import stable_order
from ..expressions.evaluator import Evaluator
from ..expressions.values.vectors import is_encoded
from ..joins.pairs import Partners
from .parquet_files import ScanFile, file_batches, null_as_word
from .placed_rows import passing
from .words import encoded_where_repeated

_KEPT_TABLES = 8
_LOADING = threading.Lock()
_SPARSE = 8
"""Whole numbers that lie no further apart, on average, are places in an array."""


@dataclass(frozen=True)
class KeyedTable:
    """A table of Parquet files, and what of it is looked up.

    Attributes:
        files, schema: as a `Scan` has them.
        columns: what rows get of it, then its keys; of the rows that fulfil its conditions.
        width: how many of these are no keys.
    """

    files: tuple[ScanFile, ...]
    schema: Any
    columns: Evaluator
    width: int


@dataclass(frozen=True)
class TableLookUp:
    """A join with a table.

    Attributes:
        table: the table.
        rows: what is kept of a row, then its keys; of the rows that fulfil the conditions.
        width: how many of these are no keys.
        join_type: what becomes of rows with and without a match.
    """

    table: KeyedTable
    rows: Evaluator
    width: int
    join_type: Literal["Inner", "LeftOuter", "LeftSemi", "LeftAnti"]

    def over(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The joined rows of some batches, in their order: for each batch one or several.

        Raises:
            SourceError: a file of the table cannot be read.
            KernelError: a value cannot be computed.
        """
        for batch in batches:
            yield from self._joined(batch)

    def _joined(self, batch: Any) -> Iterator[Any]:
        computation = self.rows.begin(batch)
        values, count = computation.results(encoded=True), computation.count
        table = _loaded(self.table)
        numbers = table.keys.numbers(values[self.width :], count)
        kept = values[: self.width]
        if self.join_type in ("LeftSemi", "LeftAnti"):
            matched = numbers >= 0 if self.join_type == "LeftSemi" else numbers < 0
            yield passing(_taken(kept, np.flatnonzero(matched), count), int(matched.sum()))
            return
        rows = np.arange(count, dtype=np.int64)
        if self.join_type == "Inner":
            rows = np.flatnonzero(numbers >= 0)
            numbers = numbers[rows]
        starts, sizes = table.starts[numbers], table.sizes[numbers]
        # One row for each, mostly: then there are no pairs to be made.
        pairs = iter([(rows, starts)])
        if (sizes > 1).any():
            pairs = Partners(rows, starts, sizes).pairs()
        for here, there in pairs:
            found = (column.take(pa.array(there)) for column in table.columns)
            yield passing([*_taken(kept, here, count), *found], len(here))


@dataclass(frozen=True)
class _KeyWords:
    """The values of one column of a table's keys, each once: their places are their numbers.

    Attributes:
        values: the values.
        least, places: of whole numbers that lie close together the least, and the number of each
            that follows, -1 for none, as for the last place; None: they do not.
    """

    values: Any
    least: int = 0
    places: Int64 | None = None

    @classmethod
    def of(cls, column: Any) -> _KeyWords:
        values = column.unique().drop_null()
        if not pa.types.is_integer(values.type) or not len(values):
            return cls(values)
        numbers = values.to_numpy().astype(np.int64)
        least, span = int(numbers.min()), int(numbers.max()) - int(numbers.min()) + 1
        if span > _SPARSE * len(numbers):
            return cls(values)
        places = np.full(span + 1, -1, np.int64)
        places[numbers - least] = np.arange(len(numbers))
        return cls(values, least, places)

    def numbers(self, column: Any) -> Int64:
        """The numbers of a column's values; -1: null, or none of the table's."""
        if is_encoded(column):  # a null is a word as the others are
            of_words: Int64 = self.numbers(column.dictionary)[column.indices.to_numpy()]
            return of_words
        if self.places is None:
            places = pc.index_in(column, value_set=self.values)
            found: Int64 = places.fill_null(-1).to_numpy().astype(np.int64)
            return found
        last = len(self.places) - 1
        given = column.fill_null(self.least).to_numpy().astype(np.int64)
        inside = (given >= self.least) & (given < self.least + last)
        if column.null_count:
            inside &= column.is_valid().to_numpy(zero_copy_only=False)
        return self.places[np.where(inside, given - self.least, last)]


@dataclass(frozen=True)
class _TableKeys:
    """The keys of a table, each with a number.

    Attributes:
        words: per column its values.
        known: per column but the first, in order, the pairs that there are of the number of all
            columns before and that of its value: the place of a pair is their number.
    """

    words: tuple[_KeyWords, ...]
    known: tuple[Int64, ...]

    @classmethod
    def of(cls, columns: Sequence[Any]) -> tuple[_TableKeys, Int64]:
        """The keys of a table's rows, and the number of each row's; -1 if a part of it is null."""
        words = tuple(map(_KeyWords.of, columns))
        known: list[Int64] = []
        numbers = words[0].numbers(columns[0])
        for own, column in zip(words[1:], columns[1:], strict=True):
            pairs = _pairs(numbers, own, column)
            known.append(np.unique(pairs[pairs >= 0]))
            numbers = _places(known[-1], pairs)
        return cls(words, tuple(known)), numbers

    def numbers(self, columns: Sequence[Any], count: int) -> Int64:
        """The numbers of some keys; -1: a part is null, or the table has no such key."""
        if not count:
            return np.empty(0, np.int64)
        numbers = self.words[0].numbers(columns[0])
        for own, known, column in zip(self.words[1:], self.known, columns[1:], strict=True):
            numbers = _places(known, _pairs(numbers, own, column))
        return numbers


def _pairs(numbers: Int64, words: _KeyWords, column: Any) -> Int64:
    """Two numbers as one; -1 where one of them is."""
    own = words.numbers(column)
    found: Int64 = np.where((numbers < 0) | (own < 0), -1, numbers * len(words.values) + own)
    return found


def _places(known: Int64, pairs: Int64) -> Int64:
    if not len(known):
        return np.full(len(pairs), -1, np.int64)
    places = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    found: Int64 = np.where(known[places] == pairs, places, -1)
    return found


@dataclass(frozen=True)
class _LoadedTable:
    """A table in memory: the rows of a key stand together; behind all stands one of nulls.

    Attributes:
        keys: the keys.
        starts, sizes: by the number of a key where its rows begin, and how many they are; the last
            is that of no key, whose row is the one of nulls.
        columns: what rows get of it.
    """

    keys: _TableKeys
    starts: Int64
    sizes: Int64
    columns: list[Any]


def _loaded(table: KeyedTable) -> _LoadedTable:
    with _LOADING:  # tasks of one process read it once
        return _load(table)


def forget_tables() -> None:
    """Let the tables go that are in memory."""
    _load.cache_clear()


@lru_cache(maxsize=_KEPT_TABLES)
def _load(table: KeyedTable) -> _LoadedTable:
    none = columns_of([pa.array([], f.type) for f in table.schema], table.schema, 0)
    batches = [none, *(b for file in table.files for b in file_batches(table.schema, file))]
    parts = [table.columns.evaluate(batch) for batch in batches]
    columns = [pa.concat_arrays(column) for column in zip(*parts, strict=True)]
    keys, numbers = _TableKeys.of(columns[table.width :])
    rows = np.flatnonzero(numbers >= 0)
    order = rows[stable_order(numbers[rows])]
    sizes = np.bincount(numbers[order]) if len(order) else np.empty(0, np.int64)
    starts = np.append(np.cumsum(sizes) - sizes, len(order))
    with_nulls = pa.concat_arrays([pa.array(order), pa.nulls(1, pa.int64())])
    found = [_encoded(column.take(with_nulls)) for column in columns[: table.width]]
    return _LoadedTable(keys, starts.astype(np.int64), np.append(sizes, 1), found)


def _encoded(column: Any) -> Any:
    return null_as_word(encoded_where_repeated(column))


def _taken(columns: Sequence[Any], rows: Int64, count: int) -> list[Any]:
    """Some rows of columns, in ascending order, each once or several times."""
    if len(rows) == count and (not count or (np.diff(rows) == 1).all()):
        return list(columns)
    places = pa.array(rows)
    return [column.take(places) for column in columns]
