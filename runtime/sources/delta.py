"""A Delta table as a stream: the files that its versions add, through delta-rs, without a JVM."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.schemas.types import StructType, as_nullable
from ..checkpoint import Offset, compact_json
from ..delta import AddedFile, DeltaLog, opened, read_schema, schema_of, table_uri
from ..files import corrupt, read_whole, write_new
from ..state import Location
from .base import SourceRequest, not_its_offset
from .delta_files import BEFORE_ALL, DeltaFiles, Place, check_readable, unreadable
from .delta_reading import reading
from .parted import PartedSource, Read

_OPTIONS = (
    *("startingVersion", "startingTimestamp", "maxFilesPerTrigger", "maxBytesPerTrigger"),
    *("ignoreDeletes", "ignoreChanges", "skipChangeCommits", "excludeRegex", "failOnDataLoss"),
    "path",
)
_USUAL_FILES = 1000


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
        check_readable(self._uri, table.metadata().configuration)
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
        self._files = DeltaFiles(self._log, self.schema, options)
        self._initial = Place(0)
        self._end: int | None = None

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
        for place, file in self._files.between(begin, Place(latest + 1)):
            full = self._max_files is not None and files >= self._max_files
            full = full or (self._max_bytes is not None and size + file.size > self._max_bytes)
            if files and full and not unlimited:
                break
            end, files, size = place, files + 1, size + file.size
        return start if end == begin else self._json(self._closed(end))

    def newest_offset(self) -> Offset | None:
        return self._json(Place(self._log.latest() + 1))

    def commit(self, end: Offset) -> None:
        self._files.forget(self._place(end).version)

    def _closed(self, end: Place) -> Place:
        """The begin of the next version, in the place of the end of one."""
        files = self._files.of_version(end)
        return Place(end.version + 1) if end.index + 1 >= len(files) else end

    def _json(self, place: Place) -> Offset:
        return {
            "sourceVersion": 1,
            "reservoirId": self._id,
            "reservoirVersion": place.version,
            "index": place.index,
            "isStartingVersion": place.snapshot,
        }

    def _place(self, offset: Offset) -> Place:
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
        index = max(BEFORE_ALL, int(offset["index"]))
        return Place(int(offset["reservoirVersion"]), index, snapshot)

    def _first_place(self) -> Place:
        """Where a new stream begins.

        Raises:
            RuntimeFailure: the version or time lies behind the table's end, or is gone.
        """
        latest = self._log.latest()
        if self._starting_time is not None:
            return Place(self._version_at(self._starting_time, latest))
        if self._starting_version is None:
            return Place(latest, snapshot=True)
        if self._starting_version.lower() == "latest":
            return Place(latest + 1)
        number, earliest = int(self._starting_version), self._log.earliest()
        if not earliest <= number <= latest:
            raise RuntimeFailure(
                "DELTA_VERSION_NOT_FOUND",
                f"Cannot time travel Delta table to version {number}. Available versions: "
                f"[{earliest}, {latest}].",
                hint="Change startingVersion.",
            )
        return Place(number)

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

    # ------------------------------------------------------------------------------------- rows

    def parts(self, start: Offset | None, end: Offset) -> Sequence[Any]:
        """Files, each with the values of its partition columns."""
        files = self._between(start, end)
        for file in files:
            if file.deletes:
                raise unreadable(self._uri, f"'{file.path}' has a deletion vector")
        return [(file.path, dict(file.partition)) for file in files]

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return sum(file.size for file in self._between(start, end))

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        rows = [file.rows for file in self._between(start, end)]
        return None if None in rows else sum(row for row in rows if row is not None)

    def _between(self, start: Offset | None, end: Offset) -> list[AddedFile]:
        begin = self._initial if start is None else self._place(start)
        return [file for _, file in self._files.between(begin, self._place(end))]

    def reading(self) -> Read:
        return reading(self._uri, self.arrow_schema, self._partitioned)


def delta_schema(path: str) -> StructType:
    """The columns of the Delta table at a path."""
    return schema_of(table_uri(path))
