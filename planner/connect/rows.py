"""Rows that come with a plan: Arrow's stream format to literals."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ..model.expressions.core import Literal
from ..model.schemas import types as model
from ..model.schemas.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType
from .failures import unsupported

Rows = tuple[tuple[Literal, ...], ...]
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_SIMPLE: list[tuple[Any, DataType]] = [
    (pa.types.is_null, model.NULL),
    (pa.types.is_boolean, model.BOOLEAN),
    (pa.types.is_int8, model.BYTE),
    (pa.types.is_int16, model.SHORT),
    (pa.types.is_int32, model.INT),
    (pa.types.is_int64, model.LONG),
    (pa.types.is_float32, model.FLOAT),
    (pa.types.is_float64, model.DOUBLE),
    (pa.types.is_string, model.STRING),
    (pa.types.is_large_string, model.STRING),
    (pa.types.is_binary, model.BINARY),
    (pa.types.is_large_binary, model.BINARY),
    (pa.types.is_date32, model.DATE),
    (pa.types.is_duration, model.DayTimeIntervalType()),
]


def arrow_rows(data: bytes | None, schema: StructType | None) -> tuple[StructType, Rows]:
    """The columns and rows of an Arrow stream; the schema given wins over the stream's own."""
    if data is None:
        return schema or StructType(()), ()
    table = pa.ipc.open_stream(data).read_all()
    own = columns_of_arrow(table.schema)
    chosen = own if schema is None or len(schema.fields) != len(own.fields) else schema
    columns = [column.to_pylist() for column in table.columns]
    types = [field.data_type for field in chosen.fields]
    rows = tuple(
        tuple(
            Literal(value=_plain(value, type_), type_=type_)
            for value, type_ in zip(row, types, strict=True)
        )
        for row in zip(*columns, strict=True)
    )
    return chosen, rows


def columns_of_arrow(schema: pa.Schema) -> StructType:
    """The columns of Arrow's rows.

    Raises:
        StateplanError: one has a type that Spark has not.
    """
    return StructType(tuple(StructField(f.name, _type(f.type), f.nullable) for f in schema))


def _type(kind: pa.DataType) -> DataType:
    for test, found in _SIMPLE:
        if test(kind):
            return found
    if pa.types.is_timestamp(kind):
        return model.TIMESTAMP if kind.tz else model.TIMESTAMP_NTZ
    if pa.types.is_decimal(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return ArrayType(_type(kind.value_type), kind.value_field.nullable)
    if pa.types.is_map(kind):
        return MapType(_type(kind.key_type), _type(kind.item_type), kind.item_field.nullable)
    if pa.types.is_struct(kind):
        return StructType(tuple(StructField(f.name, _type(f.type), f.nullable) for f in kind))
    raise unsupported(f"A column of the Arrow type {kind}")


def _plain(value: Any, kind: DataType) -> object:
    """A value in the form that literals hold."""
    match value, kind:
        case None, _:
            return None
        case dt.datetime(), _:
            moment = value if value.tzinfo is None else value.astimezone(dt.UTC)
            return (moment.replace(tzinfo=None) - _EPOCH) // _MICROSECOND
        case dt.date(), _:
            return (value - _EPOCH.date()).days
        case dt.timedelta(), _:
            return value // _MICROSECOND
        case list(), ArrayType(element_type=element):
            return tuple(_plain(item, element) for item in value)
        case list(), MapType(key_type=key, value_type=item):
            return tuple((_plain(k, key), _plain(v, item)) for k, v in value)
        case dict(), StructType(fields=fields):
            return tuple(_plain(value.get(f.name), f.data_type) for f in fields)
        case Decimal() | bool() | int() | float() | str() | bytes(), _:
            return value
    raise unsupported(f"The value {value!r}")
