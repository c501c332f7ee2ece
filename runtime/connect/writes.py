"""`DataFrame.write` of a client of the embedded engine: files as Spark writes them.

Sail writes other values and directories than Spark: a null of a partition column as `false`, quotes
and times in forms of its own. So CSV, JSON and text files, and Parquet files in directories by the
values of columns, are written by the code that writes those of streams (kernels/writers); the rest
is left to the engine.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark.errors import PySparkException
from pyspark.sql.connect import proto

from ...planner.connect.columns import refuse_duplicates
from ...planner.connect.places import Message
from ...planner.model.errors import AnalysisError, RuntimeFailure
from ...planner.model.schemas.schema_json import type_from_json
from ...planner.model.schemas.types import StructType
from ...planner.model.settings.conf import Conf
from ..engines.embedded_errors import engine_failure
from ..failures import innermost
from ..files import failing, local_path
from ..kernels.errors import KernelError
from ..kernels.writers.files import FileWriter
from ..options import Options
from ..sinks.files import partition_columns, typed_rows
from .reading import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DYNAMIC = "partitionOverwriteMode"


def written_here(spark: SparkSession, conf: Conf, command: Message) -> bool:
    """Write a DataFrame as files, if our own code does; False: the engine is to write it.

    The files appear when all are written, `_SUCCESS` last.

    Args:
        spark: the client's session on the engine.
        conf: its settings.
        command: a WriteOperation of the protocol; of files, it names their format then.

    Raises:
        StateplanError: Spark refuses to write it, or there.
    """
    format_ = (command.source or conf["spark.sql.sources.default"]).lower()
    options = Options(dict(command.options), f"the output '{format_}'")
    path = command.path or options.get("path", "")
    elsewhere = command.HasField("bucket_by") or command.sort_column_names
    by_the_engine = format_ == "parquet" and not command.partitioning_columns
    if path:
        command.source = format_  # the engine wants it named
    if not path or elsewhere or by_the_engine or command.clustering_columns:
        return False
    try:
        directory = local_path(path, "the output")
    except RuntimeFailure:
        return False  # on another file system
    frame = frame_of(spark, command.input)
    schema = cast(StructType, type_from_json(frame.schema.jsonValue()))
    refuse_duplicates((field.name for field in schema.fields), conf)
    partition_by = partition_columns(list(command.partitioning_columns), schema, conf)
    writer = FileWriter(
        format=format_,
        schema=schema,
        options={k: v for k, v in options.written.items() if k.lower() != "path"},
        partition_by=partition_by,
        time_zone=conf.time_zone,
    )
    if writer.unsupported() is not None:
        return False
    with _as_analysis_error():
        writer.check_types()
    modes = proto.WriteOperation
    overwrites = command.mode == modes.SAVE_MODE_OVERWRITE
    if directory.exists() and not overwrites and command.mode != modes.SAVE_MODE_APPEND:
        if command.mode == modes.SAVE_MODE_IGNORE:
            return True
        raise AnalysisError.of("PATH_ALREADY_EXISTS", outputPath=f"file:{directory}")
    try:
        rows = typed_rows(frame.toArrow(), schema)
    except PySparkException as error:
        raise RuntimeFailure(*innermost(engine_failure(error))) from error
    usual = conf.settings.get(f"spark.sql.sources.{_DYNAMIC}", "static")
    dynamic = bool(partition_by) and options.get(_DYNAMIC, usual).lower() == "dynamic"
    with failing(directory), _as_analysis_error():
        if overwrites and directory.is_file():
            directory.unlink()
        directory.mkdir(parents=True, exist_ok=True)
        _write(writer, rows, directory, overwrites, dynamic)
    return True


@contextmanager
def _as_analysis_error() -> Iterator[None]:
    try:
        yield
    except KernelError as error:
        raise AnalysisError(error.condition, error.message) from None


def _write(
    writer: FileWriter, rows: Any, directory: Path, overwrites: bool, only_partitions: bool
) -> None:
    """Write rows into a directory that is there; what they replace goes when all of them are there.

    Args:
        writer: writes the files.
        rows: in the types of arrow_types.py.
        directory: where they go.
        overwrites: whether they replace what is there.
        only_partitions: whether that is only what lies in the same partitions.
    """
    staging = directory / f"_temporary-{uuid.uuid4()}"
    old = [path for path in directory.rglob("*") if path.is_file()] if overwrites else []
    try:
        staging.mkdir(parents=True)
        writer.write(staging, rows)
        written = sorted(path for path in staging.rglob("*") if path.is_file())
        places = [directory / path.relative_to(staging) for path in written]
        try:
            for path, place in zip(written, places, strict=True):
                place.parent.mkdir(parents=True, exist_ok=True)
                path.rename(place)
        except BaseException:
            for place in places:
                place.unlink(missing_ok=True)
            raise
        folders = {place.parent for place in places}
        for path in old:
            if not only_partitions or path.parent in folders:
                path.unlink()
                _prune(path.parent, directory)
        (directory / "_SUCCESS").touch()
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _prune(folder: Path, top: Path) -> None:
    """Remove a directory that has become empty, and those above it that it leaves empty."""
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
