"""Sinks: where a query's rows go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ...planner.model.errors import DescriptionError
from .base import OutputMode, Sink
from .files import FORMATS, FileSink
from .simple import ConsoleSink, ForeachBatchSink, MemorySink, NoopSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SINK_FORMATS = ("console", "memory", "noop", *FORMATS)

__all__ = [
    "SINK_FORMATS",
    "ConsoleSink",
    "FileSink",
    "ForeachBatchSink",
    "MemorySink",
    "NoopSink",
    "OutputMode",
    "Sink",
    "make_sink",
]


def make_sink(
    format: str,
    *,
    path: str | None = None,
    options: Mapping[str, str] | None = None,
    partition_by: Sequence[str] = (),
    spark: SparkSession | None = None,
    name: str | None = None,
) -> Sink:
    """The sink that a description asks for.

    Args:
        format: one of SINK_FORMATS.
        path: the directory, for files.
        options: console: numRows, truncate; files: those of Spark's writer.
        partition_by: for files, columns that become directories.
        spark: the session that shows a memory sink's view.
        name: the memory sink's view.

    Raises:
        DescriptionError: there is no such sink, or its path is missing.
    """
    chosen = format.lower()
    settings = {key.lower(): str(value) for key, value in (options or {}).items()}
    match chosen:
        case "noop":
            return NoopSink()
        case "console":
            rows = _whole(settings.get("numrows", "20"), "numRows")
            return ConsoleSink(rows, _width(settings.get("truncate", "true")))
        case "memory":
            return MemorySink(spark, name)
        case _ if chosen in FORMATS:
            if path is None:
                raise DescriptionError(
                    "STATEPLAN_SINK_PATH_MISSING",
                    f"The sink '{chosen}' needs a path.",
                    hint="Add 'path:' with the output directory to the sink.",
                )
            return FileSink(chosen, path, options, partition_by)
        case _:
            raise DescriptionError(
                "STATEPLAN_UNKNOWN_SINK",
                f"There is no sink '{format}'.",
                hint=f"Use one of {', '.join(SINK_FORMATS)}.",
            )


def _whole(text: str, name: str) -> int:
    if not text.strip().isdigit():
        raise DescriptionError(
            "STATEPLAN_BAD_OPTION",
            f"The option '{name}' is '{text}': it must be a whole number.",
            hint=f"Set {name} to a number.",
        )
    return int(text)


def _width(text: str) -> int | None:
    match text.strip().lower():
        case "true":
            return 20
        case "false" | "0":
            return None
        case _:
            return _whole(text, "truncate")
