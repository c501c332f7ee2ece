"""What the queries of a client observe of their rows, as the engine's server would send it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ..protocol import parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Observed = Callable[[], Mapping[str, Mapping[str, Any]]]
"""Gives the metrics of each `observe` by its name, once the rows have passed."""


def observes(message: Any) -> bool:
    """Whether a query has metrics of its own."""
    if isinstance(message, proto.CollectMetrics):
        return True
    return any(map(observes, parts(message)))


def with_metrics(
    spark: SparkSession, answers: Iterable[Message], observed: Observed
) -> Iterator[Message]:
    """The answers to a query, its metrics before the last one."""
    for answer in answers:
        if answer.HasField("result_complete"):
            for name, values in observed().items():
                yield _metrics(spark, answer, name, values)
        yield answer


def _metrics(spark: SparkSession, last: Message, name: str, values: Mapping[str, Any]) -> Message:
    from pyspark.sql.connect.expressions import LiteralExpression

    answer = proto.ExecutePlanResponse(
        session_id=last.session_id,
        server_side_session_id=last.server_side_session_id,
        operation_id=last.operation_id,
        response_id=str(uuid.uuid4()),
    )
    sent: Any = spark
    literals = [LiteralExpression._from_value(value) for value in values.values()]
    answer.observed_metrics.add(
        name=name,
        keys=list(values),
        values=[literal.to_plan(sent.client).literal for literal in literals],
    )
    return answer
