"""Values of user-defined state as Spark stores them, and of functions whose rows are pickled.

PySpark sends a value to the JVM pickled, in its internal form (`DataType.toInternal`: days,
microseconds, tuples), and the JVM makes of it what the schema says: what does not fit a type is
null, whole numbers lose their upper bits, everything is a string. The internal form is what state
holds in memory here; Arrow has it in files.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import KernelError
from ..expressions.values.java_numbers import shown_floats

_BITS = {"ByteType": 8, "ShortType": 16, "IntegerType": 32, "LongType": 64}
_COUNTED = (
    *("DateType", "TimestampType", "TimestampNTZType", "DayTimeIntervalType"),
    "YearMonthIntervalType",
)
_TEXTS = ("StringType", "CharType", "VarcharType")
_LONG = 1 << 63


def stored(value: Any, kind: Any) -> Any:
    """What the JVM makes of a value that Python has pickled in its internal form.

    Args:
        value: as `kind.toInternal` gives it.
        kind: the type, PySpark's.

    Raises:
        KernelError: a struct has another number of fields, or a decimal too many digits.
    """
    if value is None:
        return None
    name = type(kind).__name__
    whole = isinstance(value, int) and not isinstance(value, bool) and -_LONG <= value < _LONG
    if name in _BITS:
        return _wrapped(value, _BITS[name]) if whole else None
    if name in _COUNTED:
        return value if whole else None
    if name in _TEXTS:
        return _text(value)
    match name:
        case "BooleanType":
            return value if isinstance(value, bool) else None
        case "DoubleType":
            return value if isinstance(value, float) else None
        case "FloatType":
            return float(np.float32(value)) if isinstance(value, float) else None
        case "DecimalType":
            return _decimal(value, kind) if isinstance(value, decimal.Decimal) else None
        case "BinaryType":
            if isinstance(value, str):
                return value.encode()
            return bytes(value) if isinstance(value, bytes | bytearray) else None
        case "ArrayType":
            if not isinstance(value, list | tuple):
                return None
            return [stored(item, kind.elementType) for item in value]
        case "MapType":
            if not isinstance(value, dict):
                return None
            pairs = value.items()
            return {stored(k, kind.keyType): stored(v, kind.valueType) for k, v in pairs}
        case "StructType":
            return _struct(value, kind) if isinstance(value, tuple) else None
    return value


def _wrapped(value: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half


def _text(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list() | tuple():
            return "[" + ", ".join(map(_text, value)) + "]"
        case dict():
            pairs = sorted(value.items(), key=_bucket(len(value)))
            return "{" + ", ".join(f"{_text(k)}={_text(v)}" for k, v in pairs) + "}"
        case float():
            return str(shown_floats(pa.array([value]))[0].as_py())
        case None:
            return "null"
    return str(value)


def _bucket(length: int) -> Callable[[tuple[Any, Any]], int]:
    """The place of an entry in a Java HashMap of so many, whose keys are strings or numbers."""
    size = 16
    while length > size * 3 // 4:
        size *= 2

    def place(entry: tuple[Any, Any]) -> int:
        key, found = entry[0], 0
        if isinstance(key, int):
            found = (key ^ key >> 32) if key >> 31 not in (0, -1) else key
        elif isinstance(key, str):
            for unit in np.frombuffer(key.encode("utf-16-le"), np.uint16).tolist():
                found = found * 31 + unit
        found &= 0xFFFFFFFF
        return (found ^ found >> 16) & size - 1

    return place


def _decimal(value: decimal.Decimal, kind: Any) -> decimal.Decimal:
    wide = decimal.Context(prec=200)
    unit = decimal.Decimal(1).scaleb(-kind.scale)
    rounded = value.quantize(unit, rounding=decimal.ROUND_HALF_UP, context=wide)
    if len(rounded.as_tuple().digits) > kind.precision and rounded != 0:
        raise KernelError(
            "STATEPLAN_STATE_VALUE",
            f"[STATEPLAN_STATE_VALUE] The decimal {value} has more digits than its type "
            f"{kind.simpleString()}.",
        )
    return rounded


def _struct(value: tuple[Any, ...], kind: Any) -> tuple[Any, ...]:
    if len(value) != len(kind.fields):
        raise KernelError(
            "STATEPLAN_STATE_VALUE",
            "[STATEPLAN_STATE_VALUE] Input row doesn't have expected number of values required by "
            f"the schema. {len(kind.fields)} fields are required while {len(value)} values are "
            "provided.",
        )
    return tuple(stored(v, f.dataType) for v, f in zip(value, kind.fields, strict=True))


# ---------------------------------------------------------------------------------------- in Arrow


def arrow_of(kind: Any) -> Any:
    """The Arrow type of a PySpark type in state files, the one that all our state has."""
    match type(kind).__name__:
        case "ArrayType":
            return pa.list_(pa.field("element", arrow_of(kind.elementType)))
        case "MapType":
            return pa.map_(arrow_of(kind.keyType), arrow_of(kind.valueType))
        case "StructType":
            return pa.struct([pa.field(f.name, arrow_of(f.dataType)) for f in kind.fields])
        case "TimestampType":
            return pa.timestamp("us", "UTC")
        case "YearMonthIntervalType":
            return pa.int32()
    from pyspark.sql.pandas.types import to_arrow_type

    return to_arrow_type(kind)


def to_arrow(values: list[Any], kind: Any) -> Any:
    """A column of internal values."""
    return pa.array([_given(value, kind) for value in values], arrow_of(kind))


def _given(value: Any, kind: Any) -> Any:
    """An internal value as pyarrow takes it."""
    if value is None:
        return None
    match type(kind).__name__:
        case "ArrayType":
            return [_given(item, kind.elementType) for item in value]
        case "MapType":
            pairs = value.items()
            return [(_given(k, kind.keyType), _given(v, kind.valueType)) for k, v in pairs]
        case "StructType":
            fields = zip(kind.fields, value, strict=True)
            return {field.name: _given(item, field.dataType) for field, item in fields}
    return value


def from_arrow(array: Any, kind: Any) -> list[Any]:
    """The internal values of a column."""
    name = type(kind).__name__
    if name in ("TimestampType", "TimestampNTZType", "DayTimeIntervalType"):
        return list(array.cast(pa.int64()).to_pylist())
    if name == "DateType":
        return list(array.cast(pa.int32()).to_pylist())
    if name == "StructType":
        # Fields go by their place: names may repeat.
        valid = array.is_valid().to_pylist()
        columns = [
            from_arrow(array.field(i), field.dataType) for i, field in enumerate(kind.fields)
        ]
        rows = zip(*columns, strict=True) if columns else (() for _ in valid)
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    if name == "ArrayType":
        return _lists(array, from_arrow(array.values, kind.elementType))
    if name == "MapType":
        keys, items = (
            from_arrow(array.keys, kind.keyType),
            from_arrow(array.items, kind.valueType),
        )
        pairs = _lists(array, list(zip(keys, items, strict=True)))
        return [None if one is None else dict(one) for one in pairs]
    return list(array.to_pylist())


def _lists(array: Any, items: list[Any]) -> list[Any]:
    ends = array.offsets.to_pylist()
    valid = array.is_valid().to_pylist()
    bounds = zip(ends, ends[1:], valid, strict=False)
    return [items[start:end] if there else None for start, end, there in bounds]


def internal(value: Any, schema: Any) -> tuple[Any, ...] | None:
    """What a user's value, a row of a schema, is in state.

    Raises:
        KernelError: it has another number of fields.
    """
    found = stored(schema.toInternal(value), schema)
    return None if found is None else tuple(found)
