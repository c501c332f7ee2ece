"""Kafka topics as a sink: Spark's columns and options, through librdkafka, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import RuntimeFailure
from ..kafka import client, client_settings, opened
from .base import Sink, SinkRequest
from .tasks import Work, in_tasks, run_here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "partition": ("int",),
}
_REFUSED = ("key.serializer", "value.serializer")


class KafkaSink(Sink):
    """A record for each row, at least once.

    Columns are found by name: `value`, and if they are there `key`, `topic`, `partition` and
    `headers`; all others are passed over. A batch or a task that runs again sends its rows again.

    Args:
        request: its options: `topic`, which goes before the column, and librdkafka's behind
            `kafka.`. As in the Java client the producer is idempotent, and keys are placed by
            murmur2.

    Raises:
        DescriptionError: no servers are named, or a setting is not the user's to make.
        RuntimeFailure: `confluent-kafka` is not installed.
    """

    one_action = True
    in_arrow = True

    def __init__(self, request: SinkRequest) -> None:
        options = request.options
        options.refuse_unknown(("topic", "includeHeaders"), "kafka.")
        settings = client_settings(options, who="producer", refused=_REFUSED)
        usual = {"partitioner": "murmur2_random"}
        if settings.get("acks", "all") in ("all", "-1"):
            usual["enable.idempotence"] = "true"
        self._settings = usual | settings
        self._topic = options.get("topic", "").strip() or None
        self._producer: Any = None
        client()

    @classmethod
    def create(cls, request: SinkRequest) -> KafkaSink:
        return cls(request)

    @property
    def description(self) -> str:
        return "KafkaTable"

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        """Send a batch; it returns when brokers have all of it.

        Raises:
            RuntimeFailure: a column is missing or of a wrong type.
        """
        places = self._places(frame)
        if self._producer is None and run_here(frame):
            self._producer = opened(client().Producer, self._settings)  # for all batches
        work = _sending(self._settings, self._topic, places, self._producer)
        return sum(map(int, in_tasks(frame, work)))

    def stop(self) -> None:
        self._producer = None

    def _places(self, frame: DataFrame) -> dict[str, int]:
        """Where the columns are."""
        found: dict[str, int] = {}
        for place, field in enumerate(frame.schema.fields):
            if field.name in _COLUMNS and field.name not in found:
                found[field.name] = place
                kinds = _COLUMNS[field.name]
                if field.dataType.simpleString() not in kinds:
                    raise _refused(
                        f"{field.name} attribute unsupported type "
                        f"{field.dataType.simpleString()}. {field.name} must be a(n) "
                        f"{' or '.join(kinds)}",
                        f"Cast the column '{field.name}'.",
                    )
        if self._topic is None and "topic" not in found:
            raise _refused(
                "topic option required when no 'topic' attribute is present. Use the topic option "
                "for setting a topic.",
                "Set the sink's option 'topic', or select a column of this name.",
            )
        if "value" not in found:
            raise _refused("Required attribute 'value' not found", "Select a column 'value'.")
        return found


def _refused(message: str, hint: str) -> RuntimeFailure:
    return RuntimeFailure("STATEPLAN_KAFKA_COLUMNS", message, hint=hint)


def _sending(
    settings: Mapping[str, str], topic: str | None, places: Mapping[str, int], given: Any
) -> Work:
    """Sends the rows of a partition.

    Args:
        settings: the producer's.
        topic: of all rows; None: it is in a column.
        places: where the columns are.
        given: the producer of this process; None: each task makes its own.
    """
    records = _record_maker(topic, places)

    def work(partition: int, batches: Iterator[Any]) -> Iterator[bytes]:
        from confluent_kafka import Producer

        producer = Producer(dict(settings)) if given is None else given
        failures: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failures.append(error)

        def send(record: Mapping[str, Any]) -> None:
            while True:
                try:
                    producer.produce(on_delivery=delivered, **record)
                    return
                except BufferError:  # full: until some records are delivered
                    producer.poll(0.1)

        rows = 0
        for batch in batches:
            for record in records(batch):
                send(record)
            rows += batch.num_rows
            producer.poll(0)
            if failures:
                break
        producer.flush()
        if failures:
            raise ValueError(
                f"[STATEPLAN_KAFKA_NOT_SENT] A record was not sent: {failures[0].str()}"
            )
        yield str(rows).encode()

    return work


def _record_maker(
    topic: str | None, places: Mapping[str, int]
) -> Callable[[Any], Iterator[dict[str, Any]]]:
    """Makes the producer's arguments of each row of an Arrow batch; it travels as `Work` does."""

    def records(batch: Any) -> Iterator[dict[str, Any]]:
        def column(name: str) -> list[Any]:
            place = places.get(name)
            return [None] * batch.num_rows if place is None else batch.column(place).to_pylist()

        topics = [topic] * batch.num_rows if topic else column("topic")
        parts = [column(name) for name in ("key", "value", "partition", "headers")]
        for to, key, value, number, headers in zip(topics, *parts, strict=True):
            if to is None:
                raise ValueError(
                    "[KAFKA_NULL_TOPIC_IN_DATA] The Kafka message data sent to the producer "
                    "contains a null topic. Use the `topic` option for setting a default topic."
                )
            yield {
                "topic": to,
                "key": key,
                "value": value,
                "partition": -1 if number is None else number,
                "headers": headers and [(h["key"], h["value"]) for h in headers],
            }

    return records
