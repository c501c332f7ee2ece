"""Sorting long columns of numbers.

numpy sorts numbers themselves some twenty times as fast as it finds the positions that sort them.
So the positions are sorted along, in the lower bits of the numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.integer | np.bool_]
Positions = npt.NDArray[np.int64]


def stable_order(numbers: Integers) -> Positions:
    """The positions that sort numbers, equal ones as they come."""
    numbers, count = numbers.astype(np.int64, copy=False), len(numbers)
    descents = np.count_nonzero(numbers[1:] < numbers[:-1])
    if not descents:
        return np.arange(count)
    width = (count - 1).bit_length()
    bits, least = _range(numbers)
    cut = max(0, bits + width - 64)
    # Unsigned subtraction is right beyond 63 bits too.
    above = numbers.view(np.uint64) - np.uint64(least % (1 << 64))
    packed = (above >> np.uint64(cut)) << np.uint64(width) | np.arange(count, dtype=np.uint64)
    packed.sort()
    order: Positions = (packed & np.uint64((1 << width) - 1)).astype(np.int64)
    if not cut:
        return order
    # Few numbers are alike but for what was cut off: this sort is quick with what nearly is sorted.
    ordered = numbers[order]
    if np.any(ordered[1:] < ordered[:-1]):
        order = order[np.argsort(ordered, kind="stable")]
    return order


def order_by(*columns: Integers) -> Positions:
    """The positions that sort rows by columns, the first one before all; equal ones as they come.

    `np.lexsort` has the columns the other way round.
    """
    packed = _as_one(columns)
    return np.lexsort(columns[::-1]) if packed is None else stable_order(packed)


def numbered(numbers: Integers) -> tuple[Positions, Positions]:
    """The different numbers in their order: where each first stands, and which each row has."""
    order = stable_order(numbers)
    ordered = numbers[order]
    heads = np.ones(len(order), np.bool_)
    heads[1:] = ordered[1:] != ordered[:-1]
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(heads) - 1
    return order[heads], places


def _as_one(columns: tuple[Integers, ...]) -> npt.NDArray[np.int64] | None:
    """Numbers in the order of the rows of columns; None: there are none of 63 bits."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    ranges = [_range(column) for column in columns]
    if sum(bits for bits, _ in ranges) > 63:
        return None
    packed = np.zeros(len(columns[0]), np.int64)
    for column, (bits, least) in zip(columns, ranges, strict=True):
        packed = packed << bits | (column.astype(np.int64) - least)
    return packed


def _range(numbers: Integers) -> tuple[int, int]:
    """How many bits the numbers' distances from the least one take, and that one."""
    least = int(numbers.min())
    return (int(numbers.max()) - least).bit_length(), least
