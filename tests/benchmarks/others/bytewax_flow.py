"""Bytewax: a dataflow of Python functions, one worker, as they hold one lock."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

from ..job import Job, Run

_ROWS = 10_000
# A key's clock moves with each of its rows, Spark's with each batch: a batch's minute more lets no
# row be late that Spark takes in.
_BATCH_SECONDS = 60
_START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


class _Files(DynamicSource[Any]):
    """All rows of the files in their order, as `(key, (ts, value))`."""

    def __init__(self, files: list[Path]) -> None:
        self._files = files

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Any:
        return _Rows(self._rows())

    def _rows(self) -> Iterator[list[tuple[str, tuple[Any, int]]]]:
        for path in self._files:
            for part in pq.ParquetFile(path).iter_batches(_ROWS):
                keys, times, values = (part[n].to_pylist() for n in ("key", "ts", "value"))
                utc = (moment.replace(tzinfo=dt.UTC) for moment in times)  # as Bytewax wants it
                pairs = zip(utc, values, strict=True)
                yield [(str(key), pair) for key, pair in zip(keys, pairs, strict=True)]


class _Rows(StatelessSourcePartition[Any]):
    def __init__(self, parts: Iterator[list[Any]]) -> None:
        self._parts = parts

    def next_batch(self) -> list[Any]:
        return next(self._parts)


class _Counted(DynamicSink[Any], StatelessSinkPartition[Any]):
    """Counts what comes out."""

    def __init__(self) -> None:
        self.rows = 0

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Any:
        return self

    def write_batch(self, items: list[Any]) -> None:
        self.rows += len(items)


def _folded(rows: Any, windower: Any, delay: int) -> Any:
    """Count and sum of each key's windows."""
    wait = dt.timedelta(seconds=delay + _BATCH_SECONDS)
    return win.fold_window(
        "fold",
        rows,
        win.EventClock(lambda row: row[0], wait_for_system_duration=wait),
        windower,
        lambda: (0, 0),
        lambda state, row: (state[0] + 1, state[1] + row[1]),
        lambda left, right: (left[0] + right[0], left[1] + right[1]),
        ordered=False,
    ).down


def _first_seen(seen: Any, row: Any) -> tuple[Any, list[Any]]:
    seen = set() if seen is None else seen
    fresh = [row] if row[0] not in seen else []
    seen.add(row[0])
    return seen, fresh


def run(job: Job) -> Run:
    """Run the work over all files but those of the last batch."""
    (one,) = job.inputs
    assert one.files is not None and one.watermark is not None
    files = sorted(Path(one.path).glob("batch-*"))[: job.counted[1] * one.files]
    flow, sink = Dataflow(job.work), _Counted()
    rows = op.input("rows", flow, _Files(files))
    if job.work == "dedup":
        out = op.stateful_flat_map("seen", rows, _first_seen)
    elif job.work == "session":
        out = _folded(rows, win.SessionWindower(gap=dt.timedelta(seconds=5)), one.watermark[1])
    else:
        windower = win.TumblingWindower(length=dt.timedelta(seconds=10), align_to=_START)
        out = _folded(rows, windower, one.watermark[1])
    op.output("out", out, sink)
    start = time.monotonic()
    run_main(flow)
    took = (time.monotonic() - start) / job.counted[1]
    return Run(system=job.system, seconds=[took], rows=(), emitted=sink.rows)
