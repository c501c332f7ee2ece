"""A directory of files as a sink: each batch is visible whole or not at all, and once."""

from __future__ import annotations

import contextlib
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ...planner.model.errors import PlanningError, RuntimeFailure
from ...planner.model.output_modes import OutputMode
from ...planner.model.schemas.types import (
    AtomicType,
    CalendarIntervalType,
    NullType,
    StringType,
    StructType,
)
from ...planner.model.settings.conf import Conf
from ..arrow_types import arrow_type, without_hidden
from ..files import corrupt, local_path, read_whole, write_new
from ..kernels.errors import NOT_EXACT
from ..kernels.writers.files import FileWriter
from ..kernels.writers.folders import NO_VALUE
from ..output_log import SINK_LOG, output_log
from ..plan.facts import EngineFacts
from .base import Sink, SinkRequest, refuse_output_mode
from .publication import STAGING, clean_up, publish

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORK = "_stateplan"  # hidden from readers by its first character


class FileSink(Sink):
    """Files of one format in a directory, with Spark's log of what readers are to see.

    Spark (and this package's file source) read such a directory by its log `_spark_metadata`: a
    batch appears with its entry there, all files at once. For readers that list the directory
    instead, files come in one by one when their batch is complete, and what an attempt that failed
    had moved there is removed before the batch runs again (see `publication`).

    Args:
        format: parquet, json, csv, orc, text, or avro where the engine writes it.
        path: the directory, on a local or mounted file system.
        options: of Spark's writer.
        partition_by: columns that become directories.
    """

    one_action = True
    in_arrow = True

    def __init__(
        self,
        format: str,
        path: str,
        options: Mapping[str, str] | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        self.format = format
        self.directory = local_path(path, "the output directory")
        self._options = dict(options or {})
        self._partition_by = tuple(partition_by)
        self._log = output_log(self.directory)
        self._staged: tuple[int, Path] | None = None
        self._writer: FileWriter | None = None
        self._of_no_rows: FileWriter | None = None  # where the engine writes no file of them
        self._texts: Sequence[int] = ()  # the places of partition columns that are strings

    @classmethod
    def create(cls, request: SinkRequest) -> FileSink:
        options = {k: v for k, v in request.options.written.items() if k.lower() != "path"}
        return cls(request.format, request.needed_path, options, request.partition_by)

    @property
    def description(self) -> str:
        return f"FileSink[file:{self.directory}]"

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        """Take the directory for this query.

        Raises:
            RuntimeFailure: it holds something else, or another query's output; or the mode is not
                append.
        """
        if output_mode != "append":
            raise refuse_output_mode(self.format, output_mode)
        self._check_directory()
        self._log = output_log(self.directory)
        self._check_owner(query_id, next_batch)
        self._check_log(next_batch)
        clean_up(self.directory, self._log, self._work)

    def check(self, schema: StructType, engine: EngineFacts, conf: Conf) -> None:
        """See whether the columns can be written, and to what directories.

        Raises:
            StateplanError: partition columns that Spark refuses; or the engine would write
                anything but Spark's files, and so would our own code.
        """
        self._partition_by = partition_columns(self._partition_by, schema, conf)
        self._texts = [
            number
            for number, field in enumerate(schema.fields)
            if field.name in self._partition_by and isinstance(field.data_type, StringType)
        ]
        writer = FileWriter(
            format=self.format,
            schema=schema,
            options=self._options,
            partition_by=self._partition_by,
            time_zone=conf.time_zone,
        )
        if self._engine_writes(schema, engine):
            if not engine.writes:
                self._of_no_rows = replace(writer, options={})
            return
        reason = writer.unsupported()
        if reason is None:
            self._writer = writer
        elif not engine.writes:
            raise RuntimeFailure(
                NOT_EXACT,
                f"The embedded engine does not write {self.format} files as Spark does: {reason}.",
                hint="Run the query on Spark: --engine spark.",
            )

    def _engine_writes(self, schema: StructType, engine: EngineFacts) -> bool:
        """Whether the engine writes the files: Spark no columns that differ in case alone.

        Its streams do, but not what writes a DataFrame. Two of one name no Parquet file has.
        """
        names = [field.name for field in schema.fields]
        if engine.writes:
            apart = len({name.lower() for name in names}) == len(names)
            return apart or (self.format == "parquet" and len(set(names)) < len(names))
        return self.format == "parquet" and not self._partition_by

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        self._discard()
        latest = self._log.latest()
        if latest is not None and batch_id <= latest:
            return None
        staging = self._work / f"{STAGING}{batch_id}-{uuid.uuid4()}"
        self._staged = batch_id, staging
        staging.mkdir(parents=True)  # an engine may write no directory where there are no rows
        try:
            self._write(frame, staging)
        except BaseException:
            self._discard()
            raise
        return None

    def _write(self, frame: DataFrame, staging: Path) -> None:
        if self._writer is not None:
            self._writer.write(staging, typed_rows(frame.toArrow(), self._writer.schema))
            return
        writer = (
            self._in_folders(frame)
            .write.format(self.format)
            .mode("append")
            .options(**self._options)
        )
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        writer.save(f"file://{staging}")
        if self._of_no_rows is not None and not any(staging.iterdir()):
            kinds = [arrow_type(field.data_type) for field in self._of_no_rows.schema.fields]
            rows = pa.table([pa.array([], kind) for kind in kinds], names=list(map(str, kinds)))
            self._of_no_rows.write(staging, rows)

    def _in_folders(self, frame: DataFrame) -> DataFrame:
        """The rows with one text for each folder: Spark would make the same file twice there."""
        from pyspark.sql import functions as F

        if not self._texts:
            return frame
        columns = [F.col(str(number)) for number in range(len(frame.columns))]
        for number in self._texts:
            columns[number] = F.when(~columns[number].isin("", NO_VALUE), columns[number])
        numbered = frame.toDF(*map(str, range(len(columns))))
        return numbered.select(columns).toDF(*frame.columns)

    def publish(self) -> None:
        """Make the batch that was written visible.

        Raises:
            RuntimeFailure: another driver has published it, or the file system fails.
        """
        if self._staged is None:
            return
        batch_id, staging = self._staged
        try:
            publish(self.directory, self._log, staging, self._work, batch_id)
        finally:
            self._discard()

    def stop(self) -> None:
        self._discard()

    @property
    def _work(self) -> Path:
        return self.directory / WORK

    def _discard(self) -> None:
        """Forget what was written last."""
        if self._staged is not None:
            shutil.rmtree(self._staged[1], ignore_errors=True)
            self._staged = None

    def _check_directory(self) -> None:
        if self.directory.exists() and not self.directory.is_dir():
            raise RuntimeFailure(
                "STATEPLAN_OUTPUT_NOT_A_DIRECTORY",
                f"The output '{self.directory}' is not a directory.",
                hint="Name a directory for the output.",
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        inside = {path.name for path in self.directory.iterdir()}
        ours = SINK_LOG in inside or (self._work / "query").exists()
        if inside - {WORK} and not ours:
            raise RuntimeFailure(
                "STATEPLAN_OUTPUT_NOT_EMPTY",
                f"The output directory '{self.directory}' is not empty, and no streaming query "
                "has written it.",
                hint="Name an empty directory, or one that does not exist yet.",
            )

    def _check_owner(self, query_id: str, next_batch: int) -> None:
        path = self._work / "query"
        if not path.exists():
            latest = self._log.latest()
            if latest is not None and latest > next_batch:
                raise self._other_query()
            # Who comes in between may be another run of this query: what it wrote says so.
            with contextlib.suppress(FileExistsError):
                write_new(path, query_id.encode())
        if read_whole(path).decode(errors="replace") != query_id:
            raise self._other_query()

    def _check_log(self, next_batch: int) -> None:
        """What the checkpoint has committed must be there: readers could not pass over a gap."""
        latest = self._log.latest()
        if next_batch > (0 if latest is None else latest + 1):
            missing = self._log.directory / str(next_batch - 1)
            raise corrupt(missing, f"it is missing, though batch {next_batch - 1} is committed")

    def _other_query(self) -> RuntimeFailure:
        return RuntimeFailure(
            "STATEPLAN_OUTPUT_OTHER_QUERY",
            f"The output directory '{self.directory}' holds the output of another query, or of "
            f"this one with another checkpoint, says '{self._work / 'query'}'.",
            hint="Name an empty directory, or restart with the checkpoint that belongs to it.",
        )


def typed_rows(rows: pa.Table, schema: StructType) -> pa.Table:
    """The rows in the types of `arrow_types`, under the columns' numbers."""
    columns = []
    for column, field in zip(rows.columns, schema.fields, strict=True):
        kind = arrow_type(field.data_type)
        chunks = map(without_hidden, column.cast(kind).chunks)
        columns.append(pa.chunked_array(list(chunks), kind))
    return pa.table(columns, names=[str(number) for number in range(len(columns))])


def partition_columns(names: Sequence[str], schema: StructType, conf: Conf) -> tuple[str, ...]:
    """Partition columns as the schema writes them.

    Raises:
        PlanningError: Spark does not divide rows by them.
    """
    fold = conf.fold
    known = {fold(field.name): field for field in reversed(schema.fields)}
    missing = next((name for name in names if fold(name) not in known), None)
    if missing is not None:
        columns = ", ".join(field.name for field in schema.fields)
        raise PlanningError.of(
            "_LEGACY_ERROR_TEMP_1196",
            columnType="Partition",
            columnName=missing,
            validColumnNames=columns,
        )
    found = [known[fold(name)] for name in names]
    given = [fold(name) for name in names]
    twice = next((name for n, name in enumerate(given) if name in given[:n]), None)
    if twice is not None:
        raise PlanningError.of("COLUMN_ALREADY_EXISTS", columnName=f"`{twice}`")
    for field in found:
        kind = field.data_type
        if not isinstance(kind, AtomicType) or isinstance(kind, NullType | CalendarIntervalType):
            raise PlanningError.of("INVALID_PARTITION_COLUMN_DATA_TYPE", type=f'"{kind.sql}"')
    if names and len(found) == len(schema.fields):
        raise PlanningError.of("ALL_PARTITION_COLUMNS_NOT_ALLOWED")
    return tuple(field.name for field in found)
