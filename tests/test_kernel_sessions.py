"""Session windows against a plain merge of intervals, and deduplication within the watermark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateplan.runtime.kernels.aggregates.buffers import Buffers, MergeStep, OutputColumn
from stateplan.runtime.kernels.deduplicate import DeduplicateKernel
from stateplan.runtime.kernels.intervals import reaches
from stateplan.runtime.kernels.kernel import Figures, Input, Kernel
from stateplan.runtime.kernels.limit import LimitKernel
from stateplan.runtime.kernels.session import SessionKernel
from stateplan.runtime.state import RunStore, StateVersion

USER = pa.field("user", pa.string())
TIME = pa.field("ts", pa.timestamp("us", "UTC"))
SESSION = pa.field("s", pa.struct([("start", TIME.type), ("end", TIME.type)]))
LISTS = pa.schema([pa.field("l", pa.list_(pa.field("element", pa.int64())))])
COLLECT = Buffers(LISTS, (MergeStep("concat", (0,)),), (OutputColumn((0,)),), LISTS)
Row = tuple[str, int, int]  # user, start, end


class Query:
    """Runs kernels in one task, batch after batch."""

    def __init__(self, location: Path) -> None:
        self.location = str(location)
        self.version = StateVersion(0, 1)
        self.figures = Figures()

    def batch(self, kernel: Kernel, columns: list[list[Any]]) -> list[dict[str, Any]]:
        arrays = [pa.array(c, f.type) for c, f in zip(columns, kernel.input, strict=True)]
        hashes = np.array([len(v or "") % 2 for v in columns[0]], np.int64)
        rows = pa.RecordBatch.from_arrays(arrays, schema=kernel.input)
        store = RunStore(self.location, self.version, kernel.layout, 1, 0, "attempt")
        outcome = kernel.run(Input(hashes, hashes.astype(np.int32), rows), store)
        writes = store.commit(outcome.changes, kernel.evicts)
        self.figures = outcome.figures
        self.version = self.version.next(
            [writes],
            schema=kernel.layout.text,
            added=self.figures.added,
            evicted={"": kernel.evicts},
        )
        return outcome.output.to_pylist()  # type: ignore[no-any-return]


def sessions(query: Query, rows: list[Row], **options: Any) -> list[Row]:
    kernel = SessionKernel(pa.schema([USER]), SESSION, 1, COLLECT, options.pop("mode"), **options)
    emitted = query.batch(
        kernel, [*([r[i] for r in rows] for i in range(3)), [[r[1]] for r in rows]]
    )
    found = []
    for row in emitted:
        start, end = (row["s"][bound].microsecond for bound in ("start", "end"))
        found.append((row["user"], start, end))
        assert all(start <= value < end for value in row["l"])
    return sorted(found)


def plain_merge(rows: list[Row]) -> list[Row]:
    merged: list[Row] = []
    for user, start, end in sorted(rows):
        if merged and merged[-1][0] == user and start <= merged[-1][2]:
            merged[-1] = (user, merged[-1][1], max(end, merged[-1][2]))
        else:
            merged.append((user, start, end))
    return merged


rows_strategy = st.lists(
    st.tuples(st.sampled_from(["a", "b", "cc"]), st.integers(0, 60), st.integers(1, 9)).map(
        lambda r: (r[0], r[1], r[1] + r[2])
    ),
    max_size=12,
    unique=True,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(rows_strategy, max_size=5))
def test_sessions_are_those_of_all_rows_at_once(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[Row]]
) -> None:
    query = Query(tmp_path_factory.mktemp("state"))
    seen: list[Row] = []
    for batch in batches:
        seen += batch
        assert sessions(query, batch, mode="complete") == plain_merge(seen)
        assert query.version.total == len(plain_merge(seen))


def test_complete_mode_drops_late_rows_and_evicts_none(tmp_path: Path) -> None:
    query = Query(tmp_path)
    sessions(query, [("a", 0, 5), ("a", 20, 25)], mode="complete", late=0, evict=0)
    found = sessions(query, [("a", 3, 9), ("a", 18, 20)], mode="complete", late=10, evict=20)
    assert found == [("a", 0, 5), ("a", 18, 25)]
    assert query.figures.dropped == 1


def test_lists_are_in_the_order_of_starts_then_the_stored_then_of_ends(tmp_path: Path) -> None:
    query = Query(tmp_path)
    kernel = SessionKernel(pa.schema([USER]), SESSION, 1, COLLECT, "complete")
    query.batch(kernel, [["a"] * 3, [5, 5, 4], [9, 7, 6], [[1], [2], [3]]])
    (row,) = query.batch(kernel, [["a"] * 4, [4, 4, 3, 4], [8, 5, 4, 5], [[4], [5], [6], [7]]])
    assert row["l"] == [6, 3, 2, 1, 5, 7, 4]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(rows_strategy, st.integers(0, 15)), max_size=5))
def test_append_emits_each_session_once_when_it_has_ended(
    tmp_path_factory: pytest.TempPathFactory, batches: list[tuple[list[Row], int]]
) -> None:
    query = Query(tmp_path_factory.mktemp("state"))
    open_sessions: list[Row] = []
    late = 0
    for batch, step in batches:
        evict = late + step
        kept = [row for row in batch if row[2] > late]
        merged = plain_merge(open_sessions + kept)
        emitted = sessions(query, batch, mode="append", late=late, evict=evict)
        assert emitted == [row for row in merged if row[2] <= evict]
        assert query.figures.dropped == len(batch) - len(kept)
        open_sessions = [row for row in merged if row[2] > evict]
        assert query.version.total == len(open_sessions)
        late = evict


def test_figures_count_all_sessions_of_touched_keys(tmp_path: Path) -> None:
    query = Query(tmp_path)
    sessions(query, [("a", 0, 5), ("a", 20, 25), ("b", 0, 5)], mode="complete")
    sessions(query, [("a", 5, 20)], mode="complete")
    assert query.figures == Figures(updated=1, removed=1, added=-1)
    sessions(query, [("a", 40, 45)], mode="complete")
    assert query.figures == Figures(updated=2, added=1)


def test_merging_first_judges_lateness_by_the_merged_session(tmp_path: Path) -> None:
    rows = [("a", 4, 10), ("a", 8, 14)]
    options: dict[str, Any] = {"mode": "append", "late": 10, "evict": 10}
    assert sessions(Query(tmp_path / "1"), rows, **options) == []
    query = Query(tmp_path / "2")
    sessions(query, rows, merge_first=True, **options)
    assert query.figures == Figures(updated=1, added=1)
    assert sessions(query, [], mode="append", late=10, evict=20) == [("a", 4, 14)]


def test_a_long_session_reaches_over_shorter_ones() -> None:
    group, starts = np.array([3, 3, 3, 3, 8]), np.array([0, 1, 50, 101, 0])
    for far in (0, 1 << 62):  # beyond what one number takes with its group
        heads, reach = reaches(group, starts, np.array([100, 2, 60, 105 + far, 1]))
        assert heads.tolist() == [True, False, False, True, True]
        assert reach.tolist() == [100, 100, 100, 105 + far, 1]


def test_within_the_watermark_a_key_returns_after_its_delay(tmp_path: Path) -> None:
    query = Query(tmp_path)
    schema = pa.schema([USER, TIME])

    def batch(rows: list[tuple[str, int | None]], late: int, evict: int) -> list[str]:
        kernel = DeduplicateKernel(schema, (0,), time=1, within=10, late=late, evict=evict)
        return [
            r["user"] for r in query.batch(kernel, [[r[0] for r in rows], [r[1] for r in rows]])
        ]

    assert batch([("b", 5), ("a", 1), ("a", 7), ("n", None)], 0, 0) == ["b", "a", "n"]
    assert batch([("a", 9)], 0, 11) == []
    assert query.figures == Figures(removed=2, added=-2)
    assert batch([("a", 12), ("b", 14), ("late", 11)], 11, 11) == ["a"]
    assert query.figures == Figures(updated=1, dropped=1, added=1)


def test_limit_counts_over_batches(tmp_path: Path) -> None:
    query = Query(tmp_path)
    kernel = LimitKernel(pa.schema([USER]), 3)
    assert len(query.batch(kernel, [["a", "b"]])) == 2
    assert query.figures == Figures(updated=1, added=1)
    assert query.batch(kernel, [["c", "d"]]) == [{"user": "c"}]
    assert query.figures == Figures(updated=1)
    assert query.batch(kernel, [["e"]]) == []
    assert query.figures == Figures()
