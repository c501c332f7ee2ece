"""The files of a Delta table's versions, as a stream reads them: in order, by Delta's rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...planner.model.errors import RuntimeFailure
from ...planner.model.schemas.types import StructType, as_nullable
from ..delta import AddedFile, DeltaLog, read_schema
from ..options import Options

BEFORE_ALL = -1


@dataclass(frozen=True, order=True)
class Place:
    """Behind a file: its version, its number there; in the snapshot a stream begins with, or not.

    The snapshot's files come before the next version's, so places are ordered.
    """

    version: int
    index: int = BEFORE_ALL
    snapshot: bool = False


class DeltaFiles:
    """What a table has, then what its versions add.

    Args:
        log: the table's log.
        schema: the stream's columns.
        options: `ignoreDeletes`, `ignoreChanges`, `skipChangeCommits`, `excludeRegex`,
            `failOnDataLoss`.
    """

    def __init__(self, log: DeltaLog, schema: StructType, options: Options) -> None:
        self._log = log
        self._uri = log.uri
        self.schema = schema
        self._skip_changes = options.flag("skipChangeCommits")
        self._allow_changes = self._skip_changes or options.flag("ignoreChanges")
        self._allow_deletes = self._allow_changes or options.flag("ignoreDeletes")
        self._excluded = re.compile(options["excludeRegex"]) if "excludeRegex" in options else None
        self._fail_on_loss = options.flag("failOnDataLoss", True)
        self._snapshots: dict[int, list[AddedFile]] = {}

    def forget(self, before: int) -> None:
        """Forget versions that are not asked for again."""
        self._log.forget(before)
        self._snapshots = {n: files for n, files in self._snapshots.items() if n >= before}

    def between(self, start: Place, end: Place) -> Iterator[tuple[Place, AddedFile]]:
        """The files behind a place up to another one, each with its own place."""
        version, snapshot = start.version, start.snapshot
        while version <= end.version:
            here = Place(version, snapshot=snapshot)
            if version == end.version and not end.snapshot and end.index == BEFORE_ALL:
                return
            last = end.index if (version, snapshot) == (end.version, end.snapshot) else None
            first = start.index if version == start.version else BEFORE_ALL
            for index, file in enumerate(self.of_version(here)):
                inside = index > first and (last is None or index <= last)
                if inside and not (self._excluded and self._excluded.search(file.path)):
                    yield Place(version, index, snapshot), file
            if last is not None and snapshot == end.snapshot:
                return
            version, snapshot = version + 1, False

    def of_version(self, place: Place) -> Sequence[AddedFile]:
        """What a version adds, or the snapshot of it has; in order.

        Raises:
            RuntimeFailure: the version changes or deletes rows, or columns; or it is gone.
        """
        number = place.version
        if place.snapshot:
            if number not in self._snapshots:
                self._snapshots[number] = self._log.snapshot(number)
            return self._snapshots[number]
        version = self._log.version(number)
        if version is None:
            if self._fail_on_loss:
                raise RuntimeFailure(
                    "STATEPLAN_DELTA_LOG_GONE",
                    "The stream from your Delta table was expecting process data from version "
                    f"{number}, but the earliest available version in the _delta_log directory is "
                    f"{self._log.earliest()}. The files in the transaction log may have been "
                    "deleted due to log cleanup.",
                    hint="Start with a new checkpoint; or set failOnDataLoss to false, which goes "
                    "on without the data. Raise delta.logRetentionDuration.",
                )
            return ()
        if version.metadata is not None:
            self._check_metadata(number, version.metadata)
        if version.removed is not None:
            self._check_removed(number, version.removed, adds=bool(version.added))
            if self._skip_changes:
                return ()
        return version.added

    def _check_metadata(self, number: int, metadata: Mapping[str, Any]) -> None:
        check_readable(self._uri, metadata.get("configuration") or {})
        columns = read_schema(metadata["schemaString"])
        if as_nullable(columns) != as_nullable(self.schema):
            raise RuntimeFailure(
                "DELTA_SCHEMA_CHANGED_WITH_VERSION",
                f"Detected schema change in version {number}: streaming source schema: "
                f"{self.schema.sql}; data file schema: {columns.sql}.",
                hint="Restart the query with the new columns. If that does not resolve it, start "
                "with a new checkpoint.",
            )

    def _check_removed(self, number: int, removed: str, *, adds: bool) -> None:
        if adds and not self._allow_changes:
            raise RuntimeFailure(
                "DELTA_SOURCE_TABLE_IGNORE_CHANGES",
                f"Detected a data update (for example {removed}) in the source table at version "
                f"{number}. This is currently not supported. If this is going to happen regularly "
                "and you are okay to skip changes, set the option 'skipChangeCommits' to 'true'. "
                "If you would like the data update to be reflected, please restart this query with "
                f"a fresh checkpoint directory. The source table can be found at path {self._uri}.",
                hint="Set 'skipChangeCommits', or start with a new checkpoint.",
            )
        if not adds and not self._allow_deletes:
            raise RuntimeFailure(
                "DELTA_SOURCE_IGNORE_DELETE",
                f"Detected deleted data (for example {removed}) from streaming source at version "
                f"{number}. This is currently not supported. If you'd like to ignore deletes, set "
                "the option 'ignoreDeletes' to 'true'. The source table can be found at path "
                f"{self._uri}.",
                hint="Set 'ignoreDeletes', or start with a new checkpoint.",
            )


def check_readable(uri: str, configuration: Mapping[str, Any]) -> None:
    """Raise for a table whose configuration says that its files are not what they seem."""
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        raise unreadable(uri, "its columns are mapped to other names")


def unreadable(uri: str, why: str) -> RuntimeFailure:
    """The error for a table with a feature that is not read here."""
    return RuntimeFailure(
        "STATEPLAN_DELTA_FEATURE",
        f"The Delta table '{uri}' cannot be read as a stream here: {why}.",
        hint="Rewrite the table without this feature, or run Spark with the package delta-spark.",
    )
