"""Writing a run: rows of state as a sealed, durable file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from .checksums import Sealing
from .narrow import narrowed
from .rows import NEVER, StateRows
from .run import SCANNED, TYPES, Layout
from .sorting import stable_order
from .storage import Place, located
from .version import RunInfo, cannot_write


def write_run(
    location: Place, file: str, rows: StateRows, layout: Layout, info: dict[str, Any]
) -> RunInfo:
    """Write rows as a new run, durable; `info` has the sequence, the tasks and the task.

    Raises:
        StateError: the file cannot be written.
    """
    hashes = rows.keys.hashes
    if not bool((hashes[1:] >= hashes[:-1]).all()):
        rows = rows.take(stable_order(hashes))
    batch = _kept_batch(rows, layout)
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


def _kept_batch(rows: StateRows, layout: Layout) -> Any:
    """Rows, sorted by hash, as a file has them."""
    plain = {"hash": pa.array(rows.keys.hashes), "place": pa.array(rows.keys.places)}
    if rows.live is not None and not rows.live.all():
        plain["live"] = pa.array(rows.live)
    kept = [(column, pa.field(name, column.type)) for name, column in plain.items()]
    if layout.timed:
        time = pa.array(rows.times), pa.field("time", pa.int64())
        if len(rows) > SCANNED:
            order = pa.array(stable_order(rows.times).astype(np.uint32))
            kept += [time, (order, pa.field("order", order.type))]
        else:
            kept.append(narrowed(*time))
    typed = []
    for letter, columns in (("k", rows.keys.columns), ("v", rows.values)):
        for i, (column, field) in enumerate(zip(columns.columns, columns.schema, strict=True)):
            typed.append(pa.field(f"{letter}{i}", field.type))
            kept.append(narrowed(column, typed[-1]))
    metadata = {TYPES: pa.schema(typed).serialize().to_pybytes()}
    schema = pa.schema([field for _, field in kept], metadata=metadata)
    return pa.RecordBatch.from_arrays([column for column, _ in kept], schema=schema)
