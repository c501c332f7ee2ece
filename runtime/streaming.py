"""Starting a streaming query, and the handle of one that runs."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.errors import RuntimeFailure, StateplanError
from ..planner.model.logical import LogicalPlan, StreamingRelation
from .checkpoint import Checkpoint
from .failures import batch_failure
from .files import local_path
from .micro_batch import Lower, MicroBatchExecution, RunIdentity
from .offsets import recover
from .progress import Listener, StreamingQueryProgress
from .session import close_session, configure, own_session, task_count
from .sinks import Sink
from .sources import Source
from .triggers import DEFAULT, Trigger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POLLING_SECONDS = 0.01  # spark.sql.streaming.pollingDelay
_KEPT_PROGRESS = 100  # spark.sql.streaming.numRecentProgressUpdates


class StreamingQuery:
    """A query that was started: Spark's handle, in Python's spelling.

    Attributes:
        id: the query's id, kept by its checkpoint.
        run_id: this run's id.
        name: the query's name, if it has one.
    """

    def __init__(
        self,
        execution: MicroBatchExecution,
        trigger: Trigger,
        listeners: Sequence[Listener],
        close: Callable[[], None],
    ) -> None:
        self.id = execution.identity.id
        self.run_id = execution.identity.run_id
        self.name = execution.identity.name
        self._execution = execution
        self._trigger = trigger
        self._listeners = list(listeners)
        self._close = close
        self._recent: deque[StreamingQueryProgress] = deque(maxlen=_KEPT_PROGRESS)
        self._changed = threading.Condition(threading.RLock())
        self._active = True
        self._stopping = threading.Event()
        self._round_number = 0
        self._last_idle_round = 0
        self._in_trigger = False
        self._error: StateplanError | None = None
        self._thread: threading.Thread | None = None

    # ---------------------------------------------------------------------------------- what it is

    @property
    def is_active(self) -> bool:
        """Whether the query has neither ended, failed nor been stopped."""
        return self._active

    @property
    def status(self) -> dict[str, Any]:
        """`message`, `isDataAvailable`, `isTriggerActive`."""
        if self._error is not None:
            message = f"Terminated with exception: {self._error.message}"
        else:
            message = self._execution.message if self._active else "Stopped"
        return {
            "message": message,
            "isDataAvailable": self._active and self._execution.data_available,
            "isTriggerActive": self._active and self._in_trigger,
        }

    @property
    def last_progress(self) -> StreamingQueryProgress | None:
        """The figures of the last batch, or None before the first."""
        return self._recent[-1] if self._recent else None

    @property
    def recent_progress(self) -> list[StreamingQueryProgress]:
        """The figures of the last batches, at most 100, oldest first."""
        return list(self._recent)

    @property
    def next_batch(self) -> int:
        """The id of the batch that runs, or runs next."""
        return self._execution.position.batch_id

    def exception(self) -> StateplanError | None:
        """What ended the query, if it failed."""
        return self._error

    # ------------------------------------------------------------------------------ what it can do

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query ends; whether it did, within so many seconds.

        Raises:
            StateplanError: the query failed.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._active, timeout)
        if self._error is not None:
            raise self._error
        return not self._active

    def process_all_available(self) -> None:
        """Run or wait until there is nothing left to do: data as of now, and no-data batches.

        Raises:
            StateplanError: the query failed.
        """
        if self._trigger.kind == "manual":
            self._until_idle()
        else:
            with self._changed:
                # A round under way may have looked before the newest data came: a later one.
                seen = self._round_number
                self._changed.wait_for(lambda: not self._active or self._last_idle_round > seen)
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop the query, in the middle of a batch too; the batch runs again at a restart."""
        self._stopping.set()
        if self._thread is None:
            self._end(None)
            return
        while self._thread.is_alive():
            self._interrupt()
            self._thread.join(0.2)
            if self._thread is threading.current_thread():
                return

    # ------------------------------------------------------------------------------------ the loop

    def run(self) -> None:
        """Run in this thread until the trigger is done, the query is stopped or fails."""
        try:
            with _tagged(self._execution.spark, self.run_id):
                self._loop()
        except StateplanError as error:
            self._end(error)
        except Exception as error:
            self._end(batch_failure(error, self.next_batch))
        except BaseException:
            self._end(None)
            raise
        else:
            self._end(None)

    def run_in_background(self) -> None:
        """Run in a daemon thread."""
        self._thread = threading.Thread(
            target=self.run, name=f"stream execution {self.run_id}", daemon=True
        )
        self._thread.start()

    def _loop(self) -> None:
        match self._trigger.kind:
            case "once":
                self._round()
            case "available_now":
                while not self._stopping.is_set() and self._round():
                    pass
            case _:
                self._loop_until_stopped()

    def _loop_until_stopped(self) -> None:
        while not self._stopping.is_set():
            started = time.time_ns() // 1_000_000
            ran = self._round()
            due = self._trigger.next_time_ms(started)
            wait = (due - time.time_ns() // 1_000_000) / 1000
            if wait > 0:
                self._stopping.wait(wait)
            elif not ran:
                self._stopping.wait(_POLLING_SECONDS)

    def _until_idle(self) -> None:
        """Run batches in the caller's thread until there is nothing to do."""
        try:
            with _tagged(self._execution.spark, self.run_id):
                while self._active and self._round():
                    pass
        except StateplanError as error:
            self._end(error)
        except BaseException:
            self._end(None)
            raise

    def _round(self) -> bool:
        """One trigger; whether it ran a batch."""
        with self._changed:
            self._round_number += 1
            self._in_trigger = True
        try:
            progress = self._execution.run_trigger()
        finally:
            with self._changed:
                self._in_trigger = False
        if progress is not None:
            self._recent.append(progress)
            for listener in self._listeners:
                listener(progress)
        else:
            with self._changed:
                self._last_idle_round = self._round_number
                self._changed.notify_all()
        return progress is not None

    def _end(self, error: StateplanError | None) -> None:
        with self._changed:
            if not self._active:
                return
            # What a stop interrupts fails: that is no failure of the query.
            self._error = None if self._stopping.is_set() else error
            self._active = False
            self._execution.close()
            self._close()
            self._changed.notify_all()

    def _interrupt(self) -> None:
        try:
            self._execution.spark.interruptTag(_tag(self.run_id))
        except Exception:  # the session is gone: nothing runs any more
            return


def start(
    spark: SparkSession,
    execution: IncrementalExecution,
    *,
    sources: Mapping[str, Source],
    sink: Sink,
    trigger: Trigger = DEFAULT,
    checkpoint: str | Path | None = None,
    name: str | None = None,
    tables: Mapping[str, Callable[[SparkSession], DataFrame]] | None = None,
    listeners: Sequence[Listener] = (),
    tasks: int | None = None,
    background: bool = True,
    lower: Lower | None = None,
) -> StreamingQuery:
    """Start a query, or go on from its checkpoint.

    Args:
        spark: the user's session; its settings and views are neither used nor changed.
        execution: the query: its logical plan, catalog, output mode and settings.
        sources: by the names that the query uses.
        sink: where the rows go.
        trigger: when batches run.
        checkpoint: a directory; None: a temporary one that goes when the query ends.
        name: the query's name, for progress.
        tables: static tables by name: what makes their DataFrame on the query's session.
        listeners: called with each batch's figures.
        tasks: how many tasks run each stateful operator; by default as many as there are cores, as
            far as they divide the store count.
        background: run in a thread of its own; else a trigger that ends runs before this returns.
        lower: for tests: another way to make DataFrames of plans.

    Raises:
        StateplanError: the query cannot start: it is refused, or its checkpoint, a source or the
            sink is unusable.
    """
    temporary = None
    if checkpoint is None:
        temporary = checkpoint = tempfile.mkdtemp(prefix="stateplan-")
    try:
        query = _prepare(
            spark,
            execution,
            sources=sources,
            sink=sink,
            trigger=trigger,
            root=local_path(str(checkpoint), "the checkpoint"),
            name=name,
            tables=tables or {},
            listeners=listeners,
            tasks=tasks,
            lower=lower,
            temporary=temporary,
        )
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    if trigger.kind == "manual":
        return query
    if background:
        query.run_in_background()
    else:
        query.run()
    return query


def run_to_completion(
    spark: SparkSession, execution: IncrementalExecution, **settings: Any
) -> StreamingQuery:
    """`start` in the caller's thread, with a trigger that ends; returns the ended query.

    Raises:
        StateplanError: the query failed.
    """
    query = start(spark, execution, background=False, **settings)
    query.await_termination()
    return query


def stream_names(plan: LogicalPlan) -> list[str]:
    """The names of the streams in a plan, in order, each once."""
    return list(dict.fromkeys(relation.name for relation in plan.collect(StreamingRelation)))


def _prepare(
    spark: SparkSession,
    execution: IncrementalExecution,
    *,
    sources: Mapping[str, Source],
    sink: Sink,
    trigger: Trigger,
    root: Path,
    name: str | None,
    tables: Mapping[str, Callable[[SparkSession], DataFrame]],
    listeners: Sequence[Listener],
    tasks: int | None,
    lower: Lower | None,
    temporary: str | None,
) -> StreamingQuery:
    names = stream_names(execution.checked)
    used = {name: _source(name, sources) for name in names}
    run_id = str(uuid.uuid4())
    opened = Checkpoint.open(root)
    position, conf = recover(opened, names, execution.conf)
    planned = IncrementalExecution(
        execution.logical,
        catalog=execution.catalog,
        output_mode=execution.output_mode,
        conf=conf,
        checkpoint_location=str(opened.state_directory),
        run_id=run_id,
        batch_id=position.batch_id,
        watermark_late=position.late_ms,
        watermark_eviction=position.watermark_ms,
        ids=execution._ids,
    )
    for index, source in enumerate(used.values()):
        source.attach(opened.source_directory(index))
        if trigger.kind == "available_now":
            source.prepare_for_available_now()
    sink.attach(opened.id, position.batch_id, execution.output_mode)
    own = own_session(spark)
    chosen = task_count(spark, conf) if tasks is None else tasks
    configure(own, conf, chosen)
    run = MicroBatchExecution(
        spark=own,
        identity=RunIdentity(id=opened.id, run_id=run_id, name=name),
        planned=planned,
        lower=_lowering() if lower is None else lower,
        sources=used,
        tables={table: make(own) for table, make in tables.items()},
        sink=sink,
        checkpoint=opened,
        position=position,
        conf=conf,
        tasks=chosen,
        unlimited=trigger.kind == "once",
    )

    def close() -> None:
        close_session(own)
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)

    return StreamingQuery(run, trigger, listeners, close)


def _source(name: str, sources: Mapping[str, Source]) -> Source:
    if name not in sources:
        raise RuntimeFailure(
            "STATEPLAN_SOURCE_MISSING",
            f"The query reads '{name}', but no such source is given.",
            hint=f"Give it in sources; there is {', '.join(sorted(sources)) or 'none'}.",
        )
    return sources[name]


def _lowering() -> Lower:
    from . import lowering

    return lowering.lower


def _tag(run_id: str) -> str:
    return f"stateplan-{run_id}"


class _tagged:
    """Marks the Spark jobs of this thread as a query's, so that `stop` can end them."""

    def __init__(self, spark: SparkSession, run_id: str) -> None:
        self._spark = spark
        self._name = _tag(run_id)

    def __enter__(self) -> None:
        self._spark.addTag(self._name)

    def __exit__(self, *_: object) -> None:
        try:
            self._spark.removeTag(self._name)
        except Exception:  # the session is gone
            return
