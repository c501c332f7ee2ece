"""Windows between the columns that travel, their bounds, and the structs that kernels take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Windows = Mapping[int, int | None]
"""Which columns are windows, by position; the length of all windows of such a column in
microseconds, of which only the start travels, or None: then start and end do."""


def packed(columns: Sequence[Any], schema: Any, windows: Windows) -> Iterator[Any]:
    """The columns of a schema from those that travelled; nothing is copied but an end is made."""
    travelled = iter(columns)
    for i, field in enumerate(schema):
        column = next(travelled)
        if i not in windows:
            yield column if column.type == field.type else column.cast(field.type)
            continue
        first, last = (field.type.field(j) for j in range(2))
        size = windows[i]
        # As in Spark's windows an end beyond 64 bits wraps around.
        end = next(travelled) if size is None else pc.add(column.view(pa.int64()), size)
        bounds = [column.cast(first.type), end.cast(last.type)]
        yield pa.StructArray.from_arrays(bounds, fields=[first, last])


def parted(columns: Sequence[Any], windows: Windows) -> Iterator[Any]:
    """The columns that travel for some columns."""
    for i, column in enumerate(columns):
        if i not in windows:
            yield column
            continue
        for j in range(2 if windows[i] is None else 1):
            yield pc.struct_field(column, [j])
