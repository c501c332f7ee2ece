"""Merging collections: lists, sets, counts of values, and registers of approx_count_distinct.

An operation takes the elements of all lists that become one, one behind the other, with their
number per result and the type of the lists, and gives the lists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...state.sorting import numbered, stable_order
from ..columns.floats import negative_zeros
from ..columns.lists import elements_of, joined, lists_of, rows_of
from ..columns.ordering import codes
from ..sketches.distinct_estimate import highest_ranks
from ..sketches.theta_sketches import least_hashes
from .top_values import top

Columns = list[Any]
Positions = npt.NDArray[np.int64]


def merge_lists(operation: str) -> Callable[..., Columns]:
    """The merge of two lists per row by one of `LIST_MERGES`; null is an empty list."""
    of_elements = LIST_MERGES[operation]

    def merge(earlier: Columns, later: Columns, *constants: object) -> Columns:
        values, lengths = joined(earlier[0], later[0])
        return [of_elements(values, lengths, earlier[0].type, *constants)]

    return merge


def fold_lists(operation: str) -> Callable[..., Any]:
    """The same of runs of rows, each of which becomes one."""
    of_elements = LIST_MERGES[operation]

    def fold(column: Any, starts: Positions, *constants: object) -> Any:
        values, lengths = elements_of(column)
        return of_elements(values, np.add.reduceat(lengths, starts), column.type, *constants)

    return fold


def start_lists(operation: str) -> Callable[..., Any]:
    """The same of the elements of each row's only list."""

    def start(column: Any, *constants: object) -> Any:
        return LIST_MERGES[operation](*elements_of(column), column.type, *constants)

    return start


def _distinct(values: Any, lengths: Positions, kind: Any) -> Any:
    """`union`: each value once, where it first stood. NaN equals NaN, -0.0 equals 0.0."""
    rows = rows_of(lengths)
    keys = rows.astype(np.int64) << 32 | (codes(values).astype(np.int64) & 0xFFFFFFFF)
    first, _ = numbered(keys)
    if len(first) == len(keys):
        return lists_of(values, lengths, kind)
    kept = np.sort(first)
    counts = np.bincount(rows[kept], minlength=len(lengths)).astype(np.int64)
    return lists_of(values.take(pa.array(kept)), counts, kind)


def _counted(pairs: Any, lengths: Positions, kind: Any, zeros_differ: bool = False) -> Any:
    """`counts`, of pairs of value and count: each value where it first stood, counts added.

    Args:
        pairs: the pairs.
        lengths: how many each list has.
        kind: the type of the lists.
        zeros_differ: whether -0.0 and 0.0 are two values.
    """
    rows = rows_of(lengths)
    value, count = pairs.flatten()
    numbers = codes(value).astype(np.int64)
    if zeros_differ:
        numbers[negative_zeros(value)] = -2  # -1 stands for null
    keys = rows.astype(np.int64) << 32 | (numbers & 0xFFFFFFFF)
    first, group = numbered(keys)
    totals = np.zeros(len(first), np.int64)
    np.add.at(totals, group, count.to_numpy(zero_copy_only=False))
    order = stable_order(first)
    kept = first[order]
    merged = pa.StructArray.from_arrays(
        [value.take(pa.array(kept)), pa.array(totals[order])], fields=list(pairs.type)
    )
    counts = np.bincount(rows[kept], minlength=len(lengths)).astype(np.int64)
    return lists_of(merged, counts, kind)


def _registers(values: Any, lengths: Positions, kind: Any) -> Any:
    """`registers`, of index * 64 + rank: the highest rank of each index, ascending."""
    rows, registers = highest_ranks(values, lengths)
    counts = np.bincount(rows, minlength=len(lengths)).astype(np.int64)
    return lists_of(pa.array(registers.astype(np.int32), kind.value_type), counts, kind)


LIST_MERGES: dict[str, Callable[..., Any]] = {
    "concat": lists_of,
    "union": _distinct,
    "counts": _counted,
    "registers": _registers,
    "top": top,
    "least_hashes": least_hashes,
}
