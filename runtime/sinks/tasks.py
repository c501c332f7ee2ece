"""Python code that takes a batch's rows: in Spark's tasks, or in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..engines.embedded_session import is_embedded
from ..engines.local_rows import LocalRows
from ..failures import as_in_a_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Work = Callable[[int, Iterator[Any]], Iterator[bytes]]
"""Takes a partition's number and its Arrow batches, and says something to the driver. It travels to
Spark's tasks, where this package may not be: it is a function within a function, which uses
nothing of this package when it is called."""


class _OneTask:
    """The task that `TaskContext.get()` gives user code that runs in this process: partition 0.

    PySpark has one context in a process; queries that run at the same time share it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._running = 0

    def __enter__(self) -> None:
        from pyspark import TaskContext

        with self._lock:
            self._running += 1
            context: Any = TaskContext._getOrCreate()
            context._partitionId = context._attemptNumber = 0
            context._stageId = context._taskAttemptId = 0
            context._cpus, context._localProperties, context._resources = 1, {}, {}

    def __exit__(self, *_: object) -> None:
        from pyspark import TaskContext

        with self._lock:
            self._running -= 1
            if not self._running:
                nothing: Any = None
                TaskContext._setTaskContext(nothing)


_ONE_TASK = _OneTask()


def in_tasks(frame: DataFrame, work: Work) -> list[bytes]:
    """What is reported of the rows of a batch, partition by partition; one action.

    On the embedded engine the rows are one partition of this process.
    """
    if run_here(frame):
        with as_in_a_task(), _ONE_TASK:
            return list(work(0, iter(frame.toArrow().to_batches())))
    return _reported_by_tasks(frame, work)


def counted(frame: DataFrame) -> int:
    """How many rows a batch has, which tasks compute in every column; one action."""

    def work(_: int, batches: Iterator[Any]) -> Iterator[bytes]:
        yield str(sum(batch.num_rows for batch in batches)).encode()

    return sum(map(int, _reported_by_tasks(frame, work)))


def run_here(frame: DataFrame) -> bool:
    """Whether it is this process that takes the rows, not tasks."""
    return isinstance(frame, LocalRows) or is_embedded(frame.sparkSession)


def _reported_by_tasks(frame: DataFrame, work: Work) -> list[bytes]:
    from pyspark.sql.types import BinaryType, StructType

    # The text of a schema would be a question to the engine of its own.
    schema = StructType().add("report", BinaryType())
    reports = frame.mapInArrow(_task(work), schema).toArrow()
    return [bytes(one) for one in reports.column(0).to_pylist()]


def _task(work: Work) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        for report in work(0 if context is None else context.partitionId(), batches):
            yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], ["report"])

    return run
