"""Constant arrays that Spark keeps as bytes, which plans show by a hash of these."""

from __future__ import annotations

import struct
from typing import Any

_FORMATS = {"tinyint": "b", "smallint": "h", "int": "i", "bigint": "q", "date": "i"}
_MASK = 0xFFFFFFFF
_SEED = 42


class PackedArray(tuple[Any, ...]):
    """The items of such an array: what `sequence` of whole numbers or days gives."""

    __slots__ = ()


def packed_text(items: PackedArray, element: str) -> str:
    """The form in plans; `element` is the name of the items' type, such as `int`."""
    return (
        "org.apache.spark.sql.catalyst.expressions.UnsafeArrayData@"
        f"{_murmur3(_packed(items, element)):x}"
    )


def _packed(items: PackedArray, element: str) -> bytes:
    """The number of items, a bit for each null, the items, filled up to whole words."""
    nulls = bytes((len(items) + 63) // 64 * 8)
    values = struct.pack(f"<{len(items)}{_FORMATS[element]}", *items)
    data = struct.pack("<q", len(items)) + nulls + values
    return data + bytes(-len(data) % 8)


def _murmur3(data: bytes) -> int:
    """The 32-bit hash of whole words, as an unsigned number."""

    def turned(value: int, bits: int) -> int:
        return ((value << bits) | (value >> (32 - bits))) & _MASK

    hashed = _SEED
    for (word,) in struct.iter_unpack("<I", data):
        mixed = turned(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593 & _MASK
        hashed = (turned(hashed ^ mixed, 13) * 5 + 0xE6546B64) & _MASK
    hashed ^= len(data)
    hashed = (hashed ^ (hashed >> 16)) * 0x85EBCA6B & _MASK
    hashed = (hashed ^ (hashed >> 13)) * 0xC2B2AE35 & _MASK
    return hashed ^ (hashed >> 16)
