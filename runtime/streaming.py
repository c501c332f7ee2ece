"""Starting a streaming query."""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.errors import RuntimeFailure
from ..planner.model.query_plan import LogicalPlan
from ..planner.model.relations import StreamingRelation
from .batch_progress import RunIdentity
from .checkpoint import Checkpoint
from .claim import Holder
from .files import failing, location_of
from .micro_batch import Lower, MicroBatchExecution
from .offsets import recover
from .progress import Listener
from .query import StreamingQuery
from .session import close_session, configure, own_session, task_count
from .sinks import Sink
from .sources import Source
from .state import Location
from .task_choice import TaskChoice
from .triggers import DEFAULT, Trigger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


__all__ = ["StreamingQuery", "run_to_completion", "start", "stream_names"]


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
    file_system: Any = None,
) -> StreamingQuery:
    """Start a query, or go on from its checkpoint.

    Args:
        spark: the user's session; its settings and views are neither used nor changed.
        execution: the query: its logical plan, catalog, output mode and settings.
        sources: by the names that the query uses.
        sink: where the rows go.
        trigger: when batches run.
        checkpoint: a directory: a path, or a URI of any file system that `pyarrow.fs` knows or
            that is registered; None: a temporary one that goes when the query ends.
        name: the query's name, for progress.
        tables: static tables by name: what makes their DataFrame on the query's session.
        listeners: called with each batch's figures.
        tasks: how many tasks run each stateful operator; by default one for a small batch,
            else as many as there are cores, but no more than stores.
        background: run in a thread of its own; else a trigger that ends runs before this returns.
        lower: for tests: another way to make DataFrames of plans.
        file_system: the `pyarrow.fs.FileSystem`, or handler of one's own, that the checkpoint is
            on; it travels to the executors, so it must pickle.

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
            root=location_of(checkpoint, "the checkpoint", file_system),
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
    """The names of the streams in a plan, one per place, in order."""
    return [relation.name for relation in plan.collect(StreamingRelation)]


def _prepare(
    spark: SparkSession,
    execution: IncrementalExecution,
    *,
    sources: Mapping[str, Source],
    sink: Sink,
    trigger: Trigger,
    root: Location,
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
    opened = Checkpoint.open(root, Holder(run_id=run_id, name=name))
    with ExitStack() as undo:
        undo.callback(opened.release)
        undo.enter_context(failing(root))
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
        opened.settle()
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
            tasks=TaskChoice(most=chosen, fixed=tasks is not None),
            places=names,
            unlimited=trigger.kind == "once",
        )

        def close() -> None:
            close_session(own)
            opened.release()
            if temporary is not None:
                shutil.rmtree(temporary, ignore_errors=True)

        query = StreamingQuery(run, trigger, listeners, close)
        undo.pop_all()  # from here on the query's end lets the checkpoint go
        return query


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
