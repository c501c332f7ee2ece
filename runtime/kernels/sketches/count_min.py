"""Count-min sketches as Spark serialises them: rows of counters, chosen by a hash of a value each.

The state holds the counters that are not zero, by their place in the table.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.lists import elements_of, lists_of, rows_of
from ..columns.ordering import list_parts
from ..hashes.columns import hashed_column
from ..hashes.functions import Murmur3
from .java_random import JavaRandom

Int64 = npt.NDArray[np.int64]
_VERSION = 1
_PRIME = (1 << 31) - 1
CELLS = pa.list_(
    pa.field("element", pa.struct([pa.field("v", pa.int32()), pa.field("n", pa.int64())]))
)


def cells(values: Any, depth: int, width: int, seed: int) -> Any:
    """The counters that each list of values raises, with their counts.

    Args:
        values: lists of whole numbers, strings or binaries.
        depth: how many rows of counters there are.
        width: how many counters a row has.
        seed: what the hash functions are made from.
    """
    items, lengths = elements_of(values)
    if pa.types.is_integer(items.type):
        columns = _of_numbers(items, depth, width, seed)
    else:
        columns = _of_bytes(items, depth, width)
    place = columns + np.arange(depth)[:, None] * width
    rows = rows_of(lengths)
    keys, counts = np.unique((rows * depth * width + place).ravel(), return_counts=True)
    found = [pa.array((keys % (depth * width)).astype(np.int32)), pa.array(counts.astype(np.int64))]
    pairs = pa.StructArray.from_arrays(found, fields=list(CELLS.value_type))
    sizes = np.bincount(keys // (depth * width), minlength=len(lengths)).astype(np.int64)
    return lists_of(pairs, sizes, CELLS)


@cache
def _factors(depth: int, seed: int) -> Int64:
    random = JavaRandom(seed)
    return np.array([random.below(_PRIME) for _ in range(depth)], np.int64)


def _of_numbers(items: Any, depth: int, width: int, seed: int) -> Int64:
    numbers = np.asarray(items.to_numpy(zero_copy_only=False)).astype(np.int64)
    with np.errstate(over="ignore"):
        hashed = _factors(depth, seed)[:, None] * numbers
        hashed += hashed >> 32
    return (hashed & _PRIME) % width


def _of_bytes(items: Any, depth: int, width: int) -> Int64:
    column = hashed_column(items)
    first = column.folded(Murmur3, np.zeros(len(items), np.uint32))
    second = column.folded(Murmur3, first)
    with np.errstate(over="ignore"):
        hashed = first + np.arange(depth, dtype=np.uint32)[:, None] * second
    # Java's remainder has the sign of the dividend.
    columns: Int64 = np.abs(hashed.view(np.int32).astype(np.int64)) % width
    return columns


def count_min_sketch(buffers: Sequence[Any], depth: int, width: int, seed: int) -> Any:
    """The sketch of each list of counters."""
    pairs, starts, lengths = list_parts(buffers[0])
    places, counts = (part.to_numpy(zero_copy_only=False) for part in pairs.flatten())
    factors = _factors(depth, seed).astype(">i8").tobytes()
    sketches = []
    for start, length in zip(starts.tolist(), lengths.tolist(), strict=True):
        table = np.zeros(depth * width, ">i8")
        own = counts[start : start + length]
        table[places[start : start + length]] = own
        header = struct.pack(">iqii", _VERSION, int(own.sum()) // depth, depth, width)
        sketches.append(header + factors + table.tobytes())
    return pa.array(sketches, pa.binary())
