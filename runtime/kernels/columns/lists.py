"""Columns of lists: their elements in one column, and lists of elements; columns in turns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .ordering import list_parts, spread
from .texts import ends_of

Positions = npt.NDArray[np.int64]


def rows_of(lengths: Any) -> Positions:
    """The row of each element of lists of some lengths."""
    return np.repeat(np.arange(len(lengths)), lengths)


def places_of(lengths: Positions) -> Positions:
    """The place of each element in its row, from 0."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def elements_of(column: Any) -> tuple[Any, Positions]:
    """The elements of all lists one behind the other, and how many a row has."""
    values, starts, lengths = list_parts(column)
    total = int(lengths.sum())
    if not total or total == starts[-1] + lengths[-1] - starts[0]:  # nothing stands between them
        return values.slice(int(starts[0]) if total else 0, total), lengths
    return values.take(pa.array(spread(starts, lengths))), lengths


def lists_of(values: Any, lengths: Any, kind: Any = None, *, missing: Any = None) -> Any:
    """`concat`: lists of so many elements each, one behind the other.

    Args:
        values: the elements of all lists.
        lengths: how many each list has.
        kind: the type of the lists; None: lists of the values' type.
        missing: which lists are null instead, a mask of numpy; None: none of them.
    """
    offsets, nulls = ends_of(lengths), None if missing is None else pa.array(missing)
    if kind is not None and pa.types.is_large_list(kind):
        ends = pa.array(offsets, pa.int64())
        return pa.LargeListArray.from_arrays(ends, values, type=kind, mask=nulls)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind, mask=nulls)


def joined(earlier: Any, later: Any) -> tuple[Any, Positions]:
    """The elements of each row's two lists one behind the other, and how many a row has."""
    values1, starts1, lengths1 = list_parts(earlier)
    values2, starts2, lengths2 = list_parts(later)
    starts = np.column_stack([starts1, starts2 + len(values1)]).ravel()
    lengths = np.column_stack([lengths1, lengths2]).ravel()
    positions = spread(starts, lengths)
    return pa.concat_arrays([values1, values2]).take(pa.array(positions)), lengths1 + lengths2


def in_turns(earlier: Any, later: Any) -> tuple[Any, Positions]:
    """The rows of two columns of one length in turns, and where each pair begins."""
    count = len(earlier)
    order = np.arange(2 * count).reshape(2, count).T.ravel()
    return pa.concat_arrays([earlier, later]).take(pa.array(order)), np.arange(0, 2 * count, 2)
