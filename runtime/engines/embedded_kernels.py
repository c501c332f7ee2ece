"""Kernels run in this process: rows as they arrive, and a thread a task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from os import cpu_count
from typing import Any

import numpy as np
import pyarrow as pa

from ..kernels.early_groups import EarlyGroups
from ..kernels.hashing import places_and_hashes
from ..kernels.kernel import Input, concat
from ..kernels.reports import TaskReport
from ..kernels.scan import (
    CHUNK,
    Chunk,
    Scan,
    ScanFile,
    ScannedRows,
    SeenTimes,
    batch_of,
    row_groups,
    scan_part,
)
from ..kernels.task import StartedTask, TaskSpec, arrived_input, emitted_batches, start_task
from .engine import Reports
from .placing import Placing

Dealt = list[list[ScannedRows]]
"""Rows by task."""


class KeptRows:
    """Rows as they came."""

    def __init__(self) -> None:
        self.batches: list[Any] = []

    def take(self, batches: Iterable[Any]) -> None:
        """Take in a partition."""
        self.batches += list(batches)


class ArrivedRows:
    """The rows of a kernel, dealt out to its tasks as they arrive; grouped, if that leaves few."""

    def __init__(self, spec: TaskSpec, placing: Placing | None) -> None:
        self._spec = spec
        self._placing = placing
        self._early = EarlyGroups.of(spec)
        self._parts: list[list[ScannedRows]] = [[] for _ in range(spec.tasks)]
        self.seen = SeenTimes()

    def take(self, batches: Iterable[Any]) -> None:
        """Take in a partition that the engine has computed."""
        for batch in batches if self._early is None else _in_chunks(batches):
            if not batch.num_rows:
                continue
            first, columns, count = self._grouped(list(batch.columns), batch.num_rows)
            heads = batch if first is None else batch.take(first)
            keys = None if self._placing is None else self._placing(heads)
            self._keep(_dealt(keys, columns, count, first is not None, self._spec.tasks))

    def scan(self, scan: Scan) -> None:
        """Read files, several row groups at a time."""
        units = [(file, part) for file in scan.files for part in range(row_groups(file))]

        def read(unit: tuple[ScanFile, int]) -> list[tuple[Dealt, SeenTimes]]:
            return [(self._scanned(chunk), chunk.seen) for chunk in scan_part(scan, *unit)]

        with ThreadPoolExecutor(cpu_count() or 1) as pool:
            for chunks in pool.map(read, units):
                for parts, seen in chunks:
                    self.seen = self.seen.with_seen(seen)
                    self._keep(parts)

    def _scanned(self, chunk: Chunk) -> Dealt:
        first, columns, count = self._grouped(chunk.columns, chunk.count)
        keys = chunk.keys if first is None else [key.take(first) for key in chunk.keys]
        return _dealt(keys, columns, count, first is not None, self._spec.tasks, chunk.origin)

    def _grouped(self, columns: list[Any], count: int) -> tuple[Any, list[Any], int]:
        """Where the first row of each group is, the groups' columns, and how many they are.

        The rows themselves, and no positions, where their groups would not be few.
        """
        groups = None if self._early is None else self._early.group(columns, count)
        if groups is None:
            return None, columns, count
        first, columns = groups
        return pa.array(first), columns, len(first)

    def _keep(self, parts: Dealt) -> None:
        for task, own in enumerate(parts):
            self._parts[task] += own

    def of_task(self, task: int) -> tuple[TaskSpec, Input]:
        """All rows of a task, and what takes them."""
        parts, self._parts[task] = self._parts[task], []
        spec, early = self._spec, self._early
        if early is not None and any(part.grouped for part in parts):
            spec = replace(spec, kernel=early.kernel_of_groups())
            parts = [part if part.grouped else _as_groups(early, part) for part in parts]
        return spec, arrived_input(spec, parts)


def _dealt(
    keys: list[Any] | None,
    columns: list[Any],
    count: int,
    grouped: bool,
    tasks: int,
    origin: int = 0,
) -> Dealt:
    """Rows by task: placed by the hash of their keys, or all in one place."""
    if not count:
        return [[] for _ in range(tasks)]
    if keys is None:
        places, hashes = np.zeros(count, np.int32), np.zeros(count, np.int64)
    else:
        places, hashes = places_and_hashes(keys, count)
    rows = ScannedRows(places, hashes, batch_of(columns, count), origin, grouped)
    return list(rows.by_task(tasks))


def _as_groups(early: EarlyGroups, rows: ScannedRows) -> ScannedRows:
    count = rows.columns.num_rows
    columns = early.singles(rows.columns.columns, count)
    return replace(rows, columns=batch_of(columns, count), grouped=True)


def _in_chunks(batches: Iterable[Any]) -> Iterator[Any]:
    """Rows as they come, in batches of about CHUNK rows."""
    waiting: list[Any] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.num_rows
        if count >= CHUNK:
            yield concat(waiting)
            waiting, count = [], 0
    if waiting:
        yield concat(waiting)


class RunningTasks(Reports):
    """A kernel's tasks in this process; state is written while the engine takes the rows."""

    def __init__(self, spec: TaskSpec) -> None:
        self._spec = spec
        self._reports: list[Future[TaskReport]] = []
        self._seen = SeenTimes()

    def run(self, arrived: ArrivedRows) -> list[list[Any]]:
        """Run all tasks; what each of them emits."""
        spec, cores = self._spec, cpu_count() or 1
        self._seen = arrived.seen

        def run_task(task: int) -> StartedTask:
            own, rows = arrived.of_task(task)
            return start_task(own, task, rows, writers)

        writers = ThreadPoolExecutor(cores)
        with ThreadPoolExecutor(min(spec.tasks, cores)) as pool:
            started = list(pool.map(run_task, range(spec.tasks)))
        writers.shutdown(wait=False)
        self._reports = [one.report for one in started]
        return [list(emitted_batches(self._spec, one.decision.output)) for one in started]

    def texts(self, deadline: float) -> tuple[list[str], int] | None:
        reports = [report.result() for report in self._reports]
        # The tasks have read files together: one report has what all of them saw.
        texts = [replace(r, seen=self._seen if not i else r.seen) for i, r in enumerate(reports)]
        return [text.to_json() for text in texts], len(texts)
