"""Theta sketches of DataSketches as Spark serialises them: theta_sketch_agg.

A sketch is the least hashes of all values, and a bound (theta) below which it has all there are.
Unions cut it to as many hashes as it is made for, the next one being the bound: so it depends on
the values alone. The state holds these hashes and the bound, ascending.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...state.sorting import order_by
from ..columns.lists import elements_of, lists_of, places_of, rows_of
from ..columns.ordering import list_parts
from ..hashes.murmur128 import hashed, sized

Int64 = npt.NDArray[np.int64]
HASHES = pa.list_(pa.field("element", pa.int64()))
_SEED_HASH = 0x93CC
_FAMILY = 3
_PLAIN, _COMPRESSED = 3, 4
_COMPACT, _EMPTY, _SINGLE = 0x1A, 0x04, 0x20


def hashes(values: Any, size: int) -> Any:
    """The least hashes of each list of numbers, strings or binaries, and the bound.

    Args:
        values: the lists.
        size: how many hashes a sketch is made for.
    """
    items, lengths = elements_of(values)
    found = (hashed(items)[0] >> np.uint64(1)).astype(np.int64)
    counted = np.ones(len(items), np.bool_)
    if not (pa.types.is_integer(items.type) or pa.types.is_floating(items.type)):
        counted = sized(items)[2] > 0  # nothing is no value
    rows = rows_of(lengths)[counted]
    sizes = np.bincount(rows, minlength=len(lengths)).astype(np.int64)
    return least_hashes(pa.array(found[counted]), sizes, HASHES, size)


def least_hashes(found: Any, lengths: Int64, kind: Any, size: int) -> Any:
    """`least_hashes`: of the hashes of each result the least `size` and one more, ascending."""
    numbers = np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
    rows = rows_of(lengths)
    order = order_by(rows, numbers)
    rows, numbers = rows[order], numbers[order]
    new = np.append(True, (rows[1:] != rows[:-1]) | (numbers[1:] != numbers[:-1]))[: len(rows)]
    rows, numbers = rows[new], numbers[new]
    counts = np.bincount(rows, minlength=len(lengths)).astype(np.int64)
    kept = places_of(counts) <= size
    return lists_of(pa.array(numbers[kept]), np.minimum(counts, size + 1), kind)


def theta_sketches(buffers: Sequence[Any], size: int) -> Any:
    """The sketch of each list of hashes."""
    values, starts, lengths = list_parts(buffers[0])
    numbers = np.asarray(values.to_numpy(zero_copy_only=False), np.int64)
    bounds = zip(starts.tolist(), lengths.tolist(), strict=True)
    sketches = [_serialised(numbers[start : start + length], size) for start, length in bounds]
    return pa.array(sketches, pa.binary())


def _serialised(found: Int64, size: int) -> bytes:
    if not len(found):
        return struct.pack("<BBBBBBH", 1, _PLAIN, _FAMILY, 0, 0, _COMPACT | _EMPTY, 0)
    if len(found) == 1:
        head = struct.pack("<BBBBBBH", 1, _PLAIN, _FAMILY, 0, 0, _COMPACT | _SINGLE, _SEED_HASH)
        return head + struct.pack("<q", int(found[0]))
    bound = b"" if len(found) <= size else struct.pack("<q", int(found[size]))
    entries = found[:size]
    steps = np.diff(entries, prepend=0)
    bits = int(np.bitwise_or.reduce(steps)).bit_length()
    count = len(entries)
    width = (count.bit_length() + 7) // 8
    head = struct.pack(
        "<BBBBBBH", 2 if bound else 1, _COMPRESSED, _FAMILY, bits, width, _COMPACT, _SEED_HASH
    )
    shifts = np.arange(bits - 1, -1, -1)
    packed = np.packbits((steps[:, None] >> shifts & 1).astype(np.uint8).ravel())
    return head + bound + count.to_bytes(width, "little") + packed.tobytes()


def entries_of(content: bytes, size: int) -> Int64 | None:
    """The least hashes of a serialised sketch, and its bound if it has one, ascending.

    Args:
        content: the sketch, compact and ascending.
        size: how many hashes a sketch is made for.

    Returns:
        None if it has another form, or a bound and fewer hashes than it is made for.
    """
    longs, version, family, bits, width, flags = content[:6]
    if family != _FAMILY or flags & _COMPACT != _COMPACT:
        return None
    if flags & _EMPTY:
        return np.zeros(0, np.int64)
    if version == _PLAIN and flags & _SINGLE:
        return np.frombuffer(content, "<i8", 1, 8).astype(np.int64)
    if version != _COMPRESSED:
        return None
    place = 8 * longs
    count = int.from_bytes(content[place : place + width], "little")
    packed = np.frombuffer(content, np.uint8, -1, place + width)
    steps = np.unpackbits(packed, count=count * bits).reshape(count, bits).astype(np.int64)
    found: Int64 = np.cumsum((steps << np.arange(bits - 1, -1, -1)).sum(axis=1))
    if longs == 1:
        return found
    if count < size:
        return None
    return np.append(found, np.frombuffer(content, "<i8", 1, 8))[: size + 1]
