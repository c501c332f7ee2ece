"""Bitmaps of 32768 bits: of positions, and of others by AND and OR.

A bitmap in the state ends behind its last byte that is not zero, or that was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.lists import elements_of, in_turns, rows_of
from ..columns.ordering import spread, valid
from ..columns.texts import bytes_of, of_bytes
from ..errors import KernelError

Int64 = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
SIZE = 4096  # bytes


def bitmap(positions: Any) -> Any:
    """The bitmap of each list of positions.

    Raises:
        KernelError: there is no such position (INVALID_BITMAP_POSITION).
    """
    values, lengths = elements_of(positions)
    places = np.asarray(values.to_numpy(zero_copy_only=False), np.int64)
    wrong = (places < 0) | (places >= SIZE * 8)
    if wrong.any():
        raise KernelError.of(
            "INVALID_BITMAP_POSITION",
            bitPosition=int(places[wrong][0]),
            bitmapNumBits=SIZE * 8,
            bitmapNumBytes=SIZE,
        )
    rows = rows_of(lengths)
    sizes = np.zeros(len(lengths), np.int64)
    np.maximum.at(sizes, rows, places // 8 + 1)
    ends = np.cumsum(sizes)
    content = np.zeros(int(ends[-1]) if len(ends) else 0, np.uint8)
    bits = np.left_shift(1, places % 8).astype(np.uint8)
    np.bitwise_or.at(content, (ends - sizes)[rows] + places // 8, bits)
    return _binary(content, ends, None)


def fold_bytes(operation: str) -> Callable[[Any, Int64], Any]:
    """Runs of bitmaps by `and` or `or`, shorter ones filled up with zeros; nulls count for none."""
    is_or = operation == "or"

    def fold(column: Any, starts: Int64) -> Any:
        content, begins, lengths = _parts(column)
        present = valid(column)
        groups = np.cumsum(np.isin(np.arange(len(lengths)), starts)) - 1
        if is_or:
            sizes = np.maximum.reduceat(lengths, starts)
        else:
            sizes = np.minimum.reduceat(np.where(present, lengths, SIZE), starts)
        missing = ~np.logical_or.reduceat(present, starts)
        sizes = np.where(missing, 0, sizes)
        ends = np.cumsum(sizes)
        used = np.minimum(lengths, sizes[groups])
        place = spread((ends - sizes)[groups], used)
        result = np.full(int(ends[-1]), 0 if is_or else 0xFF, np.uint8)
        combine = np.bitwise_or if is_or else np.bitwise_and
        combine.at(result, place, content[spread(begins, used)])
        return _binary(result, ends, missing)

    return fold


def merge_bytes(operation: str) -> Callable[[list[Any], list[Any]], list[Any]]:
    """`bytes_and` and `bytes_or`: bitmaps of equal rows."""
    fold = fold_bytes(operation)

    def merge(earlier: list[Any], later: list[Any]) -> list[Any]:
        return [fold(*in_turns(earlier[0], later[0]))]

    return merge


def padded(buffers: Sequence[Any], empty: int) -> Any:
    """All 4096 bytes of each bitmap, zeros behind its own; `empty` in each where there is none."""
    content, begins, lengths = _parts(buffers[0])
    rows = np.zeros((len(lengths), SIZE), np.uint8)
    rows[~valid(buffers[0])] = empty
    place = spread(np.arange(len(lengths)) * SIZE, lengths)
    rows.reshape(-1)[place] = content[spread(begins, lengths)]
    return _binary(rows.reshape(-1), np.arange(1, len(lengths) + 1) * SIZE, None)


def _parts(column: Any) -> tuple[Bytes, Int64, Int64]:
    """All bytes, and per row where its own begin and how many count."""
    content, ends = bytes_of(column)
    lengths = np.where(valid(column), np.diff(ends), 0).astype(np.int64)
    return content, ends[:-1].astype(np.int64), np.minimum(lengths, SIZE)


def _binary(content: Bytes, ends: Int64, missing: npt.NDArray[np.bool_] | None) -> Any:
    mask = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return of_bytes(content, np.append(0, ends), pa.binary(), mask)
