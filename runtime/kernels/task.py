"""Run one kernel as one task: read the batch, check its place, run, write, report.

The driver learns from the report alone which files count.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..state import Place, RunStore, StateVersion, Writes
from ..state.rows import Int32, Int64, columns_of, concat
from ..state.version import task_of
from .kernel import Decision, Input, Kernel
from .reports import META, TaskReport
from .scans.dealt_rows import SCHEMA, Forwarding, received
from .scans.early_groups import EarlyGroups
from .scans.placed_rows import PlacedRows, as_groups
from .scans.scan import Scan, SeenTimes, scan_rows
from .windows import Windows, packed, parted

SLICE = 65_536


@dataclass(frozen=True)
class TaskSpec:
    """What every task of an operator gets.

    Attributes:
        name: the operator, for messages.
        kernel: what to run.
        location: the operator's state directory.
        base: the version of the state to start from.
        tasks: how many tasks there are.
        attempt: unique among all attempts at all batches.
        windows, emitted: the columns of the kernel's input and output that travel in parts.
        names: of the columns that travel from the kernel.
        scans: the files that the task reads; none: its rows are handed to it.
        dealt: how many scans and other kernels' rows other tasks deal out to it, packed.
        origins: whether the kernel asks where rows that were read or dealt out come from.
        forwarding: deals the kernel's rows out to the tasks of another; None: they are emitted.
    """

    name: str
    kernel: Kernel
    location: Place
    base: StateVersion
    tasks: int
    attempt: str
    windows: Windows = field(default_factory=dict)
    emitted: Windows = field(default_factory=dict)
    names: tuple[str, ...] = ()
    scans: tuple[Scan, ...] = ()
    dealt: int = 0
    origins: bool = False
    forwarding: Forwarding | None = None

    @property
    def travelling(self) -> Any:
        """The Arrow schema of the columns that travel from the kernel."""
        none = [pa.array([], field.type) for field in self.kernel.output]
        types = [column.type for column in parted(none, self.emitted)]
        return pa.schema(list(zip(self.names, types, strict=True)))

    @property
    def sent(self) -> Any:
        """The Arrow schema of what the tasks give."""
        return self.travelling if self.forwarding is None else SCHEMA


def run_task(
    spec: TaskSpec,
    task: int,
    batches: Iterator[Any],
    send: Callable[[str], None] | None = None,
) -> Iterator[Any]:
    """Run a kernel over one task's rows.

    Args:
        spec: what to run.
        task: the number of the partition.
        batches: record batches with a row's place, its hash, and the columns that travel to the
            kernel; or packed rows; for scans there is one row, the number of the task.
        send: takes the task's report once all rows have gone; None: it is their last row.

    Yields:
        record batches of the kernel's output, or packed rows for another one; with the column META
        unless `send` is there.

    Raises:
        StateError: the state cannot be read or written.
        RuntimeError: a row lies in another task than its store.
        SourceError: a file that the task reads cannot be read.
    """
    seen: tuple[SeenTimes, ...] = ()
    if spec.dealt:
        placed, seen = received(batches, spec.dealt)
        spec, rows = arrived_input(spec, EarlyGroups.of(spec.kernel, spec.windows), placed)
    elif not spec.scans:
        rows = _read(spec, batches)
    else:
        (task,) = (int(number) for batch in batches for number in batch.column(0).to_numpy())
        early = EarlyGroups.of(spec.kernel, spec.windows)
        found = [scan_rows(scan, spec.tasks, task, early) for scan in spec.scans]
        seen = tuple(times for _, times in found)
        spec, rows = arrived_input(spec, early, [part for parts, _ in found for part in parts])
    # The state is written while Spark takes the rows in; nothing counts until the report.
    with ThreadPoolExecutor(1) as writer:
        started = start_task(spec, task, rows, writer)
        given = emitted_batches(spec, started.output)
        if spec.forwarding is not None:
            given = spec.forwarding.packed(given, task)
        if send is None:
            given = (_with_meta(batch, pa.nulls(batch.num_rows, pa.string())) for batch in given)
        yield from given
        report = replace(started.report.result(), seen=seen)
        if send is None:
            yield _report_row(spec, report)
        else:
            send(report.to_json())


def open_stores(spec: TaskSpec, task: int) -> dict[str, RunStore]:
    """What a task has of the operator's state, by part."""
    # A task that is run again must not write over what an earlier run of it reported.
    attempt = f"{spec.attempt}-{time.time_ns():x}"
    return {
        part: RunStore(spec.location, spec.base, layout, spec.tasks, task, attempt, part)
        for part, layout in spec.kernel.layouts.items()
    }


@dataclass(frozen=True)
class StartedTask:
    """A task whose kernel has run, and whose state is being written.

    Attributes:
        output: the batches that it emits.
        report: the task's report, once its state is written.
    """

    output: Sequence[Any]
    report: Future[TaskReport]


def start_task(spec: TaskSpec, task: int, rows: Input, writers: Executor) -> StartedTask:
    """Run a kernel over a task's rows; let a writer write what it changes.

    Raises:
        StateError: the state cannot be read.
        RuntimeError: a row lies in another task than its store.
    """
    _check_places(spec, task, rows)
    stores, started = open_stores(spec, task), time.perf_counter()
    decision = spec.kernel.decide(rows, stores)
    took = time.perf_counter() - started
    report = writers.submit(_commit, spec, task, stores, decision, took)
    return StartedTask(decision.output, report)


