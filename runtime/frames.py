"""Small DataFrames, on the classic and on the Connect API."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..planner.model.types import StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import types as spark_types


def spark_schema(schema: StructType) -> spark_types.StructType:
    """The schema in PySpark's classes."""
    from pyspark.sql.types import StructType as SparkStructType

    return SparkStructType.fromJson(schema_json(schema))


def schema_json(schema: StructType) -> dict[str, Any]:
    """The schema as Spark's schema JSON, as a fresh dict."""
    found = json.loads(json.dumps(schema.json))
    assert isinstance(found, dict)
    return found


def rows_frame(
    spark: SparkSession, schema: StructType, rows: Sequence[Sequence[object]]
) -> DataFrame:
    """A DataFrame of rows given as tuples in the schema's order."""
    return spark.createDataFrame([tuple(row) for row in rows], spark_schema(schema))
