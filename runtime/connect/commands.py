"""What a client asks of its streams: commands to a query, to all of them, and listeners."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ...planner.model.errors import StateplanError
from .client_session import ClientSession, failed

if TYPE_CHECKING:
    from ..query import StreamingQuery

_SLICE = 0.5  # seconds between looks at whether a client that waits is still there
Waiting = Callable[[], bool]


def query_command(session: ClientSession, message: Message, waiting: Waiting) -> Message:
    """The answer to a StreamingQueryCommand.

    Args:
        session: the client's.
        message: the command.
        waiting: whether the client still waits for the answer.

    Raises:
        StateplanError: there is no such query, or it failed and the client asks for that.
    """
    query = session.query(message.query_id.id, message.query_id.run_id)
    answer = proto.ExecutePlanResponse()
    result = answer.streaming_query_command_result
    result.query_id.CopyFrom(message.query_id)
    match message.WhichOneof("command"):
        case "status":
            status = query.status
            result.status.status_message = status["message"]
            result.status.is_data_available = status["isDataAvailable"]
            result.status.is_trigger_active = status["isTriggerActive"]
            result.status.is_active = query.is_active
        case "last_progress" | "recent_progress" as asked:
            kept = query.recent_progress[-1:] if asked == "last_progress" else query.recent_progress
            result.recent_progress.recent_progress_json.extend(one.json for one in kept)
        case "stop":
            query.stop()
        case "process_all_available":
            with suppress(StateplanError):
                query.process_all_available(waiting)
            _raise(query)
        case "explain":
            result.explain.result = query.explained(message.explain.extended)
        case "exception":
            result.exception.SetInParent()
            error = query.exception()
            if error is not None:
                failure = failed(query, error)
                name = "org.apache.spark.sql.streaming.StreamingQueryException"
                result.exception.exception_message = f"{name}: {failure.message}"
                result.exception.error_class = "STREAM_FAILED"
        case "await_termination":
            wanted = message.await_termination
            limit = wanted.timeout_ms / 1000 if wanted.HasField("timeout_ms") else None
            _wait(lambda seconds: not query.await_end(seconds), limit, waiting)
            _raise(query)
            result.await_termination.terminated = not query.is_active
    return answer


def manager_command(session: ClientSession, message: Message, waiting: Waiting) -> Message:
    """The answer to a StreamingQueryManagerCommand: `spark.streams`.

    Raises:
        StateplanError: a query failed that was waited for.
    """
    answer = proto.ExecutePlanResponse()
    result = answer.streaming_query_manager_command_result
    match message.WhichOneof("command"):
        case "active":
            result.active.SetInParent()
            for query in session.active:
                _describe(result.active.active_queries.add(), query)
        case "get_query":
            result.SetInParent()
            for query in session.active:
                if query.id == message.get_query:
                    _describe(result.query, query)
        case "await_any_termination":
            wanted = message.await_any_termination
            limit = wanted.timeout_ms / 1000 if wanted.HasField("timeout_ms") else None

            def unended(seconds: float) -> bool:
                session.wait(seconds)
                return session.last_ended is None

            _wait(unended, limit, waiting)
            ended = session.last_ended
            if ended is not None:
                _raise(ended)
            result.await_any_termination.terminated = ended is not None
        case "reset_terminated":
            session.reset_terminated()
            result.reset_terminated = True
        case "list_listeners":
            result.list_listeners.SetInParent()
        case "add_listener":
            result.add_listener = True
        case _:
            result.remove_listener = True
    return answer


def listener_bus(session: ClientSession, message: Message, waiting: Waiting) -> Iterator[Message]:
    """The answers to a StreamingQueryListenerBusCommand: events, until no listener is left."""
    if message.WhichOneof("command") != "add_listener_bus_listener":
        session.end_buses()
        return
    bus = session.open_bus()
    try:
        added = proto.ExecutePlanResponse()
        added.streaming_query_listener_events_result.listener_bus_listener_added = True
        yield added
        while waiting():
            try:
                event = bus.get(timeout=_SLICE)
            except queue.Empty:
                continue
            if event is None:
                return
            answer = proto.ExecutePlanResponse()
            answer.streaming_query_listener_events_result.events.add(
                event_type=event[0], event_json=event[1]
            )
            yield answer
    finally:
        session.close_bus(bus)


def _describe(target: Any, query: StreamingQuery) -> None:
    target.id.id, target.id.run_id = query.id, query.run_id
    if query.name:
        target.name = query.name


def _raise(query: StreamingQuery) -> None:
    error = query.exception()
    if error is not None:
        raise failed(query, error)


def _wait(unended: Callable[[float], bool], limit: float | None, waiting: Waiting) -> None:
    """Until something ends, the time is over, or the client has gone."""
    end = None if limit is None else time.monotonic() + limit
    while waiting():
        left = _SLICE if end is None else min(_SLICE, end - time.monotonic())
        if left <= 0 or not unended(left):
            return
