"""The order of the values of quantile summaries, of many keys at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ...state.sorting import stable_order
from ..columns.lists import places_of, rows_of

Int64 = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

LONG = 64
"""From how many values a key has on average keys are treated one by one."""
BELOW, ABOVE = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Where a value that is not a number stands, below all others or above."""


def _folded_bits(numbers: Int64) -> Int64:
    """The bits of doubles as whole numbers in the same order; and the reverse."""
    folded: Int64 = numbers ^ ((numbers >> 63) & ABOVE)
    return folded


def comparable(values: Numbers, not_a_number: int) -> Int64:
    """Whole numbers in the order of doubles; 0.0 and -0.0 have the same."""
    found = _folded_bits((values + 0.0).view(np.int64))
    found[np.isnan(values)] = not_a_number
    return found


def sorted_by_key(numbers: Numbers, lengths: Int64) -> Numbers:
    """Each key's numbers as Java sorts them: -0.0 below 0.0, what is not a number above all."""
    bits = numbers.copy()
    bits[np.isnan(bits)] = np.nan
    keys = _folded_bits(bits.view(np.int64))
    if len(lengths) * LONG <= len(keys):
        ends = np.cumsum(lengths).tolist()
        for start, end in pairwise([0, *ends]):
            keys[start:end].sort()
    else:
        order = stable_order(keys)
        keys = keys[order[stable_order(rows_of(lengths)[order])]]
    return _folded_bits(keys).view(np.float64)


def searched(numbers: Int64, starts: Int64, sizes: Int64, wanted: Int64) -> Int64:
    """How many numbers of a part are below each wanted one: a binary search for all at once.

    Args:
        numbers: ascending within each part.
        starts: where the part of each wanted one begins.
        sizes: how long that part is.
        wanted: what is looked for.
    """
    found = np.zeros(len(wanted), np.int64)
    place = np.flatnonzero(sizes)
    first, count, wanted = starts[place], sizes[place], wanted[place]
    low = first.copy()
    while len(place):
        half = count >> 1
        middle = low + half
        below = numbers[middle] < wanted
        low = np.where(below, middle + 1, low)
        count = np.where(below, count - half - 1, half)
        if not count.all():
            found[place] = low - first
            left_over = count > 0
            place, first, count = place[left_over], first[left_over], count[left_over]
            low, wanted = low[left_over], wanted[left_over]
    return found


def highest_so_far(keys: Int64, sizes: Int64) -> Int64:
    """The highest of each key's numbers so far; themselves where they ascend."""
    places = places_of(sizes)
    descends = keys[1:] < keys[:-1]
    if not (descends & (places[1:] > 0)).any():
        return keys
    keys, step = keys.copy(), 1
    while step < sizes.max():
        # A sample has seen twice as many each time.
        later = np.flatnonzero(places >= step)
        keys[later] = np.maximum(keys[later], keys[later - step])
        step *= 2
    return keys
