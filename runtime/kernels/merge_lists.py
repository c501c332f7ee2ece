"""Merging collections: lists, sets, counts of values, and registers of approx_count_distinct."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from .ordering import codes, list_parts, spread

Columns = list[Any]
Positions = npt.NDArray[np.int64]


def merge_concat(earlier: Columns, later: Columns) -> Columns:
    """`concat` (list): the earlier elements, then the later ones; null is an empty list."""
    values, lengths = _joined(earlier[0], later[0])
    return [_lists(values, lengths, earlier[0].type)]


def merge_union(earlier: Columns, later: Columns) -> Columns:
    """`union` (list): each value once, where it first stood. NaN equals NaN, -0.0 equals 0.0."""
    values, lengths = _joined(earlier[0], later[0])
    return [_distinct(values, lengths, earlier[0].type)]


def _distinct(values: Any, lengths: Positions, kind: Any) -> Any:
    rows = np.repeat(np.arange(len(lengths)), lengths)
    keys = rows.astype(np.int64) << 32 | (codes(values).astype(np.int64) & 0xFFFFFFFF)
    _, first = np.unique(keys, return_index=True)
    if len(first) == len(keys):
        return _lists(values, lengths, kind)
    kept = np.sort(first)
    counts = np.bincount(rows[kept], minlength=len(lengths)).astype(np.int64)
    return _lists(values.take(pa.array(kept)), counts, kind)


def merge_counts(earlier: Columns, later: Columns) -> Columns:
    """`counts` (list of value and count): each value once, where it first stood, counts added."""
    pairs, lengths = _joined(earlier[0], later[0])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    value, count = pc.struct_field(pairs, [0]), pc.struct_field(pairs, [1])
    keys = rows.astype(np.int64) << 32 | (codes(value).astype(np.int64) & 0xFFFFFFFF)
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    totals = np.zeros(len(first), np.int64)
    np.add.at(totals, group, count.to_numpy(zero_copy_only=False))
    order = np.argsort(first)
    kept = first[order]
    fields = list(pairs.type)
    merged = pa.StructArray.from_arrays(
        [value.take(pa.array(kept)), pa.array(totals[order])], fields=fields
    )
    counts = np.bincount(rows[kept], minlength=len(lengths)).astype(np.int64)
    return [_lists(merged, counts, earlier[0].type)]


def merge_registers(earlier: Columns, later: Columns) -> Columns:
    """`registers` (list of index * 64 + rank): the highest rank of each index, ascending."""
    values, lengths = _joined(earlier[0], later[0])
    rows, registers = highest_ranks(values, lengths)
    counts = np.bincount(rows, minlength=len(lengths)).astype(np.int64)
    kind = earlier[0].type
    return [_lists(pa.array(registers.astype(np.int32), kind.value_type), counts, kind)]


def highest_ranks(values: Any, lengths: Positions) -> tuple[Positions, Positions]:
    """The row and the value of each register's highest entry, ordered by row and index."""
    numbers = np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths).astype(np.int64)
    keys = np.sort(rows << 32 | numbers)
    if not len(keys):
        return keys, keys
    registers = keys >> 6
    last = np.append(registers[1:] != registers[:-1], True)
    keys = keys[last]
    return keys >> 32, keys & 0xFFFFFFFF


def _joined(earlier: Any, later: Any) -> tuple[Any, Positions]:
    """The elements of each row's two lists one behind the other, and how many a row has."""
    values1, starts1, lengths1 = list_parts(earlier)
    values2, starts2, lengths2 = list_parts(later)
    starts = np.column_stack([starts1, starts2 + len(values1)]).ravel()
    lengths = np.column_stack([lengths1, lengths2]).ravel()
    positions = spread(starts, lengths)
    return pa.concat_arrays([values1, values2]).take(pa.array(positions)), lengths1 + lengths2


def _lists(values: Any, lengths: Positions, kind: Any) -> Any:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if pa.types.is_large_list(kind):
        return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), values, type=kind)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind)
