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

_MODES = {
    proto.WriteOperation.SAVE_MODE_UNSPECIFIED: "errorifexists",
    proto.WriteOperation.SAVE_MODE_ERROR_IF_EXISTS: "errorifexists",
    proto.WriteOperation.SAVE_MODE_IGNORE: "ignore",
    proto.WriteOperation.SAVE_MODE_APPEND: "append",
    proto.WriteOperation.SAVE_MODE_OVERWRITE: "overwrite",
}
_DYNAMIC = "partitionOverwriteMode"


def written_here(spark: SparkSession, conf: Conf, command: Message) -> bool:
    """Write a DataFrame as files, if our own code does; False: the engine is to write it.

    The files appear when all are written, `_SUCCESS` last.

    Args:
        spark: the client's session on the engine.
        conf: its settings.
        command: a WriteOperation of the protocol.

    Raises:
        StateplanError: Spark refuses to write it, or there.
    """
    format_ = (command.source or conf["spark.sql.sources.default"]).lower()
    options = Options(dict(command.options), f"the output '{format_}'")
    path = command.path or options.get("path", "")
    elsewhere = command.HasField("bucket_by") or command.sort_column_names
    by_the_engine = format_ == "parquet" and not command.partitioning_columns
    if not path or elsewhere or by_the_engine or command.clustering_columns:
        return False
    try:
        directory = local_path(path, "the output")
    except RuntimeFailure:
        return False  # on another file system
    frame = frame_of(spark, command.input)
    schema = cast(StructType, type_from_json(frame.schema.jsonValue()))
    names = [conf.fold(field.name) for field in schema.fields]
    for name in names:
        if names.count(name) > 1:
            raise AnalysisError.of("COLUMN_ALREADY_EXISTS", columnName=f"`{name}`")
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
    with _as_of_the_engine():
        writer.check_types()
    mode = _MODES[command.mode]
    if directory.exists() and mode == "errorifexists":
        raise AnalysisError.of("PATH_ALREADY_EXISTS", outputPath=f"file:{directory}")
    if directory.exists() and mode == "ignore":
        return True
    try:
        rows = typed_rows(frame.toArrow(), schema)
    except PySparkException as error:
        raise RuntimeFailure(*innermost(engine_failure(error))) from error
    usual = conf.settings.get(f"spark.sql.sources.{_DYNAMIC}", "static")
    dynamic = options.get(_DYNAMIC, usual).lower() == "dynamic"
    with failing(directory), _as_of_the_engine():
        _write(writer, rows, directory, mode == "overwrite", dynamic and bool(partition_by))
    return True


@contextmanager
def _as_of_the_engine() -> Iterator[None]:
    try:
        yield
    except KernelError as error:
        raise AnalysisError(error.condition, error.message) from None


def _write(
    writer: FileWriter, rows: Any, directory: Path, overwrite: bool, only_partitions: bool
) -> None:
    staging = directory.parent / f"_temporary-{uuid.uuid4()}"
    try:
        staging.mkdir(parents=True)
        writer.write(staging, rows)
        if overwrite and not only_partitions and directory.exists():
            if directory.is_dir():
                shutil.rmtree(directory)
            else:
                directory.unlink()
        written = sorted(path for path in staging.rglob("*") if path.is_file())
        if only_partitions and overwrite:
            for folder in {path.parent.relative_to(staging) for path in written}:
                shutil.rmtree(directory / folder, ignore_errors=True)
        directory.mkdir(parents=True, exist_ok=True)
        for path in written:
            place = directory / path.relative_to(staging)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
        (directory / "_SUCCESS").touch()
    finally:
        shutil.rmtree(staging, ignore_errors=True)
