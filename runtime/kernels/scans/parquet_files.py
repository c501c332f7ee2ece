"""Parquet files read by our own code, some rows at a time; repeated strings stay encoded."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from ...state.rows import columns_of
from ..errors import failed_read
from ..expressions.values.vectors import is_encoded
from ..file_parts import WHOLE, FilePart

CHUNK = 1 << 18
"""Rows that are read and grouped at a time: of more of them, fewer groups a row are left."""
_ENCODED = pa.dictionary(pa.int32(), pa.string())
_DICTIONARY, _NUMBER = 1 << 20, 2.5
"""The bytes of a dictionary, and of each number of one of its words, that Parquet's writers allow.
"""


class SourceError(Exception):
    """A file cannot be read; the text names the condition and the file."""


@dataclass(frozen=True)
class ScanFile:
    """A file of a batch, or what Spark would read of it in one partition.

    Attributes:
        path: where it is, for every worker.
        rows: how many rows the whole file has.
        part: what is read of it: of a Parquet file, the row groups whose middle is there.
        origin: the number of Spark's partition that would read it.
        written_ns: when it was last written, of a table's files: what was read before may be kept.
    """

    path: str
    rows: int
    part: FilePart = WHOLE
    origin: int = 0
    written_ns: int = 0


@dataclass(frozen=True)
class ParquetReader:
    """Reads Parquet files.

    Attributes:
        schema: the columns to read, by their names in the files, under their exact types.
    """

    schema: Any

    def parts(self, file: ScanFile) -> Sequence[int]:
        """A file's row groups; of one that cannot be opened the first."""
        with contextlib.suppress(OSError, pa.ArrowException):
            return _groups(parquet.read_metadata(file.path), file.part)
        return [0]

    def batches(self, file: ScanFile, part: int | None = None) -> Iterator[Any]:
        """A file's rows, some at a time, or those of one row group.

        Raises:
            SourceError: as `file_batches`.
        """
        return file_batches(self.schema, file, part)

    def rows_before(self, file: ScanFile, part: int | None) -> int:
        """How many rows of a file come before one of its row groups.

        Raises:
            SourceError: the file is gone or damaged.
        """
        if not part and file.part == WHOLE:
            return 0
        try:
            metadata = parquet.read_metadata(file.path)
        except (OSError, pa.ArrowException) as problem:
            raise SourceError(failed_read(file.path, str(problem)).message) from problem
        first = part if part is not None else next(iter(_groups(metadata, file.part)), 0)
        return sum(metadata.row_group(group).num_rows for group in range(first))


def file_batches(schema: Any, file: ScanFile, part: int | None = None) -> Iterator[Any]:
    """A file's rows, some at a time; `part`: those of one row group.

    Raises:
        SourceError: the file is gone, damaged, or another one than when the batch was planned.
    """
    whole = 0
    try:
        metadata = parquet.read_metadata(file.path, memory_map=True)
        whole = metadata.num_rows
        groups = _groups(metadata, file.part) if part is None else [part]
        encoded = _encoded_columns(metadata, groups, schema)
        with parquet.ParquetFile(
            file.path,
            metadata=metadata,
            memory_map=True,
            pre_buffer=False,
            read_dictionary=encoded,
        ) as opened:
            for group in groups:
                table = opened.read_row_group(group, columns=schema.names, use_threads=False)
                yield from _chunks(_typed(table.select(schema.names), schema))
    except (OSError, KeyError, pa.ArrowException) as problem:
        text = " ".join(str(problem).split())
        raise SourceError(failed_read(file.path, text).message) from problem
    if whole != file.rows:
        why = f"It has {whole} rows, and had {file.rows} when the batch was planned."
        raise SourceError(failed_read(file.path, why).message)


def _groups(metadata: Any, part: FilePart) -> Sequence[int]:
    """The row groups that a reader of a part takes (ParquetMetadataConverter.MidpointRange)."""
    groups = range(int(metadata.num_row_groups))
    return groups if part == WHOLE else [g for g in groups if _middle(metadata, g) in part]


def _middle(metadata: Any, group: int) -> int:
    columns = [metadata.row_group(group).column(i) for i in range(metadata.num_columns)]
    first = columns[0]
    start = first.data_page_offset
    if first.has_dictionary_page and 0 < first.dictionary_page_offset < start:
        start = first.dictionary_page_offset
    return int(start + sum(column.total_compressed_size for column in columns) // 2)


def _encoded_columns(metadata: Any, groups: Sequence[int], schema: Any) -> list[str]:
    """The columns of strings that are numbers of words in a file, in some of its row groups."""
    strings = {field.name for field in schema if pa.types.is_string(field.type)}

    def is_encoded(place: int) -> bool:
        return all(_has_numbers(metadata.row_group(group).column(place)) for group in groups)

    return [
        column.path
        for place, column in ((i, metadata.schema.column(i)) for i in range(metadata.num_columns))
        if column.path in strings and column.logical_type.type == "STRING" and is_encoded(place)
    ]


def _has_numbers(chunk: Any) -> bool:
    """Whether a column chunk holds numbers of words and nothing else.

    Writers give up a dictionary of more than a mebibyte and go on with the strings themselves,
    which no metadata say: those take more room than numbers.
    """
    if not any(encoding.endswith("DICTIONARY") for encoding in chunk.encodings):
        return False
    return bool(chunk.total_uncompressed_size <= _DICTIONARY + _NUMBER * chunk.num_values)


def _typed(table: Any, schema: Any) -> Any:
    """The columns under the types of a schema; encoded strings stay so."""
    if not table.num_columns:
        return table  # a cast would forget how many rows there are
    fields = [
        f.with_type(_ENCODED) if c.type == _ENCODED else f
        for f, c in zip(schema, table.columns, strict=True)
    ]
    return table.cast(pa.schema(fields))


def _chunks(table: Any) -> Iterator[Any]:
    if not table.num_columns:
        yield columns_of([], table.schema, table.num_rows)
        return
    for batch in table.to_batches():
        columns = [null_as_word(column) for column in batch.columns]
        batch = pa.RecordBatch.from_arrays(columns, batch.schema.names)
        for start in range(0, batch.num_rows, CHUNK):
            yield batch.slice(start, CHUNK)


def null_as_word(column: Any) -> Any:
    """A column whose nulls, if it is encoded, are a word as the others are."""
    if not is_encoded(column) or not column.null_count:
        return column
    words = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
    return pa.DictionaryArray.from_arrays(column.indices.fill_null(len(words) - 1), words)
