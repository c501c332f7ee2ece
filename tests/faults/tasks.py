"""What goes wrong inside a task of a stateful operator.

The function that Spark's workers run is put into one that fails it. Workers get it by value: they
need not be able to import this package. On the embedded engine a task is a thread of the driver.
"""

from __future__ import annotations

import contextlib
import glob
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from stateplan.runtime.kernels.deduplicate import DeduplicateKernel
from stateplan.runtime.kernels.kernel import Input
from stateplan.runtime.kernels.reports import TaskReport
from stateplan.runtime.kernels.task import StartedTask, TaskSpec, run_task

Moment = Literal["before", "read", "writing", "wrote", "emitting", "emitted"]
MOMENTS: tuple[Moment, ...] = ("before", "read", "writing", "wrote", "emitting", "emitted")
"""At the start; with all rows read; half of its run written; the run written, nothing emitted;
half of its rows emitted; all of them emitted, the report too."""

Tell = Callable[[str], None]
Run = Callable[[Iterator[Any]], Iterator[Any]]
"""The task over the rows that it is given, as it is without a fault."""

What = Literal["worker", "executor", "fail", "twin", "zombie", "slow", "rerun"]
WHATS: tuple[What, ...] = ("worker", "executor", "fail", "twin", "zombie", "slow", "rerun")


@dataclass(frozen=True, kw_only=True)
class TaskFault:
    """What happens once to a task.

    worker: the Python worker gets SIGKILL. executor: its executor does. fail: the task raises.
    twin: another process runs the same attempt at the same time, its rows go nowhere.
    zombie: another process runs the same attempt once a later batch is committed.
    slow: the task sleeps, so that Spark runs it a second time beside the first (speculation).
    rerun: the shuffle files are deleted and the task fails: the stages before run again, and rows
    come in the opposite order, but where the first of a key is taken.

    Attributes:
        batch: the first batch (version that the task starts from) at which it may happen.
        task: the partition; taken modulo the number of tasks.
        moment: when, for worker, executor and fail.
        folder: where marks are kept: a fault happens once in a life.
        commits: the checkpoint's commit log.
    """

    what: What
    batch: int
    task: int
    moment: Moment = "before"
    operator: int = 0
    folder: str
    commits: str
    name: str


@contextlib.contextmanager
def installed(fault: TaskFault | None, *, embedded: bool) -> Iterator[None]:
    """While this lasts, the tasks that this process sends out, or runs itself, have the fault."""
    if fault is None:
        yield
        return
    Path(fault.folder).mkdir(exist_ok=True)
    with _in_threads(fault) if embedded else _in_workers(fault):
        yield


@contextlib.contextmanager
def _in_threads(fault: TaskFault) -> Iterator[None]:
    from stateplan.runtime.engines import embedded_kernels as engine

    kept = engine.start_task

    def start(spec: TaskSpec, task: int, rows: Input, writers: Executor) -> StartedTask:
        if not (_meant(fault, spec, task) and _claim(fault, spec)):
            return kept(spec, task, rows, writers)
        if fault.moment in ("before", "read"):
            _end(fault)
        if fault.moment == "writing":
            _write_half(fault)
        started = kept(spec, task, rows, writers)
        return StartedTask(started.output, writers.submit(_fails_behind, started, fault))

    engine.start_task = start
    try:
        yield
    finally:
        engine.start_task = kept


def _fails_behind(started: StartedTask, fault: TaskFault) -> TaskReport:
    started.report.result()
    _end(fault)
    raise AssertionError


def _meant(fault: TaskFault, spec: TaskSpec, task: int) -> bool:
    return spec.base.version >= fault.batch and task == fault.task % spec.tasks


@contextlib.contextmanager
def _in_workers(fault: TaskFault) -> Iterator[None]:
    from pyspark import cloudpickle

    from stateplan.runtime.engines import spark as engine

    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    kept = engine._task_function
    engine._task_function = lambda spec, tell: _faulty(spec, tell, fault)
    try:
        yield
    finally:
        engine._task_function = kept


