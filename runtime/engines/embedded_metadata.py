"""The column `_metadata` of files that the embedded engine reads: it knows no such column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...planner.model.errors import RuntimeFailure
from ...planner.model.formats import metadata_columns
from ...planner.model.schemas.types import StructType
from ..kernels.errors import NOT_EXACT
from ..kernels.scans.file_metadata import ROW_INDEX, FileMetadata
from ..sources.files import FileSource
from .embedded_files import embedded_uri
from .embedded_folders import FolderColumns, engine_rows, literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def by_file(
    spark: SparkSession, source: FileSource, paths: Sequence[str], folders: FolderColumns
) -> DataFrame:
    """The rows of some files, each read alone, with the fields of `_metadata` as columns.

    The number of a row in its file is not known: NULL stands for it.
    """
    frames = [_with_fields(spark, source, path, folders) for path in paths]
    while len(frames) > 1:  # pair by pair: a chain of many unions is too deep a plan
        pairs = (frames[i : i + 2] for i in range(0, len(frames), 2))
        frames = [pair[0].union(pair[1]) if len(pair) > 1 else pair[0] for pair in pairs]
    return frames[0]


def _with_fields(
    spark: SparkSession, source: FileSource, path: str, folders: FolderColumns
) -> DataFrame:
    values = FileMetadata(path, ()).values
    columns = metadata_columns(source.metadata)
    pairs = zip(source.metadata, columns, strict=True)
    added = (literal(values.get(f.name), column) for f, column in pairs)

    def read(paths: list[str], columns: StructType) -> DataFrame:
        return source.read(spark, paths, place=embedded_uri, shown=False, columns=columns)

    return engine_rows(read, [path], folders).select("*", *added)


def rows_not_numbered() -> RuntimeFailure:
    """The refusal of `_metadata.row_index` where the engine reads the file."""
    return RuntimeFailure(
        NOT_EXACT,
        f"The embedded engine does not know the field '{ROW_INDEX}' of the column _metadata of "
        "Parquet files with nested columns, with other types than are declared, or of more than "
        "64 files at once.",
        hint="Run the query on Spark: --engine spark.",
    )
