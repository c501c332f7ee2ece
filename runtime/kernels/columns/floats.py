"""Values as floats; floats in one form of zero and of NaN, as NormalizeFloatingNumbers has them.

Spark takes 0.0 and -0.0 for equal, and every NaN for equal to every other. Keys that are compared
by their bytes are normalised first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .decimals import nearest_doubles
from .nested import rebuilt


def canonical(values: NDArray[Any]) -> NDArray[Any]:
    """The floats with 0.0 for -0.0 and Java's NaN for any NaN, in memory of their own."""
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        found: NDArray[Any] = values + values.dtype.type(0.0)
    nans = np.isnan(found)
    if nans.any():
        found[nans] = np.nan
    return found


def negative_zeros(values: Any) -> NDArray[np.bool_]:
    """Which values of an Arrow array without nulls are -0.0."""
    if not pa.types.is_floating(values.type):
        return np.zeros(len(values), np.bool_)
    numbers = np.asarray(values.to_numpy(zero_copy_only=False))
    found: NDArray[np.bool_] = (numbers == 0) & np.signbit(numbers)
    return found


def holds_floats(kind: Any) -> bool:
    """Whether values of an Arrow type may have to be normalised.

    The keys of a map do not count: Spark normalises them where it makes a map, and leaves those of
    a map that it reads as they are.
    """
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return True
    if pa.types.is_struct(kind):
        return any(holds_floats(field.type) for field in kind)
    if pa.types.is_map(kind):
        return holds_floats(kind.item_type)
    return (is_list(kind) or pa.types.is_dictionary(kind)) and holds_floats(kind.value_type)


def normalised(column: Any) -> Any:
    """An Arrow array of the same type whose floats are normalised; itself if it has none."""
    kind = column.type
    if not holds_floats(kind):
        return column
    if pa.types.is_floating(kind):
        return _normalised_floats(column)
    if pa.types.is_dictionary(kind):
        values = normalised(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values, ordered=kind.ordered)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        elements = column.values.slice(column.offset * size, len(column) * size)
        nulls = column.is_null() if column.null_count else None
        return pa.FixedSizeListArray.from_arrays(normalised(elements), type=kind, mask=nulls)
    return rebuilt(column, kind, lambda part, _: normalised(part), with_keys=False)


def is_list(kind: Any) -> bool:
    """Whether values of an Arrow type are lists."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _normalised_floats(column: Any) -> Any:
    values = canonical(column.to_numpy(zero_copy_only=False))
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.array(values, column.type, mask=nulls, from_pandas=False)


def doubles(items: Any) -> NDArray[np.float64]:
    """Numbers, dates in days, times and durations in microseconds, without nulls, as doubles."""
    if pa.types.is_decimal(items.type):
        return nearest_doubles(items)
    if pa.types.is_timestamp(items.type) or pa.types.is_duration(items.type):
        items = items.view(pa.int64())
    elif pa.types.is_date32(items.type):
        items = items.view(pa.int32())
    return np.asarray(items.to_numpy(zero_copy_only=False)).astype(np.float64)
