"""Rows of a DataFrame that come into this process in Arrow, and go back into one of the same types.

PySpark's Arrow has no year-month intervals, no day-time intervals but DAY TO SECOND, no two fields
of one name in a struct, and fails where a struct is null that has a field which never is. Such
columns cross as other types, into which Spark casts them and from which it casts them back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from ..planner.model.text.spark_sql import type_sql
from .engines.embedded_session import is_embedded
from .frames import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MONTHS = YearMonthIntervalType(1, 1)


@dataclass(frozen=True)
class Crossing:
    """How the columns of a DataFrame cross.

    Attributes:
        schema: of the DataFrame; two columns may have one name.
        steps: the types into which they are cast, one after the other; the last ones cross.
        changed: whether what crosses has other types than the DataFrame.
    """

    schema: StructType
    steps: tuple[tuple[DataType, ...], ...]
    changed: bool

    @classmethod
    def of(cls, frame: DataFrame) -> Crossing:
        """For the rows of a DataFrame.

        Rows of this process, which stand for one, do not cross; those of the embedded engine have
        types that Arrow has.
        """
        from pyspark.sql import DataFrame

        schema = type_from_json(frame.schema.jsonValue())
        assert isinstance(schema, StructType)
        last = tuple(field.data_type for field in schema.fields)
        steps = []
        changes: list[Callable[[DataType], DataType]] = []
        if isinstance(frame, DataFrame):
            changes.append(as_nullable)
        if changes and not is_embedded(frame.sparkSession):
            changes += [_in_months, _in_arrow]
        for change in changes:
            following = tuple(map(change, last))
            if following != last:
                steps.append(following)
            last = following
        if steps:
            schema = as_nullable(schema)
            assert isinstance(schema, StructType)
        kinds = tuple(field.data_type for field in schema.fields)
        return cls(schema, tuple(steps), changed=kinds != last)

    def here(self, frame: DataFrame) -> Any:
        """The rows as an Arrow table."""
        return _cast(frame, self.steps).toArrow()

    def back(self, spark: SparkSession, rows: Any) -> DataFrame:
        """A DataFrame of rows that have crossed."""
        if not self.changed:
            return spark.createDataFrame(rows, spark_schema(self.schema))
        *between, last = self.steps
        crossed = StructType(tuple(StructField(f"c{i}", kind) for i, kind in enumerate(last)))
        names = [field.name for field in crossed.fields]
        frame = spark.createDataFrame(rows.rename_columns(names), spark_schema(crossed))
        kinds = [field.data_type for field in self.schema.fields]
        return _cast(frame, (*reversed(between), kinds)).toDF(*(f.name for f in self.schema.fields))


def _cast(frame: DataFrame, steps: Sequence[Sequence[DataType]]) -> DataFrame:
    """The rows with other types, by one cast after the other."""
    if not steps:
        return frame
    before = [type_from_json(field.dataType.jsonValue()) for field in frame.schema.fields]
    names = frame.columns
    numbered = [f"c{i}" for i in range(len(names))]
    for kinds in steps:
        columns = [
            name if kind == old else f"CAST({name} AS {type_sql(kind)}) AS {name}"
            for name, old, kind in zip(numbered, before, kinds, strict=True)
        ]
        if columns != numbered:
            frame = frame.toDF(*numbered).selectExpr(*columns).toDF(*names)
        before = list(kinds)
    return frame


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
            fields = tuple(StructField(f"f{i}", f.data_type) for i, f in enumerate(fields))
            return _with_parts(StructType(fields), _in_arrow)
        case _:
            return _with_parts(kind, _in_arrow)


def _with_parts(kind: DataType, change: Callable[[DataType], DataType]) -> DataType:
    """A type of other parts; it is nullable in each."""
    match kind:
        case ArrayType(element_type=element):
            return ArrayType(change(element))
        case MapType(key_type=key, value_type=value):
            return MapType(change(key), change(value))
        case StructType(fields=fields):
            return StructType(tuple(StructField(f.name, change(f.data_type)) for f in fields))
        case _:
            return kind
