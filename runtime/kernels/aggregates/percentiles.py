"""Results made of all values with their counts, or of lists: percentiles, modes, ordered lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...state.sorting import order_by
from ..columns.floats import doubles, negative_zeros, normalised
from ..columns.lists import elements_of, lists_of, rows_of
from ..columns.ordering import ranks, valid
from ..hashes.functions import Murmur3
from .sets import hash_codes

Int64 = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Counted:
    """The values of lists of (value, count), list by list and each list in order.

    Attributes:
        values: all values.
        ranks: their ranks among all values.
        counts: how often each occurs.
        starts: per list where its values start.
        lengths: per list how many different values it has.
        totals: per list how many values it has.
    """

    values: Any
    ranks: Int64
    counts: Int64
    starts: Int64
    lengths: Int64
    totals: Int64

    @classmethod
    def of(cls, column: Any, *, downwards: bool = False) -> _Counted:
        pairs, lengths = elements_of(column)
        values, count = pairs.flatten()
        counts = np.asarray(count.to_numpy(zero_copy_only=False), np.int64)
        rank = ranks(values)
        zeros = negative_zeros(values) == np.repeat(_negative_zero_first(lengths), lengths)
        order = order_by(rows_of(lengths), -rank if downwards else rank, ~zeros)
        ends = np.append(0, np.cumsum(counts[order]))
        last = np.cumsum(lengths)
        return cls(
            values.take(pa.array(order)),
            rank[order],
            counts[order],
            last - lengths,
            lengths,
            ends[last] - ends[last - lengths],
        )

    def at(self, places: Int64) -> Int64:
        """Per list with values, the positions of the values at these places among all of it.

        Args:
            places: a row per list with values, a column per place, counted from 0.
        """
        ends = np.cumsum(self.counts)
        used = self.totals > 0
        before = (np.append(0, ends)[self.starts])[used]
        found = np.searchsorted(ends, before[:, None] + places, side="right")
        return np.asarray(found, np.int64)


_ZERO, _NEGATIVE_ZERO = 0x2362F9DE, 0x9994D794
"""The hashes by which Spark's hash map (OpenHashSet) finds places for 0.0 and -0.0."""


def _negative_zero_first(lengths: Int64) -> Mask:
    """Whether -0.0 comes before 0.0, which it equals, in sorted maps of so many values.

    Spark's sort leaves equal values in the order in which its hash map has them.
    """
    places = _capacities(lengths) - 1
    return (_NEGATIVE_ZERO & places) < (_ZERO & places)


def _capacities(lengths: Int64) -> Int64:
    """How many places Spark's hash map has for so many values: it fills seven tenths."""
    capacities = np.full(len(lengths), 64)
    while (small := lengths > capacities * 7 // 10).any():
        capacities[small] *= 2
    return capacities


def percentile(buffers: Sequence[Any], shares: Sequence[float], several: bool, down: bool) -> Any:
    """`percentile`: the value at each share, between the two nearest ones in proportion."""
    counted = _Counted.of(buffers[0], downwards=down)
    used = counted.totals > 0
    places = np.array(shares)[None, :] * (counted.totals[used] - 1)[:, None]
    low, high = np.floor(places), np.ceil(places)
    lower, upper = (_doubles(counted, counted.at(p.astype(np.int64))) for p in (low, high))
    same = (low == high) | (lower == upper) | (np.isnan(lower) & np.isnan(upper))
    with np.errstate(all="ignore"):
        between = lower + (upper - lower) * (places - low)
    found = _typed(np.where(same, lower, between).ravel(), counted.values.type)
    return _arranged(found, used, len(shares), several)


def percentile_disc(
    buffers: Sequence[Any], shares: Sequence[float], several: bool, down: bool
) -> Any:
    """`percentile_disc`: the first value that so large a share of all is not above."""
    counted = _Counted.of(buffers[0], downwards=down)
    used = counted.totals > 0
    found = _doubles(counted, counted.at(_ceiling(shares, counted.totals[used])))
    return _arranged(_typed(found.ravel(), counted.values.type), used, len(shares), several)


def _ceiling(shares: Sequence[float], totals: Int64) -> Int64:
    places = np.ceil(np.array(shares)[None, :] * totals[:, None]).astype(np.int64)
    return np.asarray(np.maximum(places - 1, 0), np.int64)


def _doubles(counted: _Counted, positions: Int64) -> Numbers:
    chosen = counted.values.take(pa.array(positions.ravel()))
    return doubles(chosen).reshape(positions.shape)


def _typed(numbers: Numbers, kind: Any) -> Any:
    """Results: doubles, or durations if the values are."""
    if not pa.types.is_duration(kind):
        return pa.array(numbers)
    return pa.array(np.trunc(numbers).astype(np.int64)).view(kind)


def _arranged(found: Any, used: Mask, count: int, several: bool) -> Any:
    """A value or a list of them per row, null in rows without values."""
    if not several:
        return _spaced(found, used)
    lengths = np.where(used, count, 0)
    return lists_of(found, lengths, missing=~used)


def _spaced(values: Any, used: Mask) -> Any:
    """The values at the rows that are used, null elsewhere."""
    positions = np.cumsum(used) - 1
    return values.take(pa.array(positions, mask=~used))


def mode(buffers: Sequence[Any], highest: bool | None) -> Any:
    """`mode`: of the values that occur most often the lowest, or the highest; floats normalised.

    Where nothing is said (None) it is the first in Spark's hash map, but for values that want the
    same place there, of which the one that came first has it: here it is the lowest.
    """
    counted = _Counted.of(buffers[0])
    used = counted.lengths > 0
    rows = rows_of(counted.lengths)
    rank = -counted.ranks if highest else counted.ranks
    hashes = hash_codes(counted.values, boxed=True) if highest is None else None
    places = np.zeros(len(rows), np.int64)
    if hashes is not None:
        spread = Murmur3.ints(hashes, np.zeros(len(hashes), Murmur3.word)).astype(np.int64)
        places = spread & (_capacities(counted.lengths) - 1)[rows]
    order = order_by(rows, -counted.counts, places, rank)
    chosen = counted.values.take(pa.array(order[counted.starts[used]]))
    return _spaced(normalised(chosen), used)


def listagg(buffers: Sequence[Any], separator: str, orders: Sequence[tuple[bool, bool]]) -> Any:
    """`listagg`: the strings of each list joined, null for an empty list.

    Args:
        buffers: lists of strings; if there is an order, of structs of a string and its keys.
        separator: what stands between two strings.
        orders: per key whether it ascends and whether nulls come first.
    """
    elements, lengths = elements_of(buffers[0])
    if orders:
        keys = [
            _order(pc.struct_field(elements, [i + 1]), *order) for i, order in enumerate(orders)
        ]
        positions = order_by(rows_of(lengths), *keys)
        elements = pc.struct_field(elements, [0]).take(pa.array(positions))
    return pc.binary_join(lists_of(elements, lengths, missing=lengths == 0), separator)


def _order(key: Any, ascending: bool, nulls_first: bool) -> Int64:
    rank = ranks(key) if ascending else -ranks(key)
    bounds = np.iinfo(np.int64)
    return np.where(valid(key), rank, bounds.min if nulls_first else bounds.max)
