"""What a batch reads: each source between two offsets, and static tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from .checkpoint import Offset
from .engines.engine import Engine
from .frames import LazyFrames
from .offsets import Position
from .plan.facts import Reader
from .sources import Source
from .sources.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class SourceRange(NamedTuple):
    """What a batch reads of a source: behind the first offset, up to the second one."""

    name: str
    source: Source
    start: Offset | None
    end: Offset | None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing between the offsets."""
        return self.end is None or self.start == self.end


def readers_of(
    engine: Engine, tables: Mapping[str, Table], sources: Mapping[str, Source]
) -> dict[str, Reader]:
    """How files are read for an engine, by the names of tables and sources."""
    found = {name: table.reader for name, table in tables.items()}
    found |= {name: source.reader for name, source in sources.items()}
    readers = {name: reader for name, reader in found.items() if reader is not None}
    return {name: replace(r, here=engine.reads_here(r)) for name, r in readers.items()}


class BatchInputs:
    """The sources and tables of a query, batch by batch.

    Args:
        engine: what runs the batches.
        sources: by name, in the order of a position's offsets.
        tables: static tables by name.
    """

    def __init__(
        self, engine: Engine, sources: Mapping[str, Source], tables: Mapping[str, Table]
    ) -> None:
        self._engine = engine
        self._sources = sources
        self._tables = {name: engine.read_table(table) for name, table in tables.items()}
        self._empty: dict[str, DataFrame] = {}

    def ranges(self, position: Position) -> list[SourceRange]:
        """What a batch reads of each source."""
        offsets = zip(position.start, position.end, strict=True)
        pairs = zip(self._sources.items(), offsets, strict=True)
        return [SourceRange(*named, *bounds) for named, bounds in pairs]

    def known_rows(self, position: Position) -> dict[str, int]:
        """The exact numbers of rows of the sources that know them."""
        found = {
            one.name: 0 if one.is_empty else one.source.batch_rows(one.start, one.end)
            for one in self.ranges(position)
        }
        return {name: rows for name, rows in found.items() if rows is not None}

    def sizes(self, position: Position) -> list[int | None]:
        """About how many bytes each input has; that of a table is unknown."""
        sizes: list[int | None] = [None for _ in self._tables]
        for one in self.ranges(position):
            sizes.append(0 if one.is_empty else one.source.batch_bytes(one.start, one.end))
        return sizes

    def frames(self, position: Position) -> LazyFrames:
        """The rows of each source and table, by name."""
        ranges = self.ranges(position)
        return LazyFrames(self._tables, {one.name: partial(self._frame, one) for one in ranges})

    def _frame(self, one: SourceRange) -> DataFrame:
        if not one.is_empty:
            return self._engine.read_source(one.source, one.start, one.end)
        if one.name not in self._empty:
            self._empty[one.name] = self._engine.no_rows(one.source.batch_schema)
        return self._empty[one.name]
