"""A source that makes rows at a steady rate: `timestamp TIMESTAMP, value BIGINT`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...planner.model.errors import DescriptionError
from ...planner.model.types import LONG, TIMESTAMP, StructField, StructType
from ..checkpoint import Offset, compact_json
from ..files import corrupt, read_whole, write_new
from ..state import Location
from .base import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROW_BYTES = 16
SCHEMA = StructType((StructField("timestamp", TIMESTAMP), StructField("value", LONG)))


class RateSource(Source):
    """`rowsPerSecond` rows for each second since the query's first start.

    The offset is the number of whole seconds. Row times are spread evenly over their second. The
    rows of a range of seconds are the same every time, so that a batch can run again.

    Args:
        options: `rowsPerSecond` (1), `numPartitions` (Spark's default parallelism).
        now: the clock, in seconds since 1970.

    Raises:
        DescriptionError: an option is unknown or no whole number.
    """

    def __init__(self, options: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        self.schema = SCHEMA
        lower = {key.lower(): value for key, value in options.items()}
        self.rows_per_second = _positive(lower.pop("rowspersecond", "1"), "rowsPerSecond")
        partitions = lower.pop("numpartitions", None)
        self.num_partitions = None if partitions is None else _positive(partitions, "numPartitions")
        for name in lower:
            raise DescriptionError(
                "STATEPLAN_UNKNOWN_OPTION",
                f"The rate source has no option '{name}'.",
                hint="It has rowsPerSecond and numPartitions.",
            )
        self._now = now
        self._start_ms = 0
        self._end: int | None = None

    @property
    def description(self) -> str:
        partitions = self.num_partitions or "default"
        return (
            f"RateStreamV2[rowsPerSecond={self.rows_per_second}, rampUpTimeSeconds=0, "
            f"numPartitions={partitions}"
        )

    def attach(self, log_directory: Location) -> None:
        """Remember when the query first started: the file `0` of its log, as in Spark."""
        path = log_directory / "0"
        try:
            text = read_whole(path).decode(errors="replace")
        except FileNotFoundError:
            self._start_ms = int(self._now() * 1000)
            write_new(path, f"v1\n{self._start_ms}".encode())
            return
        version, _, number = text.partition("\n")
        if version != "v1" or not number.strip().isdigit():
            raise corrupt(path, "it holds no start time")
        self._start_ms = int(number)

    def prepare_for_available_now(self) -> None:
        self._end = self._seconds()

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        first = 0 if start is None else _whole(start)
        return max(self._seconds() if self._end is None else self._end, first)

    def newest_offset(self) -> Offset | None:
        return self._seconds()

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        rate = self.rows_per_second
        first, last = (0 if start is None else _whole(start)) * rate, _whole(end) * rate
        rows = spark.range(first, last, 1, self.num_partitions)
        # Milliseconds as in Spark: a row's time is its place at the rate, from the start on.
        time_ms = f"{self._start_ms} + cast(floor(id * 1000D / {rate}) as bigint)"
        return rows.selectExpr(f"timestamp_millis({time_ms}) AS timestamp", "id AS value")

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        seconds = _whole(end) - (0 if start is None else _whole(start))
        return seconds * self.rows_per_second

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return (self.batch_rows(start, end) or 0) * _ROW_BYTES

    def _seconds(self) -> int:
        return max(0, int(self._now() * 1000) - self._start_ms) // 1000


def _whole(offset: Offset) -> int:
    assert isinstance(offset, int), compact_json(offset)
    return offset


def _positive(text: str, name: str) -> int:
    try:
        number = int(json.loads(str(text)))
    except ValueError:
        number = 0
    if number <= 0:
        raise DescriptionError(
            "STATEPLAN_BAD_OPTION",
            f"The rate source's option '{name}' is '{text}': it must be a whole number above 0.",
            hint=f"Set {name} to 1 or more.",
        )
    return number
