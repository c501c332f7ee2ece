"""Starting a streaming query."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..physical.basic import StreamingRelationExec
from ..physical.plan import SparkPlan, StateStoreWriter
from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.errors import RuntimeFailure
from ..planner.model.plans.logical import EventTimeWatermark
from ..planner.model.plans.query_plan import LogicalPlan
from ..planner.model.plans.relations import StreamingRelation
from .batch_inputs import readers_of
from .batch_progress import RunIdentity
from .batch_time import with_batch_time
from .checkpoint import Checkpoint
from .claim import Holder
from .engines.engine import Engine
from .engines.opening import engine_on
from .evolution import check_restart
from .files import failing, location_of
from .listeners import Listeners
from .micro_batch import MicroBatchExecution
from .offsets import Position, recover
from .operator_names import OperatorNames
from .plan import RuntimePlans
from .plan.passes.name_files import asks_for_files
from .progress import Listener, clock_ms
from .query import StreamingQuery
from .sinks import Sink
from .sources import Source
from .sources.files import FileSource
from .sources.tables import Table
from .state import Location
from .task_choice import TaskChoice
from .triggers import DEFAULT, Trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener

_IDLE_INTERVAL = "spark.sql.streaming.noDataProgressEventInterval"
__all__ = ["StartRequest", "StreamingQuery", "run_to_completion", "start", "stream_names"]


@dataclass(frozen=True, kw_only=True)
class StartRequest:
    """What a query is started with.

    Attributes:
        execution: the query: its logical plan, catalog, output mode and settings.
        sources: by the names that the query uses.
        sink: where the rows go.
        trigger: when batches run.
        checkpoint: a directory: a path, or a URI of any file system that `pyarrow.fs` knows or
            that is registered; None: a temporary one that goes when the query ends.
        name: the query's name, for progress.
        tables: static tables by name.
        listeners: functions of each batch's figures, or objects of PySpark's
            StreamingQueryListener.
        tasks: how many tasks run each stateful operator; by default one for a small batch,
            else as many as there are cores, but no more than stores.
        allow: verdicts on a change of the query that it goes on with all the same: `differs` where
            state means something else, `refused` where Spark would refuse.
        now_ms: the clock, in milliseconds since 1970; tests set another.
    """

    execution: IncrementalExecution
    sources: Mapping[str, Source]
    sink: Sink
    trigger: Trigger = DEFAULT
    checkpoint: str | Path | None = None
    name: str | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)
    listeners: Sequence[Listener | StreamingQueryListener] = ()
    tasks: int | None = None
    allow: Collection[str] = ()
    now_ms: Callable[[], int] = clock_ms


def start(
    on: SparkSession | Engine,
    request: StartRequest,
    *,
    background: bool = True,
    before_first_batch: Callable[[StreamingQuery], object] | None = None,
) -> StreamingQuery:
    """Start a query, or go on from its checkpoint.

    Args:
        on: the user's session, whose settings and views are neither used nor changed; or an
            engine, which ends with the query.
        request: the query, what it reads and writes, and how it runs.
        background: run in a thread of its own; else a trigger that ends runs before this returns.
        before_first_batch: gets the query before it runs.

    Raises:
        StateplanError: the query cannot start: it is refused, or its checkpoint, a source or the
            sink is unusable.
    """
    query = _prepared(on, request)
    if before_first_batch is not None:
        before_first_batch(query)
    if request.trigger.kind == "manual":
        return query
    if background:
        query.run_in_background()
    else:
        query.run()
    return query


def run_to_completion(on: SparkSession | Engine, request: StartRequest) -> StreamingQuery:
    """`start` in the caller's thread, with a trigger that ends; returns the ended query.

    Raises:
        StateplanError: the query failed.
    """
    query = start(on, request, background=False)
    query.await_termination()
    return query


def stream_names(plan: LogicalPlan) -> list[str]:
    """The names of the streams in a plan, one per place, in order."""
    return [relation.name for relation in plan.collect(StreamingRelation)]


def _prepared(on: SparkSession | Engine, request: StartRequest) -> StreamingQuery:
    """The query, ready for its first batch."""
    execution = request.execution
    names = stream_names(execution.checked)
    sources = {name: _source(name, request.sources) for name in names}
    for relation in execution.checked.collect(StreamingRelation):
        if relation.shows_metadata:
            sources[relation.name].show_metadata(relation.name)
    run_id = str(uuid.uuid4())
    with ExitStack() as undo:
        root = _checkpoint_root(request.checkpoint, undo)
        opened = Checkpoint.open(root, Holder(run_id=run_id, name=request.name))
        undo.callback(opened.release)
        with failing(root), opened.naming_the_newer_run():
            position, planned = _recovered(opened, request, names, run_id)
            for index, source in enumerate(sources.values()):
                source.attach(opened.source_directory(index))
                if request.trigger.kind == "available_now":
                    source.prepare_for_available_now()
            opened.settle()
            engine = on if isinstance(on, Engine) else engine_on(on)
            undo.callback(engine.close)
            run = _on_engine(engine, request, opened, position, planned, sources)
            idle_ms = int(planned.conf.settings.get(_IDLE_INTERVAL, "10000"))
            informed = Listeners(request.listeners, run.identity, idle_ms)
            informed.started()
        # From here on the query's end lets checkpoint and session go.
        return StreamingQuery(run, request.trigger, informed, undo.pop_all().close)


def _checkpoint_root(place: str | Path | None, undo: ExitStack) -> Location:
    """Where the checkpoint is; a temporary one goes when `undo` is closed."""
    if place is None:
        place = tempfile.mkdtemp(prefix="stateplan-")
        undo.callback(shutil.rmtree, place, ignore_errors=True)
    return location_of(place, "the checkpoint")


def _recovered(
    opened: Checkpoint, request: StartRequest, names: Sequence[str], run_id: str
) -> tuple[Position, IncrementalExecution]:
    """Where the query goes on, and its plan under the settings that the checkpoint pins.

    Raises:
        StateplanError: the checkpoint is not this query's.
    """
    execution = request.execution
    position, conf = recover(opened, names, execution.conf)
    operator_names = OperatorNames.of(opened, execution.state_names, position.batch_id)
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
        state_names=execution.state_names,
        stored_ids=operator_names.stored_ids,
    )
    check_restart(
        opened, planned, execution.conf, committed=position.batch_id > 0, allowed=request.allow
    )
    operator_names.settle(opened, planned.executed_plan, position)
    return position, planned


def _on_engine(
    engine: Engine,
    request: StartRequest,
    opened: Checkpoint,
    position: Position,
    planned: IncrementalExecution,
    sources: Mapping[str, Source],
) -> MicroBatchExecution:
    """The batches to run on an engine, once it is set up and known to run this plan.

    Raises:
        StateplanError: the engine cannot run it.
    """
    from .engines.batch import check, prepare

    conf, plan = planned.conf, planned.executed_plan
    tasks = engine.task_count(conf) if request.tasks is None else request.tasks
    engine.configure(conf, tasks)
    engine.prepare_workers(stateful=bool(plan.collect(StateStoreWriter)))
    if engine.facts.exactness is not None:
        _show_files(plan, sources)
    readers = readers_of(engine, request.tables, sources)
    check(with_batch_time(plan, 0), engine, conf, readers)  # each batch has a time of its own
    analyzed = request.execution.checked
    request.sink.check(analyzed.schema, engine.facts, conf)
    request.sink.attach(opened.id, position.batch_id, request.execution.output_mode)
    return MicroBatchExecution(
        engine=engine,
        identity=RunIdentity(id=opened.id, run_id=planned.run_id, name=request.name),
        planned=planned,
        prepare=partial(prepare, plans=RuntimePlans()),
        sources=sources,
        tables=request.tables,
        readers=readers,
        sink=request.sink,
        checkpoint=opened,
        position=position,
        conf=conf,
        tasks=TaskChoice(most=tasks, fixed=request.tasks is not None),
        watermarks=[mark.node_id for mark in analyzed.collect(EventTimeWatermark)],
        places=stream_names(analyzed),
        unlimited=request.trigger.kind == "once",
        now_ms=request.now_ms,
    )


def _show_files(plan: SparkPlan, sources: Mapping[str, Source]) -> None:
    """Let the sources of files below a call of `input_file_name()` say which file a row is of: the
    engine has no such function."""
    asking = (node for node in plan.walk() if asks_for_files(node.expressions))
    for relation in (below for node in asking for below in node.collect(StreamingRelationExec)):
        source = sources[relation.name]
        if isinstance(source, FileSource):
            source.show_metadata(relation.name)


def _source(name: str, sources: Mapping[str, Source]) -> Source:
    if name not in sources:
        raise RuntimeFailure(
            "STATEPLAN_SOURCE_MISSING",
            f"The query reads '{name}', but no such source is given.",
            hint=f"Give it in sources; there is {', '.join(sorted(sources)) or 'none'}.",
        )
    return sources[name]
