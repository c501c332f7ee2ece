"""Rows with the places at which an operator's state has them, grouped where that leaves few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.rows import Int32, Int64, columns_of
from ...state.version import task_of
from ..aggregates.key_runs import KeyCodes
from ..expressions.values.vectors import decoded
from ..hashes.rows import places_and_hashes
from .early_groups import EarlyGroups

KeysOf = Callable[[Any], list[Any] | None]
"""The keys of some rows by their positions (None: of all); None: they have no keys."""


@dataclass(frozen=True)
class PlacedRows:
    """Rows on their way to the tasks of an operator.

    Attributes:
        places, hashes: of the rows.
        columns: what travels to the kernel.
        origin: the number of the partition that Spark would read them in.
        grouped: whether the rows are groups of rows, by `EarlyGroups`.
    """

    places: Int32
    hashes: Int64
    columns: Any
    origin: int
    grouped: bool = False

    def by_task(self, tasks: int) -> Iterator[list[PlacedRows]]:
        """The rows of each task: none or some."""
        if tasks == 1:
            yield [self]
            return
        numbers = task_of(self.places, tasks)
        for task in range(tasks):
            own = np.flatnonzero(numbers == task)
            yield [self._take(own)] if len(own) else []

    def of_task(self, tasks: int, task: int) -> PlacedRows:
        """The rows of one task."""
        own = np.flatnonzero(task_of(self.places, tasks) == task)
        return self if len(own) == len(self.places) else self._take(own)

    def _take(self, rows: Int64) -> PlacedRows:
        columns = self.columns.take(pa.array(rows))
        return replace(self, places=self.places[rows], hashes=self.hashes[rows], columns=columns)


def placed(
    early: EarlyGroups | None, columns: list[Any], count: int, keys: KeysOf, origin: int
) -> PlacedRows:
    """Rows by the hash of their keys, or all in one place.

    Args:
        early: what groups them, where that leaves few; None: they are no aggregation's.
        columns: what travels.
        count: how many rows there are.
        keys: what is hashed.
        origin: see `PlacedRows`.

    Raises:
        KernelError: a partial result does not fit its type.
    """
    coded = None if early is None else early.codes(columns, count)
    if early is not None and coded is not None:
        return placed_by_codes(early, coded, columns, keys, origin)
    places, hashes = _hashed(keys(None), count)
    return PlacedRows(places, hashes, batch_of(columns, count), origin)


def placed_by_codes(
    early: EarlyGroups, coded: KeyCodes, columns: list[Any], keys: KeysOf, origin: int
) -> PlacedRows:
    """Rows whose keys have numbers, as groups."""
    return _grouped(early.group(columns, len(coded.codes), coded), coded, keys, origin)


def placed_groups(
    early: EarlyGroups, columns: list[Any], count: int, keys: KeysOf, origin: int
) -> PlacedRows:
    """Groups of rows by the hash of their keys; those of one key are merged, if they are many.

    Raises:
        KernelError: a partial result does not fit its type.
    """
    # Copies of one group come one after the other, so a look at the first ones says nothing.
    coded = early.codes(columns, count, looked=False)
    if coded is None:
        places, hashes = _hashed(keys(None), count)
        return PlacedRows(places, hashes, batch_of(columns, count), origin, grouped=True)
    return _grouped(early.merge(columns, count, coded), coded, keys, origin)


def _grouped(columns: list[Any], coded: KeyCodes, keys: KeysOf, origin: int) -> PlacedRows:
    """Groups in the order of their keys' numbers."""
    groups = len(coded.first)
    places, hashes = _hashed(keys(pa.array(coded.first)), groups)
    return PlacedRows(places, hashes, batch_of(columns, groups), origin, grouped=True)


def as_groups(early: EarlyGroups, parts: Sequence[PlacedRows]) -> Sequence[PlacedRows]:
    """Rows as groups, those of one row among them, where some are groups already."""

    def single(rows: PlacedRows) -> PlacedRows:
        count = rows.columns.num_rows
        columns = batch_of(early.singles(rows.columns.columns, count), count)
        return replace(rows, columns=columns, grouped=True)

    return [part if part.grouped else single(part) for part in parts]


def taken(keys: list[Any]) -> KeysOf:
    """Keys that are known, of some rows; none: the rows have no keys."""
    if not keys:
        return lambda rows: None
    return lambda rows: keys if rows is None else [key.take(rows) for key in keys]


def _hashed(keys: list[Any] | None, count: int) -> tuple[Int32, Int64]:
    """What places some rows, given their keys; None: all lie in one place."""
    return in_one_place(count) if keys is None else places_and_hashes(keys, count)


def in_one_place(count: int) -> tuple[Int32, Int64]:
    """The places and hashes of rows that have no keys."""
    return np.zeros(count, np.int32), np.zeros(count, np.int64)


def batch_of(columns: list[Any], count: int) -> Any:
    """Columns that travel, as a record batch; strings are not encoded in it."""
    return passing([decoded(column) for column in columns], count)


def passing(columns: list[Any], count: int) -> Any:
    """Columns as they are, as a record batch."""
    schema = pa.schema([(str(i), column.type) for i, column in enumerate(columns)])
    return columns_of(columns, schema, count)
