"""Spark as the engine, classic or through Spark Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ...planner.model.settings.conf import Conf
from ..frames import spark_schema_of
from ..kernels.prompt import prompt
from ..kernels.readers.formats import FILE_READERS
from ..kernels.reports import META
from ..kernels.scans.dealt_rows import SCHEMA, TO, Dealing
from ..kernels.scans.early_groups import EarlyGroups
from ..kernels.scans.scan import Scan
from ..kernels.task import TaskSpec, run_task
from ..kernels.worker_memory import made_ready_behind
from ..plan.facts import SPARK, Reader
from .engine import Engine, EventTimes, Reading, Reports
from .probes import EventTimeProbe, Probe
from .reader_settings import reads_as_usual
from .reports import SparkReports, task_reports
from .shipping import is_this_python, ship
from .spark_session import close_session, configure, cores, own_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..plan.nodes import Kernel


_SCANNED = ("json", "csv")
"""What Spark reads row by row; the files of other formats it reads as fast as our own code."""


class SparkEngine(Engine):
    """Spark, on a session of its own beside the user's.

    Args:
        spark: the user's session; its settings and views are neither used nor changed.
    """

    facts = SPARK

    def __init__(self, spark: SparkSession) -> None:
        self.spark = own_session(spark)
        self._kept: list[DataFrame] = []
        self._reports: list[SparkReports] = []

    def configure(self, conf: Conf, tasks: int) -> None:
        configure(self.spark, conf, tasks)

    @cached_property
    def cores(self) -> int:
        return cores(self.spark)

    def prepare_workers(self, *, stateful: bool) -> None:
        if stateful and not is_this_python(self.spark):
            ship(self.spark)

    def exchange(
        self, frame: DataFrame, to: Literal["keys", "one", "any"], keys: Sequence[str], tasks: int
    ) -> DataFrame:
        from pyspark.sql import functions as F

        if to == "any":
            # Spark would drop an exchange right below another one, such as a range.
            return frame.repartition(tasks).where("spark_partition_id() >= 0")
        if tasks == 1 and to == "keys":
            return frame.coalesce(1)  # one task needs no exchange
        if to == "one":
            return frame.coalesce(1) if tasks == 1 else frame.repartition(1)
        return frame.repartition(tasks, *map(F.expr, keys))

    def before_grouping(
        self, frame: DataFrame, keys: Sequence[str], tasks: int, *, placed: bool
    ) -> DataFrame:
        if tasks == 1:
            return frame.coalesce(1)  # grouping exchanges nothing then
        return _unclustered(frame, keys) if placed else frame

    def observe(self, frame: DataFrame, aggregates: Mapping[str, str]) -> tuple[DataFrame, Reading]:
        probe = Probe(**aggregates)
        return probe.over(frame), probe

    def observe_event_times(self, frame: DataFrame, column: str) -> tuple[DataFrame, EventTimes]:
        probe = EventTimeProbe(column)
        return probe.over(frame), probe

    def scans(self, reader: Reader) -> bool:
        if reader.format not in _SCANNED:
            return super().scans(reader)
        exact = FILE_READERS[reader.format].unsupported(reader.schema, reader.options) is None
        return exact and reads_as_usual(reader.format, self.setting)

    def dealt(
        self, spec: TaskSpec, scans: Mapping[int, Scan], frames: Sequence[DataFrame]
    ) -> DataFrame:
        from pyspark.sql.pandas.types import from_arrow_schema

        if spec.tasks == 1 and not scans:
            return self.union(frames).coalesce(1)
        # A union numbers the tasks of all its inputs, and a kernel goes by the number of its own.
        packed = [*frames[:1], *(self.exchange(f, "any", (), spec.tasks) for f in frames[1:])]
        if scans:
            early = EarlyGroups.of(spec.kernel, spec.windows)
            dealing = Dealing.of(scans, spec.tasks, early)
            units = len(dealing.units)
            numbers = self.spark.range(0, units, 1, max(1, units))
            read = numbers.mapInArrow(_reading_function(dealing), from_arrow_schema(SCHEMA))
            packed.append(read)
        rows = self.union(packed)
        if spec.tasks == 1:
            return rows.repartition(1)  # other tasks may be more
        return self.exchange(rows, "keys", [TO], spec.tasks)

    def run_kernel(
        self, frame: DataFrame, node: Kernel, spec: TaskSpec
    ) -> tuple[DataFrame, Reports]:
        from pyspark.sql.pandas.types import from_arrow_schema

        has_columns = spec.forwarding is not None or len(spec.names) > 0
        reports = task_reports(self.spark, spec.tasks, has_columns=has_columns)
        self._reports.append(reports)
        schema = spark_schema_of(node.output)
        if spec.forwarding is not None:
            schema = from_arrow_schema(SCHEMA)
        if reports.send is None:
            schema = schema.add(META, "string")
        made = frame.mapInArrow(_task_function(spec, reports.send), schema)
        rows = reports.over(made)
        return (rows if spec.forwarding is None else rows.select(SCHEMA.names)), reports

    def drop_rows(self, frame: DataFrame) -> DataFrame:
        return frame.where("spark_partition_id() < 0")  # no optimizer sees through it

    def keep(self, frame: DataFrame) -> DataFrame:
        # Computed first: kernels need partitions of their own, which a reader may put together.
        kept = frame.persist()
        self._kept.append(kept)
        kept.write.format("noop").mode("overwrite").save()
        # Another action runs some tasks again if memory did not hold what they gave.
        for reports in self._reports:
            reports.close()
        return kept

    def release(self) -> None:
        for frame in self._kept:
            frame.unpersist()
        self._kept.clear()
        self._reports.clear()

    def close(self) -> None:
        close_session(self.spark)


def _unclustered(frame: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows of which Spark does not know how they lie.

    Where it knows that rows are clustered by the keys of a grouping already (a range, an earlier
    aggregate), or are in one partition, it leaves out the exchange, and groups lie elsewhere than
    their stores: so a key is hidden behind an expression, and a single partition behind a union
    with no rows: a range of none, since Spark drops a local relation without rows, and runs tasks
    for an RDD.
    """
    from pyspark.sql.functions import lit

    hidden = {key: f"if(spark_partition_id() >= 0, {key}, NULL) AS {key}" for key in keys}
    nulls = (lit(None).cast(field.dataType).alias(field.name) for field in frame.schema)
    none = frame.sparkSession.range(0, 0, 1, 2).select(*nulls)
    return frame.union(none).selectExpr(*(hidden.get(name, name) for name in frame.columns))


def _reading_function(dealing: Dealing) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        return made_ready_behind(dealing.packed(prompt(batches)))

    return run


def _task_function(
    spec: TaskSpec, send: Callable[[str], None] | None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        return made_ready_behind(run_task(spec, context.partitionId(), prompt(batches), send))

    return run
