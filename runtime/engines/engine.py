"""What differs between the engines that run a batch: one interface, two implementations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, reduce
from os import cpu_count
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ...planner.model.errors import InternalError
from ...planner.model.expressions.core import AttributeReference, Expression
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ...planner.model.text.spark_sql import quote
from ..frames import rows_frame
from ..kernels.expressions.evaluator import Evaluator
from ..kernels.scans.scan import Scan
from ..kernels.task import TaskSpec
from ..plan.facts import EngineFacts, Reader
from ..sources.parquet import ENABLED
from .python_calls import PythonCalls
from .python_groups import PythonGroups
from .reader_settings import reads_as_usual
from .settings import default_tasks

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame, SparkSession

    from ..checkpoint import Offset
    from ..plan.nodes import Kernel
    from ..sources import Source
    from ..sources.tables import Table
    from .context import EventTimeStats


class Reading(Protocol):
    """Figures of the rows that pass through a DataFrame in its first action."""

    def values(self, deadline: float) -> Mapping[str, Any] | None:
        """The figures by name; None if there are none by the deadline (`time.monotonic`)."""


class EventTimes(Protocol):
    """The event times of the rows that pass through a DataFrame in its first action."""

    def stats(self, deadline: float) -> EventTimeStats | None:
        """The figures; None if there are none by the deadline, or there were no rows."""


class Reports(Protocol):
    """The reports of an operator's tasks in one batch."""

    def texts(self, deadline: float) -> tuple[list[str], int] | None:
        """The reports; how many there were: more than these if a task ran again.

        None if there are none by the deadline (`time.monotonic`).
        """


