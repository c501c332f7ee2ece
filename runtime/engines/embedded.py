"""Sail as the engine: a Spark-compatible one in the Python process, without Java.

It computes the rows that a kernel takes and those that the sink gets; between the two, kernels run
in this process, once, on a thread a task. Rows get here and back as Arrow batches of shared memory:
a Python function of the engine's runs in this process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import pyarrow as pa

from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import AttributeReference, Expression
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ..arrow_types import column_name, column_names
from ..frames import schema_of
from ..kernels.errors import KernelError
from ..kernels.expressions.evaluator import Evaluator
from ..kernels.expressions.programs.compile import compile_program
from ..kernels.json.filters import PushedFilter
from ..kernels.readers.formats import FILE_READERS
from ..kernels.scans.parquet_files import ScanFile
from ..kernels.scans.row_order import row_by_row
from ..kernels.scans.table_look_up import forget_tables
from ..kernels.scans.words import with_words
from ..kernels.task import TaskSpec
from ..plan.facts import Reader
from ..sources.files import FileSource
from ..sources.parquet import FileBatch
from ..sources.tables import FilesTable, Table
from ..state.rows import columns_of
from .embedded_errors import engine_failure
from .embedded_exactness import EMBEDDED
from .embedded_files import OwnFiles, check_files, embedded_uri, readable_files
from .embedded_folders import FolderColumns, engine_rows
from .embedded_kernels import ArrivedRows, RunningTasks, run_without_state
from .embedded_metadata import by_file, rows_not_numbered
from .embedded_processes import TaskProcesses
from .embedded_rows import RowCrossing
from .embedded_watching import PassedRows, RowCount, SeenEventTimes
from .engine import Engine, EventTimes, Reading, Reports
from .evaluating import evaluator
from .local_rows import ROW, FileRows, Holder, LocalRows, Rows, dataframe, united
from .placing import placing
from .python_calls import PythonCalls
from .python_groups import PythonGroups
from .reader_settings import changed_settings

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from ..checkpoint import Offset
    from ..plan.nodes import Kernel
    from ..sources import Source


class EmbeddedEngine(Engine):
    """Sail, on a session of its own.

    Args:
        spark: a session on the engine in this process (`embedded_session.py`).
    """

    facts = EMBEDDED

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._rows = RowCrossing(spark)
        self._zone = "UTC"
        self._files: dict[int, OwnFiles] = {}  # by the id of the DataFrame of all columns
        self._unnumbered: dict[int, DataFrame] = {}  # those whose last column is to be row_index
        self._conf = Conf()
        self._processes = TaskProcesses()

    def configure(self, conf: Conf, tasks: int) -> None:
        self._zone = conf.time_zone
        self._rows.plans.forget()
        self.spark.conf.set("spark.sql.session.timeZone", conf.time_zone)
        self.spark.conf.set("spark.sql.ansi.enabled", conf["spark.sql.ansi.enabled"])
        self._conf = conf

    def setting(self, name: str, usual: str) -> str:
        return self._conf.settings.get(name, usual)  # those of Spark alone the engine has not

    def reads_here(self, reader: Reader) -> bool:
        own = FILE_READERS.get(reader.format)
        return (
            own is not None
            and own.unsupported(reader.schema, reader.options) is None
            and not any(changed_settings(reader.format, self._conf))
        )

    def read_source(self, source: Source, start: Offset | None, end: Offset) -> DataFrame:
        def read(paths: list[str], columns: StructType) -> DataFrame:
            assert isinstance(source, FileSource)
            return source.read(self.spark, paths, place=embedded_uri, columns=columns)

        reader = source.reader
        if reader is None:
            rows = source.batch_table(start, end)
            if rows is not None:
                return self._rows.local_table(rows, source.schema)
        if reader is None or not self.reads_here(reader):
            if isinstance(source, FileSource):
                paths = source.batch_paths(start, end)
                folders = self._folders(source.reader, paths)
                check_files(paths, source.format, folders.in_files, self._zone)
                if source.metadata:
                    batch = source.batch_files(start, end)
                    return self._with_metadata(source, paths, folders, batch)
                frames = [engine_rows(read, group, folders) for group in source.groups(paths)]
                frame = self.union(frames)
                return self._perhaps_here(frame, source, paths, source.batch_files(start, end))
            return source.batch(self.spark, start, end)
        return self._read(source.batch_paths(start, end), reader, "batch")

    def read_table(self, table: Table) -> DataFrame:
        reader = table.reader
        rows = table.arrow()
        if rows is not None:
            return self._rows.local_table(rows, table.schema, "query")
        if not isinstance(table, FilesTable) or reader is None or not self.reads_here(reader):
            if isinstance(table, FilesTable):
                return self._table(table)
            return table.frame(self.spark)
        return self._read(table.paths, reader, "query")

    def _table(self, table: FilesTable) -> DataFrame:
        def read(paths: list[str], columns: StructType) -> DataFrame:
            return table.at(self.spark, list(map(embedded_uri, paths)), columns)

        paths = table.paths
        folders = self._folders(table.reader, paths)
        check_files(paths, table.format, folders.in_files, self._zone)
        return engine_rows(read, paths, folders) if paths else self.no_rows(table.schema)

    def no_rows(self, schema: StructType) -> DataFrame:
        return self._rows.local_table(None, schema, "query")

    def _with_metadata(
        self,
        source: FileSource,
        paths: Sequence[str],
        folders: FolderColumns,
        batch: FileBatch | None,
    ) -> DataFrame:
        """The rows of files that the engine reads, or of Parquet files that our own code can read,
        with the fields of `_metadata`."""
        parquet = readable_files(source, batch)
        if parquet is not None:
            return self._read(paths, source.reader, "batch", parquet)
        frame = by_file(self.spark, source, paths, folders)
        if source.format == "parquet":
            self._unnumbered[id(frame)] = frame
        return frame

    def _perhaps_here(
        self, frame: DataFrame, source: FileSource, paths: Sequence[str], batch: FileBatch | None
    ) -> DataFrame:
        """The rows of files that the engine reads; of Parquet files our own code does, if it is the
        first to take them."""
        parquet = readable_files(source, batch)
        if parquet is None or not (self.may_scan and self.scans(source.reader)):
            return frame
        files = self._files_of(paths, source.reader, "batch", parquet)
        places = range(len(source.schema.fields))

        def read(places: Sequence[int], encoded: bool) -> LocalRows:
            return self._own(files, places, encoded=encoded)

        below = frame.toDF(*(f"t{place}" for place in places))
        return cast("DataFrame", FileRows(files.schema(places), below, read, places))

    def _read(
        self,
        paths: Sequence[str],
        reader: Reader,
        holder: Holder,
        parquet: Mapping[str, ScanFile] | None = None,
    ) -> DataFrame:
        """The rows of files, read by our own code: a partition for each file."""
        files = self._files_of(paths, reader, holder, parquet or {})
        frame = cast("DataFrame", self._own(files, range(len(reader.columns))))
        self._files[id(frame)] = replace(files, frame=frame)
        return frame

    def _files_of(
        self, paths: Sequence[str], reader: Reader, holder: Holder, parquet: Mapping[str, ScanFile]
    ) -> OwnFiles:
        return OwnFiles(
            paths=paths,
            reader=reader,
            zone=self._zone,
            failures=self._rows.failures,
            holder=holder,
            folders=self._folders(reader, paths),
            parquet=parquet,
        )

    def _folders(self, reader: Reader, paths: Sequence[str]) -> FolderColumns:
        return FolderColumns.of(paths, reader.base, reader.schema, self._zone)

    def _own(
        self,
        files: OwnFiles,
        places: Sequence[int],
        filters: Sequence[PushedFilter] = (),
        *,
        encoded: bool = False,
    ) -> LocalRows:
        parts = files.parts(places, filters, encoded=encoded)
        return self._rows.local_rows(parts, files.schema(places), files.holder)

    def only(
        self,
        frame: DataFrame,
        places: Sequence[int],
        columns: Sequence[AttributeReference],
        given: Sequence[Expression],
    ) -> DataFrame:
        files = self._files.get(id(frame))
        if files is None and not places:
            return self.without_columns(frame)
        if files is None and isinstance(frame, Rows):
            return cast("DataFrame", frame.only(places))
        if files is None:
            names = [f"t{i}" for i in range(len(frame.columns))]
            if id(frame) in self._unnumbered and len(names) - 1 in places:
                raise rows_not_numbered()
            return frame.toDF(*names).select(*(names[i] for i in places))
        frame = cast("DataFrame", self._own(files, places, files.filters(places, columns, given)))
        if not given or compile_program(columns, columns, given, untouched=True) is None:
            return frame
        # Spark's reader gives no others, so neither are they counted.
        return self.compute(frame, [evaluator(columns, columns, given)], columns)

    def exchange(
        self, frame: DataFrame, to: Literal["keys", "one", "any"], keys: Sequence[str], tasks: int
    ) -> DataFrame:
        # The rows of a kernel are dealt out where they arrive in this process.
        return frame.coalesce(1) if to == "one" else frame

    def union(self, frames: Sequence[DataFrame]) -> DataFrame:
        if all(isinstance(frame, LocalRows) for frame in frames):
            return cast("DataFrame", united(cast("Sequence[LocalRows]", frames)))
        return super().union([dataframe(frame) for frame in frames])

    def ordered(
        self,
        frame: DataFrame,
        order: Sequence[SparkColumn],
        columns: Sequence[AttributeReference],
    ) -> DataFrame:
        # Sail drops a sort below a Python function: nothing says that it asks for an order.
        ordered = frame.orderBy(*order).select(*map(column_name, columns))
        rows = self._rows.plans.remembered(ordered).toArrow()
        return self._rows.local_table(rows, schema_of(columns))

    def observe(self, frame: DataFrame, aggregates: Mapping[str, str]) -> tuple[DataFrame, Reading]:
        ((name, sql),) = aggregates.items()
        if sql != "count(1)":
            raise InternalError(f"the embedded engine is to observe {sql}")
        passed = PassedRows()
        return self.observe_rows(frame, passed.count), RowCount(name, passed)

    def observe_rows(self, frame: DataFrame, look: Callable[[Any], None]) -> DataFrame:
        return cast("DataFrame", self._rows.arriving(frame).seen(look))

    def given(self, rows: Any, columns: Sequence[AttributeReference]) -> DataFrame:
        names = column_names(columns)
        renamed = pa.RecordBatch.from_arrays(rows.columns, names=names)
        return self._rows.local([[renamed]], schema_of(columns))

    def without_columns(self, frame: DataFrame) -> DataFrame:
        if isinstance(frame, Rows):
            return cast("DataFrame", frame.only(()))
        rows = self._rows.arriving(frame.selectExpr("0 AS row"), ROW)
        return cast("DataFrame", rows.only(()))

    def observe_event_times(self, frame: DataFrame, column: str) -> tuple[DataFrame, EventTimes]:
        times = SeenEventTimes(frame.columns.index(column))
        return self.observe_rows(frame, times.look), times

    def run_kernel(
        self, frame: DataFrame, node: Kernel, spec: TaskSpec
    ) -> tuple[DataFrame, Reports]:
        if spec.scans:
            arrived = ArrivedRows(spec, None)
            arrived.scan(spec.scans)
        else:
            arrived = ArrivedRows(spec, None if node.single else placing(node))
            arrived.take(self._rows.over_partitions(frame, arrived.dealt))
        reports = RunningTasks(spec, self._processes)
        outputs = reports.run(arrived)
        return self._rows.local(outputs, schema_of(node.output)), reports

    def run_once(self, frame: DataFrame, node: Kernel, spec: TaskSpec) -> DataFrame:
        arrived = ArrivedRows(spec, None if node.single else placing(node))
        arrived.take(self._rows.over_partitions(frame, arrived.dealt))
        return self._rows.local(run_without_state(spec, arrived), schema_of(node.output))

    def subquery(self, frame: DataFrame, columns: Sequence[AttributeReference]) -> DataFrame:
        rows = frame.toArrow() if isinstance(frame, LocalRows) else frame.limit(2).toArrow()
        if rows.num_rows > 1:
            raise KernelError.of("SCALAR_SUBQUERY_TOO_MANY_ROWS")
        self._rows.plans.known = False  # from here on they may name this one's view
        return self._rows.local_table(rows, schema_of(columns))

    def drop_rows(self, frame: DataFrame) -> DataFrame:
        rows = self._rows.arriving(frame)
        return cast("DataFrame", rows.made(rows.kind, lambda batch: ()))

    def keep(self, frame: DataFrame) -> DataFrame:
        return self._rows.kept(frame)

    def compute(
        self,
        frame: DataFrame,
        evaluators: Sequence[Evaluator],
        columns: Sequence[AttributeReference],
    ) -> DataFrame:
        names = [column_name(column) for column in columns]
        read_by_word = frozenset().union(*(one.program.taken_alone for one in evaluators))

        def made(batch: Any) -> Iterator[Any]:
            batch = with_words(read_by_word, batch)
            parts = [one.begin(batch) for one in evaluators]
            if columns:
                results = row_by_row([part.results() for part in parts])
                yield pa.RecordBatch.from_arrays(results, names=names)
            else:
                yield columns_of([], None, sum(part.count for part in parts))

        kind = schema_of(columns)
        if isinstance(frame, FileRows):
            return cast("DataFrame", frame.here(encoded=True).made(kind, made))
        return cast("DataFrame", self._rows.arriving(frame, kind).made(kind, made))

    def call_python(self, frame: DataFrame, calls: PythonCalls, kind: StructType) -> DataFrame:
        return cast("DataFrame", self._rows.arriving(frame, kind).over_parts(kind, calls.rows))

    def call_python_on_groups(
        self, frames: Sequence[DataFrame], calls: PythonGroups, kind: StructType
    ) -> DataFrame:
        rows = calls.results([self._rows.all_of(frame) for frame in frames])
        return self._rows.local([list(rows)], kind)

    def failure(self, error: BaseException) -> BaseException:
        failures = list(self._rows.failures)
        self._rows.failures.clear()
        if failures:
            return failures[0]
        if not type(error).__module__.startswith("pyspark."):
            return error  # of a user's function, whose words may be the engine's by chance
        return engine_failure(error)

    def named(self, frame: DataFrame, columns: Sequence[str], names: Sequence[str]) -> DataFrame:
        if isinstance(frame, Rows) and frame.columns == list(columns):
            return frame.toDF(*names)
        return super().named(frame, columns, names)

    def dataframe(self, frame: DataFrame) -> DataFrame:
        return dataframe(frame)

    def in_arrow(self, frame: DataFrame) -> DataFrame:
        return frame if isinstance(frame, Rows) else self._rows.plans.remembered(frame)

    def release(self) -> None:
        self._let_go("batch")
        self._rows.plans.known = True

    def _let_go(self, holder: Holder) -> None:
        self._rows.let_go(holder)
        self._unnumbered.clear()
        self._files = {key: one for key, one in self._files.items() if one.holder != holder}

    def forget(self) -> None:
        """Forget all rows that are held for the engine."""
        self.release()
        self._let_go("query")

    def close(self) -> None:
        self._processes.close()
        self.forget()
        forget_tables()
        # `stop` would wait for whoever of this process stops another session.
        client: Any = self.spark.client
        with contextlib.suppress(Exception):  # the engine may be gone
            client.release_session()
        client.close()
