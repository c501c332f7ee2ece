"""Reads the files of a stream that are no Parquet files, where tasks read them themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..expressions.evaluator import Evaluator
from ..file_parts import WHOLE, FilePart
from ..json.filters import PushedFilter
from ..scans.parquet_files import ScanFile
from ..scans.row_order import in_chunks
from .formats import FILE_READERS, FileScan


@dataclass(frozen=True, kw_only=True)
class OwnReader:
    """Reads files of a format of FILE_READERS.

    Attributes:
        format: its name in Spark.
        schema, columns, options, time_zone, filters: as a FileScan has them.
        given: finds the rows that fulfil what Spark's reader is given: it gives no others; None:
            it gives all.
    """

    format: str
    schema: Any
    columns: tuple[int, ...]
    options: tuple[tuple[str, str], ...]
    time_zone: str
    filters: tuple[PushedFilter, ...]
    given: Evaluator | None

    def parts(self, file: ScanFile) -> Sequence[FilePart]:
        """The parts in which several tasks may read a file."""
        return FILE_READERS[self.format].parts(file.path) if file.part == WHOLE else [file.part]

    def batches(self, file: ScanFile, part: FilePart | None = None) -> Iterator[Any]:
        """The rows of a file, or of a part, in batches as large as they are grouped in.

        Raises:
            KernelError: it cannot be read here as Spark would.
        """
        scan = FileScan(
            path=file.path,
            schema=self.schema,
            columns=self.columns,
            options=dict(self.options),
            time_zone=self.time_zone,
            filters=self.filters,
            part=part or file.part,
        )
        return in_chunks(self._given(FILE_READERS[self.format].read(scan)))

    def _given(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            passed = None if self.given is None else self.given.select(batch)[1]
            yield batch if passed is None else batch.filter(passed)
