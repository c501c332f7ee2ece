"""Streams: started ones are planned, printed and over at once.

Nothing is written, but later lines of a script may read what earlier streams write.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..explaining import explain
from ..incremental_execution import IncrementalExecution
from ..model.catalog import TempView
from ..model.errors import AnalysisError
from ..model.formats import FILE_FORMATS
from ..model.frozen import dataclass
from ..model.options import by_lower_name
from ..model.output_modes import OUTPUT_MODES, OutputMode
from ..model.plans.query_plan import LogicalPlan
from ..model.plans.relations import LocalRelation, StreamingRelation
from ..model.schemas.open_schemas import is_placeholder
from .console import Call
from .places import Message

if TYPE_CHECKING:
    from .session import Planned, PlannerSession


@dataclass(frozen=True, kw_only=True)
class StartedQuery:
    """A stream that a client started."""

    id: str
    run_id: str
    name: str | None
    execution: IncrementalExecution


def start(call: Call, message: Message) -> list[Message]:
    """`writeStream...start()` and `toTable()`: the plan is printed, nothing runs.

    Raises:
        StateplanError: Spark would refuse to start the query.
    """
    session = call.session
    frame = planned_stream(session, message.input)
    execution = session.execution(frame, output_mode_of(message.output_mode))
    name = query_name(message)
    call.console.show(execution, name, _sink(message), call.origin)
    started = StartedQuery(
        id=str(uuid.uuid4()), run_id=str(uuid.uuid4()), name=name, execution=execution
    )
    session.queries[started.id] = started
    remember(session, message, frame)
    answer = proto.ExecutePlanResponse()
    result = answer.write_stream_operation_start_result
    result.query_id.id, result.query_id.run_id = started.id, started.run_id
    result.name = name or ""
    return [answer]


def query_name(message: Message) -> str | None:
    """What `queryName`, or the option of that name, calls a query that is to start."""
    return message.query_name or by_lower_name(message.options).get("queryname") or None


def planned_stream(session: PlannerSession, relation: Message) -> Planned:
    """The DataFrame of a relation, which must be a stream.

    Raises:
        StateplanError: WRITE_STREAM_NOT_ALLOWED, or the DataFrame is refused.
    """
    frame = session.planned(relation)
    if not frame.analyzed.is_streaming:
        raise AnalysisError.of("WRITE_STREAM_NOT_ALLOWED")
    return frame


def is_stream(plan: LogicalPlan) -> bool:
    """Whether a DataFrame surely is a stream: one that is not here may be a table at rest."""
    sources = [one.name for one in plan.collect(StreamingRelation)]
    return plan.is_streaming and not (sources and all(map(is_placeholder, sources)))


def output_mode_of(text: str) -> OutputMode:
    """The output mode of a WriteStreamOperationStart.

    Raises:
        AnalysisError: there is none of that name.
    """
    mode = text.lower() or "append"
    if mode not in OUTPUT_MODES:
        raise AnalysisError.of(
            "STREAMING_OUTPUT_MODE.INVALID",
            hint=f"Use one of {', '.join(OUTPUT_MODES)}.",
            outputMode=text,
        )
    return mode


def _sink(message: Message) -> str:
    if message.HasField("foreach_batch"):
        return "foreachBatch"
    if message.HasField("foreach_writer"):
        return "foreach"
    place = message.WhichOneof("sink_destination")
    if place == "table_name":
        return f"table {message.table_name}"
    return f"{message.format or 'parquet'} {written_path(message)}".rstrip()


# ------------------------------------------------------------------------------ started queries


def query(call: Call, message: Message) -> list[Message]:
    """What is asked of a started query: it has ended, without a row and without an error."""
    answer = proto.ExecutePlanResponse()
    result = answer.streaming_query_command_result
    result.query_id.CopyFrom(message.query_id)
    match message.WhichOneof("command"):
        case "status":
            result.status.status_message = "Planned only: nothing runs"
        case "last_progress" | "recent_progress":
            started = call.session.queries[message.query_id.id]
            result.recent_progress.recent_progress_json.append(_progress(started))
        case "explain":
            mode = "extended" if message.explain.extended else "simple"
            started = call.session.queries[message.query_id.id]
            result.explain.result = explain(started.execution, mode)
        case "exception":
            result.exception.SetInParent()
        case "await_termination":
            result.await_termination.terminated = True
    return [answer]


def _progress(started: StartedQuery) -> str:
    """What a stream reports whose only batch had no rows."""
    fields: dict[str, object] = {
        "id": started.id,
        "runId": started.run_id,
        "name": started.name,
        "timestamp": "1970-01-01T00:00:00.000Z",
        "batchId": 0,
        "batchDuration": 0,
        "durationMs": {},
        "eventTime": {},
        "stateOperators": [],
        "sources": [],
        "sink": {"description": "", "numOutputRows": 0, "metrics": {}},
        "numInputRows": 0,
        "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 0.0,
        "observedMetrics": {},
    }
    return json.dumps(fields)


def manager(call: Call, message: Message) -> list[Message]:
    """`spark.streams`: no query is active."""
    answer = proto.ExecutePlanResponse()
    result = answer.streaming_query_manager_command_result
    match message.WhichOneof("command"):
        case "active":
            result.active.SetInParent()
        case "get_query":
            result.SetInParent()
        case "await_any_termination":
            result.await_any_termination.terminated = True
        case "reset_terminated":
            result.reset_terminated = True
        case "list_listeners":
            result.list_listeners.SetInParent()
        case "add_listener":
            result.add_listener = True
        case _:
            result.remove_listener = True
    return [answer]


def listener_bus(call: Call, message: Message) -> list[Message]:
    """Listeners of queries: they are taken, but nothing ever happens."""
    answer = proto.ExecutePlanResponse()
    added = message.WhichOneof("command") == "add_listener_bus_listener"
    answer.streaming_query_listener_events_result.listener_bus_listener_added = added
    return [answer]


# ------------------------------------------------------------------------ what streams leave behind


def remember(session: PlannerSession, message: Message, frame: Planned) -> None:
    """Take in the table, the directory or the in-memory view that a stream writes.

    What the catalog describes already stays as it is described.

    Args:
        session: where later lines look for it.
        message: a WriteStreamOperationStart.
        frame: the DataFrame that is written.
    """
    format_ = message.format.lower() or "parquet"
    if message.WhichOneof("sink_destination") == "table_name":
        _add(session, frame, message.input, name=message.table_name, format_=format_)
    elif format_ == "memory" and (name := query_name(message)):
        # Its rows are known only when it runs; those of no batch are none.
        rows = LocalRelation(attributes=frame.analyzed.output)
        session.views[name.lower()] = TempView(name=name, plan=rows)
    elif format_ in FILE_FORMATS and (path := written_path(message)):
        _add(session, frame, message.input, name=path, format_=format_, location=path)


def written_path(message: Message) -> str:
    """The directory that `start(path)` or the option `path` names, if one does."""
    options = by_lower_name(message.options)
    return str(message.path or options.get("path", ""))


def _add(
    session: PlannerSession,
    frame: Planned,
    query: Message,
    *,
    name: str,
    format_: str,
    location: str = "",
) -> None:
    if session.knows(name) or (location and session.known_path(location)):
        return
    full = name if location else session.full_name(name)
    session.add_table(full, frame.analyzed.schema, format_, location, query)
