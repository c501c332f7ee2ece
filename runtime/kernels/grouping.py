"""Bringing the rows of each key together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..state import first_rows
from ..state.rows import Int64, Keys, Mask, columns_of, equal_rows, take
from ..state.sorting import order_by, stable_order
from .columns.floats import holds_floats, normalised
from .kernel import Input


def grouping_keys(rows: Input, schema: Any) -> Keys:
    """The keys that the first columns of some rows make: with one NaN and one zero, as in Spark."""
    keys = rows.keys(tuple(range(len(schema))), schema)
    if not any(holds_floats(field.type) for field in schema):
        return keys
    columns = [normalised(column) for column in keys.columns.columns]
    return replace(keys, columns=pa.RecordBatch.from_arrays(columns, schema=schema))


def keys_of_all_rows(schema: Any) -> Keys:
    """The one key of an aggregation without keys."""
    return Keys(np.zeros(1, np.int64), np.zeros(1, np.int32), columns_of([], schema, 1))


def _same_keys(keys: Keys, order: Int64, heads: Mask) -> bool:
    """Whether rows of one hash have one key, which is all but certain."""
    second = np.flatnonzero(~heads)
    if 2 * len(second) > len(order):
        columns = take(keys.columns, order)
        equal = equal_rows(columns.slice(1), columns.slice(0, len(order) - 1))
        return bool((equal | heads[1:]).all())
    one, other = take(keys.columns, order[second]), take(keys.columns, order[second - 1])
    return bool(equal_rows(one, other).all())


def by_key(keys: Keys) -> tuple[Int64, Mask]:
    """The positions that bring rows of one key together, and where in that order a key begins.

    Keys come in the order of their hashes, rows of a key as they came.
    """
    order = stable_order(keys.hashes)
    hashes = keys.hashes[order]
    heads = np.ones(len(order), dtype=np.bool_)
    heads[1:] = hashes[1:] != hashes[:-1]
    if _same_keys(keys, order, heads):
        return order, heads
    # Two keys share a hash.
    leaders = first_rows(keys)
    order = order_by(keys.hashes, leaders)
    heads[1:] = leaders[order][1:] != leaders[order][:-1]
    return order, heads
