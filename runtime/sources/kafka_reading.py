"""How tasks read Kafka records.

What travels to tasks, as `Read` says, uses nothing of this package when it is called: each function
here makes one that can be called there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .parted import Read


def reading(
    settings: Mapping[str, str],
    schema: Any,
    *,
    headers: bool,
    poll_seconds: float,
    fail_on_loss: bool,
    lost: str,
) -> Read:
    """How a task reads ranges `(topic, partition, first offset, offset behind the last)`.

    Args:
        settings: the consumer's.
        schema: the Arrow schema of the rows.
        headers: whether records' headers are read.
        poll_seconds: how long a broker may be silent.
        fail_on_loss: whether records that are not there any more are an error.
        lost: its text, with {partition}, {start} and {end}.
    """
    to_batch = _batch_maker(schema, headers=headers)
    next_after_error = _error_handler(lost if fail_on_loss else None)

    def read(ranges: Sequence[tuple[str, int, int, int]]) -> Iterator[Any]:
        import time

        from confluent_kafka import Consumer, TopicPartition

        left = {(topic, partition): (first, end) for topic, partition, first, end in ranges}
        consumer = Consumer(dict(settings))
        try:
            consumer.assign([TopicPartition(t, p, first) for (t, p), (first, _) in left.items()])
            heard = time.monotonic()
            while left:
                most = min(10_000, sum(end - first for first, end in left.values()))
                kept = []
                for record in consumer.consume(most, 0.1):
                    heard = time.monotonic()
                    partition = record.topic(), record.partition()
                    if partition not in left:
                        continue
                    first, end = left[partition]
                    if record.error() is not None:
                        following = next_after_error(consumer, record, first, end)
                    else:
                        following = record.offset() + 1
                        if following <= end:
                            kept.append(record)
                    if following < end:
                        left[partition] = following, end
                    else:
                        del left[partition]
                        consumer.incremental_unassign([TopicPartition(*partition)])
                if kept:
                    yield to_batch(kept)
                elif time.monotonic() - heard > poll_seconds:
                    (topic, number), (first, end) = next(iter(left.items()))
                    raise ValueError(
                        f"[STATEPLAN_KAFKA_NOT_READ] Kafka gave no record of {topic}-{number} "
                        f"between {first} and {end} for {poll_seconds:.0f} s."
                    )
        finally:
            consumer.close()

    return read


def _batch_maker(schema: Any, *, headers: bool) -> Callable[[Sequence[Any]], Any]:
    """Makes the Arrow batch of some records."""

    def header_list(record: Any) -> list[dict[str, Any]] | None:
        found = record.headers()
        return None if found is None else [{"key": key, "value": value} for key, value in found]

    def to_batch(records: Sequence[Any]) -> Any:
        import pyarrow as pa

        times = [record.timestamp() for record in records]
        columns = [
            [record.key() for record in records],
            [record.value() for record in records],
            [record.topic() for record in records],
            [record.partition() for record in records],
            [record.offset() for record in records],
            pa.array([ms * 1000 for _, ms in times], pa.int64()).cast(schema.field(5).type),
            [kind - 1 for kind, _ in times],
        ]
        if headers:
            columns.append([header_list(record) for record in records])
        arrays = [
            column if isinstance(column, pa.Array) else pa.array(column, field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    return to_batch


def _error_handler(lost: str | None) -> Callable[[Any, Any, int, int], int]:
    """Decides where a partition's reading goes on after a record that stands for an error.

    What it makes takes the consumer, the record, and the range that is left: the next offset, and
    the one behind the last. It gives the next offset, which is the range's end where nothing more
    can be read, and raises ValueError for what is lost, or not to be read.

    Args:
        lost: the error's text where records are not there any more; None: they are passed over.
    """

    def next_after_error(consumer: Any, record: Any, first: int, end: int) -> int:
        from confluent_kafka import KafkaError, TopicPartition

        topic, number = record.topic(), record.partition()
        error = record.error()

        def lose() -> None:
            if lost is not None:
                text = lost.replace("{start}", str(first)).replace("{end}", str(end))
                raise ValueError(text.replace("{partition}", f"{topic}-{number}"))

        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            # Behind the last records there may be markers of transactions.
            if first <= record.offset() < end:
                lose()
            return end if record.offset() >= first else first
        if code in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            lose()
            begin, _ = consumer.get_watermark_offsets(TopicPartition(topic, number))
            if not first < begin < end:
                return end
            consumer.seek(TopicPartition(topic, number, begin))
            return int(begin)
        not_there = (
            KafkaError.UNKNOWN_TOPIC_OR_PART,
            KafkaError._UNKNOWN_TOPIC,
            KafkaError._UNKNOWN_PARTITION,
        )
        refused = code == KafkaError.TOPIC_AUTHORIZATION_FAILED
        if error.fatal() or refused or code in not_there:
            if lost is not None or refused:
                raise ValueError(f"[STATEPLAN_KAFKA_NOT_READ] {error.str()}")
            return end
        return first  # the client tries again by itself

    return next_after_error
