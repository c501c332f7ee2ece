"""Writing a run: rows of state as a sealed, durable file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .checksums import Sealing
from .errors import cannot_write
from .locations import located
from .narrow import narrowed
from .rows import NEVER, Int64, StateRows
from .run import SCANNED, TYPES, Layout
from .sorting import stable_order
from .storage import Place
from .version import RunInfo


def write_run(
    location: Place, file: str, rows: StateRows, layout: Layout, info: dict[str, Any]
) -> RunInfo:
    """Write rows as a new run, durable; `info` has the sequence, the tasks and the task.

    Raises:
        StateError: the file cannot be written.
    """
    hashes = rows.keys.hashes
    ascending = bool((hashes[1:] >= hashes[:-1]).all())
    batch = _kept_batch(rows, layout, None if ascending else stable_order(hashes))
    path = located(location) / file
    try:
        with path.output() as stream:
            sealing = Sealing(stream)
            with pa.ipc.new_file(sealing, batch.schema) as writer:
                writer.write_batch(batch)
            sealing.seal()
    except OSError as problem:
        raise cannot_write("State", path, problem) from problem
    timed = layout.timed and len(rows) > 0
    low, high = (int(rows.times.min()), int(rows.times.max())) if timed else (NEVER, NEVER)
    return RunInfo(
        file=file,
        rows=len(rows),
        size=sealing.size,
        check=sealing.check,
        low=low,
        high=high,
        **info,
    )


def _kept_batch(rows: StateRows, layout: Layout, order: Int64 | None) -> Any:
    """Rows as a file has them, in an order of theirs; None: as they are.

    One column after the other, each in as few bytes as it takes before it is sorted: of many rows
    there must not be copies.
    """
    at = None if order is None else pa.array(order)
    arrays: list[Any] = []
    fields: list[Any] = []

    def keep(column: Any, field: Any) -> None:
        arrays.append(column if at is None else pc.take(column, at, boundscheck=False))
        fields.append(field)

    keep(pa.array(rows.keys.hashes), pa.field("hash", pa.int64()))
    keep(pa.array(rows.keys.places), pa.field("place", pa.int32()))
    if rows.live is not None and not rows.live.all():
        keep(pa.array(rows.live), pa.field("live", pa.bool_()))
    if layout.timed and len(rows) > SCANNED:
        keep(pa.array(rows.times), pa.field("time", pa.int64()))
        arrays.append(pa.array(stable_order(arrays[-1].to_numpy()).astype(np.uint32)))
        fields.append(pa.field("order", pa.uint32()))
    elif layout.timed:
        keep(*narrowed(pa.array(rows.times), pa.field("time", pa.int64())))
    types = []
    for letter, columns in (("k", rows.keys.columns), ("v", rows.values)):
        for i, (column, field) in enumerate(zip(columns.columns, columns.schema, strict=True)):
            types.append(pa.field(f"{letter}{i}", field.type))
            keep(*narrowed(column, types[-1]))
    metadata = {TYPES: pa.schema(types).serialize().to_pybytes()}
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))