class Engine(ABC):
    """An engine, and the session on which a query's batches run.

    Attributes:
        facts: what the runtime plan has to know of it.
        spark: the query's own session.
    """

    facts: EngineFacts
    spark: SparkSession

    @abstractmethod
    def configure(self, conf: Conf, tasks: int) -> None:
        """Put a query's settings on the session.

        Raises:
            RuntimeFailure: the engine refuses a setting.
        """

    def setting(self, name: str, usual: str) -> str:
        """The value of a setting of Spark's for the batches; `usual` where it is not set."""
        value = self.spark.conf.get(name, usual or None)  # an empty text fits few types
        return usual if value is None else str(value)

    def task_count(self, conf: Conf) -> int:
        """How many tasks run each stateful operator."""
        return default_tasks(conf.shuffle_partitions, self.cores)

    def prepare_workers(self, *, stateful: bool) -> None:  # noqa: B027  most have none
        """Give workers the code that their tasks need; `stateful`: whether there are kernels.

        Raises:
            RuntimeFailure: they cannot run it.
        """

    def reads_here(self, reader: Reader) -> bool:
        """Whether our own code reads such files, instead of the engine."""
        return False

    @cached_property
    def may_scan(self) -> bool:
        """Whether our own code may read files that the engine reads, too."""
        return self.setting(ENABLED, "true").upper() == "TRUE"

    def scans(self, reader: Reader) -> bool:
        """Whether the tasks of kernels may read such files themselves."""
        return reader.here or (
            reader.format == "parquet" and reads_as_usual("parquet", self.setting)
        )

    @property
    def cores(self) -> int:
        """With how many cores Spark would read files: its default parallelism."""
        return cpu_count() or 1

    def over_files(self, spec: TaskSpec) -> DataFrame:
        """What the tasks of a kernel take that read files themselves."""
        return self.spark.range(0, spec.tasks, 1, spec.tasks)

    def dealt(
        self, spec: TaskSpec, scans: Mapping[int, Scan], frames: Sequence[DataFrame]
    ) -> DataFrame:
        """What the tasks of a kernel take to which others deal out rows.

        Args:
            spec: what the kernel's tasks get.
            scans: what is read, by its number.
            frames: packed rows of other kernels.
        """
        raise InternalError(f"{self.facts.name} has all tasks in one process")

    def read_source(self, source: Source, start: Offset | None, end: Offset) -> DataFrame:
        """The rows of a source between two offsets.

        Raises:
            RuntimeFailure: rows of the range are not there any more.
        """
        return source.batch(self.spark, start, end)

    def read_table(self, table: Table) -> DataFrame:
        """The rows of a table at rest."""
        return table.frame(self.spark)

    def no_rows(self, schema: StructType) -> DataFrame:
        """No rows, of some columns."""
        return rows_frame(self.spark, schema, [])

    def only(
        self,
        frame: DataFrame,
        places: Sequence[int],
        columns: Sequence[AttributeReference],
        given: Sequence[Expression],
    ) -> DataFrame:
        """Some columns of what `read_source` or `read_table` gave; where none, maybe any one.

        Args:
            frame: the rows.
            places: the columns' places in it, in order.
            columns: the same.
            given: conditions over them that our own reader is given.
        """
        raise InternalError(f"{self.facts.name} finds itself what it has to read")

    @abstractmethod
    def exchange(
        self, frame: DataFrame, to: Literal["keys", "one", "any"], keys: Sequence[str], tasks: int
    ) -> DataFrame:
        """The rows in `tasks` partitions by the hash of their keys (in SQL), or in one, or any."""

    def union(self, frames: Sequence[DataFrame]) -> DataFrame:
        """The rows of several DataFrames of the same columns."""
        return reduce(lambda one, other: one.union(other), frames)

    def ordered(
        self,
        frame: DataFrame,
        order: Sequence[SparkColumn],
        columns: Sequence[AttributeReference],
    ) -> DataFrame:
        """The rows in one order over all partitions; `columns`: what of them is used."""
        return frame.orderBy(*order)

    def aggregate(
        self,
        frame: DataFrame,
        keys: Sequence[str],
        aggregates: Sequence[str],
        tasks: int,
        *,
        placed: bool,
    ) -> DataFrame:
        """One row for each group.

        Args:
            frame: the rows.
            keys: columns by name.
            aggregates: named aggregates in SQL.
            tasks: how many partitions.
            placed: whether the engine may know of an order in which the rows lie, and groups must
                lie in the partition of Spark's hash of their keys.
        """
        from pyspark.sql import functions as F

        rows = self.before_grouping(frame, keys, tasks, placed=placed)
        if not aggregates:
            return rows.select(*keys).distinct()
        return rows.groupBy(*keys).agg(*map(F.expr, aggregates))

    def before_grouping(
        self, frame: DataFrame, keys: Sequence[str], tasks: int, *, placed: bool
    ) -> DataFrame:
        """The rows so that grouping them lays the groups as `aggregate` says."""
        return frame

    @abstractmethod
    def observe(self, frame: DataFrame, aggregates: Mapping[str, str]) -> tuple[DataFrame, Reading]:
        """The DataFrame, and aggregates (in SQL) over its rows."""

    def observe_rows(self, frame: DataFrame, look: Callable[[Any], None]) -> DataFrame:
        """The rows, each Arrow batch of which a function in this process sees as it passes."""
        raise InternalError(f"{self.facts.name} computes metrics itself")

    def given(self, rows: Any, columns: Sequence[AttributeReference]) -> DataFrame:
        """A DataFrame of an Arrow batch of this process."""
        raise InternalError(f"{self.facts.name} is given no rows of this process")

    @abstractmethod
    def observe_event_times(self, frame: DataFrame, column: str) -> tuple[DataFrame, EventTimes]:
        """The DataFrame, and the event times that a column (in SQL) has."""

    @abstractmethod
    def run_kernel(
        self, frame: DataFrame, node: Kernel, spec: TaskSpec
    ) -> tuple[DataFrame, Reports]:
        """A kernel over rows that lie where its stores are; the columns that travel from it.

        Args:
            frame: the rows; for a kernel whose tasks read files, one row a task with its number.
            node: the kernel's node.
            spec: what each task gets.
        """

    def compute(
        self,
        frame: DataFrame,
        evaluators: Sequence[Evaluator],
        columns: Sequence[AttributeReference],
    ) -> DataFrame:
        """What our own Arrow code makes of the rows.

        Args:
            frame: the rows, their columns in the order in which the evaluators number them.
            evaluators: each computes the columns, of the rows that fulfil its conditions; several
                have none, and what they make of a row stays together.
            columns: what they give.
        """
        raise InternalError(f"{self.facts.name} computes all expressions itself")

    def call_python(self, frame: DataFrame, calls: PythonCalls, kind: StructType) -> DataFrame:
        """What the user's Python functions make of the rows.

        Args:
            frame: the rows, their columns in the order in which the calls number them.
            calls: functions over columns give columns behind the frame's own.
            kind: the columns that come out.
        """
        raise InternalError(f"{self.facts.name} calls Python functions itself")

    def call_python_on_groups(
        self, frames: Sequence[DataFrame], calls: PythonGroups, kind: StructType
    ) -> DataFrame:
        """What a Python function of the user's makes of the rows of each key.

        Args:
            frames: the rows of each side, their columns in the order in which it numbers them.
            calls: the function.
            kind: the columns that come out.
        """
        raise InternalError(f"{self.facts.name} calls Python functions itself")

    def failure(self, error: BaseException) -> BaseException:
        """What was really raised, where the engine knows more of it than an error that it gave."""
        return error

    def named(self, frame: DataFrame, columns: Sequence[str], names: Sequence[str]) -> DataFrame:
        """Some columns, or expressions over columns in SQL, under names that may repeat."""
        pairs = zip(columns, names, strict=True)
        return frame.selectExpr(*(f"{column} AS {quote(name)}" for column, name in pairs))

    def without_columns(self, frame: DataFrame) -> DataFrame:
        """As many rows, of no column."""
        return frame.selectExpr()

    def dataframe(self, frame: DataFrame) -> DataFrame:
        """The rows as PySpark's DataFrame, where an engine may have them in another form."""
        return frame

    def in_arrow(self, frame: DataFrame) -> DataFrame:
        """The rows in either form, for what takes them in Arrow while the batch runs."""
        return frame

    def run_once(self, frame: DataFrame, node: Kernel, spec: TaskSpec) -> DataFrame:
        """Run a kernel that has no state over all rows there are."""
        raise InternalError(f"{self.facts.name} aggregates rows without state itself")

    def subquery(self, frame: DataFrame, columns: Sequence[AttributeReference]) -> DataFrame:
        """The row of a subquery that stands for a value.

        Raises:
            KernelError: there are several (`SCALAR_SUBQUERY_TOO_MANY_ROWS`), and the engine would
                not say so.
        """
        return frame

    @abstractmethod
    def drop_rows(self, frame: DataFrame) -> DataFrame:
        """The DataFrame without its rows, all of which are read nevertheless."""

    @abstractmethod
    def keep(self, frame: DataFrame) -> DataFrame:
        """The rows, computed now and once, whatever reads them from here on."""

    def release(self) -> None:  # noqa: B027  most engines hold nothing
        """Let go of what a batch held: its rows have been read."""

    @abstractmethod
    def close(self) -> None:
        """End the session, without touching the engine behind it."""
