"""The keys that a task calls a user's function for, and the rows of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...state import first_rows
from ...state.rows import Int64, Keys, concat, take
from ...state.sorting import stable_order
from ..grouping import by_key
from ..kernel import Input, select


@dataclass(frozen=True)
class Groups:
    """The rows of a task by their keys.

    Attributes:
        keys: the keys that have rows, each once, in the order of their hashes.
        rows: all rows, those of a key together.
        starts: where in `rows` each key begins, and the end of all.
    """

    keys: Keys
    rows: Any
    starts: Int64

    @classmethod
    def of(cls, rows: Input, columns: tuple[int, ...], schema: Any) -> Groups:
        """The rows by some columns."""
        keys = rows.keys(columns, schema)
        order, heads = by_key(keys)
        first = np.flatnonzero(heads)
        starts = np.append(first, len(order)).astype(np.int64)
        return cls(keys.take(order[first]), take(rows.rows, order), starts)


def together(parts: Sequence[Keys]) -> tuple[Keys, list[Int64]]:
    """All keys of several lists, each once and in the order of their hashes.

    Also where the keys of each list are among them.
    """
    hashes = np.concatenate([keys.hashes for keys in parts])
    places = np.concatenate([keys.places for keys in parts])
    every = Keys(hashes, places, concat([keys.columns for keys in parts]))
    leaders = first_rows(every)
    distinct = np.flatnonzero(leaders == np.arange(len(every)))
    ordered = distinct[stable_order(every.hashes[distinct])]
    places_of = np.zeros(len(every), np.int64)
    places_of[ordered] = np.arange(len(ordered))
    ends = np.cumsum([0, *map(len, parts)])
    return every.take(ordered), [places_of[leaders[start:end]] for start, end in pairwise(ends)]


def in_key_order(columns: Any, numbers: Int64) -> Iterator[int]:
    """Some rows of key columns in Spark's order of their values, nulls first.

    Columns of types that Arrow does not sort leave the order as it is.
    """
    if len(numbers) < 2:
        return map(int, numbers)
    chosen = take(columns, numbers)
    sortable = [column for column in chosen.columns if not pa.types.is_nested(column.type)]
    if not sortable:
        return map(int, numbers)
    # A column that says which values are there puts the nulls first.
    parts = [part for column in sortable for part in (column.is_valid(), column)]
    names = list(map(str, range(len(parts))))
    order = pc.sort_indices(
        pa.Table.from_arrays(parts, names=names),
        sort_keys=[(name, "ascending") for name in names],
    )
    return map(int, numbers[order.to_numpy()])


def named(batch: Any, columns: tuple[int, ...], names: Sequence[str]) -> Any:
    """Some columns of a record batch, under names of the user's."""
    fields = [batch.schema.field(i).type for i in columns]
    schema = pa.schema([pa.field(n, t) for n, t in zip(names, fields, strict=True)])
    return select(batch, columns, schema)
