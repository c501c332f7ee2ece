"""A Kafka cluster for tests: librdkafka's mock brokers, with the real protocol on the loopback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


class Cluster:
    """Brokers of this process; a topic is there from its first record on, with four partitions."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._mock = Producer(
            {"bootstrap.servers": "none:1", "test.mock.num.brokers": "1", "log_level": "0"}
        )
        brokers = self._mock.list_topics(timeout=10).brokers.values()
        self.servers = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        self._producer = Producer({"bootstrap.servers": self.servers, "log_level": "0"})

    def send(self, topic: str, *values: Any, partition: int = 0, **record: Any) -> None:
        """Add records to a partition."""
        for value in values:
            self._producer.produce(topic, value=value, partition=partition, **record)
        assert self._producer.flush(10) == 0

    def options(self, topic: str, **more: Any) -> dict[str, Any]:
        """Options of a source that reads a topic from its beginning."""
        own = {"subscribe": topic, "startingOffsets": "earliest"}
        own = {} if {"assign", "subscribePattern"} & set(more) else own
        return {"kafka.bootstrap.servers": self.servers, **own, **more}

    def records(self, topic: str) -> list[tuple[int, Any, Any, Any]]:
        """The partition, key, value and headers of a topic's records, by partition."""
        from confluent_kafka import Consumer, TopicPartition

        settings: dict[str, Any] = {
            "bootstrap.servers": self.servers,
            "group.id": "test",
            "log_level": "0",
        }
        settings |= {"enable.partition.eof": True, "fetch.wait.max.ms": 10}
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(topic, number, 0) for number in range(4)])
        found, ended = [], 0
        while ended < 4:
            for one in consumer.consume(1, 5):
                ended += one.error() is not None
                if one.error() is None:
                    found.append((one.partition(), one.key(), one.value(), one.headers()))
        consumer.close()
        return sorted(found, key=lambda record: record[0])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    yield Cluster()
