"""Sources whose rows Python code reads: in this process, or in parts that Spark's tasks read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..arrow_types import arrow_type
from ..checkpoint import Offset
from ..failures import as_in_a_task
from ..frames import spark_schema
from .base import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class RowsSource(Source):
    """A source whose rows this process has."""

    @abstractmethod
    def table(self, start: Offset | None, end: Offset) -> Any:
        """The rows behind `start` up to `end` as an Arrow table of the schema's columns.

        Raises:
            RuntimeFailure: rows of the range are not there any more.
        """

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        return spark.createDataFrame(self.table(start, end), spark_schema(self.schema))

    def batch_table(self, start: Offset | None, end: Offset) -> Any:
        return self.table(start, end)

    @property
    def arrow_schema(self) -> Any:
        """The schema's columns in Arrow's types."""
        return pa.schema([(f.name, arrow_type(f.data_type)) for f in self.schema.fields])


_FEW = 8  # parts, each of which gets a task of its own

Read = Callable[[Sequence[Any]], Iterator[Any]]
"""Gives the Arrow batches of some parts. It travels to Spark's tasks, where this package may not
be: it is a function within a function, which uses nothing of this package when called."""


class PartedSource(RowsSource):
    """A source whose rows are read in parts: by Spark's tasks, or on threads of this process."""

    @abstractmethod
    def parts(self, start: Offset | None, end: Offset) -> Sequence[Any]:
        """The parts of a range; they travel to tasks.

        Raises:
            RuntimeFailure: rows of the range are not there any more.
        """

    @abstractmethod
    def reading(self) -> Read:
        """How parts are read."""

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        parts = list(self.parts(start, end))
        # More are dealt out to as many tasks as the cluster has cores.
        tasks = max(1, len(parts)) if len(parts) <= _FEW else None
        numbers = spark.range(0, len(parts), 1, tasks)
        return numbers.mapInArrow(_task(parts, self.reading()), spark_schema(self.schema))

    def table(self, start: Offset | None, end: Offset) -> Any:
        read, parts, threads = self.reading(), self.parts(start, end), cpu_count() or 1
        size = max(1, -(-len(parts) // threads))
        shares = [parts[i : i + size] for i in range(0, len(parts), size)]  # rows keep their order
        with as_in_a_task(), ThreadPoolExecutor(threads) as pool:
            found = pool.map(lambda share: list(read(share)), shares)
            batches = [batch for share in found for batch in share]
        schema = self.arrow_schema
        return pa.concat_tables(
            [schema.empty_table(), *(pa.Table.from_batches([b]).cast(schema) for b in batches)]
        )


def _task(parts: Sequence[Any], read: Read) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield from read([parts[number] for number in batch.column(0).to_pylist()])

    return run
