"""One batch on an engine: its runtime plan, its DataFrame, its operators, the version they make."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...physical.plan import SparkPlan
from ...planner.model.errors import AnalysisError, InternalError, PlanningError
from ...planner.model.settings.conf import Conf
from ..arrow_types import column_names
from ..checkpoint import batches_to_retain
from ..failures import state_failure
from ..kernels.scans.dealt_rows import Forwarding, sent_to
from ..kernels.scans.early_groups import EarlyGroups
from ..kernels.task import TaskSpec
from ..plan import BatchFacts, RuntimePlan, RuntimePlans, runtime_plan
from ..plan.facts import Reader
from ..plan.nodes import Kernel, PassingLimit, travelling
from ..plan.observing_nodes import CountRows
from ..plan.passes.count_rows import counted_by_watermarks
from ..plan.reading_nodes import DealOut, ReadFiles, TaskRows, are_dealt, rows_of_tasks
from ..plan.specs import LimitSpec
from ..state import StateError, save_version
from ..state.manifests import delete_files, delete_orphans
from . import as_is as as_is  # their operators register themselves
from . import python_functions as python_functions
from .batch_state import StateBefore, operator_id
from .context import BatchContext, BatchResults, EventTimeStats, PreparedBatch, furthest
from .engine import Engine, EventTimes, Reading
from .kernels import kernel_of, windows_emitted, windows_taken
from .probes import PATIENCE
from .render import render, render_output
from .running import KernelOperator, PassedLimit, RunningOperator
from .sampled import sampled_operators
from .scanning import on_the_way, scan_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TIDY_EVERY = 32  # versions: listing a directory costs more than a small batch


def prepare(plan: SparkPlan, context: BatchContext, plans: RuntimePlans) -> PreparedBatch:
    """A batch of an executed plan, ready to run.

    Args:
        plan: the executed plan of the batch: state info and watermarks are in it.
        context: the attempt.
        plans: what plans the query's batches.

    Raises:
        RuntimeFailure: an operator or function cannot be run, or state cannot be read.
    """
    return Batch(plan, context, plans)


def check(plan: SparkPlan, engine: Engine, conf: Conf, readers: Mapping[str, Reader]) -> None:
    """Refuse a query, before it starts, that an engine would not run as Spark does.

    What Spark refuses when it plans a batch, or a constant that fails, fails the first batch.

    Raises:
        RuntimeFailure: an expression, a step or a reader is not exact on it.
    """
    if engine.facts.exactness is not None:
        with suppress(AnalysisError, PlanningError):
            runtime_plan(plan, BatchFacts(conf=conf, engine=engine.facts, readers=readers))


class Batch:
    """A batch that is prepared, then run: a `PreparedBatch`.

    Attributes:
        context: the attempt.
        engine: what runs it.
        plan: what runs.
        observed: by the name of an `observe`, the row that its kernels' buffers give in the end.
    """

    def __init__(self, plan: SparkPlan, context: BatchContext, plans: RuntimePlans) -> None:
        self.context = context
        self.engine = context.engine
        self._state = StateBefore(plan, context)
        self._sampled = sampled_operators(plan)
        self._results: BatchResults | None = None
        self._forget()
        self.plan: RuntimePlan = plans.of(plan, self._facts())

    def _forget(self) -> None:
        self._operators: list[RunningOperator] = []
        self._event_times: list[tuple[str, EventTimes]] = []
        self._metrics: dict[str, Reading] = {}
        self.observed: dict[str, Any] = {}
        self._counts: list[tuple[str, Reading]] = []

    def _facts(self) -> BatchFacts:
        context = self.context
        return BatchFacts(
            conf=context.conf,
            engine=self.engine.facts,
            batch_id=context.batch_id,
            tasks=context.tasks,
            figures=self._state.figures(),
            source_rows=context.source_rows,
            passed=self._state.passed(),
            readers=context.readers,
            files={name: files.columns for name, files in context.files.items()},
            deals_out=context.deals_out,
        )

    # ---------------------------------------------------------------------- while it is rendered

    @cached_property
    def dataframe(self) -> DataFrame:
        """See `PreparedBatch.dataframe`."""
        frame = self._rendered()
        if self._operators and not self.context.one_action:
            # Each action over the frame itself would run the stateful operators once more.
            frame = self.engine.keep(frame)
        engine = self.engine
        return engine.in_arrow(frame) if self.context.in_arrow else engine.dataframe(frame)

    def _rendered(self) -> DataFrame:
        for view, root in self.plan.subqueries.items():
            self.engine.subquery(render(root, self), root.output).createOrReplaceTempView(view)
        return render_output(self.plan.root, self.plan.names, self)

    def add_event_times(self, node_id: str, times: EventTimes) -> None:
        """Take in the event times that an EventTimeWatermark sees."""
        self._event_times.append((node_id, times))

    def add_metrics(self, name: str, reading: Reading) -> None:
        """Take in what an `observe` asks for."""
        self._metrics[name] = reading

    def add_count(self, source: str, reading: Reading) -> None:
        """Take in the number of a source's rows; a plan may read it several times."""
        self._counts.append((source, reading))

    def run_kernel(self, node: Kernel, forwarding: Forwarding | None = None) -> DataFrame:
        """Run a kernel over its inputs.

        Args:
            node: the kernel.
            forwarding: what deals its rows out to the tasks of another one; None: they are emitted.
        """
        spec, inputs = self._kernel_spec(node), rows_of_tasks(node)
        if not inputs:
            (rows,) = node.inputs
            frame = render(rows, self)
            if node.operator is None:
                return self.engine.run_once(frame, node, spec)
            return self._run(frame, node, replace(spec, forwarding=forwarding))
        scans = {
            number: scan_of(one, self.context)
            for number, one in enumerate(inputs)
            if isinstance(one, ReadFiles)
        }
        origins = any(scan.origins for scan in scans.values())
        spec = replace(spec, origins=origins, forwarding=forwarding)
        if are_dealt(inputs):
            spec = replace(spec, dealt=len(inputs))
            frame = self.engine.dealt(spec, scans, list(self._dealt_out(inputs, spec)))
        else:
            spec = replace(spec, scans=tuple(scans.values()))
            frame = self.engine.over_files(spec)
        return self._run(frame, node, spec, inputs)

    def _dealt_out(self, inputs: Sequence[TaskRows], spec: TaskSpec) -> Iterator[DataFrame]:
        """What other kernels deal out to the tasks of one."""
        early = EarlyGroups.of(spec.kernel, spec.windows)
        for number, one in enumerate(inputs):
            if isinstance(one, DealOut):
                rows = on_the_way(one, self.context)
                yield self.run_kernel(
                    one.child, Forwarding(sent_to(spec.tasks), early, number, rows)
                )

    def _kernel_spec(self, node: Kernel) -> TaskSpec:
        return replace(
            self._state.task_spec(
                node.operator, kernel_of(node, self.context.conf), single=node.single
            ),
            windows=windows_taken(node),
            emitted=windows_emitted(node),
            names=tuple(column_names(travelling(node.emitted))),
        )

    def _run(
        self,
        frame: DataFrame,
        node: Kernel,
        spec: TaskSpec,
        inputs: Sequence[TaskRows] = (),
    ) -> DataFrame:
        made, reports = self.engine.run_kernel(frame, node, spec)
        assert node.operator is not None
        operator = KernelOperator(
            node=node.operator,
            spec=spec,
            sent=reports,
            watermarks=tuple(_watermark(one) for one in inputs),
            counted=tuple(_counted_source(one) for one in inputs),
        )
        self._operators.append(operator)
        return made

    def pass_limit(self, node: PassingLimit, reading: Reading | None) -> None:
        """Take in a limit that lets all rows of the batch through, or none."""
        assert isinstance(node.spec, LimitSpec)
        spec = self._state.limit_spec(node.operator, node.spec.limit)
        sources = {count.source for count in node.child.collect(CountRows)}
        limit = PassedLimit(
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
        return 2 if operator_id(operator.node) in self._sampled else 1

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
        self._state.delete_attempt()


def _watermark(rows: TaskRows) -> str | None:
    """The `node_id` of the EventTimeWatermark that observes rows as tasks read them."""
    return rows.node_id if isinstance(rows, ReadFiles) else None


def _counted_source(rows: TaskRows) -> str | None:
    """The source whose rows are counted as tasks read them."""
    return rows.name if isinstance(rows, ReadFiles) and rows.counted else None


def _read(readings: Mapping[str, Reading], deadline: float) -> dict[str, Mapping[str, Any]]:
    found = {name: reading.values(deadline) for name, reading in readings.items()}
    return {name: values for name, values in found.items() if values is not None}
