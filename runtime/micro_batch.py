"""One micro-batch after the other: Spark's MicroBatchExecution on our own plans and state.

For each batch: the offsets are written, the plan is lowered and run into the sink, the state is
committed, the commit is written. A failure anywhere leaves the checkpoint at the last commit; the
batch then runs again with the same offsets, watermark and time.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from ..physical.basic import EventTimeWatermarkExec, StreamingRelationExec
from ..physical.explain import explain
from ..physical.plan import SparkPlan
from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.settings.conf import NO_DATA_BATCHES, Conf
from ..planner.model.settings.pinned import PROVIDER, WATERMARK_POLICY
from .batch_inputs import BatchInputs
from .batch_progress import RanBatch, RunIdentity, TriggerTimes, batch_progress
from .batch_time import with_batch_time
from .checkpoint import (
    STATE_PROVIDER,
    Checkpoint,
    CommitMetadata,
    OffsetSeq,
    batches_to_retain,
    pinned_settings,
)
from .engines.context import BatchContext, BatchResults, PreparedBatch, RanAgain
from .engines.engine import Engine
from .failures import batch_failure
from .offsets import Position, batch_metadata, by_place
from .plan.facts import Reader
from .progress import Durations, StreamingQueryProgress, clock_ms
from .scanned_files import ScannedFiles
from .sinks import Sink
from .sources import Source
from .sources.parquet import FileBatch
from .sources.tables import Table
from .state_checks import check_state_files, check_state_provider, check_state_types
from .state_files import stored_operators, write_state_files
from .task_choice import TaskChoice
from .variable_files import check_variables
from .watermark import WatermarkTracker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ATTEMPTS = 4
"""How often a batch is tried whose tasks run again behind others that have read their rows."""


class PlannedQuery(Protocol):
    """What the loop asks of the planner: IncrementalExecution."""

    def for_batch(self, batch_id: int, late_ms: int, eviction_ms: int) -> SparkPlan: ...

    def should_run_another_batch(
        self, new_watermark_ms: int, executed: SparkPlan | None = None
    ) -> bool: ...


Prepare = Callable[[SparkPlan, BatchContext], PreparedBatch]


@dataclass(kw_only=True, eq=False)
class MicroBatchExecution:
    """The batches of one run of a query, one at a time, in the caller's thread.

    Attributes:
        engine: what runs the batches, on the query's own session, already configured.
        identity: for progress.
        planned: the query's plan.
        prepare: makes a batch of its plan.
        sources: by name, in the order of their first place in the plan.
        places: the names of the plan's streams, one per place; by default each source once.
        tables, readers: static tables, and how the engine reads the files of all, by name.
        sink, checkpoint: where the rows go, and what is known of those before.
        position: the batch that runs, or runs next.
        conf: the query's settings, pinned ones included.
        tasks: how many tasks run each stateful operator; the rule by which each batch has its own.
        watermarks: the ids of the analyzed query's watermark operators.
        unlimited, now_ms: whether batches take all there is (trigger `once`), and the clock.
        message, data_available: what the query does now, and whether it has rows to do it with.
    """

    engine: Engine
    identity: RunIdentity
    planned: PlannedQuery
    prepare: Prepare
    sources: Mapping[str, Source]
    tables: Mapping[str, Table]
    readers: Mapping[str, Reader]
    sink: Sink
    checkpoint: Checkpoint
    position: Position
    conf: Conf
    tasks: TaskChoice
    watermarks: Sequence[str] = ()
    unlimited: bool = False
    places: Sequence[str] = ()
    now_ms: Callable[[], int] = clock_ms
    message: str = field(default="Initializing sources", init=False)
    data_available: bool = field(default=False, init=False)
    _last: RanBatch | None = field(default=None, init=False)
    _explained_plan: SparkPlan | None = field(default=None, init=False)
    _state_bytes: int | None = field(default=None, init=False)
    _times: TriggerTimes | None = field(default=None, init=False)
    _in_sink: bool = field(default=False, init=False)
    _timeless: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._inputs = BatchInputs(self.engine, self.sources, self.tables)
        self._scanned = ScannedFiles(self.engine, self.readers, self.tables)
        self._tracker = WatermarkTracker(self.conf[WATERMARK_POLICY], self.watermarks)
        self._tracker.restore(self.position.watermark_ms)

    def run_trigger(self) -> StreamingQueryProgress | None:
        """Run a batch if there is one to run; its figures, or None if there was nothing to do.

        Raises:
            StateplanError: the batch failed; it is not committed.
        """
        started, before = self.now_ms(), self._times
        durations = Durations()
        with durations.measure("triggerExecution"):
            batch = self._batch_if_due(durations)
        self._times = TriggerTimes(
            started_ms=started,
            took_ms=self.now_ms() - started,
            since_ms=None if before is None else started - before.started_ms,
            durations=durations,
        )
        return None if batch is None else self._progress(batch, self._times)

    def idle_progress(self) -> StreamingQueryProgress:
        """The figures of the last trigger, which had nothing to do."""
        assert self._times is not None
        last = self._last or RanBatch(position=self.position)
        return self._progress(last.idle(self.position), self._times)

    def _batch_if_due(self, durations: Durations) -> RanBatch | None:
        if not self.position.constructed and not self._constructed(durations):
            self.message = "Waiting for data to arrive"
            return None
        position = self.position
        self.data_available = position.has_new_data
        self.message = (
            "Processing new data" if position.has_new_data else "No new data but cleaning up state"
        )
        self._last = self._run(position, durations)
        self.message = "Waiting for next trigger"
        return self._last

    def _progress(self, batch: RanBatch, times: TriggerTimes) -> StreamingQueryProgress:
        return batch_progress(
            self.identity,
            batch,
            times,
            watermarked=self._tracker.watches,
            sources=self.sources,
            sink=self.sink.description,
        )

    def explained(self, *, extended: bool = False) -> str:
        """The plan of the batch that runs or ran last, as Spark's StreamingExplainCommand."""
        if self._explained_plan is None:
            return "No physical plan. Waiting for data."
        assert isinstance(self.planned, IncrementalExecution)
        phases = self.planned.with_executed_plan(self._explained_plan)
        return explain(phases, "extended" if extended else "simple")

    def advance_watermark(self, watermark_ms: int) -> None:
        """Move the watermark as rows of the last batch would have; it never goes back."""
        self._tracker.restore(watermark_ms)
        if not self.position.constructed:
            self.position = replace(self.position, watermark_ms=self._tracker.current_ms)

    # ----------------------------------------------------------------------- constructing a batch

    def _constructed(self, durations: Durations) -> bool:
        # Files that it reads may go from under a superseded run.
        with self.checkpoint.naming_the_newer_run():
            return self._construct(self.position, durations)

    def _construct(self, position: Position, durations: Durations) -> bool:
        """Fix the next batch's offsets and write them; False if no batch is due."""
        ends = []
        for source, start in zip(self.sources.values(), position.start, strict=True):
            self.message = f"Getting offsets from {source.description}"
            with durations.measure("latestOffset"):
                ends.append(source.latest_offset(start, unlimited=self.unlimited))
        constructed = position.constructed_with(tuple(ends), self.now_ms())
        self.data_available = constructed.has_new_data
        if not constructed.has_new_data and not self._wants_another_batch(position.watermark_ms):
            return False
        self.message = "Writing offsets to log"
        with durations.measure("walCommit"):
            metadata = batch_metadata(constructed, pinned_settings(self.conf))
            offsets = by_place(constructed.end, self.places or tuple(self.sources))
            seq = OffsetSeq(metadata=metadata, offsets=offsets)
            self.checkpoint.add_offsets(position.batch_id, seq)
            for source, start in zip(self.sources.values(), position.start, strict=True):
                if start is not None:
                    source.commit(start)
            self.checkpoint.purge(position.batch_id, batches_to_retain(self.conf))
        self.position = constructed
        return True

    def _wants_another_batch(self, watermark_ms: int) -> bool:
        # As in Spark the first trigger after a restart has no last plan: it never asks.
        return (
            self._last is not None
            and self.conf.flag(NO_DATA_BATCHES)
            and self.planned.should_run_another_batch(watermark_ms, self._last.plan)
        )

    # ----------------------------------------------------------------------------- running a batch

    def _run(self, position: Position, durations: Durations) -> RanBatch:
        self._in_sink = False
        try:
            for _ in range(ATTEMPTS - 1):
                with contextlib.suppress(RanAgain):
                    return self._run_scanning(position, durations)
            return self._run_scanning(position, durations)
        except (Exception, SystemExit) as error:  # also what a user's function exits by
            in_function = self._in_sink and self.sink.calls_function
            cause = self.checkpoint.superseded(error) or self.engine.failure(error)
            failure = batch_failure(cause, position.batch_id, in_function=in_function)
            if failure is error:
                raise
            raise failure from error

    def _run_scanning(self, position: Position, durations: Durations) -> RanBatch:
        """Run a batch, once more by the engine's readers where ours do not know what these read."""
        try:
            return self._run_batch(position, durations)
        except Exception as error:
            if not self._scanned.give_up(error):
                raise
        return self._run_batch(position, durations)

    def _run_batch(self, position: Position, durations: Durations) -> RanBatch:
        with durations.measure("getBatch"):
            known = self._inputs.known_rows(position)
            frames = self._inputs.frames(position)
            files = self._scanned.of(self._inputs.ranges(position))
        with durations.measure("queryPlanning"):
            plan = self.planned.for_batch(
                position.batch_id, position.late_ms, position.watermark_ms
            )
            if self._last is None:
                self._check_state(position, plan)
            timed = plan if self._timeless else with_batch_time(plan, position.timestamp_ms)
            self._timeless = timed is plan  # so are the plans of all batches
            self._explained_plan = timed
            self.checkpoint.check_claim()
            batch = self.prepare(timed, self._context(position, frames, plan, known, files))
        try:
            with durations.measure("addBatch"):
                frame = batch.dataframe  # an engine may run kernels for it
                self._in_sink = True
                output_rows = self.sink.write(frame, position.batch_id)
                self._in_sink = False
                results = batch.results()
                self.checkpoint.check_claim()
                self.sink.publish()
            with durations.measure("commitOffsets"):
                self.checkpoint.check_claim()
                batch.commit_state()
        except BaseException:
            batch.abort()
            raise
        watermark = self._tracker.update(plan.collect(EventTimeWatermarkExec), results.event_times)
        with durations.measure("commitOffsets"):
            attempt = batch.state_attempt
            commit = CommitMetadata(nextBatchWatermarkMs=watermark, stateAttempt=attempt)
            self.checkpoint.add_commit(position.batch_id, commit)
        self._state_bytes = sum(operator.memory_used_bytes for operator in results.operators)
        self.position = position.next(commit)
        batch.clean_up()
        return RanBatch(
            position=position,
            plan=plan,
            results=results,
            input_rows=self._counts(plan, results, known),
            output_rows=output_rows,
        )

    def _context(
        self,
        position: Position,
        frames: Mapping[str, DataFrame],
        plan: SparkPlan,
        known: Mapping[str, int],
        files: Mapping[str, FileBatch],
    ) -> BatchContext:
        return BatchContext(
            engine=self.engine,
            sources=frames,
            state_location=self.checkpoint.state_directory,
            batch_id=position.batch_id,
            conf=self.conf,
            tasks=self.tasks.tasks(plan, self._inputs.sizes(position), self._state_bytes),
            attempt=str(uuid.uuid4()),
            source_rows=known,
            files=files,
            deals_out=self._scanned.deals_out,
            readers=self.readers,
            state_attempt=position.state_attempt,
            one_action=self.sink.one_action,
            in_arrow=self.sink.in_arrow,
        )

    def _check_state(self, position: Position, plan: SparkPlan) -> None:
        """At the first batch of a run: the checkpoint's state must be this query's."""
        check_state_types(plan)
        directory = self.checkpoint.state_directory
        stored = stored_operators(directory)
        if stored:
            check_state_provider(self.conf.settings.get(PROVIDER, STATE_PROVIDER), plan)
        if position.batch_id > 0 or stored:
            check_state_files(directory, plan, complete=position.batch_id > 0)
        write_state_files(directory, plan)
        check_variables(directory, plan, self.conf)

    def _counts(
        self, plan: SparkPlan, results: BatchResults, known: Mapping[str, int]
    ) -> dict[str, int]:
        """The rows of each source; 0 where an engine found that it need not read them."""
        read = [relation.name for relation in plan.collect(StreamingRelationExec)]
        found = {**dict.fromkeys(read, 0), **results.counted}
        return found | {name: rows * read.count(name) for name, rows in known.items()}

    def close(self) -> None:
        """Let sources and sink go."""
        for stop in (*(source.stop for source in self.sources.values()), self.sink.stop):
            with contextlib.suppress(Exception):
                stop()
