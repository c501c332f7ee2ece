"""Kernels run beside the engine: rows as they arrive, and a thread a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from os import cpu_count
from typing import Any

from ..kernels.kernel import Input
from ..kernels.reports import TaskReport
from ..kernels.scans.early_groups import EarlyGroups
from ..kernels.scans.parquet_files import ScanFile
from ..kernels.scans.placed_rows import KeysOf, PlacedRows, placed
from ..kernels.scans.row_order import in_chunks
from ..kernels.scans.scan import Chunk, Scan, SeenTimes, scan_part
from ..kernels.task import (
    StartedTask,
    TaskSpec,
    arrived_input,
    emitted_batches,
    open_stores,
    start_task,
)
from .embedded_processes import TaskProcesses
from .engine import Reports
from .placing import Placing

Dealt = list[list[PlacedRows]]
"""Rows by task."""


class ArrivedRows:
    """The rows of a kernel, dealt out to its tasks as they arrive; grouped, if that leaves few."""

    def __init__(self, spec: TaskSpec, placing: Placing | None) -> None:
        self._spec = spec
        self._placing = placing
        self._early = EarlyGroups.of(spec.kernel, spec.windows)
        self._parts: list[list[PlacedRows]] = [[] for _ in range(spec.tasks)]
        self.seen: list[SeenTimes] = []

    def dealt(self, batches: Iterable[Any]) -> list[Dealt]:
        """A partition's rows by task, chunk by chunk."""
        found = []
        for batch in batches if self._early is None else in_chunks(batches):
            if not batch.num_rows:
                continue
            keys = self._keys_in(batch)
            rows = placed(self._early, list(batch.columns), batch.num_rows, keys, origin=0)
            found.append(self._by_task(rows))
        return found

    def take(self, partitions: Iterable[list[Dealt]]) -> None:
        """Take in what `dealt` makes of partitions."""
        for chunks in partitions:
            for chunk in chunks:
                self._keep(chunk)

    def scan(self, scans: Sequence[Scan]) -> None:
        """Read files, several parts at a time."""
        units = [
            (number, file, part)
            for number, scan in enumerate(scans)
            for file in scan.files
            for part in scan.reader.parts(file)
        ]
        self.seen = [SeenTimes() for _ in scans]

        def read(unit: tuple[int, ScanFile, Any]) -> list[tuple[int, Dealt, SeenTimes]]:
            number, file, part = unit
            chunks = scan_part(scans[number], file, part, self._early)
            return [(number, self._scanned(chunk), chunk.seen) for chunk in chunks]

        with ThreadPoolExecutor(cpu_count() or 1) as pool:
            for chunks in pool.map(read, units):
                for number, parts, seen in chunks:
                    self.seen[number] = self.seen[number].with_seen(seen)
                    self._keep(parts)

    def _scanned(self, chunk: Chunk) -> Dealt:
        return self._by_task(chunk.placed(self._early) if chunk.count else None)

    def _keys_in(self, batch: Any) -> KeysOf:
        def keys(rows: Any) -> list[Any] | None:
            if self._placing is None:
                return None
            return self._placing(batch if rows is None else batch.take(rows))

        return keys

    def _by_task(self, rows: PlacedRows | None) -> Dealt:
        tasks = self._spec.tasks
        return [[] for _ in range(tasks)] if rows is None else list(rows.by_task(tasks))

    def _keep(self, parts: Dealt) -> None:
        for task, own in enumerate(parts):
            self._parts[task] += own

    def of_task(self, task: int) -> tuple[TaskSpec, Input]:
        """All rows of a task, and what takes them."""
        parts, self._parts[task] = self._parts[task], []
        return arrived_input(self._spec, self._early, parts)


def run_without_state(spec: TaskSpec, arrived: ArrivedRows) -> list[list[Any]]:
    """Run all tasks of a kernel that has no state; what each of them emits."""
    outputs = []
    for task in range(spec.tasks):
        own, rows = arrived.of_task(task)
        decision = own.kernel.decide(rows, open_stores(own, task))
        outputs.append(list(emitted_batches(spec, decision.output)))
    return outputs


class RunningTasks(Reports):
    """A kernel's tasks; state is written while the engine takes the rows.

    Args:
        spec: what to run.
        processes: what runs tasks that are not to run in this process.
    """

    def __init__(self, spec: TaskSpec, processes: TaskProcesses) -> None:
        self._spec, self._processes = spec, processes
        self._reports: list[Future[TaskReport]] = []
        self._seen: tuple[SeenTimes, ...] = ()

    def run(self, arrived: ArrivedRows) -> list[list[Any]]:
        """Run all tasks; what each of them emits."""
        spec, cores = self._spec, cpu_count() or 1
        self._seen = tuple(arrived.seen)

        def run_task(task: int) -> StartedTask:
            own, rows = arrived.of_task(task)
            elsewhere = self._processes.start(own, task, rows)
            return elsewhere or start_task(own, task, rows, writers)

        writers = ThreadPoolExecutor(cores)
        with ThreadPoolExecutor(min(spec.tasks, cores)) as pool:
            started = list(pool.map(run_task, range(spec.tasks)))
        writers.shutdown(wait=False)
        self._reports = [one.report for one in started]
        return [list(emitted_batches(self._spec, one.output)) for one in started]

    def texts(self, deadline: float) -> tuple[list[str], int] | None:
        reports = [report.result() for report in self._reports]
        # The tasks have read files together: one report has what all of them saw.
        nothing = tuple(SeenTimes() for _ in self._seen)
        texts = [replace(r, seen=nothing if i else self._seen) for i, r in enumerate(reports)]
        return [text.to_json() for text in texts], len(texts)
