"""A query's checkpoint: its id, the offsets of each batch, the batches that are committed.

The files are Spark's: `metadata` `{"id":...}`, `offsets/N` (`v1`, a line of JSON with watermark,
time and pinned settings, a line per source), `commits/N` (`v1`, `{"nextBatchWatermarkMs":...}`).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, ValidationError

from ..planner.model.errors import RuntimeFailure, StateplanError
from ..planner.model.settings.conf import Conf
from ..planner.model.settings.pinned import PINNED, PROVIDER
from .claim import Claim, Holder
from .files import corrupt, failing, location_of, read_whole, remove, write_new
from .state.storage import Location, Place

Offset = object  # a JSON value: what a source writes into the offset log
VERSION = "v1"
NO_OFFSET = "-"
RETAIN = "spark.sql.streaming.minBatchesToRetain"
KEPT_BATCHES = 100  # where it is not set
STATE_PROVIDER = "stateplan.runtime.state"


class _Record(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class QueryMetadata(_Record):
    """The file `metadata`."""

    id: str


class OffsetMetadata(_Record):
    """What a batch runs under: the first line of `offsets/N`."""

    batchWatermarkMs: int = 0
    batchTimestampMs: int = 0
    conf: dict[str, str] = {}


class CommitMetadata(_Record):
    """The line of `commits/N`.

    `stateAttempt` is ours: the attempt whose version N + 1 of the state counts. Spark passes over
    it.
    """

    nextBatchWatermarkMs: int = 0
    stateAttempt: str | None = None


@dataclass(frozen=True, kw_only=True)
class OffsetSeq:
    """One file of the offset log: where each source's batch ends; None: nothing read yet."""

    metadata: OffsetMetadata
    offsets: tuple[Offset | None, ...]


def batches_to_retain(conf: Conf) -> int:
    """How many batches, back from the last one, a query can be restarted from and looked into."""
    return max(1, int(conf.settings.get(RETAIN, KEPT_BATCHES)))


def pinned_settings(conf: Conf) -> dict[str, str]:
    """The settings that a new query's offset log holds, in Spark's order."""
    settings = {key: conf.settings.get(key, default) for key, default in PINNED.items()}
    return settings | {PROVIDER: STATE_PROVIDER}


def restored_conf(conf: Conf, metadata: OffsetMetadata) -> Conf:
    """The query's settings with those that its checkpoint pinned over them."""
    return conf.updated({k: v for k, v in metadata.conf.items() if k in PINNED})


Record = TypeVar("Record", bound=_Record)


def _parse(model: type[Record], text: str, path: Location) -> Record:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        start = text.split("\n")[0][:80]
        raise corrupt(path, f"{error.errors()[0]['msg'].lower()} in '{start}'") from None


@dataclass(frozen=True)
class BatchLog:
    """A directory of files named by batch id, each with a version line first."""

    directory: Location

    def ids(self) -> list[int]:
        """The batch ids in the log, ascending. Other files (temporary ones) are not part of it."""
        return sorted(int(name) for name in self.directory.names() if name.isdigit())

    def latest(self) -> int | None:
        return max(self.ids(), default=None)

    def path(self, batch_id: int) -> Location:
        return self.directory / str(batch_id)

    def read(self, batch_id: int) -> list[str] | None:
        """The lines behind the version line; None if the batch is not in the log."""
        path = self.path(batch_id)
        try:
            data = read_whole(path)
        except FileNotFoundError:
            return None
        return read_lines(path, data)

    def write(self, batch_id: int, lines: Sequence[str]) -> None:
        """Add a batch.

        Raises:
            RuntimeFailure: the batch is there already: another query runs on this checkpoint.
        """
        try:
            write_new(self.path(batch_id), "\n".join([VERSION, *lines]).encode())
        except FileExistsError:
            raise concurrent_update(batch_id, self.directory) from None

    def purge(self, before: int) -> None:
        """Remove the batches below this id."""
        for batch_id in self.ids():
            if batch_id < before:
                remove(self.path(batch_id))


def read_lines(path: Place, data: bytes) -> list[str]:
    """The lines of a log file behind its version line.

    Raises:
        RuntimeFailure: the file is empty, no text, or of an unknown version.
    """
    try:
        version, *lines = data.decode().split("\n")
    except UnicodeDecodeError:
        raise corrupt(path, "it is no text") from None
    if not data:
        raise corrupt(path, "it is empty")
    if version != VERSION:
        raise corrupt(path, f"it starts with '{version[:20]}' instead of '{VERSION}'")
    return lines


