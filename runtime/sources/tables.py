"""Tables at rest that a query reads beside its streams."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...planner.model.schemas.types import StructType
from ...planner.model.text.spark_sql import type_sql
from ..frames import rows_frame, rows_table, spark_schema
from ..kernels.writers.folders import folder_texts
from ..listing import base_path, list_files
from ..plan.facts import Reader
from .parquet import MOST_FOOTERS, TableFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Table(ABC):
    """A table at rest.

    Attributes:
        schema: the columns.
    """

    schema: StructType

    @abstractmethod
    def frame(self, spark: SparkSession) -> DataFrame:
        """Its rows, on a query's session."""

    @property
    def reader(self) -> Reader | None:
        """How an engine reads its files; None: its rows are in this process."""
        return None

    def arrow(self) -> Any:
        """Its rows as an Arrow table, where they are in this process as values; None: not."""
        return None

    def parquet_files(self) -> TableFiles | None:
        """Its files, where they are Parquet files that mean the same to Spark and to Arrow."""
        return None


@dataclass(frozen=True)
class FilesTable(Table):
    """Files under a path, read anew by each query.

    Attributes:
        path: a directory or file.
        format: json, parquet, csv, orc, text.
        schema: the columns.
        options: of Spark's reader.
    """

    path: str
    format: str
    schema: StructType
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """The files, in order."""
        return [file.path for file in list_files(self.path)]

    def frame(self, spark: SparkSession) -> DataFrame:
        return self.at(spark, self.path)

    def at(
        self, spark: SparkSession, place: str | list[str], columns: StructType | None = None
    ) -> DataFrame:
        """Its rows, where an engine has names of its own for paths; `columns`: of these alone."""
        reader = spark.read.schema(spark_schema(columns or self.schema)).format(self.format)
        return reader.options(**self.options).load(place)

    @property
    def reader(self) -> Reader:
        return Reader(
            format=self.format,
            schema=self.schema,
            options=self.options,
            base=base_path(self.path),
        )

    def parquet_files(self) -> TableFiles | None:
        paths = self.paths
        # An option may change what is read, and names of folders may be columns.
        if self.format != "parquet" or self.options or not 0 < len(paths) <= MOST_FOOTERS:
            return None
        base = base_path(self.path)
        return None if any(folder_texts(path, base) for path in paths) else TableFiles(paths)


@dataclass(frozen=True)
class RowsTable(Table):
    """Rows of a description, as JSON has them.

    Attributes:
        rows: by the names of their columns.
        schema: the columns.
    """

    rows: Sequence[Mapping[str, Any]]
    schema: StructType

    def frame(self, spark: SparkSession) -> DataFrame:
        lines = [(json.dumps(row),) for row in self.rows]
        texts = spark.createDataFrame(lines, "value string")
        kind = type_sql(self.schema).replace("'", "\\'")
        return texts.selectExpr(f"from_json(value, '{kind}') AS r").select("r.*")

    @property
    def reader(self) -> Reader:
        return Reader(format="json", schema=self.schema)


@dataclass(frozen=True)
class ValuesTable(Table):
    """Rows of a program.

    Attributes:
        rows: values in the order of the columns.
        schema: the columns.
    """

    rows: Sequence[Sequence[object]]
    schema: StructType

    def frame(self, spark: SparkSession) -> DataFrame:
        return rows_frame(spark, self.schema, self.rows)

    def arrow(self) -> Any:
        return rows_table(self.schema, self.rows)
