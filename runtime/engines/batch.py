"""One batch on an engine: its runtime plan, its DataFrame, its operators, the version they make."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ...physical.plan import SparkPlan, StateStoreWriter
from ...physical.stateful import StreamingGlobalLimitExec
from ...planner.model.errors import InternalError
from ...planner.model.settings.conf import Conf
from ..arrow_types import column_name
from ..checkpoint import batches_to_retain
from ..failures import state_failure
from ..kernels.kernel import Kernel as RunningKernel
from ..kernels.limit import LimitKernel, passed_before, rows_without_columns
from ..kernels.task import TaskSpec, carry_out, open_stores
from ..plan import BatchFacts, RuntimePlan, runtime_plan
from ..plan.facts import Figures, Reader
from ..plan.nodes import Kernel, PassingLimit, travelling
from ..plan.observing_nodes import CountRows
from ..plan.passes.count_rows import counted_by_watermarks
from ..plan.reading_nodes import ReadFiles
from ..plan.specs import LimitSpec
from ..state import StateError, StateVersion, load_version, save_version
from ..state.locations import located
from ..state.storage import Location
from ..state.version import delete_attempt, delete_files, delete_orphans
from . import as_is as as_is  # their operators register themselves
from . import python_functions as python_functions
from .context import BatchContext, BatchResults, EventTimeStats, PreparedBatch, furthest
from .engine import Engine, EventTimes, Reading
from .kernels import kernel_of, windows_emitted, windows_taken
from .probes import PATIENCE
from .render import render
from .running import KernelOperator, RunningOperator
from .sampled import sampled_operators
from .scanning import scan_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIDY_EVERY = 32  # versions: listing a directory costs more than a small batch


def prepare(plan: SparkPlan, context: BatchContext) -> PreparedBatch:
    """A batch of an executed plan, ready to run.

    Args:
        plan: the executed plan of the batch: state info and watermarks are in it.
        context: the attempt.

    Raises:
        RuntimeFailure: an operator or function cannot be run, or state cannot be read.
    """
    return Batch(plan, context)


def check(plan: SparkPlan, engine: Engine, conf: Conf, readers: Mapping[str, Reader]) -> None:
    """Refuse a query, before it starts, that an engine would not run as Spark does.

    Raises:
        RuntimeFailure: an expression, a step or a reader is not exact on it.
    """
    if engine.facts.exactness is not None:
        runtime_plan(plan, BatchFacts(conf=conf, engine=engine.facts, readers=readers))


class Batch:
    """A batch that is prepared, then run: a `PreparedBatch`.

    Attributes:
        context: the attempt.
        engine: what runs it.
        plan: what runs.
        observed: by the name of an `observe`, the row that its kernels' buffers give in the end.
    """

    def __init__(self, plan: SparkPlan, context: BatchContext) -> None:
        self.context = context
        self.engine = context.engine
        self._bases: dict[int, StateVersion] = {}
        self._writers = {_id(writer): writer for writer in plan.collect(StateStoreWriter)}
        self._sampled = sampled_operators(plan)
        self._results: BatchResults | None = None
        self._forget()
        self.plan: RuntimePlan = runtime_plan(plan, self._facts())

    def _forget(self) -> None:
        self._operators: list[RunningOperator] = []
        self._event_times: list[tuple[str, EventTimes]] = []
        self._metrics: dict[str, Reading] = {}
        self.observed: dict[str, Any] = {}
        self._counts: list[tuple[str, Reading]] = []

    def _facts(self) -> BatchFacts:
        context = self.context
        limits = (w for w in self._writers.values() if isinstance(w, StreamingGlobalLimitExec))
        return BatchFacts(
            conf=context.conf,
            engine=self.engine.facts,
            batch_id=context.batch_id,
            tasks=context.tasks,
            figures={id_: self._figures(writer) for id_, writer in self._writers.items()},
            source_rows=context.source_rows,
            passed={_id(limit): self._passed(limit) for limit in limits},
            readers=context.readers,
            files={name: files.columns for name, files in context.files.items()},
        )

    def _figures(self, writer: StateStoreWriter) -> Figures:
        base = self._base(writer)
        return {**base.extra, "total": base.total}

    def _passed(self, limit: StreamingGlobalLimitExec) -> int:
        spec = self._spec(limit, LimitKernel(pa.schema([]), limit.limit), single=True)
        try:
            return passed_before(open_stores(spec, 0)[""])
        except StateError as error:
            raise state_failure(error) from error

    # ---------------------------------------------------------------------- while it is rendered

    @cached_property
    def dataframe(self) -> DataFrame:
        """See `PreparedBatch.dataframe`."""
        frame = self._rendered()
        if self._operators and not self.context.one_action:
            # Each action over the frame itself would run the stateful operators once more.
            frame = self.engine.keep(frame)
        return frame if self.context.in_arrow else self.engine.dataframe(frame)

    def _rendered(self) -> DataFrame:
        for view, root in self.plan.subqueries.items():
            self.engine.subquery(render(root, self), root.output).createOrReplaceTempView(view)
        frame = render(self.plan.root, self)
        columns = list(map(column_name, self.plan.root.output))
        return self.engine.named(frame, columns, self.plan.names)

    def add_event_times(self, node_id: str, times: EventTimes) -> None:
        """Take in the event times that an EventTimeWatermark sees."""
        self._event_times.append((node_id, times))

    def add_metrics(self, name: str, reading: Reading) -> None:
        """Take in what an `observe` asks for."""
        self._metrics[name] = reading

    def add_count(self, source: str, reading: Reading) -> None:
        """Take in the number of a source's rows; a plan may read it several times."""
        self._counts.append((source, reading))

    def run_kernel(self, node: Kernel, frame: DataFrame) -> DataFrame:
        """Run a kernel over rows that lie where their stores do."""
        if node.operator is None:
            return self.engine.run_once(frame, node, self._kernel_spec(node))
        return self._run(frame, node, self._kernel_spec(node))

    def run_kernel_over_files(self, node: Kernel) -> DataFrame:
        """Run a kernel over rows that its tasks read themselves."""
        files = [rows for rows in node.inputs if isinstance(rows, ReadFiles)]
        scans = tuple(scan_of(one, self.context) for one in files)
        dealt = any(one.dealt for one in files)
        spec = replace(self._kernel_spec(node), scans=scans, dealt=dealt)
        return self._run(self.engine.over_files(spec), node, spec, files)

    def _kernel_spec(self, node: Kernel) -> TaskSpec:
        return replace(
            self._spec(node.operator, kernel_of(node, self.context.conf), single=node.single),
            windows=windows_taken(node),
            emitted=windows_emitted(node),
            names=tuple(map(column_name, travelling(node.emitted))),
        )

    def _run(
        self,
        frame: DataFrame,
        node: Kernel,
        spec: TaskSpec,
        files: Sequence[ReadFiles] = (),
    ) -> DataFrame:
        # Rows without columns would get lost on their way.
        one_action = self.context.one_action and len(spec.names) > 0
        made, reports = self.engine.run_kernel(frame, node, spec, one_action=one_action)
        assert node.operator is not None
        operator = KernelOperator(
            node=node.operator,
            spec=spec,
            sent=reports,
            watermarks=tuple(one.node_id for one in files),
            counted=tuple(one.name if one.counted else None for one in files),
        )
        self._operators.append(operator)
        return made

    def pass_limit(self, node: PassingLimit, reading: Reading | None) -> None:
        """Take in a limit that lets all rows of the batch through, or none."""
        assert isinstance(node.spec, LimitSpec)
        spec = self._spec(node.operator, LimitKernel(pa.schema([]), node.spec.limit), single=True)
        sources = {count.source for count in node.child.collect(CountRows)}
        limit = _PassedLimit(
            node=node.operator,
            spec=spec,
            rows=node.rows,
            reading=reading,
            read=[
                (count, self.context.source_rows[name])
                for name, count in self._counts
                if name in sources
            ],
        )
        self._operators.append(limit)

    def _spec(
        self, writer: StateStoreWriter | None, kernel: RunningKernel, *, single: bool
    ) -> TaskSpec:
        """What the tasks of an operator get; `single`: there is one, and one store."""
        tasks = 1 if single else self.context.tasks
        if writer is None:
            # Version 0 has no files to read, and nothing is committed.
            unused, none = located(self.context.state_location), StateVersion(0, tasks)
            return TaskSpec("an aggregation", kernel, unused, none, tasks, self.context.attempt)
        base = self._base(writer)
        stores = 1 if single else base.stores
        return TaskSpec(
            writer.node_name,
            kernel,
            self._location(writer),
            replace(base, stores=stores),
            tasks,
            self.context.attempt,
        )

    def _location(self, writer: StateStoreWriter) -> Location:
        return located(self.context.state_location) / str(_id(writer)) / "runs"

    def _base(self, writer: StateStoreWriter) -> StateVersion:
        """The version that the batch starts from, under the query's number of stores.

        The checkpoint may have been rescaled since: rows keep their hash, no file changes.
        """
        info, context = writer.state_info, self.context
        assert info is not None
        known = self._bases.get(info.operator_id)
        if known is None:
            try:
                known = load_version(
                    self._location(writer),
                    context.batch_id,
                    info.num_partitions,
                    context.state_attempt,
                )
            except StateError as error:
                raise state_failure(error) from error
            known = replace(known, stores=info.num_partitions)
            self._bases[info.operator_id] = known
        return known

    # -------------------------------------------------------------------------- after it has run

    def results(self) -> BatchResults:
        """See `PreparedBatch.results`."""
        if self._results is None and not self._collect():
            # The sink ran no action, or one that did not need all rows: run the batch for itself.
            self._forget()
            self._rendered().write.format("noop").mode("overwrite").save()
            if not self._collect(whole=True):
                raise InternalError("a batch ran, but not all of its tasks reported")
        assert self._results is not None
        return self._results

    def _collect(self, *, whole: bool = False) -> bool:
        """Take in what the operators' tasks reported; False if one is missing."""
        _ = self.dataframe
        deadline = time.monotonic() + PATIENCE
        for operator in self._operators:
            if not operator.collect(deadline, whole=whole):
                return False
        if self._operators:  # an action ended, so what is still missing will not come
            deadline = time.monotonic() + 0.2
        stats = furthest(
            *((node_id, times.stats(deadline)) for node_id, times in self._event_times),
            *(seen for operator in self._operators for seen in operator.seen),
        )
        results = (operator.result(self._runs(operator)) for operator in self._operators)
        operators = sorted(results, key=lambda result: result.operator_id)
        self._results = BatchResults(
            operators=tuple(operators),
            event_times=stats,
            observed=_read(self._metrics, deadline),
            counted=self._counted(stats, deadline),
        )
        return True

    def _counted(
        self, stats: Mapping[str, EventTimeStats | None], deadline: float
    ) -> Mapping[str, int]:
        """The rows of each source, as often as the plan reads it."""
        found: Counter[str] = Counter()
        for name, reading in self._counts:
            values = reading.values(deadline)
            found[name] += 0 if values is None else int(values["rows"])
        for name, node_id in counted_by_watermarks(self.plan.root):
            seen = stats.get(node_id)
            found[name] += 0 if seen is None else seen.count
        for operator in self._operators:
            found.update(operator.rows_read)
        return found

    def _runs(self, operator: RunningOperator) -> int:
        return 2 if _id(operator.node) in self._sampled else 1

    def commit_state(self) -> None:
        """See `PreparedBatch.commit_state`."""
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
        """See `PreparedBatch.state_attempt`."""
        return self.context.attempt if self._operators else None

    def clean_up(self) -> None:
        """See `PreparedBatch.clean_up`."""
        self.engine.release()
        for operator in self._operators:
            location, version = operator.spec.location, operator.next_version
            delete_files(location, version.due(self._retain))
            if version.version % _TIDY_EVERY == 0:
                delete_orphans(location, replace(version, attempt=operator.spec.attempt))

    @property
    def _retain(self) -> int:
        return batches_to_retain(self.context.conf)

    def abort(self) -> None:
        """See `PreparedBatch.abort`."""
        self.engine.release()
        for writer in self._writers.values():
            delete_attempt(self._location(writer), self.context.attempt)


