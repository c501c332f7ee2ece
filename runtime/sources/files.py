"""A stream of files: each file that appears in a directory is read once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ...planner.model.formats import metadata_columns, metadata_type
from ...planner.model.schemas.types import StructType
from ...planner.model.text.spark_sql import quote
from ..checkpoint import Offset, other_query
from ..compactible_log import CompactibleLog, Entry
from ..files import corrupt, file_uri, local_path
from ..frames import rows_frame, spark_schema
from ..kernels.writers.folders import folder_texts
from ..listing import FoundFile, base_path, is_glob
from ..options import Options
from ..output_log import SINK_LOG, found_files
from ..plan.facts import Reader
from ..state import Location
from .base import Source, SourceRequest
from .cleaning import Clean, cleaner
from .parquet import MOST_FOOTERS, FileBatch, parquet_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Options of the stream itself; every other one goes to the format's reader.
_OWN = (
    *("maxFilesPerTrigger", "maxBytesPerTrigger", "latestFirst", "fileNameOnly", "maxFileAge"),
    *("cleanSource", "sourceArchiveDir", "recursiveFileLookup", "pathGlobFilter", "path"),
    *("maxCachedFiles", "discardCachedInputRatio", "basePath"),
)
_REFUSED = ("modifiedBefore", "modifiedAfter")


class FileSource(Source):
    """Files of one format under a path.

    The offset is `{"logOffset": n}`: the number of the last entry of the source's own log in the
    checkpoint (`sources/i/n`), which holds the files of each batch in Spark's format. New files are
    taken in the order of their modification times. A file that changes later is not read again.
    As in Spark, files that are older than the newest one read by more than `maxFileAge` (a week)
    are passed over. Unlike Spark the source never forgets a file.

    Args:
        format: json, parquet, csv, orc, text, or avro where the engine reads it.
        path: a directory, file or Hadoop glob on a local or mounted file system.
        schema: the columns.
        options: Spark's options of the file source and of the format's reader.

    Raises:
        DescriptionError: an option is not usable on a stream.
        RuntimeFailure: there is no such path.
    """

    def __init__(
        self,
        format: str,
        path: str,
        schema: StructType,
        options: Mapping[str, str] | None = None,
    ) -> None:
        self.format = format
        self.schema = schema
        self.location, self._written_path = str(local_path(path, "the source")), path
        own = Options(options, f"the source '{format}'")
        for name in _REFUSED:
            if name in own:
                raise own.refusal(name, "it is not supported on a stream of files", "Remove it.")
        passed = {name.lower() for name in _OWN}
        written = own.written.items()
        self._reader_options = {key: value for key, value in written if key.lower() not in passed}
        self._max_files = own.whole("maxFilesPerTrigger")
        self._max_bytes = own.whole("maxBytesPerTrigger")
        if self._max_files and self._max_bytes:
            raise DescriptionError(
                "STATEPLAN_BAD_OPTION",
                "The options 'maxFilesPerTrigger' and 'maxBytesPerTrigger' exclude each other.",
                hint="Keep one of them.",
            )
        self._latest_first = own.flag("latestFirst")
        self._name_only = own.flag("fileNameOnly")
        self._recursive = own.flag("recursiveFileLookup")
        self._name_glob, self._base_path = own.get("pathGlobFilter"), own.get("basePath")
        self._max_age_ms: int | None = own.duration_ms("maxFileAge", "7d")
        if self._latest_first and (self._max_files or self._max_bytes):
            self._max_age_ms = None  # the newest files come first, so age says nothing
        self._clean: Clean | None = cleaner(own, self.location)
        self._newest_ms = 0
        self._seen: set[str] = set()
        self._waiting: list[FoundFile] = []
        self._fixed: list[FoundFile] | None = None
        self._log: CompactibleLog | None = None
        self._log_offset = -1
        self._added: tuple[int, list[Entry] | None] = -1, None  # the last entry of this run
        self._known: tuple[tuple[int, int], list[str], list[int]] = (-1, -1), [], []
        self._footers: tuple[list[str], FileBatch | None] = [], None
        if not is_glob(self.location) and not os.path.exists(self.location):
            raise path_not_found(path)

    @classmethod
    def create(cls, request: SourceRequest) -> FileSource:
        schema = request.needed_schema
        return cls(request.format, request.needed_path, schema, request.options.written)

    @property
    def description(self) -> str:
        return f"FileStreamSource[file:{self.location}]"

    @property
    def reader(self) -> Reader:
        return Reader(
            format=self.format,
            schema=self.schema,
            options=self._reader_options,
            metadata=self.metadata,
            base=self._base,
        )

    @property
    def _base(self) -> Path | None:
        return base_path(self.location, recursive=self._recursive, given=self._base_path)

    def show_metadata(self, name: str) -> None:
        kind = metadata_type(self.format)
        if kind is None:
            super().show_metadata(name)
        else:
            self.metadata = kind.fields

    def attach(self, log_directory: Location) -> None:
        self._log = CompactibleLog(log_directory)
        latest = self._log.latest()
        if latest is not None:
            self._log_offset = latest
            for entry in self._log.entries_up_to(latest):
                path = _path_of(entry, log_directory / str(latest))
                self._check_place(path)
                self._see(path, int(entry.get("timestamp") or 0))

    def prepare_for_available_now(self) -> None:
        self._fixed = self._new_files(self._list())

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        assert self._log is not None, "attach comes first"
        if _number(start) > self._log_offset:
            # Without this entry the files of a batch that is done would be read once more.
            raise corrupt(self._log.directory / str(_number(start)), "it is missing")
        if _number(start) < self._log_offset and not unlimited:
            # A run ended between this entry and the batch's offsets. Spark takes new files as well,
            # above the limits; here the batches are those of a run that never ended.
            return {"logOffset": _number(start) + 1}
        files = self._choose(unlimited)
        if files:
            self._log_offset += 1
            entries = [self._entry(file) for file in files]
            self._log.add(self._log_offset, entries)
            self._added = self._log_offset, entries
            for file in files:
                self._see(file.path, file.modified_ms)
        return None if self._log_offset < 0 else {"logOffset": self._log_offset}

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        paths, _ = self._files(start, end)
        if not paths:
            return rows_frame(spark, self.batch_schema, [])
        frames = [self.read(spark, group) for group in self.groups(paths)]
        return reduce(lambda left, right: left.union(right), frames)

    def batch_paths(self, start: Offset | None, end: Offset) -> Sequence[str]:
        return self._files(start, end)[0]

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return sum(self._files(start, end)[1])

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        found = self._parquet(start, end)
        return None if found is None else found.rows

    def batch_files(self, start: Offset | None, end: Offset) -> FileBatch | None:
        paths, sizes = self._files(start, end)
        # An option may change what is read, and names of folders may be columns.
        if self._reader_options or any(folder_texts(path, self._base) for path in paths):
            return None
        found = self._parquet(start, end)
        return None if found is None else replace(found, sizes=tuple(sizes))

    def commit(self, end: Offset) -> None:
        if self._clean is not None:
            number = _number(end)
            for path in self._paths(number - 1, number):
                self._clean(path)

    def _files(self, start: Offset | None, end: Offset) -> tuple[list[str], list[int]]:
        """The files of a range and their sizes: the largest first, as Spark's scan has them.

        Raises:
            RuntimeFailure: one is gone.
        """
        numbers = _number(start), _number(end)
        if self._known[0] != numbers:
            paths = self._paths(*numbers)
            sizes = [(path, _size(path)) for path in paths]
            gone = [path for path, size in sizes if size is None]
            if gone:
                more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
                raise RuntimeFailure(
                    "STATEPLAN_SOURCE_FILE_GONE",
                    f"The file '{gone[0]}'{more} belongs to a batch that has to run, but is gone.",
                    hint="Put the file back, or start with a new checkpoint directory.",
                )
            known = sorted(((p, s) for p, s in sizes if s is not None), key=lambda file: -file[1])
            self._known = numbers, [path for path, _ in known], [size for _, size in known]
        return self._known[1:]

    def _parquet(self, start: Offset | None, end: Offset) -> FileBatch | None:
        """What the footers of a range's files say, if they are few Parquet files."""
        if self.format != "parquet":
            return None
        paths, _ = self._files(start, end)
        if len(paths) > MOST_FOOTERS:
            return None
        if self._footers[0] != paths:
            self._footers = paths, parquet_batch(paths)
        return self._footers[1]

    def read(
        self,
        spark: SparkSession,
        paths: Sequence[str],
        *,
        place: Callable[[str], str] = "file://{}".format,
        shown: bool = True,
        columns: StructType | None = None,
    ) -> DataFrame:
        """The rows of files that Spark can read together.

        Args:
            spark: a session.
            paths: the files.
            place: what the engine calls a path.
            shown: whether the fields of `_metadata` are given if the query asks for them.
            columns: those that are read, if not all.
        """
        schema = columns or self.schema
        reader = spark.read.format(self.format).schema(spark_schema(schema))
        reader = reader.options(**self._reader_options).option("__globPaths__", "false")
        if self._base is not None:
            reader = reader.option("basePath", str(self._base))
        frame = reader.load(list(map(place, paths)))
        metadata = self.metadata if shown else ()
        if not any(folder_texts(path, self._base) for path in paths):
            own = ["*"]
        else:
            # Spark puts the columns of partitions last.
            own = [quote(field.name) for field in schema.fields]
        pairs = zip(metadata, metadata_columns(metadata), strict=True)
        fields = [f"_metadata.{field.name} AS {quote(column.name)}" for field, column in pairs]
        return frame if [*own, *fields] == ["*"] else frame.selectExpr(*own, *fields)

    def groups(self, paths: Sequence[str]) -> list[list[str]]:
        """The files that Spark can read together.

        Files with and without partition columns it cannot (it drops the latter in silence), and
        beside a file whose name has a glob's characters it reads the others twice.
        """
        groups: dict[object, list[str]] = {}
        for path in paths:
            columns = tuple(folder_texts(path, self._base))
            odd = is_glob(os.path.relpath(path, self.location))
            groups.setdefault(path if odd else columns, []).append(path)
        return list(groups.values())

    def _paths(self, first: int, last: int) -> list[str]:
        """The files of the log's entries behind `first` up to `last`, in order."""
        assert self._log is not None
        paths: list[str] = []
        for number in range(first + 1, last + 1):
            added, entries = self._added
            if number != added:
                entries = self._log.entries(number)
            where = self._log.directory / str(number)
            if entries is None:
                # Purged: a later compaction has it.
                entries = self._log.entries_up_to(self._log_offset)
                if not any(entry.get("batchId") == number for entry in entries):
                    raise corrupt(where, "it is missing")
            paths += [_path_of(e, where) for e in entries if e.get("batchId") == number]
        return paths

    def _choose(self, unlimited: bool) -> list[FoundFile]:
        """The new files of the next batch, within the limits."""
        files = self._waiting or self._new_files(
            self._list() if self._fixed is None else self._fixed
        )
        if self._latest_first:
            files = sorted(files, key=lambda file: -file.modified_ms)
        taken = len(files)
        if self._max_files is not None and not unlimited:
            taken = min(taken, self._max_files)
        if self._max_bytes is not None and not unlimited:
            taken = _within(files, self._max_bytes)
        # What is left over is not listed again, but for newest-first, where newer ones go before.
        self._waiting = [] if self._latest_first else files[taken:]
        return files[:taken]

    def _list(self) -> list[FoundFile]:
        if not is_glob(self.location):
            if self._clean is not None and os.path.isdir(os.path.join(self.location, SINK_LOG)):
                raise RuntimeFailure(
                    "STATEPLAN_BAD_OPTION",
                    "Clean up source files is not supported when reading from the output "
                    f"directory of FileStreamSink: '{self.location}'.",
                    hint="Remove the option 'cleanSource'.",
                )
            if not os.path.exists(self.location):
                raise path_not_found(self._written_path)
        return found_files(self.location, recursive=self._recursive, name_glob=self._name_glob)

    def _new_files(self, files: list[FoundFile]) -> list[FoundFile]:
        oldest = 0 if self._max_age_ms is None else self._newest_ms - self._max_age_ms
        return [
            file
            for file in files
            if file.modified_ms >= oldest and self._key(file.path) not in self._seen
        ]

    def _see(self, path: str, modified_ms: int) -> None:
        self._seen.add(self._key(path))
        self._newest_ms = max(self._newest_ms, modified_ms)

    def _key(self, path: str) -> str:
        return os.path.basename(path) if self._name_only else path

    def _entry(self, file: FoundFile) -> Entry:
        return {
            "path": file_uri(file.path),
            "timestamp": file.modified_ms,
            "batchId": self._log_offset,
        }

    def _check_place(self, path: str) -> None:
        """A log that names files elsewhere belongs to another source."""
        if is_glob(self.location):
            return
        if path != self.location and not path.startswith(self.location.rstrip("/") + "/"):
            raise other_query(
                f"The checkpoint has read '{path}', which does not lie in '{self.location}': it "
                "belongs to a query with another source at this place."
            )


def path_not_found(path: str) -> RuntimeFailure:
    """The error for a source that is not there, by its path as it was written."""
    return RuntimeFailure.of(
        "PATH_NOT_FOUND",
        path=path,
        hint="Create the directory, or correct the source's path.",
    )


def _path_of(entry: Entry, log_file: Location) -> str:
    path = entry.get("path")
    if not isinstance(path, str):
        raise corrupt(log_file, "an entry has no path")
    return unquote(urlsplit(path).path)


def _size(path: str) -> int | None:
    """The bytes of a file; None if it is not there."""
    try:
        return os.path.getsize(path)
    except OSError:
        return None


def _number(offset: Offset | None) -> int:
    if offset is None:
        return -1
    number = offset.get("logOffset") if isinstance(offset, dict) else None
    if not isinstance(number, int):
        raise other_query(f"The checkpoint's offset '{offset}' is not one of a file source.")
    return number


def _within(files: list[FoundFile], limit: int) -> int:
    """How many files fit the limit in bytes: at least one."""
    total = 0
    for count, file in enumerate(files):
        total += file.size
        if count and total > limit:
            return count
    return len(files)
