"""Columns of structs, lists and maps, made of the columns of their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def rebuilt(
    column: Any, kind: Any, part: Callable[[Any, Any], Any], *, with_keys: bool = True
) -> Any:
    """A column of structs, lists or maps with other parts; null where it was.

    Args:
        column: an Arrow array.
        kind: the type of the result, with as many parts.
        part: makes a part's column, of its type in the result, of the one that is there. Where a
            struct is null it gets null for each field.
        with_keys: whether it makes the keys of maps, too; else they stay.
    """
    nulls = column.is_null() if column.null_count else None
    if pa.types.is_struct(kind):
        parts = [part(own, field.type) for own, field in zip(column.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=nulls)
    ends = column.offsets.to_numpy()
    first, count = int(ends[0]), int(ends[-1] - ends[0])
    offsets = pa.array(ends - ends[0])
    if pa.types.is_map(kind):
        keys, items = column.keys.slice(first, count), column.items.slice(first, count)
        if with_keys:
            keys = part(keys, kind.key_type)
        items = part(items, kind.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=nulls)
    values = part(column.values.slice(first, count), kind.value_type)
    lists = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return lists.from_arrays(offsets, values, type=kind, mask=nulls)
