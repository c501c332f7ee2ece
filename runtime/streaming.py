"""Starting a streaming query."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..physical.plan import SparkPlan, StateStoreWriter
from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.errors import RuntimeFailure
from ..planner.model.plans.logical import EventTimeWatermark
from ..planner.model.plans.query_plan import LogicalPlan
from ..planner.model.plans.relations import StreamingRelation
from ..planner.model.schemas.types import StructField, StructType
from ..planner.model.settings.conf import Conf
from .batch_progress import RunIdentity
from .batch_time import with_batch_time
from .checkpoint import Checkpoint
from .claim import Holder
from .engines.engine import Engine
from .engines.opening import engine_on
from .evolution import check_restart
from .files import failing, location_of
from .listeners import Listeners
from .micro_batch import MicroBatchExecution, Prepare
from .offsets import recover
from .operator_names import OperatorNames
from .plan.facts import Reader
from .progress import Listener, clock_ms
from .query import StreamingQuery
from .sinks import Sink
from .sources import Source
from .sources.tables import Table
from .state import Location
from .task_choice import TaskChoice
from .triggers import DEFAULT, Trigger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.listener import StreamingQueryListener

_IDLE_INTERVAL = "spark.sql.streaming.noDataProgressEventInterval"
__all__ = ["StreamingQuery", "run_to_completion", "start", "stream_names"]


def start(
    on: SparkSession | Engine,
    execution: IncrementalExecution,
    *,
    sources: Mapping[str, Source],
    sink: Sink,
    trigger: Trigger = DEFAULT,
    checkpoint: str | Path | None = None,
    name: str | None = None,
    tables: Mapping[str, Table] | None = None,
    listeners: Sequence[Listener | StreamingQueryListener] = (),
    tasks: int | None = None,
    background: bool = True,
    allow: Collection[str] = (),
    prepare: Prepare | None = None,
    file_system: Any = None,
    now_ms: Callable[[], int] | None = None,
    before_first_batch: Callable[[StreamingQuery], object] | None = None,
) -> StreamingQuery:
    """Start a query, or go on from its checkpoint.

    Args:
        on: the user's session, whose settings and views are neither used nor changed; or an
            engine, which ends with the query.
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
        background: run in a thread of its own; else a trigger that ends runs before this returns.
        allow: verdicts on a change of the query that it goes on with all the same: `differs` where
            state means something else, `refused` where Spark would refuse.
        prepare: for tests: another way to make batches of plans.
        file_system: the `pyarrow.fs.FileSystem`, or handler of one's own, that the checkpoint is
            on; it travels to the executors, so it must pickle.
        now_ms: for tests: another clock, in milliseconds since 1970.
        before_first_batch: gets the query before it runs.

    Raises:
        StateplanError: the query cannot start: it is refused, or its checkpoint, a source or the
            sink is unusable.
    """
    temporary = None
    if checkpoint is None:
        temporary = checkpoint = tempfile.mkdtemp(prefix="stateplan-")
    try:
        query = _prepare(
            on,
            execution,
            sources=sources,
            sink=sink,
            trigger=trigger,
            root=location_of(checkpoint, "the checkpoint", file_system),
            name=name,
            tables=tables or {},
            listeners=listeners,
            tasks=tasks,
            allow=allow,
            prepare=prepare,
            temporary=temporary,
            now_ms=now_ms or clock_ms,
        )
    except BaseException:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    if before_first_batch is not None:
        before_first_batch(query)
    if trigger.kind == "manual":
        return query
    if background:
        query.run_in_background()
    else:
        query.run()
    return query


def run_to_completion(
    on: SparkSession | Engine, execution: IncrementalExecution, **settings: Any
) -> StreamingQuery:
    """`start` in the caller's thread, with a trigger that ends; returns the ended query.

    Raises:
        StateplanError: the query failed.
    """
    query = start(on, execution, background=False, **settings)
    query.await_termination()
    return query


def stream_names(plan: LogicalPlan) -> list[str]:
    """The names of the streams in a plan, one per place, in order."""
    return [relation.name for relation in plan.collect(StreamingRelation)]


def _refuse_metadata(plan: LogicalPlan) -> None:
    """Refuse the hidden column of files.

    Raises:
        RuntimeFailure: the query names it.
    """
    for relation in plan.collect(StreamingRelation):
        if relation.shows_metadata:
            raise RuntimeFailure(
                "STATEPLAN_UNSUPPORTED_COLUMN",
                f"The column _metadata of '{relation.name}' is planned, but stateplan does not run"
                " it: readers here do not say which file a row is of.",
                hint="Leave it out, or run the query by Structured Streaming itself.",
            )


def _prepare(
    on: SparkSession | Engine,
    execution: IncrementalExecution,
    *,
    sources: Mapping[str, Source],
    sink: Sink,
    trigger: Trigger,
    root: Location,
    name: str | None,
    tables: Mapping[str, Table],
    listeners: Sequence[Listener | StreamingQueryListener],
    tasks: int | None,
    allow: Collection[str],
    prepare: Prepare | None,
    temporary: str | None,
    now_ms: Callable[[], int],
) -> StreamingQuery:
    _refuse_metadata(execution.checked)
    names = stream_names(execution.checked)
    used = {name: _source(name, sources) for name in names}
    run_id = str(uuid.uuid4())
    opened = Checkpoint.open(root, Holder(run_id=run_id, name=name))
    with ExitStack() as undo:
        undo.callback(opened.release)
        undo.enter_context(failing(root))
        undo.enter_context(opened.naming_the_newer_run())
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
            opened, planned, execution.conf, committed=position.batch_id > 0, allowed=allow
        )
        operator_names.settle(opened, planned.executed_plan, position)
        for index, source in enumerate(used.values()):
            source.attach(opened.source_directory(index))
            if trigger.kind == "available_now":
                source.prepare_for_available_now()
        opened.settle()
        engine = on if isinstance(on, Engine) else engine_on(on)
        undo.callback(engine.close)
        chosen = engine.task_count(conf) if tasks is None else tasks
        engine.configure(conf, chosen)
        engine.prepare_workers(stateful=bool(planned.executed_plan.collect(StateStoreWriter)))
        readers = _readers(engine, tables, used)
        _check(planned.executed_plan, engine, conf, readers)
        sink.check(_output(execution.checked), engine.facts, conf)
        sink.attach(opened.id, position.batch_id, execution.output_mode)
        run = MicroBatchExecution(
            engine=engine,
            identity=RunIdentity(id=opened.id, run_id=run_id, name=name),
            planned=planned,
            prepare=_preparing() if prepare is None else prepare,
            sources=used,
            tables=tables,
            readers=readers,
            sink=sink,
            checkpoint=opened,
            position=position,
            conf=conf,
            tasks=TaskChoice(most=chosen, fixed=tasks is not None),
            watermarks=[mark.node_id for mark in execution.checked.collect(EventTimeWatermark)],
            places=names,
            unlimited=trigger.kind == "once",
            now_ms=now_ms,
        )

        def close() -> None:
            engine.close()
            opened.release()
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

        idle_ms = int(conf.settings.get(_IDLE_INTERVAL, "10000"))
        informed = Listeners(listeners, run.identity, idle_ms)
        query = StreamingQuery(run, trigger, informed, close)
        informed.started()
        undo.pop_all()  # from here on the query's end lets checkpoint and session go
        return query


def _readers(
    engine: Engine, tables: Mapping[str, Table], sources: Mapping[str, Source]
) -> dict[str, Reader]:
    """How files are read for an engine, by the names of tables and sources."""
    found = {name: table.reader for name, table in tables.items()}
    found |= {name: source.reader for name, source in sources.items()}
    readers = {name: reader for name, reader in found.items() if reader is not None}
    return {name: replace(r, here=engine.reads_here(r)) for name, r in readers.items()}


def _output(plan: LogicalPlan) -> StructType:
    return StructType(tuple(StructField(a.name, a.data_type, a.nullable) for a in plan.output))


def _check(plan: SparkPlan, engine: Engine, conf: Conf, readers: Mapping[str, Reader]) -> None:
    from .engines.batch import check

    check(with_batch_time(plan, 0), engine, conf, readers)  # each batch has a time of its own


def _source(name: str, sources: Mapping[str, Source]) -> Source:
    if name not in sources:
        raise RuntimeFailure(
            "STATEPLAN_SOURCE_MISSING",
            f"The query reads '{name}', but no such source is given.",
            hint=f"Give it in sources; there is {', '.join(sorted(sources)) or 'none'}.",
        )
    return sources[name]


def _preparing() -> Prepare:
    from .engines.batch import prepare

    return prepare
