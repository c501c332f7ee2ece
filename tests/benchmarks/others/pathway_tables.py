"""Pathway: its own Rust engine, driven by tables in Python; it keeps all windows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pathway as pw
import pyarrow.parquet as pq
from pathway.internals.parse_graph import G

from ..job import Job, Run

_US = 1_000_000


class _Row(pw.Schema):
    key: int
    ts: int
    value: int


class _Files(pw.io.python.ConnectorSubject):
    """The rows of all files in their order, the time in microseconds; a commit a batch."""

    def __init__(self, files: list[Path], each: int) -> None:
        super().__init__(datasource_name="files")
        self._files, self._each = files, each

    def run(self) -> None:
        for number, path in enumerate(self._files, start=1):
            table = pq.read_table(path)
            table = table.set_column(1, "ts", table["ts"].cast("int64"))
            for row in table.to_pylist():
                self.next(**row)
            if number % self._each == 0:
                self.commit()


def run(job: Job) -> Run:
    """Run the work over all files but those of the last batch."""
    (one,) = job.inputs
    assert one.files is not None
    files = sorted(Path(one.path).glob("batch-*"))[: job.counted[1] * one.files]
    G.clear()  # what an earlier run left
    rows = pw.io.python.read(_Files(files, one.files), schema=_Row, autocommit_duration_ms=None)
    live: dict[Any, int] = {}

    def count(key: Any, row: Mapping[str, Any], time: int, is_addition: bool) -> None:
        live[key] = live.get(key, 0) + (1 if is_addition else -1)

    pw.io.subscribe(_result(job.work, rows), on_change=count)
    start = time.monotonic()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE, default_logging=False)
    took = (time.monotonic() - start) / job.counted[1]
    return Run(system=job.system, seconds=[took], rows=(), emitted=sum(live.values()))


def _result(work: str, rows: Any) -> Any:
    if work == "dedup":
        return rows.groupby(rows.key, rows.ts).reduce(
            rows.key, rows.ts, value=pw.reducers.any(rows.value)
        )
    if work == "session":
        window = pw.temporal.session(max_gap=5 * _US)
    else:
        window = pw.temporal.tumbling(duration=10 * _US)
    return rows.windowby(rows.ts, window=window, instance=rows.key).reduce(
        pw.this._pw_instance,
        pw.this._pw_window_start,
        pw.this._pw_window_end,
        n=pw.reducers.count(),
        total=pw.reducers.sum(pw.this.value),
    )
