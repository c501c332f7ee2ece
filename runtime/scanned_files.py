"""Which files of a batch the tasks of stateful operators may read themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .checkpoint import Offset
from .engines.engine import Engine
from .failures import innermost
from .kernels.errors import NOT_EXACT, WRONG_HEADER
from .plan.facts import Reader
from .sources import Source
from .sources.parquet import ENABLED, FileBatch, files_of
from .sources.tables import Table

_OF_FILES = (NOT_EXACT, WRONG_HEADER, "MALFORMED_RECORD_IN_PARSING", "FAILED_READ_FILE")
"""The conditions under which our own readers give up a file."""
Range = tuple[str, Source, Offset | None, Offset | None]


class ScannedFiles:
    """The files of a query's sources and tables.

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

    def of(self, ranges: Iterable[Range]) -> dict[str, FileBatch]:
        """The files between two offsets of each source, and those of all tables, by name."""
        found: dict[str, FileBatch] = {}
        for name, source, start, end in ranges:
            if end is None or start == end or not self._scans(name):
                continue
            reader = self._readers[name]
            if reader.format == "parquet":
                files = source.batch_files(start, end)
            else:
                files = files_of(source.batch_paths(start, end), reader.schema)
            if files is not None:
                found[name] = files
        if found:
            tables = ((name, table.now()) for name, table in self._tables.items())
            found |= {name: files for name, files in tables if files is not None}
        return found

    def give_up(self, error: BaseException) -> bool:
        """Leave files to the engine's readers, where ours do not know what these make of one.

        What is malformed they may say in their own words, too.

        Args:
            error: why a batch failed.

        Returns:
            Whether the batch may run now.
        """
        own = [
            name
            for name, scanned in self._scanned.items()
            if scanned and self._readers[name].format != "parquet" and not self._readers[name].here
        ]
        condition = innermost(error)[0] if own else None
        if condition is None or not condition.startswith(_OF_FILES):
            return False
        self._scanned |= dict.fromkeys(own, False)
        return True

    def _scans(self, name: str) -> bool:
        if name not in self._scanned:
            reader = self._readers.get(name)
            self._scanned[name] = (
                reader is not None
                and self._engine.setting(ENABLED, "true").upper() == "TRUE"
                and self._engine.scans(reader)
            )
        return self._scanned[name]
