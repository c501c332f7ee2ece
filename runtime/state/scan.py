"""State rows as the columns that people know: keys, values, event time, store.

Runs in tasks of a Spark job too, so it needs no more than a kernel does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .marks import GONE, MATCHED, known_matched, names_of, with_matched
from .parts import is_added_to, shown_part
from .rows import NEVER, StateRows, columns_of, first_rows
from .run import stored_layout
from .sorting import stable_order
from .store import RunStore, present
from .version import StateVersion, task_of

PARTITION, EVENT_TIME = "partition_id", "event_time"
STAMP = pa.timestamp("us", "UTC")
Part = Literal["key", "value"]
SIDE, OF_PART = "part", "/"
"""In sources of columns: the name of the part of the state; what stands behind a part's name."""


@dataclass(frozen=True)
class ShownColumn:
    """A column of state as it is shown.

    Attributes:
        part: whether it is a part of the key or of the value.
        name: its name, unlike those of all others.
        type: its Arrow type.
        source: what it is made of: `k0`, `v1`, the event time `time`, the bounds `v0:v1` of a
            session or a window in microseconds (`v0:v0+10` if it is 10 long), or nothing;
            `left/v1` if only rows of that part of the state have it; the name of the part, `part`.
    """

    part: Part
    name: str
    type: Any
    source: str

    def of(self, rows: StateRows, part: str = "") -> Any:
        """The column of some rows of a part of the state."""
        if self.source == SIDE:
            return pa.repeat(shown_part(part), len(rows))
        only, _, source = self.source.rpartition(OF_PART)
        if not source or only not in ("", part):
            return pa.nulls(len(rows), self.type)
        start, _, end = source.partition(":")
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
    source, _, later = source.partition("+")
    if later:
        return pc.add(_physical(rows, source).cast(pa.int64()), int(later))
    batch = rows.keys.columns if source[0] == "k" else rows.values
    return batch.column(int(source[1:]))


def flat_schema(columns: tuple[ShownColumn, ...]) -> Any:
    """The schema of `flat_rows`: key, value, event time, store. What is always null is left out."""
    fields = [pa.field(c.name, c.type) for c in columns if not pa.types.is_null(c.type)]
    return pa.schema([*fields, pa.field(EVENT_TIME, STAMP), pa.field(PARTITION, pa.int32())])


def flat_rows(
    rows: StateRows, columns: tuple[ShownColumn, ...], stores: int, part: str = ""
) -> Any:
    """State rows of a part as a record batch of `flat_schema`."""
    arrays = [c.of(rows, part) for c in columns if not pa.types.is_null(c.type)]
    arrays += [event_times(rows), partitions(rows, stores)]
    return pa.RecordBatch.from_arrays(arrays, schema=flat_schema(columns))


def nested_rows(
    rows: StateRows, columns: tuple[ShownColumn, ...], stores: int, part: str = ""
) -> Any:
    """State rows as Spark's `statestore` source has them, and the event time.

    Columns: `partition_id`, `key`, `value` (structs), `event_time`.
    """
    structs = [_struct([c for c in columns if c.part == of], rows, part) for of in ("key", "value")]
    return pa.RecordBatch.from_arrays(
        [partitions(rows, stores), *structs, event_times(rows)],
        names=[PARTITION, "key", "value", EVENT_TIME],
    )


def _struct(columns: list[ShownColumn], rows: StateRows, part: str) -> Any:
    schema = pa.schema([pa.field(c.name, c.type) for c in columns])
    batch = columns_of([c.of(rows, part) for c in columns], schema, len(rows))
    return batch.to_struct_array()


def event_times(rows: StateRows) -> Any:
    """When a watermark evicts each row; null: never."""
    times = pa.array(rows.times)
    return pc.if_else(pc.equal(times, NEVER), None, times).cast(STAMP)


def partitions(rows: StateRows, stores: int) -> Any:
    """The store of each row."""
    return pa.array(task_of(rows.keys.places, stores).astype(np.int32))


def shown_parts(columns: tuple[ShownColumn, ...]) -> tuple[str, ...]:
    """The parts of the state that columns show."""
    found = (c.source.rpartition(OF_PART)[0] for c in columns if OF_PART in c.source)
    return tuple(dict.fromkeys(found)) or ("",)


def scan_state(
    location: Any, version: StateVersion, tasks: int, task: int, part: str = ""
) -> StateRows | None:
    """The live rows of a version whose place `p` has `pmod(p, tasks) == task`; None: no runs.

    Raises:
        StateError: a file is missing or corrupt.
    """
    runs = [run for run in version.runs if run.part == part]
    if not runs:
        return None
    is_marks = part.endswith((GONE, MATCHED))
    layout = replace(stored_layout(location, runs[0]), adds=is_added_to(part))
    rows = RunStore(location, version, layout, tasks, task, "", part).scan(layout.empty_keys())
    if is_marks:
        return rows.take(stable_order(rows.keys.hashes))
    gone = scan_state(location, version, tasks, task, f"{part}{GONE}")
    if gone is not None:
        rows = rows.take(~present(names_of(rows), gone.keys))
    matched = scan_state(location, version, tasks, task, f"{part}{MATCHED}")
    if matched is not None:
        rows = with_matched(rows, known_matched(rows) | present(names_of(rows), matched.keys))
    return rows


def counted_rows(location: Any, version: StateVersion, part: str) -> int:
    """The rows of a variable as Spark counts them: a list is one.

    Raises:
        StateError: a file is missing or corrupt.
    """
    rows = scan_state(location, version, 1, 0, part)
    if rows is None:
        return 0
    structs = [field for field in rows.values.schema if pa.types.is_struct(field.type)]
    if len(structs) > 1:  # the keys of a map and its values
        return len(rows)
    return len(np.unique(first_rows(rows.keys)))
