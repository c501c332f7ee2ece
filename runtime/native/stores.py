"""Rows of Spark's state stores: HDFS-backed ones without Java, others by Spark's reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...planner.model.errors import RuntimeFailure
from ...planner.model.schemas.types import StructField, StructType
from ...planner.model.text.spark_sql import type_sql
from ..files import corrupt
from ..frames import for_arrow
from ..state import Location
from .checkpoint import HDFS_PROVIDER, OtherCheckpoint
from .hdfs_files import read_version
from .operators import DEFAULT, StoreRows, fit
from .unsafe_reading import BadRow, read_rows, stored_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHECKSUMS = "spark.sql.streaming.stateStore.rowChecksum.enabled"
COLUMNS = {
    "value": ("value",),
    "list": ("list_element",),
    "map": ("user_map_key", "user_map_value"),
}
"""The columns in which Spark's `statestore` source has the variables of each kind."""
TIMES = "expiration_timestamp_ms"
"""The column in which it has the times of timers."""
OpenSpark = Callable[[], "SparkSession"]


def reads_here(checkpoint: OtherCheckpoint) -> bool:
    """Whether the rows of a checkpoint's state are read in this process, without Spark."""
    return checkpoint.provider == HDFS_PROVIDER and checkpoint.settings.get(_CHECKSUMS) != "true"


def store_rows(
    checkpoint: OtherCheckpoint,
    operator: int,
    store: str,
    key: StructType,
    value: StructType,
    spark: OpenSpark,
    *,
    expected: int,
) -> StoreRows:
    """All rows of a store as of the last batch that is done.

    Args:
        checkpoint: Spark's checkpoint.
        operator: the operator's id.
        store: the store's name.
        key, value: what keys and values hold.
        spark: gives a session, where Spark has to read the files.
        expected: how many partitions there must be.

    Raises:
        RuntimeFailure: a file is missing or corrupt, or Spark is not there.
    """
    if not reads_here(checkpoint):
        rows, _ = rows_by_spark(checkpoint, operator, store, key, value, spark())
        return rows
    folder = checkpoint.root / "state" / str(operator)
    keys, values, owners = written_rows(folder, store, checkpoint.version)
    for number in range(expected):
        if number not in owners:
            raise corrupt(folder / str(number), "this partition of the state is missing")
    try:
        return StoreRows(read_rows(keys, key), read_rows(values, value), len(keys))
    except BadRow as problem:
        raise corrupt(folder, f"its rows are not those of {store}: {problem}") from None


def partitions(operator: Location, store: str) -> list[tuple[int, Location]]:
    """The numbers and directories of a store's partitions."""
    numbers = sorted(int(name) for name in operator.names() if name.isdigit())
    folders = [(n, operator / str(n)) for n in numbers]
    return folders if store == DEFAULT else [(n, folder / store) for n, folder in folders]


def written_rows(
    operator: Location, store: str, version: int
) -> tuple[list[bytes], list[bytes], dict[int, int]]:
    """The keys and values of all partitions of a store, and how many rows each partition has."""
    keys: list[bytes] = []
    values: list[bytes] = []
    owners: dict[int, int] = {}
    for number, place in partitions(operator, store):
        rows = read_version(place, version)
        keys += rows
        values += rows.values()
        owners[number] = len(rows)
    return keys, values, owners


def rows_by_spark(
    checkpoint: OtherCheckpoint,
    operator: int,
    store: str,
    key: StructType,
    value: StructType,
    spark: SparkSession,
    *,
    batch: int | None = None,
) -> tuple[StoreRows, Any]:
    """The rows of a store after a batch, by Spark's `statestore` source, and their partitions.

    Raises:
        RuntimeFailure: Spark cannot read them.
    """
    # Buffers of several functions have one name, which Arrow does not allow.
    columns = (f"CAST({n} AS {_numbered(s)}) AS {n}" for n, s in (("key", key), ("value", value)))
    options = {} if store == DEFAULT else {"storeName": store}
    table = spark_table(
        checkpoint, operator, spark, options, ("partition_id", *columns), batch=batch
    )
    keys, values = _fields(table.column("key"), key), _fields(table.column("value"), value)
    return StoreRows(keys, values, table.num_rows), table.column("partition_id").combine_chunks()


def spark_table(
    checkpoint: OtherCheckpoint,
    operator: int,
    spark: SparkSession,
    options: Mapping[str, str],
    columns: Sequence[str],
    *,
    batch: int | None = None,
) -> Any:
    """Columns of what Spark's `statestore` source reads, as an Arrow table.

    Args:
        checkpoint, operator: what is read.
        spark: a session.
        options: the source's, beside the operator and the batch.
        columns: SQL expressions.
        batch: after which batch; None: the last one that is done.

    Raises:
        RuntimeFailure: Spark cannot read it.
    """
    frame = state_frame(checkpoint, operator, spark, options, batch=batch)
    with _told_by_spark(checkpoint, operator):
        return for_arrow(frame.selectExpr(*columns)).toArrow()


def state_frame(
    checkpoint: OtherCheckpoint,
    operator: int,
    spark: SparkSession,
    options: Mapping[str, str],
    *,
    batch: int | None = None,
) -> DataFrame:
    """What Spark's `statestore` source reads; arguments and errors are those of `spark_table`."""
    reader = spark.read.format("statestore").option("operatorId", operator).options(**options)
    reader = reader.option("batchId", checkpoint.committed if batch is None else batch)
    with _told_by_spark(checkpoint, operator):
        return reader.load(checkpoint.place_for_spark)


def operator_properties(
    checkpoint: OtherCheckpoint, operator: int, spark: SparkSession
) -> Mapping[str, Any]:
    """What an operator's metadata says of it, by Spark's `state-metadata` source.

    Of `transformWithState` it has `stateVariables`, each with stateName, stateVariableType and
    ttlEnabled; of other operators nothing.

    Raises:
        RuntimeFailure: Spark cannot read it.
    """
    with _told_by_spark(checkpoint, operator):
        found = spark.read.format("state-metadata").load(checkpoint.place_for_spark)
        row = found.where(f"operatorId = {operator}").select("operatorProperties").first()
    properties: Mapping[str, Any] = json.loads((row and row[0]) or "{}")
    return properties


@contextmanager
def _told_by_spark(checkpoint: OtherCheckpoint, operator: int) -> Iterator[None]:
    try:
        yield
    except RuntimeFailure:
        raise
    except Exception as problem:  # PySpark's errors have no class in common
        lines = str(problem).split("\n")
        # Of an error of Java's that PySpark has no class for the first line names the call.
        text = lines[len(lines) > 1 and lines[0].startswith("An error occurred while")][:400]
        raise RuntimeFailure(
            "STATEPLAN_STATE_NOT_READ",
            f"Spark cannot read the state of operator {operator} in '{checkpoint.root}': {text}",
            hint="Read it with Spark's own statestore source, to see whether its files are whole.",
        ) from problem


def _numbered(schema: StructType) -> str:
    """A struct of the same types whose fields have numbers for names."""
    fields = enumerate(schema.fields)
    return type_sql(StructType(tuple(StructField(f"c{i}", f.data_type) for i, f in fields)))


def _fields(structs: Any, schema: StructType) -> list[Any]:
    whole = structs.combine_chunks()
    fields = enumerate(schema.fields)
    return [fit(whole.field(i), stored_type(field.data_type)) for i, field in fields]