def carry_out(spec: TaskSpec, task: int, rows: Input) -> TaskReport:
    """Run a kernel over a task's rows, and write what it changes; its rows are dropped.

    Raises:
        StateError: the state cannot be read or written.
    """
    with ThreadPoolExecutor(1) as writer:
        return start_task(spec, task, rows, writer).report.result()


def _commit(
    spec: TaskSpec, task: int, stores: Mapping[str, RunStore], decision: Decision, seconds: float
) -> TaskReport:
    """Write what a kernel decided in so many seconds."""
    started = time.perf_counter()
    evictions = spec.kernel.evictions
    writes = [
        stores[part].commit(changes.rows, evictions[part], changes.touched)
        for part, changes in decision.changes.items()
    ]
    took = time.perf_counter() - started
    times = (round(1000 * seconds), round(1000 * took))
    written = tuple(run for one in writes for run in one.written)
    absorbed = tuple(file for one in writes for file in one.absorbed)
    metrics = sum((store.metrics for store in stores.values()), Counter[str]())
    all_writes = Writes(spec.tasks, task, written, absorbed)
    return TaskReport(all_writes, decision.figures, *times, dict(metrics))


def _read(spec: TaskSpec, batches: Iterator[Any]) -> Input:
    parts = [batch for batch in batches if batch.num_rows]
    numbers = [batch.column(0).to_numpy() for batch in parts]
    places, origins = _placed(np.concatenate(numbers or [np.empty(0, np.int32)]))
    hashes = [batch.column(1).to_numpy() for batch in parts]
    rows = kernel_rows(spec, [columns_behind(batch, 2) for batch in parts])
    return Input(np.concatenate(hashes or [np.empty(0, np.int64)]), places, rows, origins)


def arrived_input(
    spec: TaskSpec, early: EarlyGroups | None, placed: Sequence[PlacedRows]
) -> tuple[TaskSpec, Input]:
    """The rows that a task has read itself, or that have been dealt out to it; what takes them.

    Args:
        spec: the task.
        early: what has grouped some of the rows, if any are groups.
        placed: the rows.
    """
    if early is not None and any(part.grouped for part in placed):
        spec = replace(spec, kernel=early.kernel_of_groups())
        placed = as_groups(early, placed)
    counts = [len(rows.places) for rows in placed]
    origins = np.repeat(np.array([rows.origin for rows in placed], np.int32), counts)
    return spec, Input(
        np.concatenate([np.empty(0, np.int64), *(rows.hashes for rows in placed)]),
        np.concatenate([np.empty(0, np.int32), *(rows.places for rows in placed)]),
        kernel_rows(spec, [rows.columns for rows in placed]),
        origins if spec.origins else None,
    )


def columns_behind(batch: Any, count: int) -> Any:
    """A batch without its first columns."""
    schema = pa.schema([batch.schema.field(i) for i in range(count, batch.num_columns)])
    return columns_of(batch.columns[count:], schema, batch.num_rows)


def kernel_rows(spec: TaskSpec, batches: Sequence[Any]) -> Any:
    """Rows as they have travelled, as one record batch of the kernel's input."""
    schema = spec.kernel.input
    if not batches:
        return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
    return concat([_typed(batch, schema, spec.windows) for batch in batches])


def _placed(numbers: Int32 | Int64) -> tuple[Int32, Int32 | None]:
    """The places of rows, and the partitions that they come from: in long numbers behind them."""
    if numbers.dtype != np.int64:
        return numbers.astype(np.int32, copy=False), None
    return (numbers >> 32).astype(np.int32), numbers.astype(np.int32)


def _typed(batch: Any, schema: Any, windows: Windows) -> Any:
    """Columns under the kernel's types: zone and nullability change on their way."""
    if not batch.num_columns:
        return columns_of([], schema, batch.num_rows)
    return columns_of(list(packed(batch.columns, schema, windows)), schema, batch.num_rows)


def _check_places(spec: TaskSpec, task: int, rows: Input) -> None:
    astray = np.flatnonzero(task_of(rows.places, spec.tasks) != task)
    if len(astray):
        store = int(rows.places[astray[0]]) % spec.base.stores
        raise RuntimeError(
            f"[STATEPLAN_INTERNAL] {spec.name}: a row of store {store} came to task "
            f"{task} of {spec.tasks}; the rows were not exchanged by the operator's keys."
        )


def emitted_batches(spec: TaskSpec, output: Sequence[Any]) -> Iterator[Any]:
    """A kernel's rows as they travel."""
    slices = (b.slice(start, SLICE) for b in output for start in range(0, b.num_rows, SLICE))
    for part in slices:
        columns = list(parted(part.columns, spec.emitted))
        yield columns_of(columns, spec.travelling, part.num_rows)


def _report_row(spec: TaskSpec, report: TaskReport) -> Any:
    """The last row: the task's report."""
    schema = spec.sent
    last = columns_of([pa.nulls(1, field.type) for field in schema], schema, 1)
    text = pa.array([f"{report.writes.task}:{report.to_json()}"], pa.string())
    return _with_meta(last, text)


def _with_meta(batch: Any, meta: Any) -> Any:
    names = [*batch.schema.names, META]
    return pa.RecordBatch.from_arrays([*batch.columns, meta], names=names)
