"""Offsets of topics' partitions: Spark's JSON for them, what brokers say, and a batch's share."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...planner.model.errors import DescriptionError, RuntimeFailure
from ..checkpoint import Offset
from ..kafka import client, not_reached, opened

TopicPartition = tuple[str, int]
Offsets = Mapping[TopicPartition, int]
LATEST, EARLIEST = -1, -2
"""What stands for them in the option `startingOffsets`."""
_METADATA_SECONDS = 10.0


def offset_json(offsets: Offsets) -> Offset:
    """`{"topic": {"0": 5}}`, topics and partitions in order."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def read_offsets(value: object, what: str) -> dict[TopicPartition, int]:
    """Offsets of such JSON.

    Raises:
        DescriptionError: it has another form; `what` names it.
    """
    try:
        assert isinstance(value, dict)
        return {
            (str(topic), int(partition)): int(offset)
            for topic, partitions in value.items()
            for partition, offset in partitions.items()
        }
    except (AssertionError, AttributeError, TypeError, ValueError):
        raise _expected(what, '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}', value) from None


def read_partitions(text: str) -> list[TopicPartition]:
    """The option `assign`: `{"topicA":[0,1]}`."""
    try:
        found = [(str(t), int(p)) for t, numbers in json.loads(text).items() for p in numbers]
    except (AttributeError, TypeError, ValueError):
        raise _expected("assign", '{"topicA":[0,1],"topicB":[0,1]}', text) from None
    return sorted(found)


def _expected(what: str, example: str, got: object) -> DescriptionError:
    return DescriptionError(
        "STATEPLAN_BAD_OPTION",
        f"Kafka's option '{what}': expected e.g. {example}, got {got!s:.200}.",
        hint="Write JSON of that form.",
    )


def partitions_text(partitions: Iterable[TopicPartition]) -> str:
    """Partitions as Spark names them: `events-0, events-1`."""
    return ", ".join(f"{topic}-{partition}" for topic, partition in sorted(partitions))


@dataclass(frozen=True)
class Chosen:
    """The partitions that a stream reads: by their numbers, by topics, or by a pattern.

    Attributes:
        option: `assign`, `subscribe` or `subscribePattern`.
        partitions, topics, pattern: what the option says.
    """

    option: str
    partitions: Sequence[TopicPartition] = ()
    topics: Sequence[str] = ()
    pattern: str = ""

    def __str__(self) -> str:
        match self.option:
            case "assign":
                return f"Assign[{partitions_text(self.partitions)}]"
            case "subscribe":
                return f"Subscribe[{', '.join(self.topics)}]"
        return f"SubscribePattern[{self.pattern}]"

    def of(self, topics: Mapping[str, Sequence[int]]) -> list[TopicPartition]:
        """Those that there are, out of all topics with their partitions."""
        if self.option == "assign":
            return [(t, p) for t, p in self.partitions if p in topics.get(t, ())]
        wanted = self.topics
        if self.option == "subscribePattern":
            # Kafka's own topics are not subscribed to by a pattern.
            names = (name for name in sorted(topics) if not name.startswith("__"))
            wanted = [name for name in names if re.fullmatch(self.pattern, name)]
        return [(topic, partition) for topic in wanted for partition in topics.get(topic, ())]


