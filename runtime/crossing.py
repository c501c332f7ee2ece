"""Rows of a DataFrame that come into this process in Arrow, and go back into one of the same types.

PySpark's Arrow has no year-month intervals, no day-time intervals but DAY TO SECOND, and no two
fields of one name in a struct. Such columns cross as other types, into which Spark casts them and
from which it casts them back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..planner.model.schemas.schema_json import type_from_json
from ..planner.model.schemas.types import (
    INT,
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
    as_nullable,
)
from .engines.embedded_session import is_embedded
from .frames import spark_schema, with_types

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MONTHS = YearMonthIntervalType(1, 1)


@dataclass(frozen=True)
class Crossing:
    """How the columns of a DataFrame cross.

    Attributes:
        schema: of the DataFrame; two columns may have one name.
        steps: the types into which they are cast, one after the other; the last ones cross.
    """

    schema: StructType
    steps: tuple[tuple[DataType, ...], ...]

    @classmethod
    def of(cls, frame: DataFrame) -> Crossing:
        """For the rows of a DataFrame.

        Those of the embedded engine have types that Arrow has, and so have rows of this process,
        which stand for a DataFrame.
        """
        from pyspark.sql import DataFrame

        schema = type_from_json(frame.schema.jsonValue())
        assert isinstance(schema, StructType)
        steps = []
        if isinstance(frame, DataFrame) and not is_embedded(frame.sparkSession):
            last = tuple(field.data_type for field in schema.fields)
            for change in (_in_months, _in_arrow):
                following = tuple(map(change, last))
                if following != last:
                    steps.append(following)
                last = following
        return cls(schema, tuple(steps))

    def here(self, frame: DataFrame) -> Any:
        """The rows as an Arrow table."""
        for kinds in self.steps:
            frame = with_types(frame, kinds)
        return frame.toArrow()

    def back(self, spark: SparkSession, rows: Any) -> DataFrame:
        """A DataFrame of rows that have crossed."""
        if not self.steps:
            return spark.createDataFrame(rows, spark_schema(self.schema))
        *between, last = self.steps
        names = [f"c{i}" for i in range(len(last))]
        crossed = as_nullable(StructType(tuple(map(StructField, names, last))))
        assert isinstance(crossed, StructType)
        frame = spark.createDataFrame(rows.rename_columns(names), spark_schema(crossed))
        for kinds in (*reversed(between), [field.data_type for field in self.schema.fields]):
            frame = with_types(frame, kinds)
        return frame.toDF(*(field.name for field in self.schema.fields))


def _in_months(kind: DataType) -> DataType:
    """A type whose year-month intervals can be cast to numbers."""
    if isinstance(kind, YearMonthIntervalType):
        return _MONTHS
    return _with_parts(kind, _in_months)


def _in_arrow(kind: DataType) -> DataType:
    """The type that crosses."""
    match kind:
        case YearMonthIntervalType():
            return INT
        case DayTimeIntervalType():
            return DayTimeIntervalType()
        case StructType(fields=fields) if len({f.name.lower() for f in fields}) < len(fields):
            named = (replace(f, name=f"f{i}") for i, f in enumerate(fields))
            return _with_parts(StructType(tuple(named)), _in_arrow)
        case _:
            return _with_parts(kind, _in_arrow)


def _with_parts(kind: DataType, change: Callable[[DataType], DataType]) -> DataType:
    """A type of other parts."""
    match kind:
        case ArrayType(element_type=element):
            return replace(kind, element_type=change(element))
        case MapType(key_type=key, value_type=value):
            return replace(kind, key_type=change(key), value_type=change(value))
        case StructType(fields=fields):
            return StructType(tuple(replace(f, data_type=change(f.data_type)) for f in fields))
        case _:
            return kind
