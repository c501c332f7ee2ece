"""Run one kernel as one task: read the batch, check its place, run, write, report.

The driver learns from the report alone which files count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..state import Place, RunStore, StateVersion
from ..state.rows import Int32, Int64, columns_of, concat
from ..state.version import task_of
from .kernel import Input, Kernel, Outcome
from .reports import META, TaskReport
from .scan import Scan, SeenTimes, scan_rows
from .windows import Windows, packed, parted

PLACE, HASH, ORIGIN = "__place", "__hash", "__origin"
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
        scan: the files that the task reads; None: its rows are handed to it.
    """

    name: str
    kernel: Kernel
    location: Place
    base: StateVersion
    tasks: int
    attempt: str
    windows: Windows = field(default_factory=dict)
    emitted: Windows = field(default_factory=dict)
    scan: Scan | None = None


def run_task(
    spec: TaskSpec,
    task: int,
    batches: Iterator[Any],
    tell: Callable[[str], None] | None = None,
) -> Iterator[Any]:
    """Run a kernel over one task's rows.

    Args:
        spec: what to run.
        task: the number of the partition.
        batches: record batches with the columns PLACE, HASH and those of the kernel's input; for
            a scan there is one row, the number of the task.
        tell: takes the task's report once all rows have gone; None: it is their last row.

    Yields:
        record batches of the kernel's output; with the column META unless `tell` is there.

    Raises:
        StateError: the state cannot be read or written.
        RuntimeError: a row lies in another task than its store.
        SourceError: a file that the task reads cannot be read.
    """
    seen = SeenTimes()
    if spec.scan is None:
        rows = _read(spec.kernel.input, batches, spec.windows)
        _check_places(spec, task, rows)
    else:
        (task,) = (int(number) for batch in batches for number in batch.column(0).to_numpy())
        rows, seen = scan_rows(spec.scan, spec.tasks, task, spec.kernel.input, spec.windows)
    store, started = open_store(spec, task), time.perf_counter()
    outcome = spec.kernel.run(rows, store)
    updated = time.perf_counter()
    # The state is written while Spark takes the rows in; nothing counts until the report.
    with ThreadPoolExecutor(1) as pool:
        report = pool.submit(_commit, spec, store, outcome, updated - started)
        yield from _emit(spec.kernel.output, outcome.output, spec.emitted, told=tell is None)
        told = replace(report.result(), seen=seen)
        if tell is None:
            yield _told(spec.kernel.output, told, spec.emitted)
        else:
            tell(told.to_json())


def open_store(spec: TaskSpec, task: int) -> RunStore:
    """A task's part of the operator's state."""
    # A task that is run again must not write over what an earlier run of it reported.
    attempt = f"{spec.attempt}-{time.time_ns():x}"
    return RunStore(spec.location, spec.base, spec.kernel.layout, spec.tasks, task, attempt)


def carry_out(spec: TaskSpec, task: int, rows: Input) -> tuple[Outcome, TaskReport]:
    """Run a kernel over a task's rows, and write what it changes.

    Raises:
        StateError: the state cannot be read or written.
    """
    store, started = open_store(spec, task), time.perf_counter()
    outcome = spec.kernel.run(rows, store)
    return outcome, _commit(spec, store, outcome, time.perf_counter() - started)


def _commit(spec: TaskSpec, store: RunStore, outcome: Outcome, seconds: float) -> TaskReport:
    """Write what a kernel decided in so many seconds."""
    started = time.perf_counter()
    writes = store.commit(outcome.changes, spec.kernel.evicts, outcome.touched)
    took = time.perf_counter() - started
    times = (round(1000 * seconds), round(1000 * took))
    return TaskReport(writes, outcome.figures, *times, dict(store.metrics))


def _read(schema: Any, batches: Iterator[Any], windows: Windows) -> Input:
    parts = [batch for batch in batches if batch.num_rows]
    if not parts:
        empty = [pa.array([], field.type) for field in schema]
        none = pa.RecordBatch.from_arrays(empty, schema=schema)
        return Input(np.empty(0, np.int64), np.empty(0, np.int32), none)
    places, origins = _placed(np.concatenate([batch.column(0).to_numpy() for batch in parts]))
    hashes = np.concatenate([batch.column(1).to_numpy() for batch in parts])
    rows = concat([_typed(batch, schema, windows) for batch in parts])
    return Input(hashes, places, rows, origins)


def _placed(numbers: Int32 | Int64) -> tuple[Int32, Int32 | None]:
    """The places of rows, and the partitions that they come from: in long numbers behind them."""
    if numbers.dtype != np.int64:
        return numbers.astype(np.int32, copy=False), None
    return (numbers >> 32).astype(np.int32), numbers.astype(np.int32)


def _typed(batch: Any, schema: Any, windows: Windows) -> Any:
    """The columns behind PLACE and HASH under the kernel's types: zone and nullability change."""
    columns = batch.columns[2:]
    if not columns:
        return columns_of([], schema, batch.num_rows)
    return pa.RecordBatch.from_arrays(list(packed(columns, schema, windows)), schema=schema)


def _check_places(spec: TaskSpec, task: int, rows: Input) -> None:
    astray = np.flatnonzero(task_of(rows.places, spec.tasks) != task)
    if len(astray):
        store = int(rows.places[astray[0]]) % spec.base.stores
        raise RuntimeError(
            f"[STATEPLAN_INTERNAL] {spec.name}: a row of store {store} came to task "
            f"{task} of {spec.tasks}; the rows were not exchanged by the operator's keys."
        )


def _emit(schema: Any, output: Any, windows: Windows, *, told: bool) -> Iterator[Any]:
    for start in range(0, output.num_rows, SLICE):
        part = output.slice(start, SLICE)
        columns = dict(parted(part.columns, schema, windows))
        if told:
            columns[META] = pa.nulls(part.num_rows, pa.string())
        yield pa.RecordBatch.from_pydict(columns)


def _told(schema: Any, report: TaskReport, windows: Windows) -> Any:
    """The last row: the task's report."""
    last = [pa.nulls(1, field.type) for field in schema]
    columns = dict(parted(last, schema, windows))
    columns[META] = pa.array([f"{report.writes.task}:{report.to_json()}"], pa.string())
    return pa.RecordBatch.from_pydict(columns)
