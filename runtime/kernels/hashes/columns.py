"""Arrow columns as what Spark's hash functions take: numbers, bytes, and parts of nested values.

What is nested is hashed over its flattened values, in rounds: the first element of every list, then
the second of those that have one, and so on. A round costs no Python per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...state.rows import Int64, Mask
from ..columns.floats import canonical
from .functions import Texts

MAX_LONG_DIGITS = 18
"""Decimals of at most this precision are hashed as numbers, others as bytes."""


class HashedColumn(Protocol):
    """Values of a column, ready to be hashed."""

    def folded(self, function: Any, seeds: Any, rows: Int64 | None = None) -> Any:
        """The hashes of the values at some rows (None: all), each with the seed at its position."""


def is_hashed_flat(kind: Any) -> bool:
    """Whether an Arrow type of values without parts is hashed."""
    return pa.types.is_null(kind) or _number_type(kind) is not None or _is_bytes(kind)


def hashed_column(column: Any) -> HashedColumn:
    """An Arrow array of a type that `rows.can_hash` knows."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return hashed_column(column.dictionary_decode())
    if pa.types.is_null(kind):
        return _Fields((), None)
    if pa.types.is_struct(kind):
        fields = (column.field(i) for i in range(kind.num_fields))
        return _Fields(tuple(map(hashed_column, fields)), _valid(column))
    if _is_bytes(kind):
        return _bytes(column)
    if (number := _number_type(kind)) is not None:
        return _Numbers(_numbers(column, number), _valid(column))
    return _lists(column)


@dataclass(frozen=True)
class _Numbers:
    """Numbers of 32 or 64 bits; `valid` is None where there is no null."""

    values: NDArray[Any]
    valid: Mask | None

    def folded(self, function: Any, seeds: Any, rows: Int64 | None = None) -> Any:
        values = self.values if rows is None else self.values[rows]
        hashed = (function.longs if values.dtype == np.int64 else function.ints)(values, seeds)
        return _where_valid(self.valid, rows, hashed, seeds)


@dataclass(frozen=True)
class _Bytes:
    """Values of varying length: the bytes of all, where each begins and how many it has."""

    content: NDArray[np.uint8]
    starts: Int64
    lengths: Int64
    valid: Mask | None

    def folded(self, function: Any, seeds: Any, rows: Int64 | None = None) -> Any:
        order, texts = self._ordered if rows is None else self._in_order(rows)
        hashed = np.empty_like(seeds)
        hashed[order] = function.texts(texts, seeds[order])
        return _where_valid(self.valid, rows, hashed, seeds)

    @cached_property
    def _ordered(self) -> tuple[Int64, Texts]:
        return self._in_order(np.arange(len(self.starts)))

    def _in_order(self, rows: Int64) -> tuple[Int64, Texts]:
        """The values at some rows, the longest first; and at which of the rows each is."""
        starts, lengths = self.starts[rows], self.lengths[rows]
        most = int(lengths.max(initial=0))
        # numpy sorts 16-bit numbers by radix.
        shorter = (most - lengths).astype(np.uint16 if most < 1 << 16 else np.int64)
        order = np.argsort(shorter, kind="stable")
        return order, Texts(self.content, starts[order], lengths[order])


@dataclass(frozen=True)
class _Fields:
    """Structs: their fields, one after the other; also columns that have nothing to hash."""

    fields: tuple[HashedColumn, ...]
    valid: Mask | None

    def folded(self, function: Any, seeds: Any, rows: Int64 | None = None) -> Any:
        hashed = seeds
        for field in self.fields:
            hashed = field.folded(function, hashed, rows)
        return _where_valid(self.valid, rows, hashed, seeds)


@dataclass(frozen=True)
class _Lists:
    """Lists and maps: where each begins in `element`, and how many it has; a null has none."""

    starts: Int64
    lengths: Int64
    element: HashedColumn

    def folded(self, function: Any, seeds: Any, rows: Int64 | None = None) -> Any:
        starts, lengths = self.starts, self.lengths
        if rows is not None:
            starts, lengths = starts[rows], lengths[rows]
        hashed = seeds.copy()
        number, left = 0, np.flatnonzero(lengths)
        while len(left):
            hashed[left] = self.element.folded(function, hashed[left], starts[left] + number)
            number += 1
            left = left[lengths[left] > number]
        return hashed


