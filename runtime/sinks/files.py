"""A directory of files as a sink: each batch is visible whole or not at all, and once."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...planner.model.errors import RuntimeFailure
from ..files import corrupt, local_path, read_whole, remove, write_new
from ..listing import hidden
from ..output_log import SINK_LOG, entries_of, output_log
from .base import OutputMode, Sink, refuse_output_mode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FORMATS = ("parquet", "json", "csv", "orc", "text")
WORK = "_stateplan"  # hidden from readers by its first character


class FileSink(Sink):
    """Files of one format in a directory, with Spark's log of what readers are to see.

    Spark (and this package's file source) read such a directory by its log `_spark_metadata`: a
    batch appears with its entry there, all files at once. For readers that list the directory
    instead, files come in one by one when their batch is complete, and what an attempt that failed
    had moved there is removed before the batch runs again (`_stateplan/moving` tells).

    Args:
        format: parquet, json, csv, orc or text.
        path: the directory, on a local or mounted file system.
        options: of Spark's writer.
        partition_by: columns that become directories.
    """

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
        self._clean_up()

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        latest = self._log.latest()
        if latest is not None and batch_id <= latest:
            return None
        staging = self.directory / WORK / f"staging-{batch_id}-{uuid.uuid4()}"
        writer = frame.write.format(self.format).options(**self._options)
        if self._partition_by:
            writer = writer.partitionBy(*self._partition_by)
        try:
            writer.save(f"file://{staging}")
            self._publish(staging, batch_id)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        return None

    @property
    def _moving(self) -> Path:
        return self.directory / WORK / "moving"

    def _publish(self, staging: Path, batch_id: int) -> None:
        names = [path.relative_to(staging) for path in _data_files(staging)]
        moving = {"batchId": batch_id, "files": [str(name) for name in names]}
        write_new(self._moving, json.dumps(moving).encode())
        for name in names:
            (self.directory / name).parent.mkdir(parents=True, exist_ok=True)
            os.rename(staging / name, self.directory / name)
        self._log.add(batch_id, entries_of(self.directory / name for name in names))
        remove(self._moving)

    def _check_directory(self) -> None:
        if self.directory.exists() and not self.directory.is_dir():
            raise RuntimeFailure(
                "STATEPLAN_OUTPUT_NOT_A_DIRECTORY",
                f"The output '{self.directory}' is not a directory.",
                hint="Name a directory for the output.",
            )
        self.directory.mkdir(parents=True, exist_ok=True)
        inside = {path.name for path in self.directory.iterdir()}
        ours = SINK_LOG in inside or (self.directory / WORK / "query").exists()
        if inside - {WORK} and not ours:
            raise RuntimeFailure(
                "STATEPLAN_OUTPUT_NOT_EMPTY",
                f"The output directory '{self.directory}' is not empty, and no streaming query "
                "has written it.",
                hint="Name an empty directory, or one that does not exist yet.",
            )

    def _check_owner(self, query_id: str, next_batch: int) -> None:
        path = self.directory / WORK / "query"
        try:
            owner = read_whole(path).decode(errors="replace")
        except FileNotFoundError:
            latest = self._log.latest()
            if latest is not None and latest > next_batch:
                raise self._other_query() from None
            write_new(path, query_id.encode())
            return
        if owner != query_id:
            raise self._other_query()

    def _other_query(self) -> RuntimeFailure:
        return RuntimeFailure(
            "STATEPLAN_OUTPUT_OTHER_QUERY",
            f"The output directory '{self.directory}' holds the output of another query, or of "
            "this one with another checkpoint.",
            hint="Name an empty directory, or restart with the checkpoint that belongs to it.",
        )

    def _clean_up(self) -> None:
        """Remove what an attempt that ended half-way left behind."""
        for path in (self.directory / WORK).glob("staging-*"):
            shutil.rmtree(path, ignore_errors=True)
        try:
            moving = json.loads(read_whole(self._moving))
            batch_id, names = int(moving["batchId"]), list(moving["files"])
        except FileNotFoundError:
            return
        except (ValueError, KeyError, TypeError):
            raise corrupt(self._moving, "it does not name a batch and its files") from None
        latest = self._log.latest()
        if latest is None or batch_id > latest:
            for name in names:
                (self.directory / name).unlink(missing_ok=True)
        remove(self._moving)


def _data_files(root: Path) -> list[Path]:
    """The files that Spark wrote, without its markers and checksum files."""
    return sorted(p for p in root.rglob("*") if p.is_file() and not hidden(p.name))
