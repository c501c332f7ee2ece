"""Where a Kafka stream begins, and how much each of its batches takes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from ...planner.model.errors import RuntimeFailure
from ..options import Options
from .kafka_offsets import (
    EARLIEST,
    LATEST,
    Brokers,
    Chosen,
    Offsets,
    TopicPartition,
    limited,
    partitions_text,
    read_offsets,
)


class Starting:
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


def _check_assigned(condition: str, given: Offsets, there: Sequence[TopicPartition]) -> None:
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


class Limits:
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
