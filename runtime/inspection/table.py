"""State as a pyarrow table, and as a Spark DataFrame whose tasks read the files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from ...planner.model.schemas.types import INT, TIMESTAMP, StructField, StructType, as_nullable
from ..engines.shipping import ship
from ..frames import spark_schema
from ..native.showing import open_states
from ..plan.carried import carrier
from ..state.scan import EVENT_TIME, PARTITION, ShownColumn, nested_rows, scan_state, shown_parts
from ..state.version import StateVersion
from .columns import StateColumn
from .condition import state_condition
from .stored import StoredStates

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SLICE = 65_536


def state_table(
    checkpoint: str,
    operator: int = 0,
    version: int | None = None,
    where: str | None = None,
    limit: int | None = None,
) -> Any:
    """The state of one operator as a pyarrow Table.

    Columns: those of the key, those of the value, `event_time` (when a watermark evicts the row,
    null if none does), `partition_id` (the store). Read without Spark.

    Args:
        checkpoint: the checkpoint's directory.
        operator: the operator's id; 0 is the one nearest the sink.
        version: n is the state after batch n - 1; by default the last committed one.
        where: a condition in Spark SQL over the columns.
        limit: at most so many rows.

    Raises:
        RuntimeFailure: there is no such checkpoint, operator or version, or a file is corrupt.
        AnalysisError: the condition names no column, or is not computed here.
    """
    return filtered(open_states(checkpoint).state(operator, version), where, limit)


class ShownState(Protocol):
    """State as rows of a flat table: ours, or Spark's."""

    @property
    def columns(self) -> tuple[StateColumn, ...]:
        """What its rows hold."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of its rows."""

    def batches(self) -> Iterator[Any]:
        """Its rows."""


def filtered(state: ShownState, where: str | None, limit: int | None) -> Any:
    """The rows of a state for which a condition holds, as a pyarrow Table."""
    condition = None if where is None else state_condition(where, state.columns)
    found: list[Any] = []
    missing = limit
    for batch in state.batches():
        if missing is not None and missing <= 0:
            break
        part = pa.Table.from_batches([batch if condition is None else condition.passing(batch)])
        if missing is not None:
            part = part.slice(0, missing)
            missing -= part.num_rows
        found.append(part)
    return pa.concat_tables(found) if found else state.schema.empty_table()


def state_frame(
    spark: SparkSession, checkpoint: str, operator: int = 0, version: int | None = None
) -> DataFrame:
    """The state of one operator as a DataFrame, as Spark's `statestore` source gives it.

    Columns: `partition_id`, `key`, `value` (structs), `event_time`. The driver reads the manifest
    alone, tasks read the rows; the files of a version stay for `spark.sql.streaming.
    minBatchesToRetain` batches.

    Args:
        spark: a session, classic or Connect; its workers see the checkpoint's file system.
        checkpoint, operator, version: as for `state_table`.

    Raises:
        RuntimeFailure: there is no such checkpoint, operator or version, a file is corrupt, or the
            session's workers cannot run our code.
    """
    state = StoredStates.open(checkpoint).state(operator, version)
    ship(spark)
    parts = state.parts
    read = _reader(state.location, state.version, state.shown, state.stores, parts)
    tasks = spark.range(0, parts, 1, parts)
    return tasks.mapInArrow(read, spark_schema(_nested(state.columns)))


def _reader(
    location: Any, version: StateVersion, shown: tuple[ShownColumn, ...], stores: int, parts: int
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def read(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            for number, part in ((n, part) for n in numbers for part in shown_parts(shown)):
                rows = scan_state(location, version, parts, number, part)
                if rows is not None:
                    found = nested_rows(rows, shown, stores, part)
                    for start in range(0, found.num_rows, SLICE):
                        yield found.slice(start, SLICE)

    return read


def _nested(columns: Sequence[StateColumn]) -> StructType:
    """The schema of the DataFrame, intervals of months as numbers."""
    structs = [
        StructField(part, StructType(tuple(_fields(c for c in columns if c.part == part))))
        for part in ("key", "value")
    ]
    return StructType((StructField(PARTITION, INT), *structs, StructField(EVENT_TIME, TIMESTAMP)))


def _fields(columns: Iterable[StateColumn]) -> Iterator[StructField]:
    return (StructField(c.name, as_nullable(carrier(c.data_type))) for c in columns)