def concurrent_update(batch_id: int, directory: object) -> RuntimeFailure:
    """The error for a log entry that another query has written."""
    return RuntimeFailure.of(
        "CONCURRENT_STREAM_LOG_UPDATE",
        batchId=batch_id,
        hint=f"Another query wrote to the log '{directory}'. Stop it, or give this query a "
        "checkpoint directory of its own.",
    )


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint directory.

    Attributes:
        root: the directory.
        id: the query's id, the same over all its runs.
        claim: this run's right to write; None: opened without one, to read.
    """

    root: Location
    id: str
    claim: Claim | None = None
    offset_log: BatchLog = field(init=False)
    commit_log: BatchLog = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset_log", BatchLog(self.guarded / "offsets"))
        object.__setattr__(self, "commit_log", BatchLog(self.guarded / "commits"))

    @classmethod
    def open(cls, place: Place, holder: Holder | None = None) -> Checkpoint:
        """Open a checkpoint, or start one where there is none.

        Args:
            place: the directory.
            holder: who is going to write; that run has the checkpoint until `release`.

        Raises:
            RuntimeFailure: the files there are not usable, or another run has the checkpoint.
        """
        root = location_of(place, "the checkpoint")
        with failing(root):
            if root.storage.kind(root.path) == "file":
                raise RuntimeFailure(
                    "STATEPLAN_CHECKPOINT_NOT_A_DIRECTORY",
                    f"The checkpoint '{root}' is not a directory.",
                    hint="Name a directory for the checkpoint.",
                )
            claim = None if holder is None else Claim.take(root, holder)
            try:
                with contextlib.nullcontext() if claim is None else claim.naming_the_newer_run():
                    return cls(root, _query_id(replace(root, guard=claim)), claim)
            except BaseException:
                if claim is not None:
                    claim.release()
                raise

    def check_claim(self) -> None:
        """Raise if a newer run has claimed the checkpoint."""
        if self.claim is not None:
            with failing(self.root):
                self.claim.check()

    def superseded(self, error: BaseException) -> StateplanError | None:
        """See `Claim.superseded`."""
        return None if self.claim is None else self.claim.superseded(error)

    def naming_the_newer_run(self) -> contextlib.AbstractContextManager[None]:
        """See `Claim.naming_the_newer_run`; nothing where the checkpoint is only read."""
        return contextlib.nullcontext() if self.claim is None else self.claim.naming_the_newer_run()

    def settle(self) -> None:
        """Make durable what was read so far: to be called before anything is written.

        A run that died, or is superseded, between making a file of a log and syncing its folder
        leaves an entry that can be seen, but that a loss of power takes back, after later ones that
        build on it.
        """
        folders = [self.root, self.root / "offsets", self.root / "commits"]
        sources = self.root / "sources"
        with failing(self.root):
            for folder in [*folders, *(sources / name for name in sources.names())]:
                with contextlib.suppress(FileNotFoundError):
                    folder.sync()

    def release(self) -> None:
        """Let another run have the checkpoint."""
        if self.claim is not None:
            self.claim.release()

    @property
    def guarded(self) -> Location:
        """The directory to write into, while the claim holds."""
        return replace(self.root, guard=self.claim)

    @property
    def state_directory(self) -> Location:
        return self.root / "state"

    def source_directory(self, index: int) -> Location:
        """Where the source at this place in the plan keeps its log."""
        return self.guarded / "sources" / str(index)

    def offsets(self, batch_id: int) -> OffsetSeq | None:
        """What the offset log holds for a batch."""
        lines = self.offset_log.read(batch_id)
        if lines is None:
            return None
        path = self.offset_log.path(batch_id)
        if not lines:
            raise corrupt(path, "its lines are missing")
        metadata = _parse(OffsetMetadata, lines[0], path)
        return OffsetSeq(metadata=metadata, offsets=tuple(_offset(t, path) for t in lines[1:]))

    def add_offsets(self, batch_id: int, seq: OffsetSeq) -> None:
        """Write a batch's offsets before it runs."""
        lines = [seq.metadata.model_dump_json()]
        lines += [NO_OFFSET if o is None else compact_json(o) for o in seq.offsets]
        self.offset_log.write(batch_id, lines)

    def commit(self, batch_id: int) -> CommitMetadata | None:
        """What the commit log holds for a batch."""
        lines = self.commit_log.read(batch_id)
        if lines is None:
            return None
        return _parse(CommitMetadata, "\n".join(lines), self.commit_log.path(batch_id))

    def add_commit(self, batch_id: int, metadata: CommitMetadata) -> None:
        """Mark a batch as done."""
        self.commit_log.write(batch_id, [metadata.model_dump_json(exclude_none=True)])

    def purge(self, batch_id: int, kept: int = KEPT_BATCHES) -> None:
        """Forget all but so many batches before this one."""
        if batch_id > kept:
            self.offset_log.purge(batch_id - kept)
            self.commit_log.purge(batch_id - kept)


def _query_id(root: Location) -> str:
    path = root / "metadata"
    try:
        text = read_whole(path).decode(errors="replace")
    except FileNotFoundError:
        if BatchLog(root / "offsets").ids():
            raise corrupt(path, "it is missing, though there are offsets") from None
        query_id = str(uuid4())
        write_new(path, json.dumps({"id": query_id}, separators=(",", ":")).encode())
        return query_id
    return _parse(QueryMetadata, text, path).id


def compact_json(value: object) -> str:
    """JSON as Spark writes it: no blanks."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _offset(text: str, path: Location) -> Offset | None:
    if text == NO_OFFSET:
        return None
    try:
        return json.loads(text)  # type: ignore[no-any-return]
    except ValueError:
        raise corrupt(path, f"'{text[:80]}' is no JSON") from None


def other_query(message: str) -> RuntimeFailure:
    """The error for a checkpoint that says of its sources what does not fit the query's."""
    return RuntimeFailure(
        "STATEPLAN_CHECKPOINT_OTHER_QUERY",
        message,
        hint="Give the query the checkpoint it started with, or a new directory.",
    )
