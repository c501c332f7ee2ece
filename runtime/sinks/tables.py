"""A table of Spark's catalog as a sink: PySpark's `toTable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...planner.model.errors import RuntimeFailure
from ...planner.model.formats import RUN_FORMATS
from ...planner.model.output_modes import OutputMode
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ...planner.model.text.spark_sql import quote, type_sql
from ..engines.embedded_session import is_embedded
from ..plan.facts import EngineFacts
from .base import Sink, SinkRequest, refuse_output_mode
from .files import FileSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableSink(Sink):
    """Adds each batch to a table of files, exactly once; makes the table when the query starts.

    The table's files are a FileSink's. A table that is there keeps its format and its partitions.

    Args:
        request: the format and partition columns of a new table, and the writer's options.
        name: the table's, as SQL has it.
    """

    one_action = True

    def __init__(self, request: SinkRequest, name: str) -> None:
        assert request.spark is not None
        self._request = request
        self._spark = request.spark
        self.name = name
        self._files: FileSink | None = None
        self._checked: tuple[StructType, EngineFacts, Conf] | None = None

    @property
    def description(self) -> str:
        return f"Table[{self.name}]" if self._files is None else self._files.description

    def attach(self, query_id: str, next_batch: int, output_mode: OutputMode) -> None:
        """Take the table, a new one if there is none.

        Raises:
            RuntimeFailure: the mode is not append, or the table went with the process that made it.
        """
        if output_mode != "append":
            raise refuse_output_mode(self._request.format, output_mode)
        if self._spark.catalog.tableExists(self.name):
            self._open(query_id, next_batch)
        elif next_batch > 0 and is_embedded(self._spark):
            raise RuntimeFailure(
                "STATEPLAN_TABLE_GONE",
                f"The table '{self.name}' that batches 0 to {next_batch - 1} were written to is "
                "not there: tables of the embedded engine end with its process.",
                hint="Run the query with --engine spark, or name a path instead of a table.",
            )
        else:
            self._make()
            self._open(query_id, next_batch)

    def check(self, schema: StructType, engine: EngineFacts, conf: Conf) -> None:
        self._checked = schema, engine, conf  # what the table's files are is known later

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        assert self._files is not None
        return self._files.write(frame, batch_id)

    def publish(self) -> None:
        if self._files is not None:
            self._files.publish()
            if not is_embedded(self._spark):  # which keeps no list of files
                self._spark.catalog.refreshTable(self.name)

    def stop(self) -> None:
        if self._files is not None:
            self._files.stop()

    def _make(self) -> None:
        assert self._checked is not None
        columns, _, _ = self._checked
        written = ", ".join(f"{quote(f.name)} {type_sql(f.data_type)}" for f in columns.fields)
        sql = f"CREATE TABLE {self.name} ({written}) USING {self._request.format}"
        # The embedded engine's tables have no clustering, which says nothing about their files.
        clustered = () if is_embedded(self._spark) else self._request.cluster_by
        for words, by in (
            ("PARTITIONED BY", self._request.partition_by),
            ("CLUSTER BY", clustered),
        ):
            sql += f" {words} ({', '.join(map(quote, by))})" if by else ""
        self._spark.sql(sql)

    def _open(self, query_id: str, next_batch: int) -> None:
        """Take the directory of the table that is there."""
        format_, location = table_files(self._spark, self.name)
        if format_ not in RUN_FORMATS or location is None:
            raise RuntimeFailure(
                "STATEPLAN_TABLE_NOT_OF_FILES",
                f"The table '{self.name}' is no table of files: its provider is '{format_}'.",
                hint=f"Write to a table of {', '.join(RUN_FORMATS)}, or with foreachBatch.",
            )
        columns = self._spark.catalog.listColumns(self.name)
        partition_by = [column.name for column in columns if column.isPartition]
        options = {k: v for k, v in self._request.options.written.items() if k.lower() != "path"}
        self._files = FileSink(format_, location, options, partition_by)
        self._files.attach(query_id, next_batch, "append")
        assert self._checked is not None
        self._files.check(*self._checked)


def table_files(spark: SparkSession, name: str) -> tuple[str, str | None]:
    """A table's format, in small letters, and where its files are, if that is known."""
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    known = {row["col_name"]: row["data_type"] for row in rows}
    return str(known.get("Provider", "")).lower(), known.get("Location")
