"""A Delta table as a stream: the files that its versions add, through delta-rs, without a JVM."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.types import StructType, as_nullable
from ..checkpoint import Offset, compact_json
from ..delta import AddedFile, DeltaLog, opened, read_schema, schema_of, table_uri
from ..files import corrupt, read_whole, write_new
from ..state import Location
from .base import SourceRequest
from .parted import PartedSource, Read
from .rate import not_its_offset

_OPTIONS = (
    *("startingVersion", "startingTimestamp", "maxFilesPerTrigger", "maxBytesPerTrigger"),
    *("ignoreDeletes", "ignoreChanges", "skipChangeCommits", "excludeRegex", "failOnDataLoss"),
    "path",
)
_USUAL_FILES = 1000
_BEFORE_ALL = -1


@dataclass(frozen=True, order=True)
class _Place:
    """Behind a file: its version, its number there; in the snapshot a stream begins with, or not.

    The snapshot's files come before the next version's, so places are ordered.
    """

    version: int
    index: int = _BEFORE_ALL
    snapshot: bool = False


class DeltaSource(PartedSource):
    """The rows that a table has, then those that each version adds.

    The offset is that of Delta's own source: `reservoirVersion`, the `index` of the last file of
    that version, and `isStartingVersion` while it is one of the snapshot that a stream begins with.
    Where the stream began is in the checkpoint's `sources/i/0` besides.

    Args:
        request: its options: `startingVersion` (a number or `latest`) or `startingTimestamp`, from
            which changes alone are read; `maxFilesPerTrigger` (1000), `maxBytesPerTrigger`,
            `ignoreDeletes`, `ignoreChanges`, `skipChangeCommits`, `excludeRegex`,
            `failOnDataLoss`.

    Raises:
        DescriptionError: an option is unusable, or the table has other columns.
        RuntimeFailure: `deltalake` is not installed, there is no table, or it has a feature that
            is not read here: deletion vectors, renamed columns.
    """

    def __init__(self, request: SourceRequest) -> None:
        options = request.options
        options.refuse_unknown(_OPTIONS)
        self._uri = table_uri(request.needed_path)
        self._log = DeltaLog(self._uri)
        table = opened(self._uri)
        self._id = str(table.metadata().id)
        _check_readable(self._uri, table.metadata().configuration)
        self._partitioned = tuple(table.metadata().partition_columns)
        columns = read_schema(table.schema().to_json())
        self.schema = columns if request.schema is None else request.schema
        if as_nullable(self.schema) != as_nullable(columns):
            raise DescriptionError(
                "STATEPLAN_SOURCE_COLUMNS",
                f"The Delta table '{self._uri}' has the columns {columns.sql}, not "
                f"{self.schema.sql}.",
                hint="Leave 'schema' out, or give the table's columns.",
            )
        self._starting_version = options.get("startingVersion")
        self._starting_time = options.get("startingTimestamp")
        if self._starting_version is not None and self._starting_time is not None:
            raise DescriptionError(
                "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET",
                "Please either provide 'startingVersion' or 'startingTimestamp'.",
                hint="Remove one of the two.",
            )
        if (self._starting_version or "latest").lower() != "latest":
            options.whole("startingVersion", least=0)
        self._max_bytes = options.whole("maxBytesPerTrigger")
        usual = None if self._max_bytes else _USUAL_FILES
        self._max_files = options.whole("maxFilesPerTrigger", usual)
        self._skip_changes = options.flag("skipChangeCommits")
        self._allow_changes = self._skip_changes or options.flag("ignoreChanges")
        self._allow_deletes = self._allow_changes or options.flag("ignoreDeletes")
        self._excluded = re.compile(options["excludeRegex"]) if "excludeRegex" in options else None
        self._fail_on_loss = options.flag("failOnDataLoss", True)
        self._initial = _Place(0)
        self._end: int | None = None
        self._snapshots: dict[int, list[AddedFile]] = {}

    @classmethod
    def create(cls, request: SourceRequest) -> DeltaSource:
        return cls(request)

    @property
    def description(self) -> str:
        where = self._uri if "://" in self._uri else f"file:{self._uri}"
        return f"DeltaSource[{where}]"

    # ---------------------------------------------------------------------------------- offsets

    def attach(self, log_directory: Location) -> None:
        path = log_directory / "0"
        try:
            text = read_whole(path).decode(errors="replace")
        except FileNotFoundError:
            self._initial = self._first_place()
            write_new(path, f"v1\n{compact_json(self._json(self._initial))}".encode())
            return
        try:
            self._initial = self._place(json.loads(text.partition("\n")[2]))
        except ValueError:
            raise corrupt(path, "it holds no offset of a Delta table") from None

    def prepare_for_available_now(self) -> None:
        self._end = self._log.latest()

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        begin = self._initial if start is None else self._place(start)
        end, files, size = begin, 0, 0
        latest = self._log.latest() if self._end is None else self._end
        for place, file in self._files(begin, _Place(latest + 1)):
            full = self._max_files is not None and files >= self._max_files
            full = full or (self._max_bytes is not None and size + file.size > self._max_bytes)
            if files and full and not unlimited:
                break
            end, files, size = place, files + 1, size + file.size
        return start if end == begin else self._json(self._closed(end))

    def newest_offset(self) -> Offset | None:
        return self._json(_Place(self._log.latest() + 1))

    def commit(self, end: Offset) -> None:
        place = self._place(end)
        self._log.forget(place.version)
        self._snapshots = {n: s for n, s in self._snapshots.items() if n >= place.version}

    def _closed(self, end: _Place) -> _Place:
        """The begin of the next version, in the place of the end of one."""
        files = self._of_version(end)
        return _Place(end.version + 1) if end.index + 1 >= len(files) else end

    def _json(self, place: _Place) -> Offset:
        return {
            "sourceVersion": 1,
            "reservoirId": self._id,
            "reservoirVersion": place.version,
            "index": place.index,
            "isStartingVersion": place.snapshot,
        }

    def _place(self, offset: Offset) -> _Place:
        if not isinstance(offset, dict) or "reservoirVersion" not in offset:
            raise not_its_offset(offset, "delta")
        if offset.get("reservoirId") != self._id:
            raise RuntimeFailure(
                "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE",
                "The streaming query was reading from an unexpected Delta table (id = "
                f"'{self._id}'). It used to read from another Delta table (id = "
                f"'{offset.get('reservoirId')}') according to checkpoint.",
                hint="The table was made anew, or the path changed: start with a new checkpoint.",
            )
        snapshot = bool(offset.get("isStartingVersion", offset.get("isInitialSnapshot")))
        # Newer forms of Delta's offset mark the begin of a version by another number.
        index = max(_BEFORE_ALL, int(offset["index"]))
        return _Place(int(offset["reservoirVersion"]), index, snapshot)

    def _first_place(self) -> _Place:
        """Where a new stream begins.

        Raises:
            RuntimeFailure: the version or time lies behind the table's end, or is gone.
        """
        latest = self._log.latest()
        if self._starting_time is not None:
            return _Place(self._version_at(self._starting_time, latest))
        if self._starting_version is None:
            return _Place(latest, snapshot=True)
        if self._starting_version.lower() == "latest":
            return _Place(latest + 1)
        number, earliest = int(self._starting_version), self._log.earliest()
        if not earliest <= number <= latest:
            raise RuntimeFailure(
                "DELTA_VERSION_NOT_FOUND",
                f"Cannot time travel Delta table to version {number}. Available versions: "
                f"[{earliest}, {latest}].",
                hint="Change startingVersion.",
            )
        return _Place(number)

    def _version_at(self, text: str, latest: int) -> int:
        """The first version that was committed at a time, or later."""
        try:
            moment = dt.datetime.fromisoformat(text.strip())
        except ValueError:
            raise RuntimeFailure(
                "DELTA_TIMESTAMP_INVALID",
                f"The provided timestamp ('{text}') cannot be converted to a valid timestamp.",
                hint="Write startingTimestamp as 2026-01-31 or 2026-01-31T10:00:00Z.",
            ) from None
        wanted_ms = moment.replace(tzinfo=moment.tzinfo or ZoneInfo("UTC")).timestamp() * 1000
        for number in range(self._log.earliest(), latest + 1):
            version = self._log.version(number)
            if version is not None and version.time_ms >= wanted_ms:
                return number
        raise RuntimeFailure(
            "DELTA_TIMESTAMP_GREATER_THAN_COMMIT",
            f"The provided timestamp ({text}) is after the latest version available to this table "
            f"({self._uri}).",
            hint="Set an earlier startingTimestamp, or startingVersion to 'latest'.",
        )

    # ------------------------------------------------------------------------------------- files

    def _files(self, start: _Place, end: _Place) -> Iterator[tuple[_Place, AddedFile]]:
        """The files behind a place up to another one, each with its own place."""
        version, snapshot = start.version, start.snapshot
        while version <= end.version:
            here = _Place(version, snapshot=snapshot)
            if version == end.version and not end.snapshot and end.index == _BEFORE_ALL:
                return
            last = end.index if (version, snapshot) == (end.version, end.snapshot) else None
            first = start.index if version == start.version else _BEFORE_ALL
            for index, file in enumerate(self._of_version(here)):
                inside = index > first and (last is None or index <= last)
                if inside and not (self._excluded and self._excluded.search(file.path)):
                    yield _Place(version, index, snapshot), file
            if last is not None and snapshot == end.snapshot:
                return
            version, snapshot = version + 1, False

    def _of_version(self, place: _Place) -> Sequence[AddedFile]:
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
        _check_readable(self._uri, metadata.get("configuration") or {})
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

    # ------------------------------------------------------------------------------------- rows

    def parts(self, start: Offset | None, end: Offset) -> Sequence[Any]:
        """Files, each with the values of its partition columns."""
        files = self._between(start, end)
        for file in files:
            if file.deletes:
                raise _unreadable(self._uri, f"'{file.path}' has a deletion vector")
        return [(file.path, dict(file.partition)) for file in files]

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return sum(file.size for file in self._between(start, end))

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        rows = [file.rows for file in self._between(start, end)]
        return None if None in rows else sum(row for row in rows if row is not None)

    def _between(self, start: Offset | None, end: Offset) -> list[AddedFile]:
        begin = self._initial if start is None else self._place(start)
        return [file for _, file in self._files(begin, self._place(end))]

    def reading(self) -> Read:
        return _reading(self._uri, self.arrow_schema, self._partitioned)


def delta_schema(path: str) -> StructType:
    """The columns of the Delta table at a path."""
    return schema_of(table_uri(path))


def _check_readable(uri: str, configuration: Mapping[str, Any]) -> None:
    if configuration.get("delta.columnMapping.mode", "none") != "none":
        raise _unreadable(uri, "its columns are mapped to other names")


def _unreadable(uri: str, why: str) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_DELTA_FEATURE",
        f"The Delta table '{uri}' cannot be read as a stream here: {why}.",
        hint="Rewrite the table without this feature, or run Spark with the package delta-spark.",
    )


def _reading(uri: str, schema: Any, partitioned: Sequence[str]) -> Read:
    def read(files: Sequence[tuple[str, Mapping[str, str | None]]]) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import fs, parquet

        def value(text: str | None, kind: Any) -> Any:
            if not text:
                return pa.scalar(None, kind)
            if pa.types.is_timestamp(kind) and kind.tz is not None:
                naive = pa.scalar(text.removesuffix("Z")).cast(pa.timestamp("us"))
                return pa.scalar(naive.value, kind)
            return pa.scalar(text).cast(kind)

        system = fs.LocalFileSystem()
        if "://" in uri:
            from deltalake.fs import DeltaStorageHandler

            system = fs.PyFileSystem(DeltaStorageHandler(uri))
        for path, partition in files:
            absolute = path.startswith("/") or "://" in path
            place = path if absolute or "://" in uri else f"{uri}/{path}"
            own = [field.name for field in schema if field.name not in partitioned]
            with system.open_input_file(place) as opened_file:
                reader = parquet.ParquetFile(opened_file, coerce_int96_timestamp_unit="us")
                there = set(reader.schema_arrow.names)
                for batch in reader.iter_batches(columns=[n for n in own if n in there]):
                    columns = []
                    for field in schema:
                        if field.name in partitioned:
                            constant = value(partition.get(field.name), field.type)
                            columns.append(pa.repeat(constant, batch.num_rows))
                        elif field.name in there:
                            columns.append(batch.column(field.name).cast(field.type))
                        else:
                            columns.append(pa.nulls(batch.num_rows, field.type))
                    yield pa.RecordBatch.from_arrays(columns, schema=schema)

    return read
