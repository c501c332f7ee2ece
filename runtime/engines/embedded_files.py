"""Files that our own code reads for the embedded engine, as Spark does and no more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...planner.model.schemas.types import BooleanType, StructField, StructType, as_nullable
from ..arrow_types import arrow_type
from ..kernels.errors import KernelError
from ..kernels.json.filters import PushedFilter
from ..kernels.readers.formats import FILE_READERS, FileScan
from ..plan.facts import Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NO_COLUMN = StructField("none", BooleanType())
_NO_COLUMNS = StructType((_NO_COLUMN,))
"""Stands for a schema without columns: rows of none would get lost on their way."""


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Files, and how they are read.

    Attributes:
        paths: the files.
        reader: their columns and options.
        zone: the session's time zone.
        failures: takes the errors that reading raises.
        holder: how long a DataFrame of them is held.
        frame: the DataFrame of all columns.
    """

    paths: Sequence[str]
    reader: Reader
    zone: str
    failures: list[Exception]
    holder: str
    frame: DataFrame | None = field(default=None, compare=False)

    def schema(self, places: Sequence[int]) -> StructType:
        """The schema of some columns; of none: of the one that stands for them."""
        fields = [self.reader.schema.fields[place] for place in places]
        schema = as_nullable(StructType(tuple(fields)) if fields else _NO_COLUMNS)
        assert isinstance(schema, StructType)
        return schema

    def parts(self, places: Sequence[int], filters: Sequence[PushedFilter]) -> list[_OwnFile]:
        """The rows of each file, of some columns."""
        fields = self.reader.schema.fields
        schema = pa.schema([(f.name, arrow_type(f.data_type)) for f in fields])
        return [_OwnFile(path, schema, places, filters, self) for path in self.paths]


@dataclass(frozen=True)
class _OwnFile:
    """The rows of a file, read as often as they are asked for."""

    path: str
    schema: Any
    places: Sequence[int]
    filters: Sequence[PushedFilter]
    files: OwnFiles

    def __iter__(self) -> Iterator[Any]:
        reader = self.files.reader
        scan = FileScan(
            path=self.path,
            schema=self.schema,
            columns=self.places,
            options=reader.options,
            time_zone=self.files.zone,
            filters=self.filters,
        )
        try:
            for batch in FILE_READERS[reader.format].read(scan):
                yield batch if self.places else _without_columns(batch.num_rows)
        except KernelError as error:
            self.files.failures.append(error)
            raise


def _without_columns(rows: int) -> Any:
    """Rows of _NO_COLUMNS."""
    return pa.record_batch([pa.nulls(rows, pa.bool_())], [_NO_COLUMN.name])
