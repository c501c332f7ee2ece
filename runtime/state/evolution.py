"""Rows of a variable as another schema has them than the one that they were written under."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from .rows import columns_of


def evolved(values: Any, schema: Any, *, by_name: bool) -> Any:
    """Value columns under a newer schema.

    Args:
        values: the columns as they were written.
        schema: as they are wanted: a struct may have more fields, or fewer, or wider ones.
        by_name: whether fields are known by their names; otherwise by their places.
    """
    arrays = [
        _evolved(column, field.type, by_name=by_name)
        for column, field in zip(values.columns, schema, strict=True)
    ]
    return columns_of(arrays, schema, values.num_rows)


def _evolved(array: Any, kind: Any, *, by_name: bool) -> Any:
    if array.type == kind:
        return array
    if not pa.types.is_struct(kind):
        return array.cast(kind)
    places = {array.type.field(i).name if by_name else i: i for i in range(array.type.num_fields)}
    parts = []
    for i, field in enumerate(kind):
        place = places.get(field.name if by_name else i)
        old = None if place is None else array.field(place)
        missing = pa.nulls(len(array), field.type)
        parts.append(missing if old is None else _evolved(old, field.type, by_name=by_name))
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
