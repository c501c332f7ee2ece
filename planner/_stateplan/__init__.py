"""stateplan: plan, explain, test and run Spark Structured Streaming queries.

import stateplan

query = stateplan.load("query.yaml")
print(query.explain("stateful"))
query.run(spark).await_termination()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stateplan.planner.model.errors import (
    AnalysisError,
    DescriptionError,
    PlanningError,
    RuntimeFailure,
    StateplanError,
    StreamingCheckError,
)

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from stateplan.planner.builder import QueryBuilder
    from stateplan.planner.evolution.report import CheckReport
    from stateplan.planner.model.plans.query_plan import LogicalPlan
    from stateplan.planner.query import Query
    from stateplan.runtime.native.state_import import Taken

__all__ = [
    "AnalysisError",
    "DescriptionError",
    "PlanningError",
    "RuntimeFailure",
    "StateplanError",
    "StreamingCheckError",
    "check",
    "export_state",
    "import_state",
    "load",
    "read_state",
    "read_state_table",
    "register",
    "register_file_system",
    "sql",
    "stream",
    "table",
]


def load(
    path: str | Path,
    *,
    output_mode: str | None = None,
    conf: Mapping[str, object] | None = None,
) -> Query:
    """The query of a description file (YAML or JSON).

    Args:
        path: the file.
        output_mode: instead of the file's.
        conf: settings over the file's.

    Raises:
        DescriptionError: the file is missing, broken, or has a key that is unknown or wrong.
    """
    from stateplan.planner.description import load_description
    from stateplan.planner.model.settings.conf import Conf
    from stateplan.planner.query import Query

    description = load_description(path)
    settings = Conf(description.conf).updated(Conf.of(conf).settings)
    folder = Path(path).resolve().parent
    return Query.of(description, conf=settings, output_mode=output_mode, folder=folder)


def sql(
    text: str | LogicalPlan,
    sources: Mapping[str, Any] | None = None,
    output_mode: str = "append",
    conf: Mapping[str, object] | None = None,
    names: Sequence[str] = (),
) -> Query:
    """A query from its SQL text.

    Args:
        text: Spark SQL, streams read as `FROM STREAM name WATERMARK column DELAY OF INTERVAL ...`;
            or a logical plan.
        sources: by name, each its schema as DDL text, or a mapping with the keys of a description.
        output_mode: append, update or complete.
        conf: Spark settings.
        names: of the stateful operators, the one nearest the sink first.

    Raises:
        DescriptionError: a source is not usable.
    """
    from stateplan.planner.described_sources import described_sources
    from stateplan.planner.model.settings.conf import Conf
    from stateplan.planner.query import Query

    return Query(
        text,
        sources=described_sources(sources),
        output_mode=output_mode,
        conf=Conf.of(conf),
        names=names,
    )


def stream(name: str, schema: str | None = None, **source: Any) -> QueryBuilder:
    """Start a query in Python from a stream; see `planner/builder.py`."""
    from stateplan.planner.builder import stream as build

    return build(name, schema, **source)


def table(name: str, schema: str, **source: Any) -> QueryBuilder:
    """Start a query in Python from a static table."""
    from stateplan.planner.builder import table as build

    return build(name, schema, **source)


def check(
    query: Query | str | Path, checkpoint: str | Path, was: Query | str | Path | None = None
) -> CheckReport:
    """Whether a changed query may go on from a checkpoint; see `stateplan check`.

    Args:
        query: the query as it is now: a Query, or a file that explains.
        checkpoint: a directory, written by Spark or by stateplan.
        was: the query that wrote it. Without it, what our runtime stored in the checkpoint counts,
            or else the checkpoint's files alone.

    Raises:
        DescriptionError: a file or the checkpoint is not usable.
        StateplanError: the old query cannot be planned.
    """
    from stateplan.planner.evolution.check import check_against
    from stateplan.planner.evolution.inputs import load_asked
    from stateplan.planner.evolution.reading import read_checkpoint

    old = load_asked(was) if isinstance(was, str | Path) else was
    now = load_asked(query) if isinstance(query, str | Path) else query
    return check_against(now, read_checkpoint(checkpoint), old)


def read_state(
    spark: SparkSession, checkpoint: str | Path, operator: int = 0, version: int | None = None
) -> DataFrame:
    """A stateful operator's state in a checkpoint as a Spark DataFrame.

    The columns are those of Spark's `statestore` source, `partition_id`, `key` and `value`, and
    `event_time`: when a watermark evicts the row. The session's tasks read the files.

    Args:
        spark: a session, classic or Connect.
        checkpoint: the query's checkpoint directory.
        operator: the operator's id; 0 is the one nearest the sink.
        version: n is the state after batch n - 1; by default the last committed one.

    Raises:
        RuntimeFailure: there is no such checkpoint, operator or version, or a file is corrupt.
    """
    from stateplan.runtime.inspection.table import state_frame

    return state_frame(spark, str(checkpoint), operator, version)


def read_state_table(
    checkpoint: str | Path,
    operator: int = 0,
    version: int | None = None,
    where: str | None = None,
    limit: int | None = None,
) -> pyarrow.Table:
    """A stateful operator's state in a checkpoint as a pyarrow Table, without Spark.

    The columns are those of the key, those of the value, `event_time` and `partition_id`.

    Args:
        checkpoint, operator, version: as for `read_state`.
        where: a condition in Spark SQL over the columns.
        limit: at most so many rows.

    Raises:
        RuntimeFailure: there is no such checkpoint, operator or version, or a file is corrupt.
        AnalysisError: the condition names no column, or is not computed here.
    """
    from stateplan.runtime.inspection.table import state_table

    return state_table(str(checkpoint), operator, version, where, limit)


def import_state(
    checkpoint: str | Path,
    to: str | Path,
    query: Query,
    spark: SparkSession | None = None,
    allow: Sequence[str] = (),
) -> Taken:
    """Make a checkpoint of stateplan's from one that Structured Streaming wrote.

    `query.run(checkpoint=to)` then goes on where the query was stopped. Nothing in Spark's
    checkpoint is changed.

    Args:
        checkpoint: Spark's checkpoint, of a query that is stopped.
        to: the new one: a directory that is empty or not there.
        query: the query that wrote it.
        spark: a session, classic or Connect, which reads the state that the RocksDB provider keeps;
            by default one is started if it is needed. HDFS-backed state is read without Spark.
        allow: `differs` lets a query through of which `check` says so, as of renamed columns.

    Raises:
        StateplanError: a checkpoint is not usable, not of this query, or its state is of a form
            that is not converted.
    """
    from stateplan.runtime.native.state_import import import_state as take

    return take(str(checkpoint), str(to), query, spark, allow)


def export_state(
    checkpoint: str | Path, to: str | Path, query: Query, allow: Sequence[str] = ()
) -> Taken:
    """Make a checkpoint that Structured Streaming goes on with from one of stateplan's.

    Its state is HDFS-backed. Needs no Spark.

    Args:
        checkpoint: stateplan's checkpoint, of a query that is stopped.
        to: the new one: a directory that is empty or not there.
        query: the query that wrote it.
        allow: as for `import_state`.

    Raises:
        StateplanError: as `import_state`.
    """
    from stateplan.runtime.native.state_export import export_state as give

    return give(str(checkpoint), str(to), query, allow)


def register(kind: type, name: str | None = None) -> None:
    """Let this process name a class as the format of a source or a sink.

    Packages do it by an entry point of the group `stateplan.sources` or `stateplan.sinks`.

    Args:
        kind: a subclass of `stateplan.runtime.sources.Source`, of `stateplan.runtime.sinks.Sink`,
            or of PySpark's `DataSource`, which may be both.
        name: the format's name; a DataSource has its own.

    Raises:
        DescriptionError: it is none of these, or the name is missing.
    """
    from stateplan.runtime.registering import register_class

    register_class(kind, name)


def register_file_system(scheme: str, system: Any) -> None:
    """Let checkpoints whose URI has this scheme be on a file system of one's own, in this process.

    Args:
        scheme: what stands before `://`.
        system: a `pyarrow.fs.FileSystem` or `pyarrow.fs.FileSystemHandler` whose paths are what
            follows `://`. It travels to the executors, so it must pickle. A handler whose files
            appear whole when they are closed, and not at all if a write failed, says so by an
            attribute `atomic_uploads` that is true; else files are moved into their place.
    """
    from stateplan.runtime.state import register_file_system as register

    register(scheme, system)
