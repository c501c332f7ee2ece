"""UnsafeRow, Spark's binary form of a row, read as Arrow columns: all rows of a column at once.

A row is a bit for each field that is null, in words of 8 bytes; then 8 bytes a field: its value, or
where in the row it lies and how long it is; then what lies there. An array has its length, such
bits, and its elements in their own width; a map the length of its keys, the keys and the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...planner.model.schemas.types import ArrayType, DataType, DecimalType, MapType, StructType
from ..arrow_types import arrow_type
from ..kernels.columns.texts import ends_of, of_bytes
from ..plan.carried import carrier
from ..state.rows import Int64, Mask, ranges

Bytes = NDArray[np.uint8]
LONG_DIGITS = 18
"""Decimals of more digits do not stand in the 8 bytes of their field."""


class BadRow(Exception):
    """Bytes that are no row of the expected type."""


def stored_type(data_type: DataType) -> Any:
    """The Arrow type in which columns of a type are read and written: months are numbers."""
    return arrow_type(carrier(data_type))


def read_rows(rows: Sequence[bytes], schema: StructType) -> list[Any]:
    """The columns of some rows, in the Arrow types of `stored_type`.

    Raises:
        BadRow: the bytes are no such rows.
        RuntimeFailure: a type has no Arrow form.
    """
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    ends = np.cumsum(sizes)
    content = np.frombuffer(b"".join(rows), np.uint8)
    types = [field.data_type for field in schema.fields]
    if len(rows) and int(sizes.min()) < _null_bytes(len(types)) + 8 * len(types):
        raise BadRow("a row is shorter than its columns")
    try:
        reader = _Reader(content)
        if (reader.lengths(ends - sizes, types) != sizes).any():
            raise BadRow("a row has other columns")
        return reader.struct(ends - sizes, types)
    except (IndexError, ValueError, pa.ArrowInvalid) as problem:
        raise BadRow(str(problem)) from None


def _null_bytes(fields: int) -> int:
    return (fields + 63) // 64 * 8


def _in_slot(kind: Any) -> bool:
    """Whether values stand in the 8 bytes of their field."""
    return pa.types.is_primitive(kind) or pa.types.is_null(kind)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Reader:
    """Values in the bytes of all rows; positions are those of bytes."""

    content: Bytes

    def struct(self, starts: Int64, types: Sequence[DataType]) -> list[Any]:
        """The fields of the structs that start at some positions."""
        nulls, fields = starts, starts + _null_bytes(len(types))
        return [
            self.column(kind, ~self._bit(nulls, np.int64(i)), fields + 8 * i, starts)
            for i, kind in enumerate(types)
        ]

    def lengths(self, starts: Int64, types: Sequence[DataType]) -> Int64:
        """How long rows are, by what they say of their columns: nothing else is in a row."""
        found = np.full(len(starts), _null_bytes(len(types)) + 8 * len(types), np.int64)
        for i, kind in enumerate(types):
            if isinstance(kind, DecimalType):
                found += 16 if kind.precision > LONG_DIGITS else 0
            elif not _in_slot(stored_type(kind)):
                slots = starts + _null_bytes(len(types)) + 8 * i
                found += ((self._numbers(slots, np.int64) & 0xFFFFFFFF) + 7) // 8 * 8
        return found

    def _bit(self, words: Int64, number: Int64 | np.int64) -> Mask:
        found: Mask = (self.content[words + (number >> 3)] >> (number & 7).astype(np.uint8)) & 1 > 0
        return found

    def column(self, data_type: DataType, valid: Mask, slots: Int64, bases: Int64) -> Any:
        """Values whose slots are at some positions, in what begins at `bases`."""
        kind = stored_type(data_type)
        if pa.types.is_null(kind):
            return pa.nulls(len(valid), kind)
        if valid.all():
            return self._present(data_type, kind, slots, bases)
        found = self._present(data_type, kind, slots[valid], bases[valid])
        place = np.cumsum(valid) - 1
        return found.take(pa.array(place, pa.int64(), mask=~valid))

    def _present(self, data_type: DataType, kind: Any, slots: Int64, bases: Int64) -> Any:
        match data_type:
            case DecimalType(precision=precision):
                return self._decimals(kind, precision, slots, bases)
            case StructType(fields=fields):
                starts, _ = self._places(slots, bases)
                columns = self.struct(starts, [f.data_type for f in fields])
                return pa.StructArray.from_arrays(columns, fields=list(kind))
            case ArrayType(element_type=element):
                starts, _ = self._places(slots, bases)
                offsets, values = self._elements(starts, element)
                return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values, type=kind)
            case MapType(key_type=key, value_type=value):
                starts, _ = self._places(slots, bases)
                sizes = self._numbers(starts, np.int64)
                offsets, keys = self._elements(starts + 8, key)
                _, values = self._elements(starts + 8 + sizes, value)
                return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, values, kind)
        if pa.types.is_boolean(kind):
            return pa.array(self.content[slots] != 0)
        if pa.types.is_string(kind) or pa.types.is_binary(kind):
            starts, sizes = self._places(slots, bases)
            if int(sizes.sum()) > np.iinfo(np.int32).max:
                raise BadRow("a column has more than 2 GiB")
            return of_bytes(self._bytes(starts, sizes), ends_of(sizes), kind)
        number = np.dtype(f"i{kind.bit_width // 8}")
        if pa.types.is_floating(kind):
            number = np.dtype(f"f{kind.bit_width // 8}")
        return pa.array(self._numbers(slots, number)).view(kind)

    def _numbers(self, slots: Int64, kind: Any) -> NDArray[Any]:
        width = np.dtype(kind).itemsize
        return self.content[slots[:, None] + np.arange(width)].reshape(-1).view(kind)

    def _places(self, slots: Int64, bases: Int64) -> tuple[Int64, Int64]:
        """Where values begin that do not stand in their slots, and how long they are."""
        found = self._numbers(slots, np.int64)
        starts, sizes = bases + (found >> 32), found & 0xFFFFFFFF
        if len(found) and int((starts + sizes).max()) > len(self.content):
            raise BadRow("a value lies behind the end of its row")
        return starts, sizes

    def _bytes(self, starts: Int64, sizes: Int64) -> Bytes:
        found: Bytes = self.content[np.repeat(starts, sizes) + ranges(sizes)]
        return found

    def _elements(self, starts: Int64, element: DataType) -> tuple[Int64, Any]:
        """The elements of the arrays that start at some positions, one behind the other."""
        counts = self._numbers(starts, np.int64)
        if len(counts) and (int(counts.min()) < 0 or int(counts.max()) > len(self.content)):
            raise BadRow("an array has an impossible length")
        bases, numbers = np.repeat(starts, counts), ranges(counts)
        heads = bases + 8 + np.repeat((counts + 63) // 64 * 8, counts)
        slots = heads + numbers * element_width(element)
        values = self.column(element, ~self._bit(bases + 8, numbers), slots, bases)
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), values

    def _decimals(self, kind: Any, precision: int, slots: Int64, bases: Int64) -> Any:
        words = np.zeros((len(slots), 16), np.uint8)
        if precision <= LONG_DIGITS:
            low = self._numbers(slots, np.int64)
            words[:, :8] = low[:, None].view(np.uint8)
            words[:, 8:] = np.where(low < 0, 255, 0)[:, None]
        else:
            starts, sizes = self._places(slots, bases)
            if len(sizes) and not 0 < int(sizes.min()) <= int(sizes.max()) <= 16:
                raise BadRow("a decimal has an impossible length")
            # The least significant byte is the last; what is missing at the front is the sign.
            words[:] = np.where(self.content[starts] > 127, 255, 0)[:, None]
            rows = np.repeat(np.arange(len(slots)), sizes)
            places = np.repeat(sizes, sizes) - 1 - ranges(sizes)
            words[rows, places] = self._bytes(starts, sizes)
        return pa.Array.from_buffers(kind, len(slots), [None, pa.py_buffer(words)])


def element_width(data_type: DataType) -> int:
    """The bytes of an element of an array."""
    if isinstance(data_type, DecimalType):
        return 8
    kind = stored_type(data_type)
    if pa.types.is_boolean(kind):
        return 1
    return kind.bit_width // 8 if pa.types.is_primitive(kind) else 8