def _faulty(
    spec: TaskSpec, tell: Tell | None, fault: TaskFault
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        task = context.partitionId()
        if fault.what == "rerun" and _claimed_at(fault) == spec.base.version and _sums_up(spec):
            # What runs again is another task: the one whose output was lost.
            batches = _reversed(batches)
        if _meant(fault, spec, task) and fault.what in _HAPPENS and _claim(fault, spec):
            whole = partial(run_task, spec, task, send=tell)
            return _HAPPENS[fault.what](whole, spec, batches, fault)
        return run_task(spec, task, batches, tell)

    return run


def _sums_up(spec: TaskSpec) -> bool:
    """Whether what comes out must not depend on the order of rows: the first of a key does."""
    return not isinstance(spec.kernel, DeduplicateKernel)


# ------------------------------------------------------------------------------------------- marks


def _mark(fault: TaskFault, name: str = "done") -> str:
    return os.path.join(fault.folder, f"{fault.name}.{name}")


def _claim(fault: TaskFault, spec: TaskSpec) -> bool:
    """Whether this is the first one to come here, of the operator that is meant."""
    path = str(spec.location)
    operators = sorted(os.listdir(os.path.dirname(os.path.dirname(path))))
    names = [name for name in operators if name.isdigit()]
    mine = path.split("/")[-2]
    if mine != names[fault.operator % len(names)]:
        return False
    hidden = f"{_mark(fault)}.{os.getpid()}"
    Path(hidden).write_text(str(spec.base.version))
    try:
        os.link(hidden, _mark(fault))
    except FileExistsError:
        return False
    return True


def _claimed_at(fault: TaskFault) -> int | None:
    try:
        return int(Path(_mark(fault)).read_text())
    except FileNotFoundError:
        return None


def happened(fault: TaskFault) -> bool:
    """Whether the fault came about."""
    return _claimed_at(fault) is not None


def awaited(mark: Path, limit: float = 40.0) -> bool:
    """Wait until the other process of a zombie has left its mark; whether it has."""
    deadline = time.monotonic() + limit
    while not mark.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# ------------------------------------------------------------------------------------------ faults


def _dies(run: Run, spec: TaskSpec, batches: Iterator[Any], fault: TaskFault) -> Iterator[Any]:
    """The task up to a moment, then its end."""
    if fault.moment == "before":
        _end(fault)
    read = list(batches)
    if fault.moment == "read":
        _end(fault)
    if fault.moment == "writing":
        _write_half(fault)
    made = list(run(iter(read)))
    if fault.moment in ("writing", "wrote"):
        _end(fault)  # also where the task had nothing to write
    count = len(made) if fault.moment == "emitted" else len(made) // 2
    yield from made[:count]
    if fault.moment == "emitted":
        # The rows lie in the pipe: let the JVM have them first.
        time.sleep(0.1)
    _end(fault)


def _end(fault: TaskFault) -> None:
    if fault.what == "fail":
        raise RuntimeError("the task fails here")
    target = os.getpid()
    if fault.what == "executor":
        target = _parent(_parent(target))
        if "CoarseGrainedExecutorBackend" not in _command(target):
            raise RuntimeError(f"process {target} is no executor: {_command(target)[:200]}")
    os.kill(target, signal.SIGKILL)
    time.sleep(60)  # the signal comes first


def _write_half(fault: TaskFault) -> None:
    """From now on this worker dies in the middle of the next run that it writes."""
    from stateplan.runtime.state import store

    write = store.write_run

    def half(location: Any, file: str, *args: Any) -> Any:
        try:
            info = write(location, file, *args)
        finally:
            store.write_run = write
        path = os.path.join(str(location), file)
        os.truncate(path, os.path.getsize(path) // 2)
        _end(fault)
        return info

    store.write_run = half


def _twin(run: Run, spec: TaskSpec, batches: Iterator[Any], fault: TaskFault) -> Iterator[Any]:
    read = list(batches)
    other = os.fork()
    if other == 0:
        _alone(run, read, fault)
    made = list(run(iter(read)))
    os.waitpid(other, 0)
    return iter(made)


def _zombie(run: Run, spec: TaskSpec, batches: Iterator[Any], fault: TaskFault) -> Iterator[Any]:
    read = list(batches)
    if os.fork() == 0:
        # Twice: nobody waits for the second one, which outlives this worker.
        if os.fork():
            os._exit(0)
        deadline = time.monotonic() + 30
        later = os.path.join(fault.commits, str(spec.base.version + 1))
        while not os.path.exists(later) and time.monotonic() < deadline:
            time.sleep(0.02)
        _alone(run, read, fault)
    return run(iter(read))


def _alone(run: Run, read: list[Any], fault: TaskFault) -> None:
    """The same attempt in a process that only writes."""
    outcome = "failed"
    try:
        list(run(iter(read)))
        outcome = "wrote"
    finally:
        with open(_mark(fault, "ended"), "w") as file:
            file.write(outcome)
        os._exit(0)


def _slow(run: Run, spec: TaskSpec, batches: Iterator[Any], fault: TaskFault) -> Iterator[Any]:
    read = list(batches)
    if fault.moment in ("before", "read"):
        time.sleep(4)
        return run(iter(read))
    made = list(run(iter(read)))
    time.sleep(4)
    return iter(made)


def _rerun(run: Run, spec: TaskSpec, batches: Iterator[Any], fault: TaskFault) -> Iterator[Any]:
    folders = os.environ.get("SPARK_LOCAL_DIRS") or _local_folder(fault)
    for path in glob.glob(f"{folders}/**/shuffle_*.data", recursive=True):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    raise RuntimeError("the task fails here, and what it has to read is gone")


def _local_folder(fault: TaskFault) -> str:
    return Path(_mark(fault, "local")).read_text()


def expect_rerun(fault: TaskFault, local_folder: str) -> None:
    """Tell the task where shuffles write."""
    Path(fault.folder).mkdir(exist_ok=True)
    Path(_mark(fault, "local")).write_text(local_folder)


def _reversed(batches: Iterator[Any]) -> Iterator[Any]:
    """All rows in the opposite order: another, equally possible, order of arrival."""
    import numpy as np
    import pyarrow as pa

    for batch in reversed(list(batches)):
        if batch.num_columns and batch.num_rows:
            yield batch.take(pa.array(np.arange(batch.num_rows)[::-1]))
        else:
            yield batch


def _parent(process: int) -> int:
    with open(f"/proc/{process}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def _command(process: int) -> str:
    with open(f"/proc/{process}/cmdline") as file:
        return file.read().replace("\0", " ")


_HAPPENS: dict[str, Callable[..., Iterator[Any]]] = {
    "worker": _dies,
    "executor": _dies,
    "fail": _dies,
    "twin": _twin,
    "zombie": _zombie,
    "slow": _slow,
    "rerun": _rerun,
}
