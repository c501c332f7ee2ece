"""Values of an Arrow column as texts that are equal where the values are, bit for bit."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


def texts(column: pa.ChunkedArray | pa.Array) -> list[str]:
    """One text a row. NaN is one value, -0.0 is not 0.0, times are their microseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
    return [repr(value) for value in _plain(column)]


def _plain(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        unit = {"s": 1_000_000, "ms": 1000, "us": 1, "ns": 0.001}[kind.unit]
        whole = array.cast(pa.int64()).to_pylist()
        return [None if value is None else value * unit for value in whole]
    if pa.types.is_date32(kind):
        return list(array.cast(pa.int32()).to_pylist())
    if pa.types.is_map(kind):
        return _cut(array, _plain(array.keys), _plain(array.items))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _cut(array, _plain(array.values))
    if pa.types.is_struct(kind):
        fields = [_plain(array.field(i)) for i in range(kind.num_fields)]
        rows = zip(*fields, strict=True) if fields else ((),) * len(array)
        valid = array.is_valid().to_pylist()
        return [row if known else None for row, known in zip(rows, valid, strict=True)]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        # A cast from binary may leave what is no UTF-8.
        found = array.cast(pa.binary()).to_pylist()
        return [
            value if value is None else value.decode("utf-8", "backslashreplace") for value in found
        ]
    return list(array.to_pylist())


def _cut(array: pa.Array, *inner: list[Any]) -> list[Any]:
    """Lists, or a map's pairs, of the flat values below."""
    items = inner[0] if len(inner) == 1 else list(zip(*inner, strict=True))
    offsets = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    bounds = zip(offsets, offsets[1:], valid, strict=False)
    return [items[start:stop] if known else None for start, stop, known in bounds]
