"""Intervals of numbered groups: which of them meet, and how many differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..state import Keys
from ..state.rows import Int32, Int64, Mask
from ..state.sorting import order_by, stable_order
from .grouping import by_key

_BITS = 62  # of a key made of a group's number and a time


def reaches(group: Int64, starts: Int64, ends: Int64) -> tuple[Mask, Int64]:
    """Where a new session begins, and how far each row and those before it in its group reach.

    A row begins one if it starts after all earlier rows of its group have ended.

    Args:
        group, starts, ends: rows sorted by group and start.
    """
    new = np.ones(len(group), dtype=np.bool_)
    new[1:] = group[1:] != group[:-1]
    reach = ends
    if bool(((ends[1:] < ends[:-1]) & ~new[1:]).any()):
        reach = _running_maximum(group, new, ends)
    heads = new.copy()
    heads[1:] |= starts[1:] > reach[:-1]
    return heads, reach


def _running_maximum(group: Int64, new: Mask, ends: Int64) -> Int64:
    packed = _packed(group, ends)
    if packed is not None:
        numbers, least, bits = packed
        highest = np.maximum.accumulate(numbers)
        reach: Int64 = (highest & ((1 << bits) - 1)) + least
        return reach
    # Ranks of ends instead of the ends, raised group by group.
    order = stable_order(ends)
    rank = np.empty(len(ends), dtype=np.int64)
    rank[order] = np.arange(len(ends))
    number = np.cumsum(new) - 1
    highest = np.maximum.accumulate(number * len(ends) + rank) - number * len(ends)
    ranked: Int64 = ends[order][highest]
    return ranked


def _packed(group: Int64, times: Int64) -> tuple[Int64, int, int] | None:
    """Group and time as one number, the least time and the bits of a time; None if too long."""
    if not len(group):
        return None
    least = int(times.min())
    bits = (int(times.max()) - least).bit_length()
    if bits + int(group.max()).bit_length() > _BITS:
        return None
    return (group << bits) | (times - least), least, bits


def distinct(keys: Keys, numbers: Sequence[Int64 | Int32]) -> int:
    """How many different rows there are, of keys and columns of numbers."""
    order, new = by_key(keys)
    number = np.cumsum(new)
    columns = [column[order] for column in numbers]
    by_value = order_by(number, *columns)
    changed = np.zeros(max(0, len(order) - 1), dtype=np.bool_)
    for column in (number, *columns):
        changed |= np.diff(column[by_value]) != 0
    return int(changed.sum()) + min(1, len(order))
