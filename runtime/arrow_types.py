"""The Arrow types of Spark's types."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ..planner.model.errors import RuntimeFailure
from ..planner.model.expressions.core import AttributeReference
from ..planner.model.schemas.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from .kernels.columns.nested import rebuilt

_ARROW: dict[type[DataType], Any] = {
    NullType: pa.null(),
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    DateType: pa.date32(),
    TimestampType: pa.timestamp("us", "UTC"),
    TimestampNTZType: pa.timestamp("us"),
    DayTimeIntervalType: pa.duration("us"),
}


def arrow_type(data_type: DataType) -> Any:
    """The Arrow type that Spark gives a column, all of it nullable, timestamps in UTC.

    Raises:
        RuntimeFailure: values of the type cannot leave the JVM as Arrow.
    """
    match data_type:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case ArrayType(element_type=element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case MapType(key_type=key, value_type=value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case StructType(fields=fields):
            return pa.struct([pa.field(f.name, arrow_type(f.data_type)) for f in fields])
    found = _ARROW.get(type(data_type))
    if found is None:
        raise RuntimeFailure.of(
            "UNSUPPORTED_ARROWTYPE",
            typeName=data_type.sql,
            hint="Values of this type cannot go through a stateful operator: cast them to another "
            "one, such as STRING or BIGINT, below it.",
        )
    return found


def arrow_schema(columns: Iterable[AttributeReference]) -> Any:
    """The Arrow schema of some columns, named by their ids."""
    return pa.schema([pa.field(column_name(c), arrow_type(c.data_type)) for c in columns])


def column_name(attribute: AttributeReference) -> str:
    """A column's name where an engine has it: names of the query may repeat, ids do not."""
    return f"c{attribute.expr_id}"


def column_names(attributes: Iterable[AttributeReference]) -> list[str]:
    """The names of columns; one that is there again gets a name that nothing refers to."""
    names: dict[str, None] = {}
    for place, attribute in enumerate(attributes):
        name = column_name(attribute)
        names[f"{name}_{place}" if name in names else name] = None
    return list(names)


_SPARK: dict[Any, DataType] = {kind: spark() for spark, kind in _ARROW.items()}


def without_hidden(array: Any) -> Any:
    """The same values, with null in every field below a null struct.

    What stands there means nothing to Arrow, but the embedded engine reads it as the field's value.
    """
    kind = array.type
    if not _holds_structs(kind):
        return array
    return rebuilt(array, kind, lambda part, _: without_hidden(part), with_keys=False)


def _holds_structs(kind: Any) -> bool:
    if pa.types.is_map(kind):
        return _holds_structs(kind.item_type)
    return pa.types.is_struct(kind) or (pa.types.is_list(kind) and _holds_structs(kind.value_type))


def spark_type(kind: Any) -> DataType:
    """The type of Spark's that an Arrow type stands for: the reverse of `arrow_type`.

    Raises:
        KeyError: it stands for none.
    """
    if pa.types.is_decimal128(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_list(kind):
        return ArrayType(spark_type(kind.value_type))
    if pa.types.is_map(kind):
        return MapType(spark_type(kind.key_type), spark_type(kind.item_type))
    if pa.types.is_struct(kind):
        return StructType(tuple(StructField(f.name, spark_type(f.type)) for f in kind))
    return _SPARK[kind]
