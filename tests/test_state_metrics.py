"""What the progress says of an operator's state files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from stateplan.runtime.engines.metrics import custom_metrics
from stateplan.runtime.kernels.kernel import Figures
from stateplan.runtime.kernels.task import TaskReport
from stateplan.runtime.state import (
    Keys,
    Layout,
    RunStore,
    StateRows,
    StateVersion,
    load_version,
    save_version,
)

LAYOUT = Layout(pa.schema([pa.field("k", pa.int64())]), pa.schema([]), True)


def rows(keys: list[int], time: int) -> StateRows:
    numbers = np.array(keys, np.int64)
    columns = pa.RecordBatch.from_arrays([pa.array(numbers)], schema=LAYOUT.keys)
    values = LAYOUT.empty().values.schema
    nothing = pa.RecordBatch.from_struct_array(
        pa.Array.from_buffers(pa.struct([]), len(keys), [None])
    )
    assert nothing.schema == values
    found = Keys(numbers, numbers.astype(np.int32), columns)
    return StateRows(found, np.full(len(keys), time, np.int64), nothing)


def batch(
    location: Path, base: StateVersion, changes: StateRows, evicted: int | None
) -> tuple[StateVersion, dict[str, int], TaskReport]:
    """One batch of one task."""
    store = RunStore(str(location), base, LAYOUT, 1, 0, f"attempt{base.version}")
    store.get(changes.keys)
    if evicted is not None:
        store.expired(evicted, changes.keys)
    writes = store.commit(changes, evicted)
    report = TaskReport.from_json(
        TaskReport(writes, Figures(), 5, 1, dict(store.metrics)).to_json()
    )
    after = base.next([writes], schema=LAYOUT.text, added=len(changes), evicted={"": evicted})
    save_version(str(location), after, "attempt", retain=9)
    metrics = dict(custom_metrics(base, after, [report], {}))
    return load_version(str(location), after.version, 4, "attempt"), metrics, report


def test_files_are_counted(tmp_path: Path) -> None:
    first, metrics, _ = batch(tmp_path, StateVersion(0, 4), rows(list(range(8)), 10), None)
    (run,) = first.runs
    assert metrics == {
        "runFilesCount": 1,
        "runFilesKeptCount": 0,
        "runFilesDroppedCount": 0,
        "runFilesWrittenCount": 1,
        "runRowsWrittenCount": 8,
        "runBytesWritten": run.size,
        "compactedFilesCount": 0,
        "compactedRowsCount": 0,
        "compactedBytes": 0,
        "runFilesOpenedCount": 0,
        "runFilesSkippedByEventTimeCount": 0,
        "blockCacheHitCount": 0,
        "blockCacheMissCount": 0,
    }
    second, metrics, report = batch(tmp_path, first, rows([8], 20), 5)
    assert (metrics["runFilesOpenedCount"], metrics["runFilesSkippedByEventTimeCount"]) == (1, 1)
    assert (metrics["runFilesCount"], metrics["runFilesKeptCount"]) == (2, 1)
    assert 0 <= report.removal_ms <= 1000
    assert metrics["blockCacheMissCount"] == 1  # all of a small file is one block
    third, metrics, _ = batch(tmp_path, second, rows([0, 1, 2, 11, 12], 30), 7)
    assert metrics["compactedFilesCount"] == 2
    assert metrics["compactedBytes"] == second.size
    assert metrics["compactedRowsCount"] == 6  # nine, of which three have newer rows
    assert metrics["runRowsWrittenCount"] == 11
    assert metrics["runFilesDroppedCount"] == 2
    assert metrics["blockCacheMissCount"] == 1 and metrics["blockCacheHitCount"] > 1
    _, metrics, _ = batch(tmp_path, third, rows([], 0), 30)
    assert (metrics["runFilesCount"], metrics["runFilesDroppedCount"]) == (0, 1)
    assert metrics["runFilesSkippedByEventTimeCount"] == 0