class Brokers:
    """What brokers say of topics and offsets; a client of the driver's.

    Args:
        settings: the consumer's.
        retries: how often more a question is asked (option `fetchOffset.numRetries`).
        wait_seconds: how long is waited in between.
    """

    def __init__(self, settings: Mapping[str, str], retries: int, wait_seconds: float) -> None:
        self._settings = settings
        self._tries = retries + 1
        self._wait = wait_seconds
        self._consumer: Any = None
        self._admin: Any = None

    def partitions(self, chosen: Chosen) -> list[TopicPartition]:
        """The partitions that there are, of those chosen."""
        if chosen.option == "subscribe":  # asking for a topic by its name may create it
            named = [self._topics(topic) for topic in chosen.topics]
            return chosen.of({name: found for one in named for name, found in one.items()})
        return chosen.of(self._topics())

    def _topics(self, topic: str | None = None) -> dict[str, list[int]]:
        def ask() -> dict[str, list[int]]:
            found = self.consumer.list_topics(topic, timeout=_METADATA_SECONDS).topics
            return {n: sorted(t.partitions) for n, t in found.items() if t.error is None}

        return self._asked("which topics there are", ask)  # type: ignore[no-any-return]

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each."""
        return self._offsets(partitions, latest=True)

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of the first record that is there."""
        return self._offsets(partitions, latest=False)

    def _offsets(
        self, partitions: Iterable[TopicPartition], *, latest: bool
    ) -> dict[TopicPartition, int]:
        kafka = client()
        from confluent_kafka.admin import AdminClient, OffsetSpec

        asked = list(partitions)
        if not asked:
            return {}
        if self._admin is None:
            common = {k: v for k, v in self._settings.items() if k not in _CONSUMERS_OWN}
            self._admin = opened(AdminClient, common)
        spec = OffsetSpec.latest() if latest else OffsetSpec.earliest()

        def ask() -> dict[TopicPartition, int]:
            request = {kafka.TopicPartition(topic, number): spec for topic, number in asked}
            answers = self._admin.list_offsets(request, request_timeout=_METADATA_SECONDS)
            return {(p.topic, p.partition): f.result().offset for p, f in answers.items()}

        return self._asked("for the offsets of its topics", ask)  # type: ignore[no-any-return]

    def at_times(self, times: Offsets) -> dict[TopicPartition, int | None]:
        """The first offset from a time on, in milliseconds since 1970; None: there is none yet."""
        kafka = client()

        def ask() -> dict[TopicPartition, int | None]:
            request = [kafka.TopicPartition(t, p, ms) for (t, p), ms in times.items()]
            answers = self.consumer.offsets_for_times(request, timeout=_METADATA_SECONDS)
            return {(a.topic, a.partition): a.offset if a.offset >= 0 else None for a in answers}

        return self._asked("for the offsets at a time", ask)  # type: ignore[no-any-return]

    @property
    def consumer(self) -> Any:
        """The driver's consumer, which reads no records."""
        if self._consumer is None:
            self._consumer = opened(client().Consumer, self._settings)
        return self._consumer

    def close(self) -> None:
        """Disconnect."""
        if self._consumer is not None:
            self._consumer.close()
        self._consumer = self._admin = None

    def _asked(self, what: str, ask: Any) -> Any:
        import time

        for tries_left in reversed(range(self._tries)):
            try:
                return ask()
            except client().KafkaException as problem:
                if not tries_left:
                    raise not_reached(what, problem.args[0].str()) from None
                time.sleep(self._wait)
        raise AssertionError("a question is asked at least once")


_CONSUMERS_OWN = ("group.id", "enable.auto.commit", "enable.partition.eof", "auto.offset.reset")


def limited(limit: int, start: Offsets, end: Offsets, begins: Offsets) -> dict[TopicPartition, int]:
    """The end of a batch of about so many records: each partition has its share of what is new.

    As in Spark no partition with new records has less than one.

    Args:
        limit: the option `maxOffsetsPerTrigger`.
        start: where the batch begins.
        end: where the partitions end.
        begins: where those begin that `start` does not know.
    """
    first = {**begins, **start}
    sizes = {p: offset - first[p] for p, offset in end.items() if p in first}
    total = sum(size for size in sizes.values() if size > 0)
    found = dict(end)
    for partition, size in sizes.items():
        if size > 0:
            share = limit * (size / total)
            taken = math.ceil(share) if share < 1 else math.floor(share)
            found[partition] = min(end[partition], first[partition] + taken)
    return found


_DATA_LOSS = {
    "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO": "Added partition {partition} starts from "
    "{start} instead of 0.",
    "INITIAL_OFFSET_NOT_FOUND_FOR_PARTITIONS": "Cannot find initial offsets for partitions "
    "{partitions}. They may have been deleted.",
    "PARTITIONS_DELETED": "Partitions {partitions} have been deleted.",
    "PARTITION_OFFSET_CHANGED": "Partition {partition} offset was changed from {before} to {now}. "
    "This could either be a user error that the start offset is set too high and this is the first "
    "batch, or the kafka topic-partition is broken, and some data may have been missed.",
    "COULD_NOT_READ_OFFSET_RANGE": "Could not read records in offset [{start}, {end}) for topic "
    "partition {partition} with consumer group {group}.",
}
_LOST = (
    "Some data may have been lost because they are not available in Kafka any more; either the "
    "data was aged out by Kafka or the topic may have been deleted before all the data in the "
    "topic was processed. If you don't want your streaming query to fail on such cases, set the "
    "source option failOnDataLoss to false. Reason:"
)


def data_loss_text(reason: str, **parameters: object) -> str:
    """Spark's text for data that is not in Kafka any more."""
    text = _DATA_LOSS[reason].format(**parameters)
    return f"[KAFKA_DATA_LOSS.{reason}] {_LOST} {text} SQLSTATE: 22000"


def data_loss(reason: str, **parameters: object) -> RuntimeFailure:
    """The error with this text."""
    return RuntimeFailure(
        f"KAFKA_DATA_LOSS.{reason}",
        data_loss_text(reason, **parameters),
        hint="Start with a new checkpoint, or set failOnDataLoss to false and do without the data.",
    )
