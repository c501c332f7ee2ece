"""Sinks: where a query's rows go.

`SINKS` is all there are of our own that a description can name: a format, and the class behind it.
A package adds its own by an entry point of the group `stateplan.sinks`: the name, and a subclass of
`Sink` or of PySpark's `DataSource`; a program by `stateplan.register`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...planner.model import registered
from ...planner.model.formats import RUN_FORMATS
from ...planner.model.output_modes import OutputMode
from ...planner.model.registered import known_class
from ..options import Options
from ..sources import SOURCES
from ..sources.python import is_data_source
from .base import Sink, SinkRequest
from .console import ConsoleSink
from .delta import DeltaSink
from .files import FileSink
from .foreach import ForeachSink, PickledWriter
from .kafka import KafkaSink
from .python import PythonSink
from .simple import ForeachBatchSink, MemorySink, NoopSink
from .tables import TableSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SINKS: Mapping[str, type[Sink]] = {
    "console": ConsoleSink,
    "memory": MemorySink,
    "noop": NoopSink,
    **dict.fromkeys(RUN_FORMATS, FileSink),
    "kafka": KafkaSink,
    "delta": DeltaSink,
}

__all__ = [
    "SINKS",
    "ConsoleSink",
    "FileSink",
    "ForeachBatchSink",
    "ForeachSink",
    "MemorySink",
    "NoopSink",
    "OutputMode",
    "PickledWriter",
    "PythonSink",
    "Sink",
    "SinkRequest",
    "TableSink",
    "make_sink",
]


def make_sink(
    format: str,
    *,
    path: str | None = None,
    table: str | None = None,
    options: Mapping[str, str] | None = None,
    partition_by: Sequence[str] = (),
    cluster_by: Sequence[str] = (),
    spark: SparkSession | None = None,
    name: str | None = None,
) -> Sink:
    """The sink that a description asks for.

    Args:
        format: its name.
        path: the directory, for files.
        table: a table of Spark's catalog, instead of a path.
        options: console: numRows, truncate; files: those of Spark's writer; see each class.
        partition_by: for files, columns that become directories.
        cluster_by: columns that a new table is clustered by.
        spark: the session that shows a memory sink's view.
        name: the memory sink's view.

    Raises:
        DescriptionError: there is no such sink, an option is unusable, or its path is missing.
    """
    chosen = format.lower()
    kind = known_class(registered.SINKS, format, SINKS, others=SOURCES)
    request = SinkRequest(
        format=chosen,
        path=path,
        options=Options(options, f"the sink '{chosen}'"),
        partition_by=partition_by,
        cluster_by=cluster_by,
        spark=spark,
        name=name,
    )
    if table is not None:
        return TableSink(request, table)
    if is_data_source(kind):
        return PythonSink.create(request)
    created: Sink = kind.create(request)
    return created
