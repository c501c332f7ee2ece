"""How tasks read records of Kafka's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

    def read(ranges: Sequence[tuple[str, int, int, int]]) -> Iterator[Any]:
        import time

        import pyarrow as pa
        from confluent_kafka import Consumer, KafkaError, TopicPartition

        def arrow(records: list[Any]) -> Any:
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
                columns.append(
                    [
                        None if found is None else [{"key": k, "value": v} for k, v in found]
                        for found in (record.headers() for record in records)
                    ]
                )
            arrays = [
                column if isinstance(column, pa.Array) else pa.array(column, field.type)
                for column, field in zip(columns, schema, strict=True)
            ]
            return pa.RecordBatch.from_arrays(arrays, schema=schema)

        left = {(topic, partition): (first, end) for topic, partition, first, end in ranges}
        consumer = Consumer(dict(settings))
        try:
            consumer.assign([TopicPartition(t, p, first) for (t, p), (first, _) in left.items()])

            def lose(partition: tuple[str, int], first: int, end: int) -> None:
                if fail_on_loss:
                    name = "-".join(map(str, partition))
                    text = lost.replace("{start}", str(first)).replace("{end}", str(end))
                    raise ValueError(text.replace("{partition}", name))

            def done(partition: tuple[str, int]) -> None:
                del left[partition]
                consumer.incremental_unassign([TopicPartition(*partition)])

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
                    error, offset = record.error(), record.offset()
                    if error is None:
                        if offset < end:
                            kept.append(record)
                        left[partition] = offset + 1, end
                        if offset + 1 >= end:
                            done(partition)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        # Behind the last records there may be markers of transactions.
                        if offset >= end:
                            done(partition)
                        elif offset >= first:
                            lose(partition, first, end)
                            done(partition)
                    elif error.code() in (
                        KafkaError._AUTO_OFFSET_RESET,
                        KafkaError.OFFSET_OUT_OF_RANGE,
                    ):
                        lose(partition, first, end)
                        begin, _ = consumer.get_watermark_offsets(TopicPartition(*partition))
                        if begin >= end or begin <= first:
                            done(partition)
                        else:
                            left[partition] = begin, end
                            consumer.seek(TopicPartition(*partition, begin))
                    elif error.fatal() or error.code() in (
                        KafkaError.UNKNOWN_TOPIC_OR_PART,
                        KafkaError._UNKNOWN_TOPIC,
                        KafkaError._UNKNOWN_PARTITION,
                        KafkaError.TOPIC_AUTHORIZATION_FAILED,
                    ):
                        if fail_on_loss or error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                            raise ValueError(f"[STATEPLAN_KAFKA_NOT_READ] {error.str()}")
                        done(partition)
                if kept:
                    yield arrow(kept)
                elif time.monotonic() - heard > poll_seconds:
                    (topic, number), (first, end) = next(iter(left.items()))
                    raise ValueError(
                        f"[STATEPLAN_KAFKA_NOT_READ] Kafka gave no record of {topic}-{number} "
                        f"between {first} and {end} for {poll_seconds:.0f} s."
                    )
        finally:
            consumer.close()

    return read
