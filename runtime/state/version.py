"""Versions of an operator's state: which runs make it up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from .rows import Int32, Int64, Mask


@dataclass(frozen=True)
class RunInfo:
    """One immutable run of state rows, sorted by hash.

    Attributes:
        file: its name in the operator's directory.
        sequence: the version that wrote it; a key's newest run holds all its rows.
        rows, size: row count, and bytes of the file.
        tasks, task: it holds places `p` with `pmod(p, tasks) == task`. A store is
            `pmod(p, stores)`: a task need not have whole stores.
        low, high: the least and the greatest event time in it, microseconds.
        evicted: rows with an event time at or below it are gone.
        taken: pairs (tasks, task) whose places are no longer read from here.
        check: the CRC-32 of the checksums at the end of the file.
        part: which part of the operator's state it belongs to; most operators have one, "".
    """

    file: str
    sequence: int
    rows: int
    size: int
    tasks: int
    task: int
    low: int
    high: int
    evicted: int | None = None
    taken: tuple[tuple[int, int], ...] = ()
    check: int = 0
    part: str = ""

    @property
    def empty(self) -> bool:
        """Whether the watermark has passed every row."""
        return self.evicted is not None and self.high <= self.evicted

    def skipped_by(self, watermark: int) -> bool:
        """Whether a watermark passes no row here that it had not passed before."""
        return self.low > watermark or (self.evicted is not None and self.evicted >= watermark)

    def spans(self, times: Int64) -> Mask:
        """Which event times lie between those of the rows."""
        within: Mask = (times >= self.low) & (times <= self.high)
        return within

    def owned(self, places: Int32, tasks: int, task: int) -> Mask:
        """Which rows, by their place, a task of `tasks` reads from this run."""
        mine: Mask = task_of(places, tasks) == task
        for others, other in self.taken:
            mine &= task_of(places, others) != other
        return mine

    def serves(self, tasks: int, task: int) -> bool:
        """Whether that task may find a row of its own in this run."""
        return len(self._left(tasks, task)) > 0

    def wholly(self, tasks: int, task: int) -> bool:
        """Whether everything in the run is that task's."""
        return not self.taken and self.tasks % tasks == 0 and self.task % tasks == task

    def without(self, tasks: int, task: int) -> RunInfo | None:
        """The run once a task has taken its places out of it; None when nothing is left."""
        left = replace(self, taken=(*self.taken, (tasks, task)))
        return left if len(left._left(1, 0)) else None

    def _left(self, tasks: int, task: int) -> Int64:
        """What the run still holds of a task's places, as residues of all task counts at hand."""
        period = math.lcm(self.tasks, tasks, *(others for others, _ in self.taken))
        places: Int64 = np.arange(self.task, period, self.tasks, dtype=np.int64)
        places = places[places % tasks == task]
        for others, other in self.taken:
            places = places[places % others != other]
        return places


def task_of(places: Int32, tasks: int) -> Int64:
    """The task of each place: `pmod(place, tasks)`."""
    if tasks & (tasks - 1) == 0:  # a tenth of the time of a division
        return (places & np.int32(tasks - 1)).astype(np.int64)
    found: Int64 = np.mod(places.astype(np.int64), tasks)
    return found


@dataclass(frozen=True)
class Writes:
    """What one task wrote in one batch."""

    tasks: int
    task: int
    written: tuple[RunInfo, ...] = ()
    absorbed: tuple[str, ...] = ()


@dataclass(frozen=True)
class StateVersion:
    """One version of one operator's state.

    Attributes:
        version: 0 is the empty state before the first batch.
        stores: the number of logical stores when the version was made; another number needs no
            other files.
        schema: the key and value types of its parts as text, to refuse another query's state.
        total: how many rows the state holds.
        runs: newest first.
        dropped: files no longer in use, with the version that stopped using them; manifests too.
        extra: figures that travel with the state.
        attempt: who made the version: several attempts may have written one of this number, and
            the checkpoint's commit names the one that counts.
    """

    version: int
    stores: int
    schema: str = ""
    total: int = 0
    runs: tuple[RunInfo, ...] = ()
    dropped: tuple[tuple[str, int], ...] = ()
    extra: Mapping[str, int] = field(default_factory=dict)
    attempt: str = ""

    @property
    def size(self) -> int:
        """Bytes of all its runs."""
        return sum(run.size for run in self.runs)

    def runs_for(self, tasks: int, task: int, part: str = "") -> tuple[RunInfo, ...]:
        """The runs of a part that a task has to read, newest first."""
        return tuple(run for run in self.runs if run.part == part and run.serves(tasks, task))

    def next(
        self,
        writes: Iterable[Writes],
        *,
        schema: str,
        added: int,
        evicted: Mapping[str, int | None],
    ) -> StateVersion:
        """The version after a batch in which the tasks wrote this.

        Args:
            writes: one per task.
            schema: the key and value types as text.
            added: by how much the number of rows grew.
            evicted: up to which event time this batch evicted, by part; None if it does not evict.
        """
        runs = {run.file: run for run in self.runs}
        new: list[RunInfo] = []
        for one in writes:
            new.extend(one.written)
            for file in one.absorbed:
                left = runs[file].without(one.tasks, one.task)
                if left is None:
                    del runs[file]
                else:
                    runs[file] = left
        left_over = (_evict(run, evicted.get(run.part)) for run in runs.values())
        kept = [run for run in left_over if not run.empty]
        gone = {run.file for run in self.runs} - {run.file for run in kept}
        if self.version > 0:
            gone.add(manifest_name(self.version, self.attempt))
        return StateVersion(
            version=self.version + 1,
            stores=self.stores,
            schema=schema,
            total=self.total + added,
            runs=tuple(sorted(new + kept, key=lambda r: (-r.sequence, r.task))),
            dropped=self.dropped + tuple((file, self.version + 1) for file in sorted(gone)),
        )

    def due(self, retain: int) -> set[str]:
        """The files that no version needs which is kept: the last `retain` ones up to this one."""
        return {file for file, gone in self.dropped if gone <= self.version - retain + 1}


def _evict(run: RunInfo, evicted: int | None) -> RunInfo:
    if evicted is None or (run.evicted is not None and run.evicted >= evicted):
        return run
    return replace(run, evicted=evicted)


def manifest_name(version: int, attempt: str) -> str:
    """The file of an attempt's version in the operator's directory."""
    return f"v{version:010d}-{attempt}.json"
