"""A PySpark DataSource as a stream: its reader's methods, without the JVM that calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import DescriptionError, RuntimeFailure, StateplanError
from ...planner.model.registered import SOURCES, data_source_schema, registered_class
from ...planner.model.schemas.types import StructType
from ..checkpoint import Offset
from ..frames import spark_schema
from ..options import Options
from .base import SourceRequest
from .parted import PartedSource, Read, RowsSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROWS = 10_000  # spark.sql.execution.arrow.maxRecordsPerBatch


def is_data_source(given: object) -> bool:
    """Whether it is a PySpark DataSource, or a class of such."""
    from pyspark.sql.datasource import DataSource

    return issubclass(given if isinstance(given, type) else type(given), DataSource)


def data_source(kind: Any, options: Options, path: str | None) -> Any:
    """A DataSource of a class, with options as PySpark gives them.

    Raises:
        RuntimeFailure: the user's code fails.
    """
    from pyspark.sql.datasource import CaseInsensitiveDict

    given = CaseInsensitiveDict(options.written)
    if path is not None:
        given["path"] = path
    return in_users_code("create", lambda: kind(options=given))


def in_users_code(action: str, call: Callable[[], Any]) -> Any:
    """What the user's code answers; what it raises has Spark's condition.

    Raises:
        RuntimeFailure: PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR.
    """
    try:
        return call()
    except StateplanError:
        raise
    except Exception as error:
        raise RuntimeFailure.of(
            "PYTHON_STREAMING_DATA_SOURCE_RUNTIME_ERROR",
            action=action,
            msg=f"{type(error).__name__}: {error}",
            hint="Correct the data source, then start the query again: it goes on from the last "
            "commit.",
        ) from error


class PythonSource(PartedSource):
    """What the stream reader, or the simple stream reader, of a DataSource gives.

    Offsets are the reader's own. As on Spark they are asked for in the driver, and `read` runs in
    tasks; a simple reader's rows are read in the driver, with the offset. With `available_now` a
    reader that is no `SupportsTriggerAvailableNow` gives all there is in one batch.

    Args:
        source: the DataSource.
        schema: the columns; None: those that it says.

    Raises:
        DescriptionError: it has no stream reader.
        RuntimeFailure: its code fails.
    """

    def __init__(self, source: Any, schema: StructType | None = None) -> None:
        self._source = source
        self._name = type(source).name()
        if schema is None:
            schema = in_users_code("schema", lambda: data_source_schema(source))
        self.schema = schema
        self._reader: Any = in_users_code("streamReader", self._open)
        self._simple = hasattr(self._reader, "simple_reader")
        self._initial: Offset | None = None
        self._available_now = self._keeps_up = False
        self._fixed: Offset | None = None

    def _open(self) -> Any:
        from pyspark.errors import PySparkNotImplementedError
        from pyspark.sql.datasource_internal import _streamReader

        try:
            return _streamReader(self._source, spark_schema(self.schema))
        except PySparkNotImplementedError:
            raise DescriptionError(
                "STATEPLAN_BAD_SOURCE",
                f"The data source '{self._name}' has no stream reader.",
                hint="Give it a method streamReader or simpleStreamReader.",
            ) from None

    @classmethod
    def create(cls, request: SourceRequest) -> PythonSource:
        kind = registered_class(SOURCES, request.format)
        return cls(data_source(kind, request.options, request.path), request.schema)

    @property
    def description(self) -> str:
        return f"PythonMicroBatchStream[{self._name}]"

    # ---------------------------------------------------------------------------------- offsets

    def prepare_for_available_now(self) -> None:
        from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

        self._available_now = True
        reader = self._reader.simple_reader if self._simple else self._reader
        self._keeps_up = isinstance(reader, SupportsTriggerAvailableNow)
        if self._keeps_up:
            in_users_code("prepareForTriggerAvailableNow", reader.prepareForTriggerAvailableNow)

    def latest_offset(self, start: Offset | None, *, unlimited: bool = False) -> Offset | None:
        if self._fixed is not None:
            return self._fixed
        whole = self._available_now and not self._keeps_up
        begin = self._begin(start)
        found: Offset = in_users_code(
            "latestOffset", lambda: self._latest(begin, whole or unlimited)
        )
        self._fixed = found if whole else None
        return found

    def _latest(self, start: Offset, whole: bool) -> Any:
        from pyspark.sql.streaming.datasource import ReadAllAvailable

        if not inspect.signature(self._reader.latestOffset).parameters:  # as before Spark 4.2
            return self._reader.latestOffset()
        limit = ReadAllAvailable() if whole else self._reader.getDefaultReadLimit()
        return self._reader.latestOffset(start, limit)

    def _begin(self, start: Offset | None) -> Offset:
        if start is not None:
            return start
        if self._initial is None:
            self._initial = in_users_code("initialOffset", self._reader.initialOffset)
        return self._initial

    def newest_offset(self) -> Offset | None:
        found: Offset | None = None
        if not self._simple:
            found = in_users_code("reportLatestOffset", self._reader.reportLatestOffset)
        return found

    def commit(self, end: Offset) -> None:
        in_users_code("commitSource", lambda: self._reader.commit(end))

    def stop(self) -> None:
        self._reader.stop()

    # ------------------------------------------------------------------------------------- rows

    def parts(self, start: Offset | None, end: Offset) -> Sequence[Any]:
        begin = self._begin(start)
        found: Sequence[Any] = in_users_code(
            "planPartitions", lambda: list(self._reader.partitions(begin, end))
        )
        return found

    def reading(self) -> Read:
        reader = self._reader.simple_reader if self._simple else self._reader
        return _reading(reader, spark_schema(self.schema), self._source, simple=self._simple)

    def batch(self, spark: SparkSession, start: Offset | None, end: Offset) -> DataFrame:
        if self._fetched(start, end) is None:
            return super().batch(spark, start, end)
        return RowsSource.batch(self, spark, start, end)

    def table(self, start: Offset | None, end: Offset) -> Any:
        rows = self._fetched(start, end)
        return super().table(start, end) if rows is None else self._table(rows)

    def _table(self, rows: Iterator[Any]) -> Any:
        import pyarrow as pa
        from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

        schema, kind = spark_schema(self.schema), self.arrow_schema
        batches = in_users_code(
            "read", lambda: list(records_to_arrow_batches(rows, _ROWS, schema, self._source))
        )
        tables = (pa.Table.from_batches([batch]).cast(kind) for batch in batches)
        return pa.concat_tables([kind.empty_table(), *tables])

    def _fetched(self, start: Offset | None, end: Offset) -> Iterator[Any] | None:
        """The rows that a simple reader gave with the offset, unless that was in another run."""
        if not self._simple:
            return None
        begin = self._begin(start)
        found: Iterator[Any] | None = in_users_code(
            "planPartitions", lambda: self._reader.getCache(begin, end)
        )
        return found


def _reading(reader: Any, schema: Any, source: Any, *, simple: bool) -> Read:
    def read(parts: Sequence[Any]) -> Iterator[Any]:
        from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

        for part in parts:
            rows = reader.readBetweenOffsets(part.start, part.end) if simple else reader.read(part)
            yield from records_to_arrow_batches(iter(rows), 10_000, schema, source)

    return read
