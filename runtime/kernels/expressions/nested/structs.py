"""Structs, and Spark's hashes of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import unscaled_words
from ...columns.lists import elements_of
from ...hashes.rows import hashes_of, places_of
from ..programs.program import Kind, Step, decimal_of
from ..values.lists_and_maps import lists
from ..values.vectors import (
    Value,
    made,
    numbers,
    of_one_length,
    plain_type,
    shown,
)
from .json_calls import refuse_unknown


def struct(step: Step, *values: Value) -> Any:
    """`named_struct`: the names are in the kind."""
    return pa.StructArray.from_arrays(of_one_length(*values), fields=list(plain_type(step.kind)))


def field(step: Step, value: Any) -> Any:
    """A field of a struct, null where the struct is, or of each struct in an array."""
    place = step.options[0]
    assert isinstance(place, int)
    if pa.types.is_struct(value.type):
        refuse_unknown(step, value, place)
        return pc.struct_field(value, [place])
    items, lengths = elements_of(value)
    return lists(step.kind, pc.struct_field(items, [place]), lengths, value)


def hashed(step: Step, *values: Value) -> Any:
    """`hash` and `xxhash64`."""
    columns = list(map(_hashable, of_one_length(*values), step.kinds))
    found = places_of if step.name == "hash" else hashes_of
    return made(found(columns, len(columns[0])))


def _hashable(value: Any, kind: Kind) -> Any:
    """A column as what Spark hashes for it."""
    if kind in ("float", "double"):
        data = numbers(value)
        data = np.where(data == 0, data.dtype.type(0), data)
        data = np.where(np.isnan(data), data.dtype.type("nan"), data)
        return made(data.view(np.int32 if kind == "float" else np.int64), value)
    if isinstance(kind, tuple):
        return shown(value, kind)
    if isinstance(kind, str) and (decimal_of(kind) or (19, 0))[0] <= 18:
        return made(unscaled_words(value), value)
    if kind == "binary":
        return pa.Array.from_buffers(pa.string(), len(value), value.buffers(), offset=value.offset)
    return value
