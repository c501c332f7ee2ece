"""State rows as the columns that people know: keys, values, event time, store.

Runs in tasks of a Spark job too, so it needs no more than a kernel does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .rows import NEVER, StateRows, columns_of
from .run import stored_layout
from .store import RunStore
from .version import StateVersion, task_of

PARTITION, EVENT_TIME = "partition_id", "event_time"
STAMP = pa.timestamp("us", "UTC")
Part = Literal["key", "value"]


@dataclass(frozen=True)
class ShownColumn:
    """A column of state as it is shown.

    Attributes:
        part: whether it is a part of the key or of the value.
        name: its name, unlike those of all others.
        type: its Arrow type.
        source: what it is made of: `k0`, `v1`, the event time `time`, the bounds `v0:v1` of a
            session in microseconds, or nothing.
    """

    part: Part
    name: str
    type: Any
    source: str

    def of(self, rows: StateRows) -> Any:
        """The column of some rows."""
        if not self.source:
            return pa.nulls(len(rows), self.type)
        start, _, end = self.source.partition(":")
        if end:
            bounds = [_physical(rows, source) for source in (start, end)]
            fields = [self.type.field(i) for i in range(2)]
            parts = [b.cast(f.type) for b, f in zip(bounds, fields, strict=True)]
            return pa.StructArray.from_arrays(parts, fields=fields)
        found = _physical(rows, start)
        return found if found.type == self.type else found.cast(self.type)


def _physical(rows: StateRows, source: str) -> Any:
    if source == "time":
        return pa.array(rows.times)
    batch = rows.keys.columns if source[0] == "k" else rows.values
    return batch.column(int(source[1:]))


def flat_schema(columns: tuple[ShownColumn, ...]) -> Any:
    """The schema of `flat_rows`: key, value, event time, store. What is always null is left out."""
    fields = [pa.field(c.name, c.type) for c in columns if not pa.types.is_null(c.type)]
    return pa.schema([*fields, pa.field(EVENT_TIME, STAMP), pa.field(PARTITION, pa.int32())])


def flat_rows(rows: StateRows, columns: tuple[ShownColumn, ...], stores: int) -> Any:
    """State rows as a record batch of `flat_schema`."""
    arrays = [c.of(rows) for c in columns if not pa.types.is_null(c.type)]
    arrays += [event_times(rows), partitions(rows, stores)]
    return pa.RecordBatch.from_arrays(arrays, schema=flat_schema(columns))


def nested_rows(rows: StateRows, columns: tuple[ShownColumn, ...], stores: int) -> Any:
    """State rows as Spark's `statestore` source has them, and the event time.

    Columns: `partition_id`, `key`, `value` (structs), `event_time`.
    """
    structs = [_struct([c for c in columns if c.part == part], rows) for part in ("key", "value")]
    return pa.RecordBatch.from_arrays(
        [partitions(rows, stores), *structs, event_times(rows)],
        names=[PARTITION, "key", "value", EVENT_TIME],
    )


def _struct(columns: list[ShownColumn], rows: StateRows) -> Any:
    schema = pa.schema([pa.field(c.name, c.type) for c in columns])
    batch = columns_of([c.of(rows) for c in columns], schema, len(rows))
    return batch.to_struct_array()


def event_times(rows: StateRows) -> Any:
    """When a watermark evicts each row; null: never."""
    times = pa.array(rows.times)
    return pc.if_else(pc.equal(times, NEVER), None, times).cast(STAMP)


def partitions(rows: StateRows, stores: int) -> Any:
    """The store of each row."""
    return pa.array(task_of(rows.keys.places, stores).astype(np.int32))


def scan_state(location: Any, version: StateVersion, tasks: int, task: int) -> StateRows | None:
    """The live rows of a version whose place `p` has `pmod(p, tasks) == task`; None: no runs.

    Raises:
        StateError: a file is missing or corrupt.
    """
    if not version.runs:
        return None
    layout = stored_layout(location, version.runs[0])
    store = RunStore(location, version, layout, tasks, task, "")
    return store.scan(layout.empty_keys())
