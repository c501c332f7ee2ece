"""UnsafeRow written from Arrow columns, byte for byte as Spark writes it: keys are found by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...planner.model.schemas.types import ArrayType, DataType, DecimalType, MapType, StructType
from ..arrow_types import without_hidden
from ..kernels.columns.texts import bytes_of
from ..kernels.hashes.columns import java_bytes
from ..state.rows import Int64, Mask, ranges
from .unsafe_reading import LONG_DIGITS, Bytes, element_width


@dataclass(frozen=True)
class _Blobs:
    """Pieces of bytes, one behind the other."""

    content: Bytes
    sizes: Int64

    @property
    def starts(self) -> Int64:
        starts: Int64 = np.cumsum(self.sizes) - self.sizes
        return starts

    def __len__(self) -> int:
        return len(self.sizes)


def write_rows(columns: Sequence[Any], schema: StructType, count: int) -> list[bytes]:
    """Rows of some columns, in the Arrow types of `stored_type`.

    Args:
        columns: one a field.
        schema: their types.
        count: how many rows there are.
    """
    rows = _structs([f.data_type for f in schema.fields], columns, count)
    whole, ends = rows.content.tobytes(), np.cumsum(rows.sizes).tolist()
    return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _structs(types: Sequence[DataType], columns: Sequence[Any], count: int) -> _Blobs:
    owners, same = np.arange(count, dtype=np.int64), np.ones(count, np.int64)
    head = (len(types) + 63) // 64 * 8
    fields = [
        _Field(kind, column, owners, same * (head + 8 * i), 8, same * i, in_array=False)
        for i, (kind, column) in enumerate(zip(types, columns, strict=True))
    ]
    return _laid_out(same * (head + 8 * len(types)), same * 0, fields)


def _arrays(element: DataType, values: Any, lengths: Int64) -> _Blobs:
    """Arrays of so many elements each."""
    owners = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    numbers, width = ranges(lengths), element_width(element)
    heads = 8 + (lengths + 63) // 64 * 8
    fixed = heads + (lengths * width + 7) // 8 * 8
    slots = heads[owners] + numbers * width
    field = _Field(element, values, owners, slots, width, numbers, in_array=True)
    made = _laid_out(fixed, np.full(len(lengths), 8, np.int64), [field])
    _put(made.content, made.starts, lengths[:, None].view(np.uint8))
    return made


def _maps(kind: MapType, maps: Any) -> _Blobs:
    offsets = maps.offsets.to_numpy().astype(np.int64)
    lengths, total = np.diff(offsets), int(offsets[-1] - offsets[0])
    keys = _arrays(kind.key_type, maps.keys.slice(offsets[0], total), lengths)
    values = _arrays(kind.value_type, maps.items.slice(offsets[0], total), lengths)
    sizes = 8 + keys.sizes + values.sizes
    made = _Blobs(np.zeros(int(sizes.sum()), np.uint8), sizes)
    _put(made.content, made.starts, keys.sizes[:, None].view(np.uint8))
    _scatter(made.content, made.starts + 8, keys)
    _scatter(made.content, made.starts + 8 + keys.sizes, values)
    return made


@dataclass(frozen=True)
class _Field:
    """Values of one type: whose they are, where their slots and the bits for their nulls are."""

    data_type: DataType
    values: Any
    owners: Int64
    slots: Int64
    width: int
    numbers: Int64
    in_array: bool


def _laid_out(fixed: Int64, null_words: Int64, fields: Sequence[_Field]) -> _Blobs:
    """Blobs of fixed parts with slots, and behind them what does not stand in these.

    Args:
        fixed: the bytes of each fixed part.
        null_words: where in it the bits for nulls begin.
        fields: what stands in it; what each of them has behind it lies in their order.
    """
    parts = [_part(field) for field in fields]
    behind = np.zeros(len(fixed), np.int64)
    offsets: list[Int64] = []
    for field, part in zip(fields, parts, strict=True):
        padded = (part.room + 7) // 8 * 8
        before = np.cumsum(padded) - padded
        first = np.searchsorted(field.owners, np.arange(len(fixed)))
        ends = np.append(before, padded.sum())[np.append(first, len(padded))]
        offsets.append(
            fixed[field.owners] + behind[field.owners] + before - ends[:-1][field.owners]
        )
        behind = behind + np.diff(ends)
    made = _Blobs(np.zeros(int((fixed + behind).sum()), np.uint8), fixed + behind)
    starts = made.starts
    for field, part, offset in zip(fields, parts, offsets, strict=True):
        at = starts[field.owners]
        if part.blobs is None:
            _put(made.content, at + field.slots, part.slots)
        else:
            words = np.where(part.placed, offset << 32 | part.blobs.sizes, 0)
            _put(made.content, at + field.slots, words[:, None].view(np.uint8))
            _scatter(made.content, at + offset, part.blobs)
        nulls = np.flatnonzero(~part.valid)
        places = at[nulls] + null_words[field.owners[nulls]] + (field.numbers[nulls] >> 3)
        bits = (1 << (field.numbers[nulls] & 7)).astype(np.uint8)
        np.bitwise_or.at(made.content, places, bits)
    return made


@dataclass(frozen=True)
class _Part:
    """The values of a field: the bytes of their slots, or what lies behind, and the room for it.

    `placed` says which slots say where it lies.
    """

    valid: Mask
    slots: Bytes
    blobs: _Blobs | None
    room: Int64
    placed: Mask


def _part(field: _Field) -> _Part:
    values, kind = without_hidden(field.values), field.data_type
    valid: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    none = np.zeros(len(values), np.int64)
    match kind:
        case DecimalType(precision=precision) if precision > LONG_DIGITS:
            blobs = _wide_decimals(values, valid)
            # A field keeps its room, so that a value can take the place of another.
            room = blobs.sizes if field.in_array else np.full(len(values), 16, np.int64)
            placed = valid if field.in_array else np.ones(len(values), np.bool_)
            return _Part(valid, np.empty(0, np.uint8), blobs, room, placed)
        case StructType(fields=fields):
            present = values.filter(values.is_valid())
            found = _structs([f.data_type for f in fields], present.flatten(), len(present))
        case ArrayType(element_type=element):
            lists = _compact(values)
            lengths = np.diff(lists.offsets.to_numpy().astype(np.int64))
            found = _arrays(element, lists.values, lengths)
        case MapType():
            found = _maps(kind, _compact(values))
        case _ if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
            found = _texts(_compact(values))
        case _:
            return _Part(valid, _fixed(field, values, valid), None, none, valid)
    sizes = none.copy()
    sizes[valid] = found.sizes
    return _Part(valid, np.empty(0, np.uint8), _Blobs(found.content, sizes), sizes, valid)


def _compact(values: Any) -> Any:
    """The values that are not null, at the beginning of their memory."""
    return pa.concat_arrays([values.filter(values.is_valid())])


def _texts(values: Any) -> _Blobs:
    content, ends = bytes_of(values)
    return _Blobs(content, np.diff(ends).astype(np.int64))


def _fixed(field: _Field, values: Any, valid: Mask) -> Bytes:
    """The bytes of slots that hold the values themselves."""
    made = np.zeros((len(values), field.width), np.uint8)
    if pa.types.is_null(values.type):
        return made
    if isinstance(field.data_type, DecimalType):
        words = np.frombuffer(_compact(values).buffers()[1] or b"", np.uint8).reshape(-1, 16)
        made[valid] = words[: int(valid.sum()), :8]
        return made
    if pa.types.is_boolean(values.type):
        made[:, 0] = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
        return made
    width = values.type.bit_width // 8
    kind = pa.float32() if width == 4 else pa.float64()
    if not pa.types.is_floating(values.type):
        kind = getattr(pa, f"int{8 * width}")()
    numbers = pc.fill_null(values.view(kind), 0).to_numpy(zero_copy_only=False)
    made[:, :width] = np.ascontiguousarray(numbers)[:, None].view(np.uint8)
    return made


def _wide_decimals(values: Any, valid: Mask) -> _Blobs:
    """The bytes of decimals, most significant first, as few as keep the sign."""
    content, starts, lengths = java_bytes(values)
    sizes = np.where(valid, lengths, 0)
    return _Blobs(content[np.repeat(starts, sizes) + ranges(sizes)], sizes)


def _put(content: Bytes, places: Int64, pieces: Bytes) -> None:
    """Write pieces of one width at some places."""
    content[places[:, None] + np.arange(pieces.shape[1])] = pieces


def _scatter(content: Bytes, places: Int64, blobs: _Blobs) -> None:
    content[np.repeat(places, blobs.sizes) + ranges(blobs.sizes)] = blobs.content
