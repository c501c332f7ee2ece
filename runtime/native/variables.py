"""State variables and timers of `transformWithState`: column families of RocksDB, read by Spark.

Spark's `statestore` source reads one variable at a time, and the timers; we keep each as a part of
the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from ...physical.python_state import TransformWithStateInPySparkExec
from ..kernels.user_state.processor import ProcessorKernel
from ..kernels.user_state.tables import times_of
from ..kernels.user_state.variables import Variable
from ..state.parts import TIMERS
from ..state.rows import never
from .checkpoint import OtherCheckpoint
from .families import family_rows
from .operators import (
    Parts,
    RunningState,
    StoreRows,
    Stores,
    give_state,
    keys_of,
    state_rows,
    take_state,
)
from .stores import COLUMNS, TIMES, spark_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_TTL = ("value", "ttlExpirationMs")


def variable_stores(
    checkpoint: OtherCheckpoint, number: int, kernel: ProcessorKernel, spark: SparkSession
) -> Stores:
    """The rows of a processor's variables and timers after the last batch that is done, by part.

    Raises:
        RuntimeFailure: Spark cannot read them.
    """
    return dict(_variable_stores(checkpoint, number, kernel, spark))


def _variable_stores(
    checkpoint: OtherCheckpoint, number: int, kernel: ProcessorKernel, spark: SparkSession
) -> Iterator[tuple[str, StoreRows]]:
    def read(options: Mapping[str, str], *columns: str) -> list[Any]:
        table = spark_table(checkpoint, number, spark, options, ("key", *columns))
        return [table.column(i).combine_chunks() for i in range(table.num_columns)]

    for variable in kernel.variables:
        key, *values = read({"stateVarName": variable.name}, *COLUMNS[variable.kind])
        yield variable.part, StoreRows(key.flatten(), _values(variable, values), len(key))
    if TIMERS in kernel.layouts:
        key, times = read({"readRegisteredTimers": "true"}, TIMES)
        yield TIMERS, StoreRows(key.flatten(), [times], len(key))


def _values(variable: Variable, columns: list[Any]) -> list[Any]:
    """A value that expires stands in a struct with the time when it does."""
    if variable.ttl_ms is None:
        return columns
    *before, last = columns
    return [*before, *(pc.struct_field(last, name) for name in _OF_TTL)]


@take_state.register
def _(operator: TransformWithStateInPySparkExec, state: RunningState, stores: Stores) -> Parts:
    found = {}
    for part, layout in state.kernel.layouts.items():
        rows = stores[part]
        keys = keys_of(rows.keys, layout.keys, rows.count)
        times = times_of(rows.values[-1].to_pylist()) if layout.timed else never(rows.count)
        found[part] = state_rows(state, keys, times, rows.values, part)
    return found


@give_state.register
def _(operator: TransformWithStateInPySparkExec, state: RunningState, parts: Parts) -> Stores:
    return family_rows(state, parts)
