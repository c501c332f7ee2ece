"""Spark's order and equality of values of any type, on whole columns.

NaN is the greatest number and equals itself, -0.0 equals 0.0, strings and binaries compare by
unsigned bytes, structs field by field, arrays element by element and then by length. Nulls inside
structs and arrays come first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...state.sorting import numbered
from .decimals import halves, is_wide

Signs = npt.NDArray[np.int8]
Codes = npt.NDArray[np.int32]


def is_list(data_type: Any) -> bool:
    """Whether values are sequences: arrays, and maps as arrays of entries."""
    types = pa.types
    return bool(
        types.is_list(data_type) or types.is_large_list(data_type) or types.is_map(data_type)
    )


def compare(left: Any, right: Any) -> Signs:
    """-1, 0 or 1 per row for left below, equal to or above right; null lies below all values."""
    if len(left) == 0:
        return np.zeros(0, np.int8)
    kind = left.type
    if pa.types.is_null(kind):
        return np.zeros(len(left), np.int8)
    if pa.types.is_struct(kind):
        signs = _compare_structs(left, right)
    elif is_list(kind):
        signs = _compare_lists(left, right)
    elif pa.types.is_floating(kind):
        signs = _compare_floats(left, right)
    else:
        above, below = pc.greater(left, right), pc.less(left, right)
        signs = flags(above).astype(np.int8) - flags(below).astype(np.int8)
    if left.null_count or right.null_count:
        one, other = valid(left), valid(right)
        nulls = one.astype(np.int8) - other.astype(np.int8)
        signs = np.where(one & other, signs, nulls)
    return signs


def valid(array: Any) -> npt.NDArray[np.bool_]:
    """Which rows are not null."""
    return flags(array.is_valid())


def flags(array: Any) -> npt.NDArray[np.bool_]:
    """A boolean column as a mask of numpy; null is false."""
    filled = array.fill_null(False) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _compare_floats(left: Any, right: Any) -> Signs:
    one, other = _numbers(left), _numbers(right)
    one_nan, other_nan = np.isnan(one), np.isnan(other)
    signs = (one > other).astype(np.int8) - (one < other).astype(np.int8)
    nans = one_nan.astype(np.int8) - other_nan.astype(np.int8)
    return np.where(one_nan | other_nan, nans, signs)


def _numbers(array: Any) -> npt.NDArray[Any]:
    filled = array.fill_null(0) if array.null_count else array
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _compare_structs(left: Any, right: Any) -> Signs:
    signs = np.zeros(len(left), np.int8)
    for one, other in zip(left.flatten(), right.flatten(), strict=True):
        signs = np.where(signs != 0, signs, compare(one, other))
    return signs


def list_parts(array: Any) -> tuple[Any, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The elements of all lists in one column, and per row its start in it and its length."""
    offsets = np.asarray(array.offsets).astype(np.int64)
    lengths = np.diff(offsets)
    if array.null_count:
        lengths = np.where(valid(array), lengths, 0)
    if pa.types.is_map(array.type):
        fields = [array.type.key_field, array.type.item_field]
        entries = pa.StructArray.from_arrays([array.keys, array.items], fields=fields)
        return entries, offsets[:-1], lengths
    return array.values, offsets[:-1], lengths


