"""Files that our own code reads for the embedded engine, as Spark does and no more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from ...planner.model.errors import RuntimeFailure
from ...planner.model.expressions.core import AttributeReference, Expression
from ...planner.model.schemas.types import (
    BooleanType,
    DataType,
    StructField,
    StructType,
    TimestampType,
    as_nullable,
)
from ..kernels.errors import NOT_EXACT, KernelError
from ..kernels.expressions.values.vectors import decoded
from ..kernels.json.filters import PushedFilter
from ..kernels.readers.formats import FILE_READERS, FileScan
from ..kernels.scans.file_metadata import FileMetadata
from ..kernels.scans.parquet_files import ParquetReader, ScanFile, SourceError
from ..plan.facts import Reader
from ..sources.files import FileSource
from ..sources.parquet import FileBatch, other_times
from ..state.rows import columns_of
from .embedded_folders import FolderColumns
from .evaluating import pushed_filters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from .local_rows import Holder

_ON_SPARK = "Run the query on Spark: --engine spark."
_NO_COLUMN = StructField("none", BooleanType())
_NO_COLUMNS = StructType((_NO_COLUMN,))
"""Stands for a schema without columns: rows of none would get lost on their way."""


def check_files(paths: Sequence[str], format: str, schema: StructType, time_zone: str) -> None:
    """Refuse files of which the engine itself gives other rows than Spark.

    Args:
        paths: the files.
        format: theirs.
        schema: the columns that they are declared to have.
        time_zone: the session's.

    Raises:
        RuntimeFailure: a Parquet file's times have no time zone, as a TIMESTAMP's have, or are in
            nanoseconds.
    """
    times = {f.name.lower() for f in schema.fields if _holds_instants(f.data_type)}
    for path in paths:
        if times and format == "parquet":
            for column in other_times(path, time_zone):
                if column.partition(".")[0].lower() in times:
                    raise RuntimeFailure(
                        NOT_EXACT,
                        f"The embedded engine cannot read the times of the column '{column}' in "
                        f"'{path}' as Spark does: the file has them without a time zone, or in "
                        "nanoseconds.",
                        hint=_ON_SPARK,
                    )


def embedded_uri(path: str) -> str:
    """What the engine calls a path: in one that is not quoted, signs mean something to it."""
    return f"file://{quote(path)}"


def _holds_instants(kind: DataType) -> bool:
    return isinstance(kind, TimestampType) or any(map(_holds_instants, kind.parts))


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """Files, and how they are read.

    Attributes:
        paths: the files.
        reader: their columns and options.
        zone: the session's time zone.
        failures: takes the errors that reading raises.
        holder: how long a DataFrame of them is held.
        folders: which columns are not in the files.
        parquet: the same by their paths, if they are Parquet files.
        frame: the DataFrame of all columns.
    """

    paths: Sequence[str]
    reader: Reader
    zone: str
    failures: list[Exception]
    holder: Holder
    folders: FolderColumns
    parquet: Mapping[str, ScanFile] = field(default_factory=dict)
    frame: DataFrame | None = field(default=None, compare=False)

    def schema(self, places: Sequence[int]) -> StructType:
        """The schema of some columns; of none: of the one that stands for them."""
        fields = [self.reader.columns[place] for place in places]
        schema = as_nullable(StructType(tuple(fields)) if fields else _NO_COLUMNS)
        assert isinstance(schema, StructType)
        return schema

    def parts(
        self, places: Sequence[int], filters: Sequence[PushedFilter], *, encoded: bool
    ) -> list[_OwnFile]:
        """The rows of each file, of some columns; whether strings may stay encoded."""
        count = len(self.reader.schema.fields)
        own = [place for place in places if place < count]
        metadata = tuple(
            self.reader.metadata[place - count].name for place in places if place >= count
        )
        return [
            _OwnFile(path, own, self.folders.values(path), metadata, filters, self, encoded)
            for path in self.paths
        ]

    def filters(
        self,
        places: Sequence[int],
        columns: Sequence[AttributeReference],
        conditions: Sequence[Expression],
    ) -> Sequence[PushedFilter]:
        """What the files' reader is given of conditions over columns at some places."""
        pairs = zip(places, columns, strict=True)
        read = [column for place, column in pairs if place not in self.folders.places]
        ids = {column.expr_id for column in read}
        return pushed_filters([one for one in conditions if ids >= set(one.references)], read)


@dataclass(frozen=True)
class _OwnFile:
    """The rows of a file, read as often as they are asked for."""

    path: str
    places: Sequence[int]
    values: Mapping[int, Any]
    metadata: tuple[str, ...]
    filters: Sequence[PushedFilter]
    files: OwnFiles
    encoded: bool

    def __iter__(self) -> Iterator[Any]:
        batches = self._rows()
        if self.values:
            between = self.files.folders.between
            batches = (between(batch, self.places, self.values) for batch in batches)
        if self.metadata:
            yield from FileMetadata(self.path, self.metadata).behind(batches)
            return
        for batch in batches:
            yield batch if self.places else _without_columns(batch.num_rows)

    def _rows(self) -> Iterator[Any]:
        reader, folders = self.files.reader, self.files.folders
        scan = FileScan(
            path=self.path,
            schema=folders.arrow_schema,
            columns=[folders.place_in_files(p) for p in self.places if p not in folders.places],
            options=reader.options,
            time_zone=self.files.zone,
            filters=self.filters,
        )
        try:
            if self.files.parquet:
                yield from self._parquet_rows(scan, self.files.parquet[self.path])
            else:
                yield from FILE_READERS[reader.format].read(scan)
        except (KernelError, SourceError) as error:
            self.files.failures.append(error)
            raise

    def _parquet_rows(self, scan: FileScan, file: ScanFile) -> Iterator[Any]:
        schema = pa.schema([scan.schema.field(place) for place in scan.columns])
        for batch in ParquetReader(schema).batches(file):
            if self.encoded:
                yield batch
            else:
                yield columns_of(list(map(decoded, batch.columns)), schema, batch.num_rows)


def _without_columns(rows: int) -> Any:
    """Rows of _NO_COLUMNS."""
    return pa.record_batch([pa.nulls(rows, pa.bool_())], [_NO_COLUMN.name])


def readable_files(source: FileSource, batch: FileBatch | None) -> dict[str, ScanFile] | None:
    """A batch's Parquet files by their paths; None: our own code does not read them as Spark."""
    declared = {field.name: field.data_type for field in source.schema.fields}
    if batch is None or not declared.items() <= batch.columns.items():
        return None
    return {file.path: file for file in batch.files}
