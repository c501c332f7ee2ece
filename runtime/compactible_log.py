"""A log of files by batch that is compacted: Spark's format for file sources and file sinks.

Batch N's entries stand in the file `N`, one JSON object a line behind `v1`. Every
`compact_interval`-th batch writes `N.compact` instead, with the entries of all batches so far.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .checkpoint import KEPT_BATCHES, VERSION, compact_json, concurrent_update, read_lines
from .files import corrupt, link_new, read_whole, remove, write_new
from .state.locations import located
from .state.storage import Location, Place

COMPACT = ".compact"
DEFAULT_COMPACT_INTERVAL = 10
Entry = Mapping[str, Any]


class PreparedEntry(NamedTuple):
    """A file of a log that is not there yet."""

    batch_id: int
    name: str
    data: bytes


class CompactibleLog:
    """The log in one directory.

    Args:
        directory: made at the first write.
        compact_interval: how many batches lie between two compactions, for a log that has none
            yet; a log keeps the interval it was begun with as far as Spark's rule says.
    """

    def __init__(self, directory: Place, compact_interval: int = DEFAULT_COMPACT_INTERVAL) -> None:
        self.directory = located(directory)
        self.compact_interval = _interval(compact_interval, self._latest_compact())

    def latest(self) -> int | None:
        """The last batch in the log."""
        return max(self._files(), default=None)

    def add(self, batch_id: int, entries: Sequence[Entry]) -> None:
        """Write a batch's entries; a compaction where one is due.

        Raises:
            RuntimeFailure: the batch is in the log already.
        """
        prepared = self.prepared(batch_id, entries)
        try:
            write_new(self.directory / prepared.name, prepared.data)
        except FileExistsError:
            raise concurrent_update(batch_id, self.directory) from None
        self._purge(prepared)

    def prepared(self, batch_id: int, entries: Sequence[Entry]) -> PreparedEntry:
        """A batch's file, to be added."""
        name = str(batch_id)
        if (batch_id + 1) % self.compact_interval == 0:
            name += COMPACT
            entries = [*self.entries_up_to(batch_id - 1), *entries]
        lines = [VERSION, *(compact_json(entry) for entry in entries)]
        return PreparedEntry(batch_id, name, "\n".join(lines).encode())

    def add_prepared(self, prepared: PreparedEntry, file: Path) -> None:
        """Add a batch by a file that holds it, on a local disk, unless somebody takes that away.

        Raises:
            RuntimeFailure: the batch is in the log already, or the file is no longer there.
        """
        path = self.directory / prepared.name
        try:
            link_new(file, path, prepared.data)
        except FileExistsError:
            raise concurrent_update(prepared.batch_id, self.directory) from None
        self._purge(prepared)

    def entries(self, batch_id: int) -> list[Entry] | None:
        """The lines of the file of one batch: everything so far if that is a compaction."""
        path = self._files().get(batch_id)
        return None if path is None else read_entries(path)

    def entries_up_to(self, batch_id: int) -> list[Entry]:
        """The entries of all batches up to this one: the last compaction and what follows it.

        Raises:
            RuntimeFailure: a file in between is missing or corrupt.
        """
        if batch_id < 0:
            return []
        files = self._files()
        start = max(
            (i for i, path in files.items() if i <= batch_id and path.name.endswith(COMPACT)),
            default=0,
        )
        found: list[Entry] = []
        for i in range(start, batch_id + 1):
            if i not in files:
                raise corrupt(self.directory / str(i), "it is missing")
            found += read_entries(files[i])
        return found

    def _files(self) -> dict[int, Location]:
        found: dict[int, Location] = {}
        for path in self.directory.iterdir():
            stem = path.name.removesuffix(COMPACT)
            # Where a batch has both files, the compaction holds more.
            if stem.isdigit() and (path.name != stem or int(stem) not in found):
                found[int(stem)] = path
        return found

    def _latest_compact(self) -> int | None:
        return max((i for i, p in self._files().items() if p.name.endswith(COMPACT)), default=None)

    def _purge(self, added: PreparedEntry) -> None:
        """Remove what a compaction holds too, but for the batches a restart may ask for."""
        if not added.name.endswith(COMPACT):
            return
        for batch_id, path in self._files().items():
            if batch_id < added.batch_id - KEPT_BATCHES:
                remove(path)


def _interval(default: int, latest_compact: int | None) -> int:
    """Spark's rule for a log whose compactions were made with another interval."""
    if latest_compact is None:
        return default
    total = latest_compact + 1
    if total <= default:
        return total
    if default < total / 2:
        return next(n for n in range(default, total + 1) if total % n == 0)
    return total


def read_entries(path: Location) -> list[Entry]:
    """The entries in one file of a log.

    Raises:
        RuntimeFailure: it is missing or corrupt.
    """
    try:
        data = read_whole(path)
    except FileNotFoundError:
        raise corrupt(path, "it is missing") from None
    found: list[Entry] = []
    for line in read_lines(path, data):
        try:
            entry = json.loads(line) if line else None
        except ValueError:
            raise corrupt(path, f"'{line[:80]}' is no JSON") from None
        if entry is None:
            continue
        if not isinstance(entry, dict) or "path" not in entry:
            raise corrupt(path, f"'{line[:80]}' names no file")
        found.append(entry)
    return found
