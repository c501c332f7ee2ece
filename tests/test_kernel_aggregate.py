"""The aggregate, session, deduplication and limit kernels over a real state, without Spark."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stateplan.planner.model.output_modes import OutputMode
from stateplan.runtime.kernels.aggregates.aggregate import AggregateKernel
from stateplan.runtime.kernels.aggregates.buffers import (
    Buffers,
    MergeStep,
    OutputColumn,
    RowBuffers,
)
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.kernel import Figures, Kernel
from stateplan.runtime.kernels.reports import META, TaskReport
from stateplan.runtime.kernels.task import TaskSpec, run_task
from stateplan.runtime.state import StateVersion

USER = pa.field("user", pa.string())
TIME = pa.field("ts", pa.timestamp("us", "UTC"))
WINDOW = pa.field("w", pa.struct([("start", TIME.type), ("end", TIME.type)]))
COUNT = pa.field("n", pa.int64())
COUNTS = Buffers(
    pa.schema([COUNT]), (MergeStep("sum_wrap", (0,)),), (OutputColumn((0,)),), pa.schema([COUNT])
)
COUNTED = RowBuffers(pa.schema([COUNT]), (0,))

Rows = list[tuple[Any, ...]]


def hash_of(value: object) -> int:
    return len(repr(value)) % 5  # collides on purpose


class Query:
    """Runs a kernel batch after batch in `tasks` tasks."""

    def __init__(self, location: Path, stores: int = 4, tasks: int = 2) -> None:
        self.location, self.tasks = str(location), tasks
        self.version = StateVersion(0, stores)
        self.figures = Figures()

    def batch(
        self, kernel: Kernel, rows: list[tuple[Any, ...]], keys: int
    ) -> list[tuple[Any, ...]]:
        emitted: Rows = []
        reports = []
        spec = TaskSpec(
            "Test",
            kernel,
            self.location,
            self.version,
            self.tasks,
            "attempt",
            names=tuple(kernel.output.names),
        )
        for task in range(self.tasks):
            mine = [r for r in rows if hash_of(r[:keys]) % self.version.stores % self.tasks == task]
            for part in run_task(spec, task, iter([self.input(kernel, mine, keys)])):
                for row in part.to_pylist():
                    meta = row.pop(META)
                    if meta is None:
                        emitted.append(tuple(row.values()))
                    else:
                        reports.append(TaskReport.from_json(meta.partition(":")[2]))
        added = sum(r.figures.added for r in reports)
        self.version = self.version.next(
            [r.writes for r in reports], schema="", added=added, evicted={"": kernel.evicts}
        )
        assert not any(r.figures.custom for r in reports)
        *numbers, _ = (field.name for field in fields(Figures))
        totals = {name: sum(getattr(r.figures, name) for r in reports) for name in numbers}
        figures = Figures(**totals)
        if isinstance(kernel, AggregateKernel) and kernel.rows is not None:
            assert figures.received == len(rows) >= figures.groups
        self.figures = replace(figures, received=0, groups=0)
        return sorted(emitted, key=repr)

    @staticmethod
    def input(kernel: Kernel, rows: Rows, keys: int) -> Any:
        hashes = [hash_of(r[:keys]) for r in rows]
        arrays = [pa.array(hashes, pa.int32()), pa.array(hashes, pa.int64())]
        for i, field in enumerate(kernel.input):
            arrays.append(pa.array([r[i] for r in rows], field.type))
        names = ["place", "hash", *kernel.input.names]
        return pa.RecordBatch.from_arrays(arrays, names=names)


def window(end: int) -> dict[str, Any]:
    stamp = [np.datetime64(t, "us").item() for t in (end - 10, end)]
    return {"start": stamp[0], "end": stamp[1]}


def counting(
    mode: OutputMode, late: int | None = None, evict: int | None = None
) -> AggregateKernel:
    schema = pa.schema([USER, WINDOW])
    return AggregateKernel(schema, COUNTS, mode, 1, late, evict, COUNTED)


def ends(rows: Rows) -> list[tuple[Any, int, int]]:
    zero = np.datetime64(0, "us").item()
    return [
        (user, round((w["end"].replace(tzinfo=None) - zero).total_seconds() * 1e6), n)
        for user, w, n in rows
    ]


def test_append_emits_what_the_watermark_passes_and_drops_late_keys(tmp_path: Path) -> None:
    query = Query(tmp_path)
    first = [("a", window(10), 1), ("a", window(20), 2), (None, window(10), 3)]
    assert query.batch(counting("append", 0, 0), first, 1) == []
    assert query.figures == Figures(updated=3, added=3)
    more = [("a", window(10), 4), ("b", window(5), 1)]
    emitted = query.batch(counting("append", 0, 10), more, 1)
    assert ends(emitted) == [("a", 10, 5), ("b", 5, 1), (None, 10, 3)]
    assert query.figures == Figures(updated=2, removed=3, added=-2)
    late = [("a", window(10), 7), ("a", window(20), 1)]
    assert ends(query.batch(counting("append", 10, 20), late, 1)) == [("a", 20, 3)]
    assert query.figures == Figures(updated=1, removed=1, dropped=1, added=-1)
    assert query.version.total == 0


def test_update_emits_touched_keys_and_evicts_in_silence(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.batch(counting("update", 0, 0), [("a", window(10), 1), ("b", window(30), 1)], 1)
    emitted = query.batch(counting("update", 0, 10), [("a", window(20), 1)], 1)
    assert ends(emitted) == [("a", 20, 1)]
    assert query.figures == Figures(updated=1, removed=1, added=0)
    assert query.batch(counting("update", 10, 20), [("a", window(10), 5)], 1) == []
    assert query.figures == Figures(removed=1, dropped=1, added=-1)


def test_complete_emits_everything_and_neither_drops_nor_evicts(tmp_path: Path) -> None:
    query = Query(tmp_path)
    query.batch(counting("complete", 0, 0), [("a", window(10), 1), ("b", window(30), 1)], 1)
    emitted = query.batch(counting("complete", 90, 99), [("a", window(10), 1)], 1)
    assert ends(emitted) == [("a", 10, 2), ("b", 30, 1)]
    assert query.figures == Figures(updated=1)


def test_a_null_event_time_stays(tmp_path: Path) -> None:
    schema = pa.schema([USER, TIME])
    query = Query(tmp_path)

    def kernel(late: int, evict: int) -> AggregateKernel:
        return AggregateKernel(schema, COUNTS, "append", 1, late, evict, COUNTED)

    assert query.batch(kernel(0, 0), [("a", None, 1)], 1) == []
    assert query.batch(kernel(0, 10**12), [("a", None, 1)], 1) == []
    assert query.version.total == 1 and query.figures == Figures(updated=1)


def test_without_keys_there_is_one_row_in_every_batch(tmp_path: Path) -> None:
    query = Query(tmp_path, stores=1, tasks=1)
    kernel = AggregateKernel(pa.schema([]), COUNTS, "update")
    assert query.batch(kernel, [(0, 0)], 0) == [(0,)]
    assert query.batch(kernel, [(5, 9)], 0) == [(5,)]
    assert query.batch(kernel, [(0, 0)], 0) == [(5,)]
    assert query.version.total == 1 and query.figures == Figures(updated=1)


def test_a_row_in_the_wrong_task_fails_loudly(tmp_path: Path) -> None:
    kernel = counting("complete")
    spec = TaskSpec(
        "StateStoreSave",
        kernel,
        str(tmp_path),
        StateVersion(0, 4),
        2,
        "attempt",
        names=tuple(kernel.output.names),
    )
    rows = Query.input(kernel, [("a", window(10), 1)], 1)
    wrong = 1 - hash_of(("a",)) % 4 % 2
    with pytest.raises(RuntimeError, match=r"STATEPLAN_INTERNAL.*StateStoreSave: a row of store"):
        list(run_task(spec, wrong, iter([rows])))


def test_rows_and_partial_results_give_the_same(tmp_path: Path) -> None:
    schema = pa.schema([USER])
    partial = AggregateKernel(schema, COUNTS, "update")
    ones = replace(partial, rows=RowBuffers(pa.schema([]), (None,)))
    by_rows, by_partials = Query(tmp_path / "rows"), Query(tmp_path / "partials")
    rows: Rows = [(user,) for user in ("a", "b", None, "a", "ccc", "a", None)]
    totals: Rows = [("a", 3, 3), ("b", 1, 1), (None, 2, 2), ("ccc", 1, 1)]
    for factor in (1, 2):
        emitted = by_rows.batch(ones, rows, 1)
        assert emitted == by_partials.batch(partial, totals, 1)
        assert emitted == sorted(((u, n * factor) for u, n, _ in totals), key=repr)


def test_fold_of_numbers_skips_nulls_and_finds_overflow_row_by_row() -> None:
    most = 2**63 - 1
    heads = np.array([True, False, False, True, True, False])
    values = pa.array([5, None, -7, None, most, -most])

    def fold(operation: str, column: Any) -> list[Any]:
        schema = pa.schema([pa.field("b", column.type)])
        buffers = Buffers(schema, (MergeStep(operation, (0,)),), (OutputColumn((0,)),), schema)
        rows = pa.RecordBatch.from_arrays([column], schema=schema)
        found: list[Any] = buffers.fold(rows, heads).column(0).to_pylist()
        return found

    assert fold("sum", values) == fold("sum_wrap", values) == [-2, None, 0]
    assert fold("min", values) == [-7, None, -most]
    assert fold("max", values) == [5, None, most]
    assert fold("bit_xor", values) == [5 ^ -7, None, most ^ -most]
    nan = float("nan")
    assert fold("sum", pa.array([0.5, 1.5, None, None, nan, 1.0]))[:2] == [2.0, None]
    assert fold("max", pa.array([0.5, 1.5, None, None, 7.0, nan]))[:2] == [1.5, None]
    # Spark adds row by row: what leaves 64 bits on the way fails, whatever comes after it.
    with pytest.raises(KernelError, match="ARITHMETIC_OVERFLOW"):
        fold("sum", pa.array([0, 0, 0, 0, most, 1]))
    with pytest.raises(KernelError, match="ARITHMETIC_OVERFLOW"):
        fold("sum", pa.array([most, 1, -5, 0, 0, 0]))
    assert fold("sum", pa.array([-1, most, 1, 0, most, -1])) == [most, 0, most - 1]


def test_fold_merges_runs_of_rows_in_order() -> None:
    schema = pa.schema([pa.field("l", pa.list_(pa.field("element", pa.int64())))])
    lists = Buffers(schema, (MergeStep("concat", (0,)),), (OutputColumn((0,)),), schema)
    rows = pa.RecordBatch.from_arrays(
        [pa.array([[i] for i in range(11)], schema[0].type)], schema=schema
    )
    heads = np.isin(np.arange(11), [0, 1, 4, 9])
    folded = lists.fold(rows, heads).column(0).to_pylist()
    assert folded == [[0], [1, 2, 3], [4, 5, 6, 7, 8], [9, 10]]