def spread(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Any:
    """The positions start, start + 1, ... of each row's elements, all rows in a row."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


def _compare_lists(left: Any, right: Any) -> Signs:
    left_values, left_starts, left_lengths = list_parts(left)
    right_values, right_starts, right_lengths = list_parts(right)
    common = np.minimum(left_lengths, right_lengths)
    signs: Signs = np.sign(left_lengths - right_lengths).astype(np.int8)
    rows = np.flatnonzero(common)
    if not len(rows):
        return signs
    shared = common[rows]
    elements = compare(
        left_values.take(pa.array(spread(left_starts[rows], shared))),
        right_values.take(pa.array(spread(right_starts[rows], shared))),
    )
    starts = np.cumsum(shared) - shared
    differing = np.where(elements != 0, np.arange(len(elements)), len(elements))
    found = np.minimum.reduceat(differing, starts)
    decided = found < len(elements)
    signs[rows[decided]] = elements[found[decided]]
    return signs


def codes(array: Any) -> Codes:
    """A number per row; two rows have the same one exactly if their values are equal."""
    kind = array.type
    if pa.types.is_null(kind):
        return np.zeros(len(array), np.int32)
    if pa.types.is_struct(kind):
        parts = [codes(part) for part in array.flatten()]
        return _with_nulls(_row_codes(np.column_stack(parts) if parts else None, array), array)
    if is_list(kind):
        return _with_nulls(_list_codes(array), array)
    if pa.types.is_floating(kind):
        array = normalized(array)
    encoded = array.dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int32)


def normalized(array: Any) -> Any:
    """Floats with one NaN and without -0.0."""
    numbers = _numbers(array) + 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers).astype(numbers.dtype)
    return pa.array(numbers, type=array.type, mask=~valid(array))


def _row_codes(parts: npt.NDArray[np.int32] | None, array: Any) -> Codes:
    if parts is None or not len(array):
        return np.zeros(len(array), np.int32)
    data = np.ascontiguousarray(parts, dtype=np.int32)
    width = data.shape[1] * 4
    rows = pa.Array.from_buffers(pa.binary(width), len(data), [None, pa.py_buffer(data)])
    return _dictionary_codes(rows)


def _list_codes(array: Any) -> Codes:
    values, starts, lengths = list_parts(array)
    if not len(array):
        return np.zeros(0, np.int32)
    elements = codes(values.take(pa.array(spread(starts, lengths))))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64) * 4
    data = pa.py_buffer(np.ascontiguousarray(elements))
    rows = pa.Array.from_buffers(pa.large_binary(), len(array), [None, pa.py_buffer(offsets), data])
    return _dictionary_codes(rows)


def _dictionary_codes(array: Any) -> Codes:
    indices = array.dictionary_encode().indices
    return np.asarray(indices.to_numpy(zero_copy_only=False), dtype=np.int32)


def _with_nulls(numbers: Codes, array: Any) -> Codes:
    return np.where(valid(array), numbers, np.int32(-1)) if array.null_count else numbers


def ranks(array: Any) -> npt.NDArray[np.int64]:
    """A number per row, in the order of the values; equal for equal values, lowest for null."""
    kind = array.type
    if pa.types.is_null(kind) or not len(array):
        return np.zeros(len(array), np.int64)
    if pa.types.is_struct(kind):
        parts = [ranks(part) for part in array.flatten()]
        numbers = _row_ranks(np.column_stack(parts)) if parts else np.zeros(len(array), np.int64)
    elif is_list(kind):
        numbers = _list_ranks(array)
    elif pa.types.is_floating(kind):
        _, numbers = numbered(in_order(array))
    else:
        plain = array.view(pa.int64()) if pa.types.is_duration(kind) else array
        encoded = plain.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary).to_numpy()
        places = np.empty(len(order) + 1, np.int64)
        places[order] = np.arange(len(order))
        numbers = places[encoded.indices.fill_null(len(order)).to_numpy()]
    return np.where(valid(array), numbers, -1) if array.null_count else numbers


def in_order(array: Any) -> npt.NDArray[np.int64]:
    """Numbers in the order of the values of a column; equal for equal values, anything for null."""
    kind = array.type
    if pa.types.is_floating(kind):
        return _sortable(_numbers(normalized(array)))
    if pa.types.is_integer(kind):
        return np.asarray(_numbers(array), np.int64)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _numbers(array.view(pa.int64()))
    if pa.types.is_decimal128(kind):
        low, high = halves(array)
        if not is_wide(low, high).any():
            return low
    return ranks(array)


def _sortable(numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Whole numbers in the order of floats: of negative ones all bits but the sign are turned."""
    bits = numbers.astype(np.float64).view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


def _row_ranks(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    inverse = np.unique(rows, axis=0, return_inverse=True)[1]
    return np.asarray(inverse, np.int64).reshape(-1)


def _list_ranks(array: Any) -> npt.NDArray[np.int64]:
    values, starts, lengths = list_parts(array)
    elements = ranks(values.take(pa.array(spread(starts, lengths)))).tolist()
    ends = np.cumsum(lengths)
    bounds = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
    lists = [tuple(elements[start:end]) for start, end in bounds]
    places = {found: place for place, found in enumerate(sorted(set(lists)))}
    return np.array([places[found] for found in lists], np.int64)
