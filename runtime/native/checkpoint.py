"""A checkpoint as a query left it, Spark's or ours: its logs, where it goes on, its operators."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...physical.plan import StateStoreWriter
from ...planner.evolution.check import pinned_settings
from ...planner.evolution.reading import read_folder
from ...planner.evolution.stored import StoredCheckpoint
from ...planner.incremental_execution import IncrementalExecution
from ...planner.model.errors import RuntimeFailure
from ...planner.model.settings.pinned import PROVIDER, SHUFFLE_PARTITIONS
from ..checkpoint import STATE_PROVIDER, CommitMetadata, Offset, OffsetMetadata, OffsetSeq
from ..engines.kernels import kernel_of
from ..evolution import CheckpointFolder
from ..files import AnyPath, corrupt, location_of, read_whole, write_new
from ..plan import BatchFacts, runtime_plan
from ..plan.nodes import Kernel
from ..state import Location
from . import joins as joins  # its operator registers itself
from .moved import place_for_spark
from .operators import RunningState, check_converted

HDFS_PROVIDER = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
_VERSIONS = ("v1", "v2")
_ENDING = "The query has to be at rest, with its last batch committed or planned."


@dataclass(frozen=True)
class OtherCheckpoint:
    """A checkpoint that is taken over: nothing in it is changed.

    Attributes:
        root: its directory.
        stored: what its files say.
        settings: those that it pins.
        committed: the last batch that is done.
    """

    root: Location
    stored: StoredCheckpoint
    settings: dict[str, str]
    committed: int

    @classmethod
    def open(cls, place: str, *, verified: bool = True) -> OtherCheckpoint:
        """Open a checkpoint that has a committed batch.

        Args:
            place: the directory.
            verified: whether its files are compared with their checksums: to look at it they need
                not be.

        Raises:
            DescriptionError: there is no checkpoint, or a file of it is not usable.
            RuntimeFailure: no batch is committed.
        """
        root = location_of(place, "the checkpoint")
        stored = read_folder(CheckpointFolder(root, verified), str(root))
        if stored.committed is None or stored.last_batch is None:
            raise RuntimeFailure.of(
                "STDS_COMMITTED_BATCH_UNAVAILABLE",
                checkpointLocation=root,
                hint=f"{_ENDING} A query without a batch starts with a new checkpoint.",
            )
        return cls(root, stored, pinned_settings(stored), stored.committed)

    @property
    def provider(self) -> str:
        """The class that keeps its state."""
        return self.settings.get(PROVIDER, HDFS_PROVIDER)

    @property
    def is_ours(self) -> bool:
        """Whether our runtime wrote it."""
        return self.provider == STATE_PROVIDER

    @cached_property
    def place_for_spark(self) -> str:
        """The directory from which Spark reads its state, as long as this object is there."""
        return place_for_spark(self.root, self)

    @property
    def version(self) -> int:
        """The version of the state after the last batch that is done."""
        return self.committed + 1

    @property
    def stores(self) -> int:
        """How many stores each operator has; Spark 2.1 does not say it, but has all of them."""
        if SHUFFLE_PARTITIONS in self.settings:
            return int(self.settings[SHUFFLE_PARTITIONS])
        folders = [self.root / "state" / str(number) for number in self.stored.operators]
        return max(sum(name.isdigit() for name in f.names()) for f in folders) if folders else 0

    @property
    def planned_batches(self) -> list[int]:
        """The batches that a restart needs: the last one done, the one before, one under way."""
        first = max(self.committed - 1, 0)
        return list(range(first, max(self.committed, self.stored.last_batch or 0) + 1))

    def offsets(self, batch: int) -> OffsetSeq:
        """What the offset log has of a batch, in the form of its version 1.

        Raises:
            RuntimeFailure: the file is missing, or not usable; sources have names of their own.
        """
        path = self.root / "offsets" / str(batch)
        version, lines = _log_lines(path)
        try:
            metadata = OffsetMetadata.model_validate_json(lines[0])
            if version == "v1":
                return OffsetSeq(metadata=metadata, offsets=tuple(map(_offset, lines[1:])))
            named = dict(line.partition(":")[::2] for line in lines[1:] if line)
        except (ValueError, IndexError):
            raise corrupt(path, "it holds no offsets") from None
        if not all(name.isdigit() for name in named):
            raise RuntimeFailure(
                "STATEPLAN_NAMED_SOURCES",
                f"The sources of the checkpoint '{self.root}' have names: "
                f"{', '.join(sorted(named))}.",
                hint="Only checkpoints whose sources go by their places are converted.",
            )
        offsets = tuple(_offset(named[name]) for name in sorted(named, key=int))
        return OffsetSeq(metadata=metadata, offsets=offsets)

    @property
    def last_commit(self) -> CommitMetadata:
        """What the commit log has of the last batch that is done.

        Raises:
            RuntimeFailure: the file is not usable.
        """
        path = self.root / "commits" / str(self.committed)
        try:
            _, lines = _log_lines(path)
            return CommitMetadata.model_validate_json("\n".join(lines) or "{}")
        except FileNotFoundError:
            return CommitMetadata()  # Spark 2.1 has no commits
        except ValueError:
            raise corrupt(path, "it holds no commit") from None

    def planned(self, execution: IncrementalExecution) -> IncrementalExecution:
        """A query as its next batch on this checkpoint has it.

        Raises:
            StateplanError: the query cannot be planned.
        """
        late = self.offsets(self.committed).metadata.batchWatermarkMs
        following = self.committed + 1
        watermark = max(late, self.last_commit.nextBatchWatermarkMs)
        if following in self.planned_batches:
            watermark = self.offsets(following).metadata.batchWatermarkMs
        return IncrementalExecution(
            execution.logical,
            catalog=execution.catalog,
            output_mode=execution.output_mode,
            conf=execution.conf.updated(self.settings),
            checkpoint_location=str(self.root / "state"),
            batch_id=following,
            watermark_late=late,
            watermark_eviction=watermark,
            ids=execution._ids,
            state_names=execution.state_names,
            stored_ids=self.stored.names or {},
        )

    def copy_sources(self, to: Location) -> None:
        """Copy the logs of the sources into a new checkpoint.

        Raises:
            RuntimeFailure: a file cannot be read or written.
        """
        _copy(self.root / "sources", to / "sources")

    @property
    def query_id(self) -> str:
        """The query's id.

        Raises:
            RuntimeFailure: there is none.
        """
        path = self.root / "metadata"
        try:
            return str(json.loads(read_whole(path))["id"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            raise corrupt(path, "it holds no id") from None


def running_states(planned: IncrementalExecution) -> dict[int, RunningState]:
    """The stateful operators of a planned query, with what runs them, by id.

    Raises:
        StateplanError: one cannot be run, or its state is not converted.
    """
    conf, plan = planned.conf, planned.executed_plan
    nodes: dict[int, Kernel] = {}
    for node in runtime_plan(plan, BatchFacts(conf=conf)).nodes:
        if isinstance(node, Kernel) and node.operator is not None:
            nodes[node.operator_id] = node
    found: dict[int, RunningState] = {}
    for operator in plan.collect(StateStoreWriter):
        check_converted(operator)
        assert operator.state_info is not None
        node = nodes[operator.state_info.operator_id]
        found[operator.state_info.operator_id] = RunningState(operator, node, kernel_of(node, conf))
    return dict(sorted(found.items()))


def _log_lines(path: AnyPath) -> tuple[str, list[str]]:
    """The version and the lines of an entry of one of Spark's logs.

    Raises:
        FileNotFoundError: it is not there.
        RuntimeFailure: it is not usable.
    """
    try:
        version, *lines = read_whole(path).decode().split("\n")
    except UnicodeDecodeError:
        raise corrupt(path, "it is no text") from None
    if version not in _VERSIONS:
        raise corrupt(path, f"it starts with '{version[:20]}', not with a version")
    return version, lines


def _offset(text: str) -> Offset | None:
    value: Any = None if text == "-" else json.loads(text)
    return value  # type: ignore[no-any-return]


def _copy(folder: Location, to: Location) -> None:
    for name in folder.names():
        if name.startswith("."):
            continue
        if (folder / name).is_dir():
            _copy(folder / name, to / name)
        else:
            write_new(to / name, read_whole(folder / name))
