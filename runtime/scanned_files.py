"""What the tasks of stateful operators may read and compute themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..planner.model.formats import metadata_columns
from ..planner.model.schemas.types import DataType
from .batch_inputs import SourceRange
from .engines.engine import Engine
from .failures import innermost
from .kernels.errors import NOT_EXACT, WRONG_HEADER
from .kernels.scans.file_metadata import BLOCKS
from .plan.facts import Reader
from .sources.parquet import FileBatch, files_of
from .sources.tables import Table

_OF_LINES = (WRONG_HEADER, "MALFORMED_RECORD_IN_PARSING", "FAILED_READ_FILE")
"""The conditions under which our own readers of lines give up a file."""


class ScannedFiles:
    """The files of a query's sources and tables, and what one operator gives another.

    Args:
        engine: what runs the batches, configured.
        readers: how it reads the files of both, by name.
        tables: the tables, by name.
    """

    def __init__(
        self, engine: Engine, readers: Mapping[str, Reader], tables: Mapping[str, Table]
    ) -> None:
        self._engine = engine
        self._readers = readers
        found = {name: table.parquet_files() for name, table in tables.items()}
        self._tables = {name: files for name, files in found.items() if files is not None}
        self._scanned: dict[str, bool] = {}
        self._gave_up = False

    @property
    def deals_out(self) -> bool:
        """Whether an operator's tasks may compute what another one takes."""
        together = self._engine.facts.reads_together
        return not (self._gave_up or together) and self._engine.may_scan

    def of(self, ranges: Iterable[SourceRange]) -> dict[str, FileBatch]:
        """The files between two offsets of each source, and those of all tables, by name."""
        found: dict[str, FileBatch] = {}
        for one in ranges:
            if one.is_empty and self._engine.may_scan:
                # Of no rows nothing is to be read: no engine has to plan how.
                columns = {f.name: f.data_type for f in one.source.schema.fields}
                found[one.name] = FileBatch((), declared=columns)
            if one.is_empty or not self._scans(one.name):
                continue
            reader = self._readers[one.name]
            if reader.format == "parquet":
                files = one.source.batch_files(one.start, one.end)
            else:
                files = files_of(one.source.batch_paths(one.start, one.end), reader)
            if files is not None:
                found[one.name] = replace(files, metadata=self._metadata(reader))
        if found:
            tables = ((name, table.now()) for name, table in self._tables.items())
            found |= {name: files for name, files in tables if files is not None}
        return found

    def give_up(self, error: BaseException) -> bool:
        """Leave all to the engine, where our code does not know what it makes of values.

        What is malformed in files it may say in its own words, too.

        Args:
            error: why a batch failed.

        Returns:
            Whether the batch may run now.
        """
        own = [n for n, scanned in self._scanned.items() if scanned and not self._readers[n].here]
        condition = innermost(error)[0] if own or self.deals_out else None
        if condition is None or not condition.startswith((NOT_EXACT, *_OF_LINES)):
            return False
        dealt_out = False
        if condition.startswith(NOT_EXACT):
            dealt_out = self.deals_out
            self._gave_up = True
        else:
            own = [name for name in own if self._readers[name].format != "parquet"]
        self._scanned |= dict.fromkeys(own, False)
        return bool(own) or dealt_out

    def _metadata(self, reader: Reader) -> dict[str, DataType]:
        """The columns of which file a row is that are those of the engine."""
        known = [f for f in reader.metadata if not (self._engine.facts.splits and f.name in BLOCKS)]
        return {column.name: column.data_type for column in metadata_columns(known)}

    def _scans(self, name: str) -> bool:
        if name not in self._scanned:
            reader = self._readers.get(name)
            self._scanned[name] = (
                reader is not None and self._engine.may_scan and self._engine.scans(reader)
            )
        return self._scanned[name]
