"""Bringing the rows of each key together."""

from __future__ import annotations

import numpy as np

from ..state import first_rows
from ..state.rows import Int64, Keys, Mask, equal_rows, take
from ..state.sorting import stable_order


def by_key(keys: Keys) -> tuple[Int64, Mask]:
    """The positions that bring rows of one key together, and where in that order a key begins.

    Keys come in the order of their hashes, rows of a key as they came.
    """
    order = stable_order(keys.hashes)
    hashes = keys.hashes[order]
    heads = np.ones(len(order), dtype=np.bool_)
    heads[1:] = hashes[1:] != hashes[:-1]
    second = np.flatnonzero(~heads)
    if not len(second):
        return order, heads
    one, other = take(keys.columns, order[second]), take(keys.columns, order[second - 1])
    if equal_rows(one, other).all():
        return order, heads
    # Two keys share a hash.
    leaders = first_rows(keys)
    order = np.lexsort((leaders, keys.hashes)).astype(np.int64)
    heads[1:] = leaders[order][1:] != leaders[order][:-1]
    return order, heads
