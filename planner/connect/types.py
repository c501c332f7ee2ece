"""Data types: from protobuf, DDL or JSON to ours, and back to protobuf."""

from __future__ import annotations

import json

from pyspark.sql.connect import proto

from ..model.errors import AnalysisError
from ..model.expressions.core import AttributeReference
from ..model.schemas import types as model
from ..model.schemas.ddl import collated, parse_schema, parse_type
from ..model.schemas.schema_json import UnknownType, type_from_json
from ..model.schemas.types import ArrayType, DataType, DecimalType, MapType, StructField, StructType
from .failures import unsupported
from .places import Message

# Types without parts or parameters, by what the protocol calls them.
SIMPLE: dict[str, DataType] = {
    "null": model.NULL,
    "binary": model.BINARY,
    "boolean": model.BOOLEAN,
    "byte": model.BYTE,
    "short": model.SHORT,
    "integer": model.INT,
    "long": model.LONG,
    "float": model.FLOAT,
    "double": model.DOUBLE,
    "string": model.STRING,
    "char": model.STRING,
    "var_char": model.STRING,
    "date": model.DATE,
    "timestamp": model.TIMESTAMP,
    "timestamp_ntz": model.TIMESTAMP_NTZ,
    "calendar_interval": model.CALENDAR_INTERVAL,
}
_KINDS = {type_: kind for kind, type_ in SIMPLE.items() if kind not in ("char", "var_char")}


def from_proto(message: Message) -> DataType:
    """Our type for a `DataType` message.

    Raises:
        AnalysisError: a type that stateplan does not know (variant, geometry, ...).
    """
    kind = message.WhichOneof("kind")
    value = getattr(message, kind)
    match kind:
        case "string" if value.collation:
            return collated(value.collation)
        case "decimal":
            return DecimalType(**_given(value, "precision", "scale"))
        case "array":
            return ArrayType(from_proto(value.element_type), value.contains_null)
        case "map":
            key, item = from_proto(value.key_type), from_proto(value.value_type)
            return MapType(key, item, value.value_contains_null)
        case "struct":
            return StructType(
                tuple(
                    StructField(f.name, from_proto(f.data_type), f.nullable) for f in value.fields
                )
            )
        case "day_time_interval":
            return model.DayTimeIntervalType(**_given(value, "start_field", "end_field"))
        case "year_month_interval":
            return model.YearMonthIntervalType(**_given(value, "start_field", "end_field"))
        case "unparsed":
            return read_type(value.data_type_string)
        case "udt" if value.HasField("sql_type"):
            return from_proto(value.sql_type)  # what it is stored as, which is what plans show
        case _ if kind in SIMPLE:
            return SIMPLE[kind]
    raise unsupported(f"The type {kind}")


def _given(message: Message, *names: str) -> dict[str, int]:
    """The optional fields that are given, under the names that our types have for them."""
    given = (name for name in names if message.HasField(name))
    return {name.removesuffix("_field"): getattr(message, name) for name in given}


def to_proto(data_type: DataType) -> Message:
    """The `DataType` message of our type."""
    message = proto.DataType()
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            message.decimal.precision, message.decimal.scale = precision, scale
        case ArrayType():
            message.array.element_type.CopyFrom(to_proto(data_type.element_type))
            message.array.contains_null = data_type.contains_null
        case MapType():
            message.map.key_type.CopyFrom(to_proto(data_type.key_type))
            message.map.value_type.CopyFrom(to_proto(data_type.value_type))
            message.map.value_contains_null = data_type.value_contains_null
        case StructType(fields=fields):
            message.struct.SetInParent()
            for field in fields:
                added = message.struct.fields.add(name=field.name, nullable=field.nullable)
                added.data_type.CopyFrom(to_proto(field.data_type))
        case model.CollatedStringType(collation=collation):
            message.string.collation = collation
        case model.AnsiIntervalType(start=start, end=end):
            days = isinstance(data_type, model.DayTimeIntervalType)
            interval = message.day_time_interval if days else message.year_month_interval
            interval.start_field, interval.end_field = start, end
        case _:
            getattr(message, _KINDS[data_type]).SetInParent()
    return message


def read_type(text: str) -> DataType:
    """A type from DDL (`INT`, or `a INT, b STRING` for a struct) or from Spark's schema JSON.

    Raises:
        AnalysisError: it is neither.
    """
    if text.lstrip().startswith(("{", '"')):
        return _from_json(text)
    try:
        return parse_type(text)
    except AnalysisError as error:
        try:
            return parse_schema(text)
        except AnalysisError:
            raise error from None


def read_schema(text: str) -> StructType:
    """The columns of a table; raises as `read_type`, and for a type that has no columns."""
    found = _from_json(text) if text.lstrip().startswith("{") else parse_schema(text)
    if not isinstance(found, StructType):
        raise unsupported(f"The schema '{text}', which has no columns,")
    return found


def attributes_of(schema: StructType) -> tuple[AttributeReference, ...]:
    """New columns of a schema's names and types."""
    return tuple(
        AttributeReference(name=f.name, type_=f.data_type, is_nullable=f.nullable)
        for f in schema.fields
    )


def in_sql(kind: DataType) -> str | None:
    """A type, or the columns of a schema, as SQL has it; None where that has no words for it.

    It has none for no columns, and none for an array whose elements are never null.
    """
    if isinstance(kind, StructType):
        fields = (
            f"`{f.name.replace('`', '``')}` {f.data_type.sql}{'' if f.nullable else ' NOT NULL'}"
            for f in kind.fields
        )
        text = ", ".join(fields)
        same = bool(text) and parse_schema(text) == kind
    else:
        text = kind.sql
        same = parse_type(text) == kind
    return text if same else None


def _from_json(text: str) -> DataType:
    try:
        return type_from_json(json.loads(text))
    except UnknownType as error:
        raise unsupported(f"The type {error}") from None
