"""Columns of HyperLogLog sketches: made of values, united."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.lists import elements_of
from ..hashes.murmur128 import hashed, sized
from .hll_sketch import ADDRESS, Sketch
from .hll_unions import fold_unions, merge_unions

Int64 = npt.NDArray[np.int64]


def hll_sketches(values: Any, bits: int) -> Any:
    """The sketch of 2^`bits` slots of each list of whole numbers, strings or binaries."""
    items, lengths = elements_of(values)
    address, rest = hashed(items)
    zeros = _leading_zeros(rest)
    coupons = ((np.minimum(zeros, 62) + 1) << 26).astype(np.uint64) | (address & np.uint64(ADDRESS))
    counted = np.ones(len(items), np.bool_)
    if not pa.types.is_integer(items.type):
        counted = sized(items)[2] > 0  # nothing is no value
    made = []
    start = 0
    for length in lengths.tolist():
        sketch = Sketch(bits)
        own = coupons[start : start + length][counted[start : start + length]]
        sketch.add(_distinct(own))
        made.append(sketch.serialised())
        start += length
    return pa.array(made, pa.binary())


def _distinct(coupons: npt.NDArray[np.uint64]) -> list[int]:
    """Each coupon where it first occurs: another time it changes nothing."""
    _, first = np.unique(coupons, return_index=True)
    found: list[int] = coupons[np.sort(first)].tolist()
    return found


def _leading_zeros(words: npt.NDArray[np.uint64]) -> Int64:
    count = np.zeros(len(words), np.int64)
    left = words.copy()
    for step in (32, 16, 8, 4, 2, 1):
        none = left >> np.uint64(64 - step) == 0
        count[none] += step
        left[none] <<= np.uint64(step)
    count += words == 0
    return count


fold_sketches, merge_sketches = fold_unions, merge_unions
"""The state's sketches become one as those that rows bring do."""
