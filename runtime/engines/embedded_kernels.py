"""Kernels run in this process: rows as they arrive, and a thread a task."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from os import cpu_count
from typing import Any

import numpy as np

from ..kernels.hashing import places_and_hashes
from ..kernels.kernel import Input, Int32, Int64
from ..kernels.reports import TaskReport
from ..kernels.scan import Scan, ScannedRows, SeenTimes, row_groups, scan_part
from ..kernels.task import StartedTask, TaskSpec, arrived_input, emitted_batches, start_task
from .engine import Reports
from .placing import Placing


class KeptRows:
    """Rows as they came."""

    def __init__(self) -> None:
        self.batches: list[Any] = []

    def take(self, batches: Iterable[Any]) -> None:
        """Take in a partition."""
        self.batches += list(batches)


class ArrivedRows:
    """The rows of a kernel, dealt out to its tasks as they arrive."""

    def __init__(self, spec: TaskSpec, placing: Placing | None) -> None:
        self._spec = spec
        self._placing = placing
        self._parts: list[list[ScannedRows]] = [[] for _ in range(spec.tasks)]
        self.seen = SeenTimes()

    def take(self, batches: Iterable[Any]) -> None:
        """Take in a partition that the engine has computed."""
        for batch in batches:
            if batch.num_rows:
                rows = ScannedRows(*self._places(batch), batch, 0)
                for task, own in enumerate(rows.by_task(self._spec.tasks)):
                    self._parts[task] += own

    def _places(self, batch: Any) -> tuple[Int32, Int64]:
        """The place and the hash of each row."""
        count = batch.num_rows
        if self._placing is None:
            return np.zeros(count, np.int32), np.zeros(count, np.int64)
        keys = self._placing(batch)
        return places_and_hashes(keys, count)

    def scan(self, scan: Scan) -> None:
        """Read files, several row groups at a time."""
        tasks = self._spec.tasks
        units = [(file, part) for file in scan.files for part in range(row_groups(file))]
        with ThreadPoolExecutor(cpu_count() or 1) as pool:
            for parts, seen in pool.map(lambda unit: scan_part(scan, unit, tasks), units):
                self.seen = self.seen.with_seen(seen)
                for task, own in enumerate(parts):
                    self._parts[task] += own

    def rows(self, task: int) -> Input:
        """All rows of a task."""
        parts, self._parts[task] = self._parts[task], []
        return arrived_input(self._spec, parts)


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
            return start_task(spec, task, arrived.rows(task), writers)

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
