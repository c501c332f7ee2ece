"""A PySpark DataSource as a sink: its stream writer, without the JVM that calls it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import DescriptionError
from ...planner.model.output_modes import OutputMode
from ...planner.model.registered import SINKS, registered_class
from ..sources.python import data_source, in_users_code
from .base import Sink, SinkRequest
from .tasks import Work, in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class PythonSink(Sink):
    """Gives a batch's rows to the stream writer of a DataSource.

    `write` runs in tasks, `commit` in the driver once the batch stands, with the tasks' messages
    and the batch's id; `abort` where a batch does not. A batch may be committed again after a
    restart: exactly once is what the writer makes of the id.

    Args:
        source: the DataSource.
    """

    one_action = True
    in_arrow = True

    def __init__(self, source: Any) -> None:
        self._source = source
        self._name = type(source).name()
        self._overwrite = False
        self._written: tuple[Any, list[Any], int] | None = None

    @classmethod
    def create(cls, request: SinkRequest) -> PythonSink:
        kind = registered_class(SINKS, request.format)
        return cls(data_source(kind, request.options, request.path))

    @property
    def description(self) -> str:
        return f"PythonTable[{self._name}]"

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        self._overwrite = output_mode == "complete"

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        """Run the writer's `write` over the rows.

        Raises:
            DescriptionError: the data source has no stream writer.
            RuntimeFailure: its code fails.
        """
        self._abort()
        schema = frame.schema
        writer = in_users_code("streamWriter", lambda: self._writer(schema))
        self._written = writer, [], batch_id
        said = [pickle.loads(one) for one in in_tasks(frame, _writing(writer, schema))]
        self._written = writer, [message for message, _ in said], batch_id
        return int(sum(rows for _, rows in said))

    def _writer(self, schema: Any) -> Any:
        from pyspark.errors import PySparkNotImplementedError

        try:
            return self._source.streamWriter(schema, self._overwrite)
        except PySparkNotImplementedError:
            raise DescriptionError(
                "STATEPLAN_BAD_SINK",
                f"The data source '{self._name}' has no stream writer.",
                hint="Give it a method streamWriter.",
            ) from None

    def publish(self) -> None:
        if self._written is not None:
            writer, messages, batch_id = self._written
            in_users_code("commit", lambda: writer.commit(messages, batch_id))
            self._written = None

    def stop(self) -> None:
        self._abort()

    def _abort(self) -> None:
        """Tell the writer of a batch that did not stand."""
        if self._written is not None:
            (writer, messages, batch_id), self._written = self._written, None
            in_users_code("abort", lambda: writer.abort(messages, batch_id))


def _writing(writer: Any, schema: Any) -> Work:
    def work(partition: int, batches: Iterator[Any]) -> Iterator[bytes]:
        import pyarrow as pa
        from pyspark import cloudpickle
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql.conversion import ArrowTableToRowsConversion
        from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
        from pyspark.sql.pandas.types import to_arrow_schema

        kind = to_arrow_schema(schema, timezone="UTC")
        rows = 0

        def tables() -> Iterator[Any]:
            nonlocal rows
            for batch in batches:
                rows += batch.num_rows
                yield pa.Table.from_batches([batch]).rename_columns(kind.names).cast(kind)

        if isinstance(writer, DataSourceStreamArrowWriter):
            message = writer.write(batch for table in tables() for batch in table.to_batches())
        else:
            convert = ArrowTableToRowsConversion.convert
            message = writer.write(row for table in tables() for row in convert(table, schema))
        if not isinstance(message, WriterCommitMessage):
            raise PySparkRuntimeError(
                errorClass="DATA_SOURCE_TYPE_MISMATCH",
                messageParameters={
                    "expected": "'WriterCommitMessage' as the return type of the `write` method",
                    "actual": type(message).__name__,
                },
            )
        dumps: Any = cloudpickle.dumps
        yield dumps((message, rows))

    return work
