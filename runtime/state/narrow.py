"""Whole numbers in as few bytes as their range takes: less to write, to sum up and to keep.

A column of integers or times is kept as its distance from the least of them, in 8, 16 or 32 bits,
where they lie so near to each other. That least one, the `base`, is in the field's metadata.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_BASE = b"base"
_DISTANCES = (pa.uint8(), pa.uint16(), pa.uint32())
_WHOLE = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}


def narrowed(array: Any, field: Any) -> tuple[Any, Any]:
    """A column as it is kept, and its field there; both as they are if nothing is to be saved."""
    if pa.types.is_struct(field.type) and not array.null_count and field.type.num_fields:
        inner = [field.type.field(i) for i in range(field.type.num_fields)]
        made = [narrowed(pc.struct_field(array, [i]), f) for i, f in enumerate(inner)]
        kept, fields = [a for a, _ in made], [f for _, f in made]
        if fields == inner:
            return array, field
        return pa.StructArray.from_arrays(kept, fields=fields), field.with_type(pa.struct(fields))
    whole = _whole(field.type)
    if whole is None:
        return array, field
    numbers = array.view(whole)
    bounds = pc.min_max(numbers)
    low, high = bounds["min"].as_py(), bounds["max"].as_py()
    if low is None:
        return array, field
    for distance in _DISTANCES:
        if distance.bit_width < whole.bit_width and (high - low) >> distance.bit_width == 0:
            kept = pc.subtract(numbers, low).cast(distance, safe=False)
            return kept, field.with_type(distance).with_metadata({_BASE: str(low)})
    return array, field


def widened(array: Any, field: Any, type_: Any) -> Any:
    """A column of a type from what is kept of it.

    Args:
        array: what is kept, or some rows of it.
        field: the field of the file.
        type_: the column's type.
    """
    if array.type == type_:
        return array
    if pa.types.is_struct(type_):
        wide = [
            widened(array.field(i), field.type.field(i), type_.field(i).type)
            for i in range(type_.num_fields)
        ]
        return pa.StructArray.from_arrays(wide, fields=list(type_))
    base = (field.metadata or {}).get(_BASE)
    if base is None:
        return array
    whole = _whole(type_)
    return pc.add(array.cast(whole, safe=False), pa.scalar(int(base), whole)).view(type_)


def _whole(type_: Any) -> Any:
    """The integers that stand for a type's values; None if it is another kind of type."""
    if pa.types.is_signed_integer(type_) or pa.types.is_temporal(type_):
        return _WHOLE.get(type_.bit_width)
    return None
