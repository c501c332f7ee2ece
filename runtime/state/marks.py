"""Marks on rows of a part to which batches only add: each names one row, and says one thing of it.

Such a part has, as its last two value columns, `id`, which names a row among those of its hash, and
`matched`, what was known of the row when it was written. Another part of the state has the marks:
their keys are ids, under the places and event times of the rows, and hashes of their own: rows of
one key have one hash, and may be many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .rows import Int64, Keys, Mask, StateRows, columns_of
from .run import Layout
from .sorting import stable_order

MATCHED = "-matched"
"""Behind a part's name: the part that says which rows have had a match since they were written."""
GONE = "-gone"
"""Behind a part's name: the part that says which rows count no more."""
FLAGS = (pa.field("id", pa.int64()), pa.field("matched", pa.bool_()))
"""The last value columns of rows that can be marked."""
_ID = pa.schema(FLAGS[:1])
_IN_BATCH = 32  # bits
_ODD = np.uint64(0x9E3779B97F4A7C15)


def flags(number: int, matched: Mask) -> list[Any]:
    """The columns of FLAGS for the rows of a batch; `number`: of the version that it makes."""
    ids = np.arange(len(matched), dtype=np.int64) + (number << _IN_BATCH)
    return [pa.array(ids), pa.array(matched)]


def marks_layout(*, timed: bool) -> Layout:
    """What a part holds that has marks."""
    return Layout(_ID, pa.schema([]), timed)


def names_of(rows: StateRows) -> Keys:
    """What marks on some rows have as keys."""
    ids = rows.values.column(rows.values.num_columns - 2)
    mixed = ids.to_numpy().view(np.uint64) * _ODD
    hashes = (rows.keys.hashes.view(np.uint64) ^ mixed ^ (mixed >> np.uint64(32))).view(np.int64)
    return Keys(hashes, rows.keys.places, pa.RecordBatch.from_arrays([ids], schema=_ID))


def known_matched(rows: StateRows) -> Mask:
    """Which rows were known to have a match when they were written."""
    found: Mask = rows.values.column(rows.values.num_columns - 1).to_numpy(zero_copy_only=False)
    return found


def marks_on(names: Keys, times: Int64) -> StateRows:
    """Marks on the rows with some names and event times, in the order of their hashes."""
    order = stable_order(names.hashes)
    nothing = columns_of([], pa.schema([]), len(order))
    return StateRows(names.take(order), times[order], nothing)


def with_matched(rows: StateRows, matched: Mask) -> StateRows:
    """The rows with another flag."""
    columns = [*rows.values.columns[:-1], pa.array(matched)]
    values = pa.RecordBatch.from_arrays(columns, schema=rows.values.schema)
    return StateRows(rows.keys, rows.times, values, rows.live)
