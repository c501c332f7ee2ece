"""Sources that make rows, at a steady rate or so many a batch: `timestamp`, `value`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...planner.model.formats import fixed_schema
from ...planner.model.schemas.types import StructType
from ..checkpoint import Offset
from ..files import corrupt, read_whole, write_new
from ..options import Options
from ..state import Location
from .base import Source, SourceRequest, not_its_offset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROW_BYTES = 16


class RateSource(Source):
    """`rowsPerSecond` rows for each second since the query's first start.

    The offset is the number of whole seconds. Row times are spread evenly over a batch's seconds.
    The rows of a range of seconds are the same every time, so that a batch can run again.

    Args:
        options: `rowsPerSecond` (1), `rampUpTime` until the rate is reached (0s), `numPartitions`
            (Spark's default parallelism).
        now: the clock, in seconds since 1970.

    Raises:
        DescriptionError: an option is unknown or no whole number.
    """

    def __init__(self, options: Mapping[str, str], now: Callable[[], float] = time.time) -> None:
        self.schema = _schema()
        own = Options(options, "the source 'rate'")
        own.refuse_unknown(("rowsPerSecond", "rampUpTime", "numPartitions"))
        self.rows_per_second = own.whole("rowsPerSecond", 1) or 1
        self.num_partitions = own.whole("numPartitions")
        text = own.get("rampUpTime", "0s")
        bare = text.strip().lstrip("-").isdigit()  # here Spark counts a bare number in seconds
        own = Options({"rampUpTime": f"{text}s" if bare else text}, own.owner)
        self.ramp_up_seconds = own.duration_ms("rampUpTime", "0s") // 1000
        if self.ramp_up_seconds < 0:
            raise own.refusal("rampUpTime", "it must not be negative", "Set it to 0s or more.")
        self._now = now
        self._start_ms = 0
        self._end: int | None = None

    @classmethod
    def create(cls, request: SourceRequest) -> RateSource:
        _ = request.fixed_schema
        return cls(request.options.written)

    @property
    def description(self) -> str:
        partitions = self.num_partitions or "default"
        return (
            f"RateStreamV2[rowsPerSecond={self.rows_per_second}, "
            f"rampUpTimeSeconds={self.ramp_up_seconds}, numPartitions={partitions}"
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
        begin, until = 0 if start is None else _whole(start), _whole(end)
        first, last = self._rows_by(begin), self._rows_by(until)
        rows = spark.range(first, last, 1, self.num_partitions)
        # Milliseconds as in Spark: a row's time is its place among those of the batch.
        each = (until - begin) * 1000 / max(1, last - first)
        since = f"cast(floor((id - {first}L) * {each!r}D + 0.5D) as bigint)"
        time_ms = f"{self._start_ms + begin * 1000}L + {since}"
        return rows.selectExpr(f"timestamp_millis({time_ms}) AS timestamp", "id AS value")

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        return self._rows_by(_whole(end)) - self._rows_by(0 if start is None else _whole(start))

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return (self.batch_rows(start, end) or 0) * _ROW_BYTES

    def _rows_by(self, second: int) -> int:
        """How many rows there are before a second."""
        ramp = self.ramp_up_seconds
        more = self.rows_per_second // (ramp + 1)  # with each second of the ramp, as in Spark
        if second > ramp:
            return more * ramp * (ramp + 1) // 2 + (second - ramp) * self.rows_per_second
        return more * second * (second + 1) // 2

    def _seconds(self) -> int:
        return max(0, int(self._now() * 1000) - self._start_ms) // 1000


class RateMicroBatchSource(Source):
    """`rowsPerBatch` rows for each batch, whenever it runs; for tests and benchmarks.

    The offset is `{"offset": rows, "timestamp": ms}`. The rows of a batch have one time, which
    moves on by `advanceMillisPerBatch` from batch to batch.

    Args:
        options: `rowsPerBatch`, `numPartitions` (Spark's default parallelism), `startTimestamp`
            in milliseconds since 1970 (0), `advanceMillisPerBatch` (1000).

    Raises:
        DescriptionError: `rowsPerBatch` is missing, an option is unknown or no such number.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.schema = _schema()
        own = Options(options, "the source 'rate-micro-batch'")
        own.refuse_unknown(
            ("rowsPerBatch", "numPartitions", "startTimestamp", "advanceMillisPerBatch")
        )
        rows = own.whole("rowsPerBatch")
        if rows is None:
            raise own.refusal("rowsPerBatch", "it is needed", "Set rowsPerBatch to 1 or more.")
        self._rows = rows
        self._partitions = own.whole("numPartitions")
        self._start_ms = own.whole("startTimestamp", 0, least=0) or 0
        self._advance_ms = own.whole("advanceMillisPerBatch", 1000, least=0) or 0
        self._available_now = False
        self._end: Offset | None = None

    @classmethod
    def create(cls, request: SourceRequest) -> RateMicroBatchSource:
        _ = request.fixed_schema
        return cls(request.options.written)

    @property
    def description(self) -> str:
        partitions = self._partitions or "default"
        return (
            f"RatePerMicroBatchStream[rowsPerBatch={self._rows}, numPartitions={partitions}, "
            f"startTimestamp={self._start_ms}, advanceMsPerBatch={self._advance_ms}]"
        )

    def prepare_for_available_now(self) -> None:
        self._available_now = True

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        if self._available_now and self._end is not None:
            return self._end
        rows, time_ms = self._place(start)
        self._end = {"offset": rows + self._rows, "timestamp": time_ms + self._advance_ms}
        return self._end

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        first, time_ms = self._place(start)
        rows = spark.range(first, self._place(end)[0], 1, self._partitions)
        return rows.selectExpr(f"timestamp_millis({time_ms}L) AS timestamp", "id AS value")

    def batch_rows(self, start: Offset | None, end: Offset) -> int | None:
        return self._place(end)[0] - self._place(start)[0]

    def batch_bytes(self, start: Offset | None, end: Offset) -> int | None:
        return (self.batch_rows(start, end) or 0) * _ROW_BYTES

    def _place(self, offset: Offset | None) -> tuple[int, int]:
        """How many rows there are before an offset, and the time of the next ones."""
        if offset is None:
            return 0, self._start_ms
        if not isinstance(offset, dict) or not {"offset", "timestamp"} <= set(offset):
            raise not_its_offset(offset, "rate-micro-batch")
        return int(offset["offset"]), int(offset["timestamp"])


def _schema() -> StructType:
    columns = fixed_schema("rate", {})
    assert columns is not None
    return columns


def _whole(offset: Offset) -> int:
    if not isinstance(offset, int):
        raise not_its_offset(offset, "rate")
    return offset
