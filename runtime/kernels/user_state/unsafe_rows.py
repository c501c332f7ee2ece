"""The order in which Spark's state store has the entries of a map, and the timers of a key.

It sorts the bytes of their UnsafeRows: a word of null bits for 64 fields, a word for each field,
and behind these the values that do not fit a word, each with its place and size in its word.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

_NUMBERS = {
    "BooleanType": "<?",
    "ByteType": "<b",
    "ShortType": "<h",
    "IntegerType": "<i",
    "LongType": "<q",
    "FloatType": "<f",
    "DoubleType": "<d",
    "DateType": "<i",
    "TimestampType": "<q",
    "TimestampNTZType": "<q",
    "DayTimeIntervalType": "<q",
    "YearMonthIntervalType": "<i",
}
_WORD = 8
_LONG_DIGITS = 18


def order_of_time(milliseconds: int) -> bytes:
    """By what the timers of a key are sorted."""
    return struct.pack("<q", milliseconds)


def order_of_key(key: Sequence[Any], schema: Any) -> bytes:
    """By what the entries of a map are sorted.

    Args:
        key: the key in its internal form.
        schema: the key's, PySpark's.
    """
    row = _row(key, schema)
    return struct.pack("<i", len(row)) + row


def _row(values: Sequence[Any], schema: Any) -> bytes:
    count = len(values)
    head = bytearray(_WORD * -(-count // 64))
    words = bytearray()
    behind = bytearray()
    start = len(head) + _WORD * count
    for number, (value, field) in enumerate(zip(values, schema.fields, strict=True)):
        if value is None:
            head[number // 8] |= 1 << (number % 8)
            words += bytes(_WORD)
            continue
        plain = _NUMBERS.get(type(field.dataType).__name__)
        if plain is not None:
            words += struct.pack(plain, value).ljust(_WORD, b"\0")
        elif _is_short_decimal(field.dataType):
            words += struct.pack("<q", int(value.scaleb(field.dataType.scale)))
        else:
            data = _bytes(value, field.dataType)
            words += struct.pack("<ii", len(data), start + len(behind))
            behind += data.ljust(_WORD * -(-len(data) // _WORD), b"\0")
    return bytes(head + words + behind)


def _is_short_decimal(kind: Any) -> bool:
    return type(kind).__name__ == "DecimalType" and kind.precision <= _LONG_DIGITS


def _bytes(value: Any, kind: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if type(kind).__name__ == "StructType":
        return _row(value, kind)
    return repr(value).encode()  # an order, if not Spark's: of arrays and long decimals
