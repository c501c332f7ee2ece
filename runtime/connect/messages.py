"""Looking through the protocol's messages, and at the engine's errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ..engines.embedded_errors import spark_error

# What the embedded engine raises where it lacks something, and where a query is wrong, too.
_LACKS = (
    "java.lang.IllegalArgumentException",
    "java.lang.UnsupportedOperationException",
    "org.apache.spark.SparkRuntimeException",
)
_NO_SOURCE = re.compile(r"No data source found for: (\S+)")
_STATE_SOURCES = ("statestore", "state-metadata")
_STATE = " (`stateplan state DIRECTORY` shows the state of a checkpoint)"
_WAY_OUT = (
    " (said by the embedded engine, which does not take all that Spark does; where Spark takes it, "
    "use --engine spark)"
)


def with_way_out(error: grpc.Call) -> grpc.Status | None:
    """An error of the embedded engine's own with where else it would work.

    Args:
        error: what a call to the engine raised.

    Returns:
        None where it is in Spark's words or of a kind that Spark raises, too.
    """
    status = rpc_status.from_call(error)
    info = error_details_pb2.ErrorInfo()
    if status is None or not any(detail.Unpack(info) for detail in status.details):
        return None
    source = _NO_SOURCE.search(status.message)
    if source is None and (info.reason not in _LACKS or spark_error(status.message) is not None):
        return None
    status.message += _STATE if source and source[1] in _STATE_SOURCES else _WAY_OUT
    return rpc_status.to_status(status)


def may_stream(message: Any) -> bool:
    """Whether a message, or one in it, reads a stream, or is SQL text that may."""
    if isinstance(message, proto.Read) and message.is_streaming:
        return True
    if isinstance(message, proto.SQL) and "stream" in message.query.lower():
        return True
    return any(map(may_stream, parts(message)))


def relations(message: Any) -> Iterator[Message]:
    """The outermost relations in a request."""
    for part in parts(message):
        if isinstance(part, proto.Relation):
            yield part
        else:
            yield from relations(part)


def parts(message: Any) -> Iterator[Any]:
    """The messages in a message's fields."""
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if not field.is_repeated:
            yield value
        elif field.message_type.GetOptions().map_entry:
            yield from (one for one in value.values() if hasattr(one, "ListFields"))
        else:
            yield from value


def put_rows(message: Any, rows: Mapping[str, Message]) -> None:
    """Put relations in the places of those that the engine is said to keep, by their ids."""
    if isinstance(message, proto.Relation) and message.HasField("cached_remote_relation"):
        found = rows.get(message.cached_remote_relation.relation_id)
        if found is not None:
            number = message.common.plan_id
            message.CopyFrom(found)
            message.common.plan_id = number
        return
    for part in parts(message):
        put_rows(part, rows)
