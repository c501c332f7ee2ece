"""Kafka topics as a stream: Spark's options, offsets and rows, through librdkafka."""

from __future__ import annotations

import json
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ..checkpoint import Offset, compact_json
from ..files import corrupt, read_whole, write_new
from ..kafka import client, client_settings
from ..options import Options
from ..state import Location
from .base import SourceRequest, not_its_offset
from .kafka_offsets import (
    Brokers,
    Chosen,
    Offsets,
    TopicPartition,
    data_loss,
    data_loss_text,
    offset_json,
    partitions_text,
    read_offsets,
    read_partitions,
)
from .kafka_reading import reading
from .kafka_starting import Limits, Starting
from .parted import PartedSource, Read

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
            and `maxRecordsPerPartition` are accepted and change nothing: a task reads whole
            partitions of topics.

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
        self._starting = Starting(options)
        self._limits = Limits(options)
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
        """Each `(topic, partition, first offset, offset behind the last)`."""
        return list(self._ranges(self._offsets(start), self._offsets(end)))

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        first, last = self._offsets(start), self._offsets(end)
        return sum(max(0, at - first.get(p, 0)) for p, at in last.items()) * _ROW_BYTES

    def reading(self) -> Read:
        return reading(
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
