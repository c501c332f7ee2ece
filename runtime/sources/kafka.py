"""Kafka's topics as a stream: Spark's options, offsets and rows, through librdkafka, without a JVM."""

from __future__ import annotations

import json
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from os import cpu_count
from typing import Any

from ...planner.model.errors import DescriptionError, RuntimeFailure, StateplanError
from ..checkpoint import Offset, compact_json
from ..files import corrupt, read_whole, write_new
from ..kafka import client, client_settings
from ..options import Options
from ..state import Location
from .base import SourceRequest
from .kafka_offsets import (
    EARLIEST,
    LATEST,
    Brokers,
    Chosen,
    Offsets,
    TopicPartition,
    data_loss,
    data_loss_text,
    limited,
    offset_json,
    partitions_text,
    read_offsets,
    read_partitions,
)
from .parted import PartedSource, Read
from .rate import not_its_offset

_CHOICES = ("assign", "subscribe", "subscribePattern")
_KNOWN = (
    *(*_CHOICES, "startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp"),
    *("startingOffsetsByTimestampStrategy", "failOnDataLoss", "includeHeaders", "groupIdPrefix"),
    *("minOffsetsPerTrigger", "maxOffsetsPerTrigger", "maxTriggerDelay", "minPartitions"),
    *("maxRecordsPerPartition", "kafkaConsumer.pollTimeoutMs"),
    *("fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
)
_REFUSED = (
    *("auto.offset.reset", "key.deserializer", "value.deserializer"),
    *("enable.auto.commit", "interceptor.classes"),
)
_ENDING = {"endingOffsets": "ending offset", "endingOffsetsByTimestamp": "ending timestamp"}
_ROW_BYTES = 100  # about: brokers do not say


class KafkaSource(PartedSource):
    """Records of topics' partitions, each read once.

    The offset is Spark's: `{"topic": {"0": 5}}`, the offset behind the last record of each
    partition. Where the stream began is in the checkpoint's `sources/i/0`, in Spark's form.

    Args:
        options: those of Spark's Kafka source, and librdkafka's behind `kafka.`. `minPartitions`
            and `maxRecordsPerPartition` are accepted and change nothing: records are read by as
            many tasks as there are cores, each of whole partitions.

    Raises:
        DescriptionError: an option is missing or unusable.
        RuntimeFailure: `confluent-kafka` is not installed.
    """

    def __init__(self, request: SourceRequest) -> None:
        options = request.options
        options.refuse_unknown((*_KNOWN, *_ENDING), "kafka.")
        for name, what in _ENDING.items():
            if name in options:
                message = f"{what} not valid in streaming queries"
                raise DescriptionError("STATEPLAN_BAD_OPTION", message, hint=f"Remove '{name}'.")
        self.schema = request.fixed_schema
        self.chosen = _chosen(options)
        settings = client_settings(options, who="consumer", refused=_REFUSED)
        client()
        self._fail_on_loss = options.flag("failOnDataLoss", True)
        self._headers = options.flag("includeHeaders")
        self._starting = _Starting(options)
        self._limits = _Limits(options)
        self._poll_seconds = (options.whole("kafkaConsumer.pollTimeoutMs", 120_000) or 0) / 1000
        prefix = options.get("groupIdPrefix", "spark-kafka-source")
        self._group = settings.get("group.id", f"{prefix}-{uuid.uuid4()}")
        self._settings = {
            "isolation.level": "read_uncommitted",  # the Java client's default
            **settings,
            "group.id": self._group,
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "auto.offset.reset": "error",
        }
        retries = options.whole("fetchOffset.numRetries", 3, least=0) or 0
        wait_ms = options.whole("fetchOffset.retryIntervalMs", 1000, least=0) or 0
        self._brokers = Brokers(self._settings, retries, wait_ms / 1000)
        self._initial: Offsets = {}
        self._available_now = False
        self._fixed: Offsets | None = None
        self._latest: Offsets | None = None

    @classmethod
    def create(cls, request: SourceRequest) -> KafkaSource:
        return cls(request)

    @property
    def description(self) -> str:
        return f"KafkaV2[{self.chosen}]"

    # ---------------------------------------------------------------------------------- offsets

    def attach(self, log_directory: Location) -> None:
        path = log_directory / "0"
        try:
            text = read_whole(path).decode(errors="replace")
        except FileNotFoundError:
            self._initial = self._starting.offsets(self._brokers, self.chosen)
            # The zero byte is Spark's, for readers of its version 2.1.0.
            content = f"\0v1\n{compact_json(offset_json(self._initial))}"
            write_new(path, content.encode())
            return
        version, _, line = text.removeprefix("\0").partition("\n")
        try:
            assert version == "v1"
            self._initial = read_offsets(json.loads(line), "the checkpoint")
        except (AssertionError, ValueError, DescriptionError):
            raise corrupt(path, "it holds no offsets of Kafka") from None

    def prepare_for_available_now(self) -> None:
        self._available_now = True

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        before = self._offsets(start)
        if self._fixed is None:
            self._latest = self._ends(before)
            self._fixed = self._latest if self._available_now else None
        latest = self._latest or {}
        end = latest if unlimited else self._limits.end(before, latest, self._brokers)
        return offset_json(end) or None

    def newest_offset(self) -> Offset | None:
        return None if self._latest is None else offset_json(self._latest) or None

    def metrics(self, end: Offset | None) -> Mapping[str, str]:
        done = {} if end is None else self._offsets(end)
        behind = [at - done[p] for p, at in (self._latest or {}).items() if p in done]
        if not behind:
            return {}
        return {
            "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
            "maxOffsetsBehindLatest": str(max(behind)),
            "minOffsetsBehindLatest": str(min(behind)),
        }

    def _ends(self, before: Offsets) -> dict[TopicPartition, int]:
        """Where partitions end now; asked again while one seems to end before where it was."""
        for _ in range(4):
            ends = self._brokers.ends(self._brokers.partitions(self.chosen))
            if all(ends.get(partition, at) >= at for partition, at in before.items()):
                break
            time.sleep(0.1)
        return ends

    def _offsets(self, offset: Offset | None) -> Offsets:
        if offset is None:
            return self._initial
        try:
            return read_offsets(offset, "the checkpoint")
        except DescriptionError:
            raise not_its_offset(offset, "kafka") from None

    # ------------------------------------------------------------------------------------- rows

    def parts(self, start: Offset | None, end: Offset) -> Sequence[Any]:
        """Lists of `(topic, partition, first offset, offset behind the last)`."""
        ranges = [one for one in self._ranges(self._offsets(start), self._offsets(end))]
        count = min(len(ranges), cpu_count() or 1)
        return [ranges[i::count] for i in range(count)]

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        first, last = self._offsets(start), self._offsets(end)
        return sum(max(0, at - first.get(p, 0)) for p, at in last.items()) * _ROW_BYTES

    def reading(self) -> Read:
        return _reading(
            self._settings,
            self.arrow_schema,
            headers=self._headers,
            poll_seconds=self._poll_seconds,
            fail_on_loss=self._fail_on_loss,
            lost=data_loss_text(
                "COULD_NOT_READ_OFFSET_RANGE",
                start="{start}",
                end="{end}",
                partition="{partition}",
                group=self._group,
            ),
        )

    def stop(self) -> None:
        self._brokers.close()

    def _ranges(self, start: Offsets, end: Offsets) -> Iterator[tuple[str, int, int, int]]:
        new = end.keys() - start.keys()
        there = set(self._brokers.partitions(self.chosen)) if new else set()
        begins = self._brokers.begins(new & there)
        if missing := new - begins.keys():
            names = partitions_text(missing)
            self._lose(data_loss("INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS", partitions=names))
        for partition, at in sorted(begins.items()):
            if at != 0:
                self._lose(
                    data_loss(
                        "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO",
                        partition=partitions_text([partition]),
                        start=at,
                    )
                )
        if gone := start.keys() - end.keys():
            self._lose(data_loss("PARTITIONS_DELETED", partitions=partitions_text(gone)))
        first = {**begins, **start}
        for partition in sorted(end.keys() & first.keys()):
            since, until = first[partition], end[partition]
            if until < since:
                self._lose(
                    data_loss(
                        "PARTITION_OFFSET_CHANGED",
                        partition=partitions_text([partition]),
                        before=since,
                        now=until,
                    )
                )
            if since < until:
                yield (*partition, since, until)

    def _lose(self, error: RuntimeFailure) -> None:
        if self._fail_on_loss:
            raise error
        warnings.warn(error.message, stacklevel=3)


def _chosen(options: Options) -> Chosen:
    given = [name for name in _CHOICES if name in options]
    if len(given) != 1:
        counted = "Only one" if given else "One"
        verb = "can" if given else "must"
        raise DescriptionError(
            "STATEPLAN_BAD_OPTION",
            f"{counted} of the following options {verb} be specified for Kafka source: "
            f"{', '.join(_CHOICES)}.",
            hint="Set subscribe: topic1,topic2.",
        )
    text = options[given[0]].strip()
    match given[0]:
        case "assign":
            return Chosen("assign", partitions=read_partitions(text))
        case "subscribe" if names := [one.strip() for one in text.split(",") if one.strip()]:
            return Chosen("subscribe", topics=names)
        case "subscribePattern" if text:
            return Chosen("subscribePattern", pattern=text)
    raise options.refusal(given[0], "no topics to subscribe to", "Name at least one topic.")


class _Starting:
    """Where a new stream begins: Spark's options, the ones with times first."""

    def __init__(self, options: Options) -> None:
        self._time = options.whole("startingTimestamp", least=0)
        self._or_latest = (
            options.choice("startingOffsetsByTimestampStrategy", "error", ("error", "latest"))
            == "latest"
        )
        text = options.get("startingOffsetsByTimestamp")
        self._times = None if text is None else _json(text, "startingOffsetsByTimestamp")
        text = options.get("startingOffsets", "latest").strip()
        self._word = text.lower() if text.lower() in ("earliest", "latest") else None
        self._given = {} if self._word else _json(text, "startingOffsets")

    def offsets(self, brokers: Brokers, chosen: Chosen) -> dict[TopicPartition, int]:
        """The first offset of each partition.

        Raises:
            RuntimeFailure: the option names other partitions than there are, or a time behind all.
        """
        there = brokers.partitions(chosen)
        if self._time is not None or self._times is not None:
            times = self._times if self._time is None else dict.fromkeys(there, self._time)
            return self._at_times(brokers, there, times or {})
        if self._word:
            return brokers.begins(there) if self._word == "earliest" else brokers.ends(there)
        _check_assigned("KAFKA_START_OFFSET_DOES_NOT_MATCH_ASSIGNED", self._given, there)
        begins = brokers.begins(p for p, at in self._given.items() if at == EARLIEST)
        ends = brokers.ends(p for p, at in self._given.items() if at == LATEST)
        return {**self._given, **begins, **ends}

    def _at_times(
        self, brokers: Brokers, there: Sequence[TopicPartition], times: Offsets
    ) -> dict[TopicPartition, int]:
        _check_assigned("KAFKA_TIMESTAMP_OFFSET_DOES_NOT_MATCH_ASSIGNED", times, there)
        found = brokers.at_times(times)
        missing = [partition for partition, at in found.items() if at is None]
        if missing and not self._or_latest:
            raise RuntimeFailure(
                "STATEPLAN_BAD_OPTION",
                "No offset matched from request of topic-partitions and timestamps: "
                f"{partitions_text(missing)}.",
                hint="Set an earlier time, or startingOffsetsByTimestampStrategy to 'latest'.",
            )
        ends = brokers.ends(missing)
        return {p: ends[p] if at is None else at for p, at in found.items()}


def _check_assigned(
    condition: str, given: Offsets, there: Sequence[TopicPartition]
) -> None:
    if set(given) != set(there):
        what = "offsets" if "START" in condition else "timestamp based starting offsets"
        raise RuntimeFailure(
            condition,
            f"[{condition}] Partitions specified for Kafka {what} don't match what are assigned. "
            "Maybe topic partitions are created or deleted while the query is running. "
            f"Specified: {partitions_text(given)} Assigned: {partitions_text(there)}",
            hint="Name each partition: use -1 for latest, -2 for earliest.",
        )


def _json(text: str, name: str) -> dict[TopicPartition, int]:
    try:
        return read_offsets(json.loads(text), name)
    except ValueError:
        return read_offsets(text, name)


class _Limits:
    """How much a batch takes: minOffsetsPerTrigger until maxTriggerDelay, maxOffsetsPerTrigger."""

    def __init__(self, options: Options) -> None:
        self._least = options.whole("minOffsetsPerTrigger")
        self._most = options.whole("maxOffsetsPerTrigger")
        if self._least is not None and self._most is not None and self._least > self._most:
            raise options.refusal(
                "minOffsetsPerTrigger",
                f"it is higher than the maxOffsetsPerTrigger({self._most})",
                "Lower it, or raise the other.",
            )
        self._delay = options.duration_ms("maxTriggerDelay", "15m") / 1000
        self._last = float("-inf")  # as in Spark the first batch does not wait

    def end(self, start: Offsets, latest: Offsets, brokers: Brokers) -> Offsets:
        """The end of the next batch."""
        if self._least is not None:
            now = time.monotonic()
            new = sum(at - start.get(partition, 0) for partition, at in latest.items())
            if new < self._least and now - self._last < self._delay:
                return start
            self._last = now
        if self._most is None:
            return latest
        return limited(self._most, start, latest, brokers.begins(latest.keys() - start.keys()))


def _reading(
    settings: Mapping[str, str],
    schema: Any,
    *,
    headers: bool,
    poll_seconds: float,
    fail_on_loss: bool,
    lost: str,
) -> Read:
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
                    error = record.error()
                    if error is None:
                        offset = record.offset()
                        if offset < end:
                            kept.append(record)
                        left[partition] = offset + 1, end
                        if offset + 1 >= end:
                            done(partition)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        # Behind the last records there may be markers of transactions.
                        if record.offset() >= end:
                            done(partition)
                        elif record.offset() >= first:
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
