"""`writeStream...start()` and `toTable()`: a client's stream started on our runtime."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ...planner.connect.streams import output_mode_of, planned_stream, query_name, written_path
from ...planner.model.errors import AnalysisError, RuntimeFailure
from ...planner.model.options import by_lower_name
from ...planner.model.settings.conf import Conf
from ..files import location_of
from ..frames import spark_schema
from ..options import Options
from ..sinks import ForeachSink, NoopSink, PickledWriter, PythonSink, Sink, make_sink
from ..sources.python import data_source
from ..streaming import StartRequest
from ..streaming import start as start_query
from ..triggers import AVAILABLE_NOW, DEFAULT, ONCE, Trigger, processing_time
from .client_session import ClientSession, Reporter
from .for_each_batch import BatchFunctionSink
from .memory_view import MemoryView
from .reading import EngineTable

if TYPE_CHECKING:
    from ...planner.incremental_execution import IncrementalExecution
    from ..query import StreamingQuery

_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"
_STOPS_ACTIVE_RUN = "spark.sql.streaming.stopActiveRunOnRestart"
# Sinks that Spark gives a checkpoint of their own where nobody names one.
_TEMPORARY = ("memory", "console", "noop", "foreach", "foreachbatch")


def start(session: ClientSession, message: Message, url: str) -> Message:
    """Start the stream of a WriteStreamOperationStart; the answer.

    Args:
        session: the client's.
        message: the command.
        url: where functions of batches reach this endpoint.

    Raises:
        StateplanError: it is refused, or cannot start.
    """
    name = query_name(message)
    with session.starting:
        if name is not None and any(query.name == name for query in session.active):
            raise AnalysisError(
                None,
                f"Cannot start query with name {name} as a query with that name is already active "
                "in this SparkSession",
                hint="Stop it, or give another name.",
            )
        reading = session.reading()
        frame = planned_stream(reading, message.input)
        execution = reading.execution(frame, output_mode_of(message.output_mode))
        checked = execution.checked
        tables = reading.static_tables(checked)
        if name in tables and isinstance(table := tables[name], EngineTable):
            table.hold(session.spark)  # a memory sink's view is going to have its name
        reporter = Reporter(session)
        request = StartRequest(
            execution=execution,
            sources=reading.sources(checked),
            tables=tables,
            sink=_sink(session, message, execution, url),
            trigger=_trigger(message),
            checkpoint=_checkpoint(message, execution.conf, name),
            name=name,
            listeners=[reporter],
        )
        add = _instead_of_active_run(session, request)
        query = start_query(session.spark, request, before_first_batch=add)
    answer = proto.ExecutePlanResponse()
    result = answer.write_stream_operation_start_result
    result.query_id.id, result.query_id.run_id = query.id, query.run_id
    result.name = name or ""
    result.query_started_event_json = reporter.started
    return answer


def _instead_of_active_run(
    session: ClientSession, request: StartRequest
) -> Callable[[StreamingQuery], None]:
    """Stop what runs on the checkpoint, of whatever client; what takes in the new run.

    A notebook's cell may be run again so (StreamingQueryManager.startQuery).
    """
    if request.checkpoint is None:
        return session.add
    queries = session.backend.queries
    place = str(location_of(request.checkpoint, "the checkpoint"))
    stops = request.execution.conf.settings.get(_STOPS_ACTIVE_RUN, "true").lower() == "true"
    if stops and place in queries:
        queries[place].stop()

    def add(query: StreamingQuery) -> None:
        session.add(query)
        queries[place] = query

    return add


def _options(message: Message) -> dict[str, str]:
    """The sink's own options."""
    apart = ("checkpointlocation", "path", "queryname")
    return {key: value for key, value in message.options.items() if key.lower() not in apart}


def _format(message: Message, conf: Conf) -> str:
    if message.HasField("foreach_batch"):
        return "foreachbatch"
    if message.HasField("foreach_writer"):
        return "foreach"
    return str(message.format or conf["spark.sql.sources.default"]).lower()


def _sink(
    session: ClientSession, message: Message, execution: IncrementalExecution, url: str
) -> Sink:
    """The sink that a stream is written to.

    Raises:
        StateplanError: there is no such sink, or something about it is unusable.
    """
    format_ = _format(message, execution.conf)
    name = query_name(message)
    if format_ == "foreachbatch":
        command = message.foreach_batch.python_function.command
        if not command:
            raise _not_python("foreachBatch")
        return BatchFunctionSink(session, command, url)
    if format_ == "foreach":
        command = message.foreach_writer.python_function.command
        if not command:
            raise _not_python("foreach")
        return ForeachSink(PickledWriter(command))
    if format_ in session.data_sources and message.WhichOneof("sink_destination") != "table_name":
        options = Options(_options(message), f"the sink '{format_}'")
        path = written_path(message) or None
        return PythonSink(data_source(session.data_sources[format_], options, path))
    if format_ == "noop":
        return NoopSink(counts=True)
    if format_ == "memory":
        if name is None:
            raise AnalysisError.of("_LEGACY_ERROR_TEMP_1194")
        schema = spark_schema(execution.analyzed.schema)
        sink = MemoryView(session, name)
        sink.show(session.spark.createDataFrame([], schema), name)
        return sink
    table = message.table_name if message.WhichOneof("sink_destination") == "table_name" else None
    return make_sink(
        message.format or format_,
        path=written_path(message) or None,
        table=table,
        options=_options(message),
        partition_by=list(message.partitioning_column_names),
        cluster_by=list(message.clustering_column_names),
        spark=session.spark,
        name=name,
    )


def _not_python(what: str) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_UNSUPPORTED_PYTHON",
        f"The {what} function is not written in Python: this runtime cannot call it.",
        hint="Write it in Python.",
    )


def _trigger(message: Message) -> Trigger:
    match message.WhichOneof("trigger"):
        case None:
            return DEFAULT
        case "available_now":
            return AVAILABLE_NOW
        case "once":
            return ONCE
        case "processing_time_interval":
            trigger = processing_time(message.processing_time_interval)
            return trigger if trigger.interval_ms else DEFAULT
        case other:
            kind = "continuous" if other.startswith("continuous") else "real-time"
            raise RuntimeFailure(
                "STATEPLAN_BAD_TRIGGER",
                f"The {kind} trigger is not supported: this runtime works in micro-batches.",
                hint="Use processingTime, availableNow or once.",
            )


def _checkpoint(message: Message, conf: Conf, name: str | None) -> str | None:
    """The checkpoint's place; None for a temporary one.

    Raises:
        AnalysisError: Spark wants one to be named, and none is.
    """
    options = by_lower_name(message.options)
    if "checkpointlocation" in options:
        return str(options["checkpointlocation"])
    if conf.settings.get(_CHECKPOINTS):
        return f"{conf.settings[_CHECKPOINTS].rstrip('/')}/{name or uuid.uuid4()}"
    to_table = message.WhichOneof("sink_destination") == "table_name"
    if not to_table and _format(message, conf) in _TEMPORARY:
        return None
    raise AnalysisError.of("_LEGACY_ERROR_TEMP_1298", config=_CHECKPOINTS)
