"""The fields of Spark's column `_metadata`: of which file a row is, and which row of it.

All but `row_index` are the same for all rows of a file, which is read as one block here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ...state.locations import uri_path
from ...state.rows import columns_of
from .parquet_files import ParquetReader, ScanFile
from .scan import RowReader

BLOCKS = ("file_block_start", "file_block_length")
"""What Spark says of the part of a file that one of its tasks reads."""
ROW_INDEX = "row_index"
_PATH, _NAME, _SIZE, _TIME = "file_path", "file_name", "file_size", "file_modification_time"
_TYPES = {
    **dict.fromkeys((_PATH, _NAME), pa.string()),
    **dict.fromkeys((_SIZE, *BLOCKS, ROW_INDEX), pa.int64()),
    _TIME: pa.timestamp("us", "UTC"),
}


@dataclass(frozen=True)
class FileMetadata:
    """Columns of the rows of a file.

    Attributes:
        path: the file.
        fields: the fields of `_metadata` that are given, in order.
        encoded: whether a text is given as a dictionary's one word.
    """

    path: str
    fields: tuple[str, ...]
    encoded: bool = False

    @cached_property
    def values(self) -> dict[str, Any]:
        """The fields that are the same for all rows, as values that Arrow takes.

        Raises:
            OSError: the file is gone.
        """
        found = os.stat(self.path)
        path = uri_path(self.path)
        return {
            _PATH: f"file:{path}",
            _NAME: path.rpartition("/")[2],
            _SIZE: found.st_size,
            BLOCKS[0]: 0,
            BLOCKS[1]: found.st_size,
            _TIME: found.st_mtime_ns // 1_000_000 * 1000,  # Java's file times are milliseconds
        }

    def behind(self, batches: Iterator[Any], first: int = 0) -> Iterator[Any]:
        """Record batches with these columns behind their own.

        Args:
            batches: rows of the file in their order.
            first: how many rows of the file come before them.
        """
        fields = [pa.field(name, _TYPES[name]) for name in self.fields]
        for batch in batches:
            rows = batch.num_rows
            made = [self._column(name, first, rows) for name in self.fields]
            schema = pa.schema([*batch.schema, *fields])
            if self.encoded:
                columns = [*batch.columns, *made]
                names = schema.names
                yield pa.RecordBatch.from_arrays(columns, names)
            else:
                yield columns_of([*batch.columns, *made], schema, rows)
            first += rows

    def _column(self, name: str, first: int, rows: int) -> Any:
        if name == ROW_INDEX:
            return pa.array(np.arange(first, first + rows))
        value = pa.array([self.values[name]], _TYPES[name])
        if self.encoded and pa.types.is_string(value.type):
            return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), value)
        return pa.repeat(value[0], rows)


@dataclass(frozen=True)
class MetadataReader:
    """Reads files, and gives fields of `_metadata` behind the columns.

    Attributes:
        reader: reads the files.
        fields: the fields.
    """

    reader: RowReader
    fields: tuple[str, ...]

    def parts(self, file: ScanFile) -> Sequence[Any]:
        """The parts in which several tasks may read a file."""
        return self.reader.parts(file)

    def batches(self, file: ScanFile, part: Any = None) -> Iterator[Any]:
        """The rows of a file, or of a part, as record batches.

        Raises:
            SourceError, KernelError: as the reader.
        """
        first = 0
        if ROW_INDEX in self.fields and isinstance(self.reader, ParquetReader):
            first = self.reader.rows_before(file, part)
        metadata = FileMetadata(file.path, self.fields, encoded=True)
        return metadata.behind(self.reader.batches(file, part), first)
