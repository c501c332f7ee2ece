"""What the queries of a client observe of their rows, as the engine's server would send it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ..protocol import parts

if TYPE_CHECKING:
    from .client_session import ClientSession

Observed = Callable[[], Mapping[str, Mapping[str, Any]]]
"""Gives the metrics of each `observe` by its name, once the rows have passed."""


def observes(message: Any) -> bool:
    """Whether a query has metrics of its own."""
    if isinstance(message, proto.CollectMetrics):
        return True
    return any(map(observes, parts(message)))


def with_metrics(
    session: ClientSession, request: Message, answers: Iterable[Message], observed: Observed
) -> Iterator[Message]:
    """The answers to a query, and its metrics: before the mark that all is there, if one is sent.

    Only a client that may come back for the rest is sent that mark.
    """

    def metrics() -> Iterator[Message]:
        for name, values in observed().items():
            yield _metrics(session, request, name, values)

    complete = False
    for answer in answers:
        if complete := answer.HasField("result_complete"):
            yield from metrics()
        yield answer
    if not complete:
        yield from metrics()


def _metrics(
    session: ClientSession, request: Message, name: str, values: Mapping[str, Any]
) -> Message:
    from pyspark.sql.connect.expressions import LiteralExpression

    answer = proto.ExecutePlanResponse(
        session_id=request.session_id,
        server_side_session_id=session.server_id,
        operation_id=request.operation_id,
        response_id=str(uuid.uuid4()),
    )
    client: Any = session.spark.client
    literals = [LiteralExpression._from_value(value) for value in values.values()]
    answer.observed_metrics.add(
        name=name,
        keys=list(values),
        values=[literal.to_plan(client).literal for literal in literals],
    )
    return answer