@dataclass(kw_only=True)
class _PassedLimit(RunningOperator):
    """A limit that lets all rows of the batch through, or none.

    Attributes:
        rows: how many rows there are; None: those that are counted.
        reading: counts those that the action sees: one that saw fewer has not read all.
        read: what counts the rows of sources, where `rows` is not known, and how many they are.
    """

    rows: int | None
    reading: Reading | None
    read: Sequence[tuple[Reading, int]]

    def collect(self, deadline: float, *, whole: bool) -> bool:
        rows = self.rows
        if self.reading is not None and not (whole and rows is not None):
            seen = self.reading.values(deadline)
            if seen is None or not self._saw_all(seen, deadline):
                return False
            rows = int(seen["rows"])
        assert rows is not None, "they are known, or counted"
        try:
            report = carry_out(self.spec, 0, rows_without_columns(rows))
        except StateError as error:
            raise state_failure(error) from error
        self.reports = (report,)
        return True

    def _saw_all(self, seen: Mapping[str, Any], deadline: float) -> bool:
        if self.rows is not None:
            return bool(seen["rows"] == self.rows)
        counts = ((reading.values(deadline), count) for reading, count in self.read)
        return all(values is not None and values["rows"] == count for values, count in counts)


def _id(writer: StateStoreWriter) -> int:
    info = writer.state_info
    if info is None:
        raise InternalError(f"{writer.node_name} has no state info")
    return info.operator_id


def _read(readings: Mapping[str, Reading], deadline: float) -> dict[str, Mapping[str, Any]]:
    found = {name: reading.values(deadline) for name, reading in readings.items()}
    return {name: values for name, values in found.items() if values is not None}
