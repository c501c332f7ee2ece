"""Functions of maps: their keys, values and entries, and maps made of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ....state.sorting import order_by
from ...columns.lists import elements_of, rows_of
from ...columns.ordering import ranks, valid
from ..programs.operation_facts import family
from ..programs.program import Step
from ..values.lists_and_maps import lists, maps, side_by_side
from ..values.vectors import of_one_length
from .collections import checked_keys


def keys(step: Step, map_: Any) -> Any:
    """`map_keys(map)`."""
    found, lengths = elements_of(map_)
    return lists(step.kind, found.field(0), lengths, map_)


def items(step: Step, map_: Any) -> Any:
    """`map_values(map)`."""
    found, lengths = elements_of(map_)
    return lists(step.kind, found.field(1), lengths, map_)


def entries(step: Step, map_: Any) -> Any:
    """`map_entries(map)`: structs of a key and a value."""
    found, lengths = elements_of(map_)
    return lists(step.kind, found, lengths, map_)


_NULL_IN_JAVA = ("string", "binary", "array", "map", "struct", "decimal", "void")
"""Values that Java has a null of."""


def by_key(step: Step, map_: Any) -> Any:
    """`mapsort(map)`: Spark's sort makes zeros of null values that Java has no null of."""
    found, lengths = elements_of(map_)
    keys, items = found.field(0), found.field(1)
    order = pa.array(order_by(rows_of(lengths), ranks(keys)))
    kind = family(step.kinds[0][2][1])
    if items.null_count and kind not in _NULL_IN_JAVA:
        items = items.fill_null(False if kind == "boolean" else 0)
    return maps(step.kind, keys.take(order), items.take(order), lengths, map_)


def from_entries(step: Step, array: Any) -> Any:
    """`map_from_entries(array)`: null where an entry is.

    Raises:
        KernelError: a key is null, or stands twice (`STATEPLAN_NOT_EXACT`).
    """
    found, lengths = elements_of(array)
    rows = rows_of(lengths)
    nulls = np.bincount(rows[~valid(found)], minlength=len(lengths)) > 0
    stay = pa.array(~nulls[rows])
    found, rows, lengths = found.filter(stay), rows[~nulls[rows]], np.where(nulls, 0, lengths)
    names = checked_keys(step, found.field(0), rows)
    return maps(step.kind, names, found.field(1), lengths, array, pa.array(~nulls, mask=nulls))


def concatenated(step: Step, *given: Any) -> Any:
    """`map_concat(map, ...)`: null where one is.

    Raises:
        KernelError: a key stands twice (`STATEPLAN_NOT_EXACT`).
    """
    columns = of_one_length(*given)
    found, sizes = side_by_side(columns)
    names = checked_keys(step, found.field(0), rows_of(sizes))
    return maps(step.kind, names, found.field(1), sizes, *columns)
