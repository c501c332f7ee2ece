"""Columns of values while expressions are computed.

Arrow arrays and scalars of plain types: a date is 32-bit days, a timestamp (with or without a time
zone) and a day-time interval are 64-bit microseconds, a year-month interval is 32-bit months.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.nested import rebuilt
from ..programs.program import UNTOUCHED, Kind, decimal_of

Value = Any
"""An Arrow array, or an Arrow scalar that stands for every row."""

_PLAIN = {
    "void": pa.null(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.int32(),
    "timestamp": pa.int64(),
    "timestamp_ntz": pa.int64(),
    "daytime": pa.int64(),
    "yearmonth": pa.int32(),
}
_SHOWN = {
    **_PLAIN,
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "daytime": pa.duration("us"),
}


def plain_type(kind: Kind) -> Any:
    """The Arrow type in which values are computed."""
    return _type(kind, _PLAIN)


def shown_type(kind: Kind) -> Any:
    """The Arrow type that Spark gives columns."""
    return _type(kind, _SHOWN)


def _type(kind: Kind, types: dict[str, Any]) -> Any:
    if isinstance(kind, tuple):
        family, names, kinds = kind
        parts = [_type(part, types) for part in kinds]
        if family == "array":
            return pa.list_(parts[0])
        if family == "map":
            return pa.map_(*parts)
        return pa.struct(list(map(pa.field, names, parts)))
    decimal = decimal_of(kind)
    return types[kind] if decimal is None else pa.decimal128(*decimal)


def plain(array: Any, kind: Kind) -> Any:
    """A column as it is computed with."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if kind == UNTOUCHED:
        return decoded(array)
    if is_encoded(array):
        return array
    wanted = shown_type(kind)
    if array.offset and pa.types.is_nested(array.type):
        array = pa.concat_arrays([array, array.slice(0, 0)])  # what is cut off above it goes, too
    if array.type != wanted:
        same = pa.types.is_timestamp(array.type) and array.type.unit == "us"
        array = array if same else array.cast(wanted)
    return _viewed(array, plain_type(kind))


def shown(array: Any, kind: Kind) -> Any:
    """A result as a column."""
    if kind == UNTOUCHED or is_encoded(array):
        return array
    return _viewed(array, shown_type(kind))


def _viewed(array: Any, wanted: Any) -> Any:
    if array.type == wanted:
        return array
    return rebuilt(array, wanted, _viewed) if pa.types.is_nested(wanted) else array.view(wanted)


def repeated(value: Value, count: int) -> Any:
    """An array, whatever was given."""
    if not isinstance(value, pa.Scalar):
        return value
    # Arrow repeats a list or map once at least.
    return pa.repeat(value, count) if count else pa.array([], value.type)


def has_nulls(value: Value) -> bool:
    """Whether a value is null somewhere."""
    return not value.is_valid if isinstance(value, pa.Scalar) else bool(value.null_count)


def is_encoded(value: Value) -> bool:
    """Whether a value is a column of strings as numbers of words, by a dictionary of these.

    No number is null: a null is a word.
    """
    return isinstance(value, pa.DictionaryArray)


def decoded(value: Value) -> Value:
    """A value whose strings are not encoded."""
    return value.dictionary.take(value.indices) if is_encoded(value) else value


def joined(columns: Sequence[Any]) -> Any:
    """The parts of a column, one behind the other."""
    first = next(filter(is_encoded, columns), None)
    if first is not None:
        words = first.dictionary
        if not words.null_count and not all(map(is_encoded, columns)):
            words = pa.concat_arrays([words, pa.nulls(1, words.type)])
        numbers = [_numbers_of(column, first.dictionary, words) for column in columns]
        if all(part is not None for part in numbers):
            return pa.DictionaryArray.from_arrays(pa.concat_arrays(numbers), words)
    return pa.concat_arrays([decoded(column) for column in columns])


def _numbers_of(column: Any, own: Any, words: Any) -> Any:
    """The numbers that a column has among its own words, or nulls among all; None: neither."""
    if is_encoded(column):
        return column.indices if column.dictionary.equals(own) else None
    if column.null_count < len(column):
        return None
    return pa.repeat(pa.scalar(pc.index(words.is_null(), True).as_py(), pa.int32()), len(column))


def row_count(*values: Value) -> int:
    """How many rows some values have, of which one at least is a column."""
    return next(len(value) for value in values if not isinstance(value, pa.Scalar))


def of_one_length(*values: Value) -> list[Any]:
    """Values as columns, of which one at least is one: constants stand in every row."""
    count = row_count(*values)
    return [repeated(value, count) for value in values]


def numbers(value: Value) -> Any:
    """Numbers for numpy: an array or a number; 0 for null."""
    if isinstance(value, pa.Scalar):
        kind = value.type.to_pandas_dtype()
        return kind(0 if not value.is_valid else value.as_py())
    if value.null_count:
        value = value.fill_null(False if pa.types.is_boolean(value.type) else 0)
    return value.to_numpy(zero_copy_only=False)


def truths(value: Value, *, null: bool = False) -> Any:
    """A boolean array without nulls."""
    return pc.fill_null(value, null) if value.null_count else value


def made(data: Any, *sources: Value) -> Any:
    """Numbers of numpy as an array that is null wherever a source is."""
    data = np.ascontiguousarray(data)
    if data.dtype == np.bool_:
        return nulled(pa.array(data), *sources)
    kind = pa.from_numpy_dtype(data.dtype)
    validity = _validity(sources, len(data))
    return pa.Array.from_buffers(kind, len(data), [validity, pa.py_buffer(data)])


def _validity(sources: Sequence[Value], count: int) -> Any:
    masks = [source.is_valid() for source in sources if _array_with_nulls(source)]
    if any(isinstance(s, pa.Scalar) and not s.is_valid for s in sources):
        return pa.py_buffer(bytes(-(-count // 8)))
    if not masks:
        return None
    mask = masks[0]
    for other in masks[1:]:
        mask = pc.and_(mask, other)
    if mask.offset:
        mask = pa.concat_arrays([mask, mask.slice(0, 0)])
    return mask.buffers()[1]


def _array_with_nulls(source: Value) -> bool:
    return not isinstance(source, pa.Scalar) and bool(source.null_count)


def nulled(array: Any, *sources: Value) -> Any:
    """An array, null wherever a source is."""
    for source in sources:
        if isinstance(source, pa.Scalar):
            if not source.is_valid:
                return pa.nulls(len(array), array.type)
        elif source.null_count:
            array = pc.if_else(source.is_valid(), array, pa.scalar(None, array.type))
    return array


def null_where(array: Any, mask: Any) -> Any:
    """An array with nulls where a mask (numpy) is set."""
    if not mask.any():
        return array
    return pc.if_else(pa.array(mask), pa.scalar(None, array.type), array)


def spread(part: Any, mask: Any) -> Any:
    """The values of the rows where a mask (Arrow) is set, in their places; null elsewhere."""
    chosen = mask.to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(chosen) - 1, pa.int64(), mask=~chosen)
    return part.take(places)


def first_where(values: Value, bad: Any) -> Any:
    """The first value, in plain Python, among the rows where a mask (numpy) is set."""
    if isinstance(values, pa.Scalar):
        return values.as_py()
    return values[int(np.argmax(bad))].as_py()