def _where_valid(valid: Mask | None, rows: Int64 | None, hashed: Any, seeds: Any) -> Any:
    if valid is None:
        return hashed
    return np.where(valid if rows is None else valid[rows], hashed, seeds)


def _valid(column: Any) -> Mask | None:
    if not column.null_count:
        return None
    valid: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _items(buffer: Any, kind: Any, start: int, count: int) -> NDArray[Any]:
    """Numbers in a buffer of Arrow; zeros where Arrow has left an empty one out."""
    if buffer is None or not buffer.size:
        return np.zeros(count, kind)
    return np.frombuffer(buffer, kind, count, start * np.dtype(kind).itemsize)


# ---------------------------------------------------------------------------------------- numbers


def _number_type(kind: Any) -> Any:
    """The numbers as which Spark hashes values of a type: int32 or int64; None: not as such."""
    if pa.types.is_signed_integer(kind):
        return np.int64 if kind.bit_width == 64 else np.int32
    if (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)) and kind.unit == "us":
        return np.int64
    if pa.types.is_float64(kind):
        return np.int64
    if pa.types.is_boolean(kind) or pa.types.is_date32(kind) or pa.types.is_float32(kind):
        return np.int32
    if pa.types.is_decimal128(kind) and kind.precision <= MAX_LONG_DIGITS:
        return np.int64
    return None


def _numbers(column: Any, number: Any) -> NDArray[Any]:
    """The numbers of an Arrow array; where it has a null, any."""
    kind, count = column.type, len(column)
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
        kind = column.type
    data = column.buffers()[1]
    if pa.types.is_floating(kind):
        floats = np.float64 if number is np.int64 else np.float32
        return canonical(_items(data, floats, column.offset, count)).view(number)
    if pa.types.is_decimal(kind):  # the lower half of 128 bits
        return _items(data, np.int64, 2 * column.offset, 2 * count)[::2].copy()
    stored = np.dtype(f"i{kind.bit_width // 8}")
    return _items(data, stored, column.offset, count).astype(number, copy=False)


# ------------------------------------------------------------------------------------------ bytes


def _is_bytes(kind: Any) -> bool:
    """Whether Spark hashes values of a type as bytes of varying length."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary_view(kind)
        or (pa.types.is_decimal128(kind) and kind.precision > MAX_LONG_DIGITS)
    )


def _bytes(column: Any) -> _Bytes:
    kind, valid = column.type, _valid(column)
    if pa.types.is_decimal(kind):
        return _Bytes(*java_bytes(column), valid)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        column = column.cast(pa.large_binary())
    large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    _, offsets, data = column.buffers()
    ends = _items(offsets, np.int64 if large else np.int32, column.offset, len(column) + 1)
    content = np.frombuffer(b"" if data is None else data, np.uint8)
    starts = ends[:-1].astype(np.int64)
    return _Bytes(content, starts, ends[1:] - starts, valid)


def java_bytes(column: Any) -> tuple[NDArray[np.uint8], Int64, Int64]:
    """The unscaled numbers of decimals as Java's BigInteger.toByteArray.

    The highest byte comes first, and as few bytes as hold the number and its sign.

    Returns:
        The bytes of all, where each begins and how many it has; those of a null are any.
    """
    count = len(column)
    little = _items(column.buffers()[1], np.uint8, 16 * column.offset, 16 * count)
    content = np.ascontiguousarray(little.reshape(count, 16)[:, ::-1])
    sign = np.where(content[:, :1] >> 7, np.uint8(0xFF), np.uint8(0))
    # A byte can be left out if it is all sign and the next one has the same sign.
    idle = (content[:, :-1] == sign) & ((content[:, 1:] ^ sign) < 0x80)
    left_out = np.where(idle.all(axis=1), 15, idle.argmin(axis=1)).astype(np.int64)
    starts = 16 * np.arange(count, dtype=np.int64) + left_out
    return content.reshape(-1), starts, 16 - left_out


# ------------------------------------------------------------------------------------------ lists


def _lists(column: Any) -> _Lists:
    """Lists of any kind, and maps as lists of their entries."""
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        ends = (column.offset + np.arange(len(column) + 1, dtype=np.int64)) * size
    else:
        ends = column.offsets.to_numpy().astype(np.int64)
    starts, lengths = ends[:-1] - ends[0], np.diff(ends)
    if column.null_count:
        lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
    elements = column.values.slice(int(ends[0]), int(ends[-1] - ends[0]))
    return _Lists(starts, lengths, hashed_column(elements))
