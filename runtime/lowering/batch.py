"""One lowered batch: its DataFrame, its stateful operators, and the version they make."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...physical.plan import StateStoreWriter
from ...planner.model.errors import InternalError
from ..checkpoint import batches_to_retain
from ..failures import state_failure
from ..frames import spark_schema
from ..kernels.kernel import Kernel
from ..kernels.prompt import prompt
from ..kernels.reports import META
from ..kernels.scan import Scan
from ..kernels.task import HASH, PLACE, TaskSpec, run_task
from ..state import StateError, StateVersion, load_version, save_version
from ..state.storage import Location, located
from ..state.version import delete_attempt, delete_files, delete_orphans
from .columns import Column, carrier_schema
from .context import BatchResults, LoweringContext
from .deferred import deferred
from .probes import PATIENCE, Probe, event_time_probe, event_time_stats
from .reports import task_reports
from .running import KernelOperator, RunningOperator
from .windows import windows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIDY_EVERY = 32  # versions: listing a directory costs more than a small batch


class Batch:
    """A batch being lowered, then run: a `LoweredBatch`.

    Args:
        context: the attempt.
        build: makes the batch's DataFrame, adding operators and watermarks to the batch it gets.
        sampled: the ids of the stateful operators that Spark runs twice, and counts twice.
    """

    def __init__(
        self,
        context: LoweringContext,
        build: Callable[[Batch], DataFrame],
        sampled: Collection[int] = (),
    ) -> None:
        self.context = context
        self._sampled = sampled
        self._build = build
        self._operators: list[RunningOperator] = []
        self._event_times: list[tuple[str, Probe]] = []
        self._observed: dict[str, Probe] = {}
        self._results: BatchResults | None = None
        self._bases: dict[int, StateVersion] = {}
        self.dataframe = build(self)

    # ---------------------------------------------------------------------- while it is lowered

    def observe_event_time(self, frame: DataFrame, column: str, node_id: str) -> DataFrame:
        """Note the event times of the rows that flow through."""
        probe = event_time_probe(column)
        self._event_times.append((node_id, probe))
        return probe.over(frame)

    def observe_metrics(self, frame: DataFrame, name: str, metrics: Mapping[str, str]) -> DataFrame:
        """Note aggregates over the rows that flow through, in SQL by their names."""
        self._observed[name] = Probe(**metrics)
        return self._observed[name].over(frame)

    @property
    def observes_event_times(self) -> bool:
        """Whether something below what is lowered now does."""
        return bool(self._event_times)

    def exchanged(self, frame: DataFrame, *keys: str) -> DataFrame:
        """The rows by their keys, in SQL, in a partition a task; one task needs no exchange."""
        tasks = self.context.tasks
        if tasks == 1:
            return deferred(frame.coalesce(1))
        from pyspark.sql import functions as F

        return deferred(frame.repartition(tasks, *map(F.expr, keys)))

    def gathered(self, frame: DataFrame) -> DataFrame:
        """The rows in one partition if there is one task: grouping them then exchanges nothing."""
        return deferred(frame.coalesce(1)) if self.context.tasks == 1 else frame

    def run_kernel(
        self,
        node: StateStoreWriter,
        frame: DataFrame,
        kernel: Kernel,
        *,
        keys: Sequence[Column],
        columns: Sequence[Column],
        output: Sequence[Column],
        single: bool = False,
        origin: str | None = None,
    ) -> DataFrame:
        """Run a kernel over rows that lie where their stores do.

        Args:
            node: the operator.
            frame: rows exchanged by the keys into `context.tasks` partitions, or into one.
            kernel: what each task runs.
            keys: the columns that place a row; they are also the key whose hash sorts the state.
            columns: the kernel's input.
            output: the kernel's output.
            single: all rows are in one partition and in store 0.
            origin: the column that says which partition a row comes from, if the kernel asks.
        """
        spec = replace(
            self.spec(node, kernel, single),
            windows=windows_of(columns),
            emitted=windows_of(output),
        )
        hashed = ", ".join(sql for key in keys for sql in key.hashed)
        place = "0" if single else f"hash({hashed})"
        if origin is not None:
            place = f"shiftleft(CAST({place} AS BIGINT), 32) | {origin}"
        hash_ = f"xxhash64({hashed})" if keys else "0L"
        sent = (sql for column in columns for sql in column.sent)
        rows = deferred(frame).selectExpr(f"{place} AS {PLACE}", f"{hash_} AS {HASH}", *sent)
        return self._emitted(node, spec, rows, output)

    def run_scan(
        self,
        node: StateStoreWriter,
        scan: Scan,
        kernel: Kernel,
        *,
        columns: Sequence[Column],
        output: Sequence[Column],
        watermark: str | None,
    ) -> DataFrame:
        """Run a kernel over rows that its tasks read from files themselves.

        Args:
            node: the operator.
            scan: what they read.
            kernel: what each task runs.
            columns: the kernel's input.
            output: the kernel's output.
            watermark: the `node_id` of the EventTimeWatermark below, if there is one.
        """
        spec = replace(
            self.spec(node, kernel, False),
            windows=windows_of(columns),
            emitted=windows_of(output),
            scan=scan,
        )
        rows = self.context.spark.range(0, spec.tasks, 1, spec.tasks)
        return self._emitted(node, spec, rows, output, watermark)

    def _emitted(
        self,
        node: StateStoreWriter,
        spec: TaskSpec,
        rows: DataFrame,
        output: Sequence[Column],
        watermark: str | None = None,
    ) -> DataFrame:
        """What the tasks emit over their rows."""
        # Rows without columns would get lost on their way.
        one_action = self.context.one_action and len(output) > 0
        told = task_reports(self.context.spark, spec.tasks, one_action=one_action)
        self._operators.append(KernelOperator(node=node, spec=spec, told=told, watermark=watermark))
        schema = spark_schema(carrier_schema(output))
        if told.tell is None:
            schema = schema.add(META, "string")
        emitted = told.over(rows.mapInArrow(_task_function(spec, told.tell), schema))
        return deferred(emitted).selectExpr(*(c.inward for c in output))

    def add(self, operator: RunningOperator) -> None:
        """Take in an operator that is lowered otherwise than by `run_kernel`."""
        self._operators.append(operator)

    def figures(self, node: StateStoreWriter) -> Mapping[str, int]:
        """What an operator said of the last batch that had rows: `RECEIVED`, `GROUPS`."""
        return self._base(node).extra

    def spec(self, node: StateStoreWriter, kernel: Kernel, single: bool) -> TaskSpec:
        """What the tasks of an operator get; `single`: there is one, and one store."""
        base = self._base(node)
        stores, tasks = (1, 1) if single else (base.stores, self.context.tasks)
        return TaskSpec(
            node.node_name,
            kernel,
            self._location(node),
            replace(base, stores=stores),
            tasks,
            self.context.attempt,
        )

    def _location(self, node: StateStoreWriter) -> Location:
        info = node.state_info
        if info is None:
            raise InternalError(f"{node.node_name} has no state info")
        return located(self.context.state_location) / str(info.operator_id) / "runs"

    def _base(self, node: StateStoreWriter) -> StateVersion:
        """The version that the batch starts from, under the query's number of stores.

        The checkpoint may have been rescaled since: rows keep their hash, no file changes.
        """
        location, info, context = self._location(node), node.state_info, self.context
        assert info is not None
        known = self._bases.get(info.operator_id)
        if known is None:
            try:
                known = load_version(
                    location, context.batch_id, info.num_partitions, context.state_attempt
                )
            except StateError as error:
                raise state_failure(error) from error
            known = replace(known, stores=info.num_partitions)
            self._bases[info.operator_id] = known
        return known

    # -------------------------------------------------------------------------- after it has run

    def results(self) -> BatchResults:
        """See `LoweredBatch.results`."""
        if self._results is None and not self._collect():
            # The sink ran no action, or one that did not need all rows: run the batch for itself.
            self._operators, self._event_times, self._observed = [], [], {}
            frame = self._build(self)
            frame.write.format("noop").mode("overwrite").save()
            if not self._collect(whole=True):
                raise InternalError("a batch ran, but not all of its tasks reported")
        assert self._results is not None
        return self._results

    def _collect(self, *, whole: bool = False) -> bool:
        """Take in what the operators' tasks reported; False if one is missing."""
        deadline = time.monotonic() + PATIENCE
        for operator in self._operators:
            if not operator.collect(deadline, whole=whole):
                return False
        if self._operators:  # an action ended, so what is still missing will not come
            deadline = time.monotonic() + 0.2
        stats = {
            node_id: event_time_stats(probe.values(deadline))
            for node_id, probe in self._event_times
        }
        stats |= {o.watermark: o.seen for o in self._operators if o.watermark is not None}
        results = (operator.result(self._runs(operator)) for operator in self._operators)
        operators = sorted(results, key=lambda result: result.operator_id)
        observed = {name: probe.values(deadline) for name, probe in self._observed.items()}
        self._results = BatchResults(
            operators=tuple(operators),
            event_times=stats,
            observed={name: values for name, values in observed.items() if values is not None},
        )
        return True

    def _runs(self, operator: RunningOperator) -> int:
        info = operator.node.state_info
        return 2 if info is not None and info.operator_id in self._sampled else 1

    def commit_state(self) -> None:
        """See `LoweredBatch.commit_state`."""
        if self._results is None:
            raise InternalError("a batch's state is committed before its results are known")
        try:
            for operator in self._operators:
                spec = operator.spec
                save_version(spec.location, operator.next_version, spec.attempt, self._retain)
        except StateError as error:
            raise state_failure(error) from error

    @property
    def state_attempt(self) -> str | None:
        """See `LoweredBatch.state_attempt`."""
        return self.context.attempt if self._operators else None

    def clean_up(self) -> None:
        """See `LoweredBatch.clean_up`."""
        for operator in self._operators:
            location, version = operator.spec.location, operator.next_version
            delete_files(location, version.due(self._retain))
            if version.version % _TIDY_EVERY == 0:
                delete_orphans(location, replace(version, attempt=operator.spec.attempt))

    @property
    def _retain(self) -> int:
        return batches_to_retain(self.context.conf)

    def abort(self) -> None:
        """See `LoweredBatch.abort`."""
        for operator in self._operators:
            delete_attempt(operator.spec.location, self.context.attempt)


def _task_function(
    spec: TaskSpec, tell: Callable[[str], None] | None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return run_task(spec, context.partitionId(), prompt(batches), tell)

    return run
