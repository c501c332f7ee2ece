"""Sinks without files: noop, memory, foreachBatch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...planner.model.output_modes import OutputMode
from ..crossing import Crossing
from ..engines.embedded_session import is_embedded
from ..engines.local_rows import LocalRows
from ..frames import for_arrow
from .base import Sink, SinkRequest
from .tasks import counted

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


class NoopSink(Sink):
    """Computes every row and drops it.

    Args:
        counts: whether rows that an engine has are counted, as Spark counts them: it takes a tenth
            of a batch that does little else. Rows in this process always are.
    """

    one_action = True
    in_arrow = True

    def __init__(self, *, counts: bool = False) -> None:
        self._counts = counts

    @classmethod
    def create(cls, request: SinkRequest) -> NoopSink:
        return cls()

    @property
    def description(self) -> str:
        return "NoopTable"

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        if isinstance(frame, LocalRows):
            return frame.computed()
        if self._counts and is_embedded(frame.sparkSession):
            return counted(frame)
        rows = None
        if self._counts:
            from pyspark.sql import Observation
            from pyspark.sql import functions as F

            rows = Observation()
            frame = frame.observe(rows, F.count(F.lit(1)).alias("rows"))
        frame.write.format("noop").mode("overwrite").save()
        return None if rows is None else int(rows.get["rows"])


class ForeachBatchSink(Sink):
    """Hands each batch to a function.

    Args:
        function: takes the batch's DataFrame and its id. It may use the DataFrame as often as it
            likes, in part or not at all. What it raises fails the batch.
        evaluates_once: the function runs exactly one action over all rows; then the batch's rows
            need not be kept for it.
    """

    calls_function = True

    def __init__(
        self, function: Callable[[DataFrame, int], object], *, evaluates_once: bool = False
    ) -> None:
        self._function = function
        self.one_action = evaluates_once

    @property
    def description(self) -> str:
        return "ForeachBatchSink"

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        self._function(frame, batch_id)
        return None


class MemorySink(Sink):
    """Keeps the rows in the driver and, with a name, shows them as a temporary view.

    In append and update mode batches are added, in complete mode the last one stands for all.

    Args:
        spark: the session that gets the view.
        name: the view's name.
    """

    one_action = True
    in_arrow = True

    def __init__(self, spark: SparkSession | None = None, name: str | None = None) -> None:
        self._spark = spark
        self.name = name
        self._mode: OutputMode = "append"
        self._batches: dict[int, pa.Table] = {}
        self._lock = threading.Lock()

    @classmethod
    def create(cls, request: SinkRequest) -> MemorySink:
        return cls(request.spark, request.name)

    @property
    def description(self) -> str:
        return "MemorySink"

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        self._mode = output_mode

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        frame = for_arrow(frame)
        crossing = Crossing.of(frame)
        table = crossing.here(frame)
        with self._lock:
            if self._mode == "complete":
                self._batches.clear()
            self._batches[batch_id] = table
        if self._spark is not None and self.name is not None:
            self.show(crossing.back(self._spark, self.table()), self.name)
        return int(table.num_rows)

    def show(self, rows: DataFrame, name: str) -> None:
        """Make a view of all rows so far."""
        rows.createOrReplaceTempView(name)

    def table(self) -> pa.Table:
        """All rows so far as an Arrow table; raises ValueError before the first batch."""
        import pyarrow as pa

        with self._lock:
            if not self._batches:
                raise ValueError("no batch has come yet")
            return pa.concat_tables(list(self._batches.values()))

    def batches(self) -> dict[int, pa.Table]:
        """The batches by id; in complete mode the last one only."""
        with self._lock:
            return dict(self._batches)

    def rows(self) -> list[tuple[object, ...]]:
        """All rows so far as tuples, in the order of the batches."""
        found: list[tuple[object, ...]] = []
        for table in self.batches().values():
            columns = [column.to_pylist() for column in table.columns]
            found += zip(*columns, strict=True) if columns else [()] * table.num_rows
        return found
