"""Columns in a lowered batch: names by id, Arrow types, carriers for what Arrow cannot take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions import AttributeReference, Expression
from ...planner.model.spark_sql import spark_sql, type_sql
from ...planner.model.types import (
    INT,
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
    YearMonthIntervalType,
    as_nullable,
)

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


def column_name(attribute: AttributeReference) -> str:
    """A column's name inside a lowered batch; names of the query may repeat, ids do not."""
    return f"c{attribute.expr_id}"


def sql_of(expression: Expression) -> str:
    """An expression over lowered columns, in Spark SQL."""
    return spark_sql(expression, column_name)


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
        raise RuntimeFailure(
            "UNSUPPORTED_ARROWTYPE",
            f"Values of type {data_type.sql} cannot go through a stateful operator.",
            hint="Cast them to another type, such as STRING or BIGINT, before the operator.",
        )
    return found


@dataclass(frozen=True)
class Column:
    """A column that goes through a kernel: its name and type in the DataFrame."""

    name: str
    data_type: DataType

    @classmethod
    def of(cls, attribute: AttributeReference) -> Column:
        """The column of an attribute."""
        return cls(column_name(attribute), attribute.data_type)

    @property
    def carrier(self) -> DataType:
        """The type that carries it through Arrow."""
        return carrier(self.data_type)

    @property
    def field(self) -> Any:
        """The Arrow field."""
        return pa.field(self.name, arrow_type(self.carrier))

    @property
    def parts(self) -> list[Column]:
        """The columns that travel for it."""
        return [self]

    @property
    def sent(self) -> list[str]:
        """The SQL that makes the carriers of its parts."""
        return [self.outward]

    @property
    def hashed(self) -> list[str]:
        """The SQL of what stands for it where it is hashed."""
        return [self.name]

    @property
    def outward(self) -> str:
        """The SQL that makes the carrier of the column."""
        if isinstance(self.data_type, YearMonthIntervalType):
            return f"{months(self.name)} AS {self.name}"
        return self.name

    @property
    def inward(self) -> str:
        """The SQL that makes the column of its carrier."""
        if isinstance(self.data_type, YearMonthIntervalType):
            value = f"make_ym_interval(0, {self.name})"
        elif self.carrier != as_nullable(self.data_type):
            value = self.name
        else:
            return self.name
        return f"CAST({value} AS {type_sql(self.data_type)}) AS {self.name}"


def months(sql: str) -> str:
    """The SQL for the months of a year-month interval."""
    return f"CAST(extract(YEAR FROM {sql}) * 12 + extract(MONTH FROM {sql}) AS INT)"


def carrier(data_type: DataType) -> DataType:
    """The type whose Arrow form carries another: months as numbers, intervals as DAY TO SECOND."""
    match data_type:
        case YearMonthIntervalType():
            return INT
        case DayTimeIntervalType():
            return DayTimeIntervalType()
        case ArrayType(element_type=element):
            return ArrayType(_inner(element))
        case MapType(key_type=key, value_type=value):
            return MapType(_inner(key), _inner(value))
        case StructType(fields=fields):
            return StructType(tuple(StructField(f.name, _inner(f.data_type)) for f in fields))
        case _:
            return data_type


def _inner(data_type: DataType) -> DataType:
    # Inside other types there is no cheap way to change months into numbers.
    return data_type if isinstance(data_type, YearMonthIntervalType) else carrier(data_type)


def arrow_schema(columns: Sequence[Column]) -> Any:
    """The Arrow schema of some columns."""
    return pa.schema([column.field for column in columns])


def carrier_schema(columns: Sequence[Column]) -> StructType:
    """The schema of what a kernel gives for some columns."""
    parts = [part for column in columns for part in column.parts]
    return StructType(tuple(StructField(c.name, as_nullable(c.carrier)) for c in parts))
