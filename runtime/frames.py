"""Small DataFrames, on the classic and on the Connect API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..planner.model.errors import RuntimeFailure
from ..planner.model.expressions.core import AttributeReference
from ..planner.model.schemas.schema_json import type_from_json
from ..planner.model.schemas.types import DataType, StructField, StructType, as_nullable
from ..planner.model.text.spark_sql import type_sql
from .arrow_types import arrow_type, column_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as spark_types

_NEVER_NULL = '"nullable":false'
"""In the JSON of a struct's type: that of a field."""


def spark_schema(schema: StructType) -> spark_types.StructType:
    """The schema in PySpark's classes."""
    from pyspark.sql.types import StructType as SparkStructType

    return SparkStructType.fromJson(schema_json(schema))


def schema_of(columns: Iterable[AttributeReference]) -> StructType:
    """The schema of some columns as engines have them, named by their ids."""
    columns = tuple(columns)
    named = zip(column_names(columns), columns, strict=True)
    return StructType(tuple(StructField(name, as_nullable(c.data_type)) for name, c in named))


def spark_schema_of(columns: Iterable[AttributeReference]) -> spark_types.StructType:
    """The same in PySpark's classes."""
    return spark_schema(schema_of(columns))


def schema_json(schema: StructType) -> dict[str, Any]:
    """The schema as Spark's schema JSON, as a fresh dict."""
    found = json.loads(json.dumps(schema.json))
    assert isinstance(found, dict)
    return found


def for_arrow(frame: DataFrame) -> DataFrame:
    """The same rows, whose `toArrow` gives them all.

    PySpark's fails where a struct is null that has a field which never is: here such fields may be.
    Rows of this process, which stand for a DataFrame, stay as they are.
    """
    from pyspark.sql import DataFrame

    if not isinstance(frame, DataFrame):
        return frame
    kinds = [field.dataType for field in frame.schema.fields]
    return _cast(
        frame,
        [
            as_nullable(type_from_json(kind.jsonValue())) if _NEVER_NULL in kind.json() else None
            for kind in kinds
        ],
    )


def with_types(frame: DataFrame, kinds: Sequence[DataType]) -> DataFrame:
    """The same rows, cast to other types; whether a type may be null is no matter."""
    old = [as_nullable(type_from_json(f.dataType.jsonValue())) for f in frame.schema.fields]
    pairs = zip(old, map(as_nullable, kinds), strict=True)
    return _cast(frame, [None if before == kind else kind for before, kind in pairs])


def _cast(frame: DataFrame, kinds: Sequence[DataType | None]) -> DataFrame:
    """The same rows with some columns cast; None: this one is not."""
    if all(kind is None for kind in kinds):
        return frame
    names = [f"c{i}" for i in range(len(kinds))]  # those that they have may repeat
    columns = [
        name if kind is None else f"CAST({name} AS {type_sql(kind)}) AS {name}"
        for name, kind in zip(names, kinds, strict=True)
    ]
    return frame.toDF(*names).selectExpr(*columns).toDF(*frame.columns)


class LazyFrames(Mapping[str, "DataFrame"]):
    """DataFrames by name: some that there are, some that are made when they are asked for."""

    def __init__(
        self, made: Mapping[str, DataFrame], makers: Mapping[str, Callable[[], DataFrame]]
    ) -> None:
        self._made = dict(made)
        self._makers = dict(makers)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._made, **self._makers})

    def __len__(self) -> int:
        return len({**self._made, **self._makers})


def rows_frame(
    spark: SparkSession, schema: StructType, rows: Sequence[Sequence[object]]
) -> DataFrame:
    """A DataFrame of rows given as tuples in the schema's order."""
    return spark.createDataFrame([tuple(row) for row in rows], spark_schema(schema))


def rows_table(schema: StructType, rows: Sequence[Sequence[object]]) -> Any:
    """The same rows, as PySpark converts them, as an Arrow table; None: a type has none there."""
    import pyarrow as pa
    from pyspark.sql.conversion import LocalDataToArrowConversion

    try:
        kind = pa.schema([(field.name, arrow_type(field.data_type)) for field in schema.fields])
    except RuntimeFailure:
        return None
    if not rows:
        return kind.empty_table()
    data = [tuple(row) for row in rows]
    return LocalDataToArrowConversion.convert(data, spark_schema(schema), False).cast(kind)
