"""The k values of the greatest or least orderings: max_by and min_by with three arguments.

Of values of equal orderings Spark keeps those that its heap keeps, and gives them in the order in
which they lie there: so this is Spark's heap, and the state holds its entries in the heap's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...state.sorting import order_by
from ..columns.lists import elements_of, lists_of, rows_of
from ..columns.ordering import ranks

Int64 = npt.NDArray[np.int64]


def top(pairs: Any, lengths: Int64, kind: Any, count: int, sign: int) -> Any:
    """`top`, of pairs of a value and an ordering that is never null: a heap of each result's pairs.

    Args:
        pairs: the pairs of all results, one behind the other.
        lengths: how many are of each result.
        kind: the Arrow type of the lists of pairs.
        count: how many of them stay.
        sign: 1 for the greatest orderings, -1 for the least.
    """
    rank = (sign * ranks(pc.struct_field(pairs, [1]))).tolist()
    kept: list[int] = []
    sizes = np.minimum(lengths, count)
    start = 0
    for length in lengths.tolist():
        kept += _heap(rank, start, start + length, count)
        start += length
    return lists_of(pairs.take(pa.array(kept, pa.int64())), sizes, kind)


def _heap(rank: Sequence[int], start: int, end: int, count: int) -> list[int]:
    """The positions of the highest ranks among some, the lowest of them first, as a heap."""
    heap: list[int] = []
    for position in range(start, end):
        if len(heap) < count:
            heap.append(position)
            _rise(rank, heap)
        elif rank[position] > rank[heap[0]]:
            heap[0] = position
            _sink(rank, heap)
    return heap


def _rise(rank: Sequence[int], heap: list[int]) -> None:
    """Bring the last entry to its place."""
    child = len(heap) - 1
    while child:
        parent = (child - 1) // 2
        if rank[heap[child]] >= rank[heap[parent]]:
            return
        heap[child], heap[parent] = heap[parent], heap[child]
        child = parent


def _sink(rank: Sequence[int], heap: list[int]) -> None:
    """Bring the first entry to its place."""
    parent = 0
    while True:
        least = parent
        for child in (2 * parent + 1, 2 * parent + 2):
            if child < len(heap) and rank[heap[child]] < rank[heap[least]]:
                least = child
        if least == parent:
            return
        heap[parent], heap[least] = heap[least], heap[parent]
        parent = least


def ordered_values(buffers: Sequence[Any], sign: int) -> Any:
    """The values of each list of pairs by their orderings, the best first; null of an empty one."""
    pairs, lengths = elements_of(buffers[0])
    values, orderings = pairs.flatten()
    rank = -sign * ranks(orderings)
    order = order_by(rows_of(lengths), rank)
    return lists_of(values.take(pa.array(order)), lengths, missing=lengths == 0)
