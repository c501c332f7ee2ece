"""The order of a set's elements: that of the hash table in which Spark keeps them.

It is Scala's `mutable.HashSet`: a table of a power of two of buckets, three quarters of which fill
at most; of one bucket the elements come in the order of their hashes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...state.sorting import order_by
from ..columns.floats import normalised
from ..columns.lists import elements_of, lists_of, rows_of
from ..hashes.rows import places_of

_LEAST_BUCKETS = 16
Hashes = npt.NDArray[np.int32]


def set_in_order(buffers: Sequence[Any]) -> Any:
    """Lists of different elements as `collect_set` gives them.

    Elements of other types than strings, whole numbers, floats, booleans, dates and times stay in
    the order in which they came.
    """
    lists = normalised(buffers[0])
    values, lengths = elements_of(lists)
    hashes = hash_codes(values)
    if hashes is None:
        return lists
    hashes = hashes ^ (hashes.view(np.uint32) >> np.uint32(16)).view(np.int32)
    buckets = np.full(len(lengths), _LEAST_BUCKETS, np.int64)
    room = ((lengths + 1) / 0.75).astype(np.int64)
    while (buckets < room).any():
        buckets[buckets < room] *= 2
    rows = rows_of(lengths)
    order = order_by(rows, hashes & (buckets[rows] - 1), hashes)
    return lists_of(values.take(pa.array(order)), lengths, lists.type)


def hash_codes(values: Any, *, boxed: bool = False) -> Hashes | None:
    """The hash codes of values, of floats those of their bits; None: not known here.

    Args:
        values: an Arrow array.
        boxed: those of Java's own classes; else Scala's, which are others for some longs.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        found = places_of([values], len(values))
    elif pa.types.is_boolean(kind):
        found = np.where(_numbers(values), 1231, 1237)
    elif pa.types.is_float32(kind):
        found = _numbers(values).view(np.int32)
    elif pa.types.is_float64(kind):
        found = _folded(_numbers(values).view(np.uint64))
    elif pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        numbers = _numbers(values.view(width) if pa.types.is_temporal(kind) else values)
        is_long = boxed and numbers.dtype.itemsize == 8
        found = _folded(numbers.view(np.uint64)) if is_long else _long_hashes(numbers)
    else:
        return None
    known = np.asarray(values.is_valid().to_numpy(zero_copy_only=False))
    return np.where(known, found, 0).astype(np.int32)


def _numbers(values: Any) -> Any:
    filled = values.fill_null(False if pa.types.is_boolean(values.type) else 0)
    return filled.to_numpy(zero_copy_only=False)


def _long_hashes(numbers: Any) -> Hashes:
    """Scala's: of a number that fits an int that int."""
    wide = numbers.astype(np.int64)
    narrow = wide.astype(np.int32)
    return np.where(narrow == wide, narrow, _folded(wide.view(np.uint64)))


def _folded(bits: npt.NDArray[np.uint64]) -> Hashes:
    return (bits ^ (bits >> np.uint64(32))).astype(np.uint32).view(np.int32)
