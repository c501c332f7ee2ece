"""Joins of streams against one that goes row by row, as Spark's symmetric hash join does."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateplan.planner.model.expressions.core import AttributeReference, Call
from stateplan.planner.model.schemas.types import INT
from stateplan.runtime.engines.evaluating import evaluator
from stateplan.runtime.kernels.joins import pairs
from stateplan.runtime.kernels.joins.join import Condition, JoinKernel, JoinSide, Moment
from stateplan.runtime.kernels.kernel import Figures, Input
from stateplan.runtime.state import RunStore, StateVersion, schema_text
from stateplan.runtime.state.version import task_of

Row = tuple[str | None, int | None, int]  # key, time in microseconds, value
STAMP = pa.timestamp("us", "UTC")
KINDS = {
    "inner": {},
    "left": {"padded": ("left",)},
    "right": {"padded": ("right",)},
    "full": {"padded": ("left", "right")},
    "semi": {"semi": True},
}
SIDE = pa.schema([("user", pa.string()), ("ts", STAMP), ("v", pa.int32())])
TRAVELLING = pa.schema(
    [("right", pa.bool_()), ("key", pa.string()), ("ts", STAMP), ("v", pa.int32())]
)
KEY = pa.schema([("key", pa.string())])


def not_above() -> Condition:
    """`left.v <= right.v`"""
    left, right = (AttributeReference(name="v", type_=INT) for _ in range(2))
    program = evaluator((), [left, right], [Call(name="<=", arguments=(left, right))])
    return Condition(program, (2, 5))


def side(late: int | None, evict: int | None) -> JoinSide:
    time = Moment(2)
    kept = None if evict is None else time
    return JoinSide(SIDE, (1, 2, 3), time=time, late=late, kept_time=kept, evict=evict)


def kernel(
    kind: str, late: int | None, left: int | None, right: int | None, *, tested: bool = False
) -> JoinKernel:
    condition = not_above() if tested else None
    return JoinKernel(
        TRAVELLING, KEY, side(late, left), side(late, right), condition=condition, **KINDS[kind]
    )


@dataclass
class Query:
    """Runs a join in several tasks, batch after batch, over state on disk."""

    location: str
    version: StateVersion = field(default_factory=lambda: StateVersion(0, 6))
    figures: Figures = field(default_factory=Figures)

    def batch(
        self, join: JoinKernel, left: list[Row], right: list[Row], tasks: int = 1
    ) -> list[tuple[Any, ...]]:
        tagged = [(False, *row) for row in left] + [(True, *row) for row in right]
        columns = zip(*tagged, strict=True) if tagged else ([] for _ in TRAVELLING)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, TRAVELLING, strict=True)]
        rows = pa.RecordBatch.from_arrays(arrays, schema=TRAVELLING)
        # Some keys share a hash.
        hashes = np.array([len(row[1] or "") for row in tagged], np.int64)
        all_rows = Input(hashes, hashes.astype(np.int32), rows)
        output: list[tuple[Any, ...]] = []
        reports, writes = [], []
        for task in range(tasks):
            own = all_rows.take(np.flatnonzero(task_of(all_rows.places, tasks) == task))
            stores = {
                part: RunStore(self.location, self.version, layout, tasks, task, "a", part)
                for part, layout in join.layouts.items()
            }
            decision = join.decide(own, stores)
            for part, changes in decision.changes.items():
                evicted = join.evictions[part]
                writes.append(stores[part].commit(changes.rows, evicted, changes.touched))
            for batch in decision.output:
                assert batch.schema.equals(join.output)
                output += _rows(batch)
            reports.append(decision.figures)
        self.figures = Figures(
            updated=sum(r.updated for r in reports),
            removed=sum(r.removed for r in reports),
            dropped=sum(r.dropped for r in reports),
            added=sum(r.added for r in reports),
        )
        self.version = self.version.next(
            writes,
            schema=schema_text(join.layouts),
            added=self.figures.added,
            evicted=join.evictions,
        )
        return output


def _rows(batch: Any) -> list[tuple[Any, ...]]:
    """The rows of an output, times as microseconds."""
    columns = [
        c.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(c.type) else c.to_pylist()
        for c in batch.columns
    ]
    return list(zip(*columns, strict=True))


@dataclass
class Stored:
    row: Row
    matched: bool


@dataclass
class RowByRow:
    """The join as Spark does it."""

    kind: str
    tested: bool
    left: list[Stored] = field(default_factory=list)
    right: list[Stored] = field(default_factory=list)

    def batch(
        self,
        left: list[Row],
        right: list[Row],
        late: int | None,
        limits: tuple[int | None, int | None],
    ) -> tuple[list[tuple[Any, ...]], Figures]:
        self.output: list[tuple[Any, ...]] = []
        self.updated = removed = dropped = 0
        before = len(self.left) + len(self.right)
        kept = []
        for rows in (left, right):
            kept.append([r for r in rows if not _passed(r, late)])
            dropped += len(rows) - len(kept[-1])
        order = ("right", "left") if self.kind == "semi" else ("left", "right")
        for name in order:
            for row in kept[("left", "right").index(name)]:
                removed += self._new(name, row, limits[1])
        none: Row = (None, None, None)  # type: ignore[assignment]
        for name, limit in (("left", limits[0]), ("right", limits[1])):
            stored = getattr(self, name)
            gone = [s for s in stored if _passed(s.row, limit)]
            removed += len(gone)
            setattr(self, name, [s for s in stored if not _passed(s.row, limit)])
            for one in gone:
                if not one.matched and name in KINDS[self.kind].get("padded", ()):
                    self.output.append((*one.row, *none) if name == "left" else (*none, *one.row))
        added = len(self.left) + len(self.right) - before
        figures = Figures(updated=self.updated, removed=removed, dropped=dropped, added=added)
        return self.output, figures

    def _new(self, name: str, row: Row, right_limit: int | None) -> int:
        others = self.right if name == "left" else self.left
        matches = []
        for other in others:
            one, two = (row, other.row) if name == "left" else (other.row, row)
            if one[0] == two[0] and (not self.tested or one[2] <= two[2]):
                other.matched = True
                matches.append(other)
                if self.kind != "semi":
                    self.output.append((*one, *two))
        removed = 0
        if self.kind == "semi" and name == "left" and matches:
            self.output.append(row)
            return 0
        if self.kind == "semi" and name == "right":
            for match in matches:
                self.output.append(match.row)
                self.left.remove(match)
            removed = len(matches)
        padded = "right" in KINDS[self.kind].get("padded", ())
        if name == "right" and _passed(row, right_limit) and (matches or not padded):
            return removed
        self.updated += 1
        (self.left if name == "left" else self.right).append(Stored(row, bool(matches)))
        return removed


def _alone(output: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[Any]]:
    """The rows without a match, by side and key; of one key they come out as they came in."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in output:
        for name, own, other in (("left", row[:3], row[3:]), ("right", row[3:], row[:3])):
            if other == (None, None, None):
                found.setdefault((name, own[0]), []).append(own)
    return found


def _passed(row: Row, limit: int | None) -> bool:
    return limit is not None and row[1] is not None and row[1] <= limit


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "cc", "dd", "eee", None]),
        st.one_of(st.none(), st.integers(0, 60)),
        st.integers(0, 3),
    ),
    max_size=9,
)
BATCHES = st.lists(
    st.tuples(ROWS, ROWS, st.integers(0, 25), st.booleans(), st.integers(1, 3)), max_size=5
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30, deadline=None)
@given(
    batches=BATCHES,
    tested=st.booleans(),
    ranges=st.tuples(st.one_of(st.none(), st.integers(0, 12)), st.integers(0, 12)),
    most=st.sampled_from([1, 5, 1 << 20]),
)
def test_as_row_by_row(
    kind: str,
    batches: list[Any],
    tested: bool,
    ranges: tuple[int | None, int],
    most: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    query = Query(str(tmp_path_factory.mktemp("state")))
    plain = RowByRow(kind, tested)
    late = evict = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "MOST", most)
        for left, right, moved, behind, tasks in batches:
            late, evict = (late if behind else evict), evict + moved
            limits = tuple(None if r is None else evict - r for r in ranges)
            join = kernel(kind, late, *limits, tested=tested)
            got = query.batch(join, left, right, tasks)
            want, figures = plain.batch(left, right, late, limits)
            assert Counter(got) == Counter(want)
            assert _alone(got) == _alone(want)
            assert query.figures == figures
            assert query.version.total == len(plain.left) + len(plain.right)


def test_a_batch_writes_what_it_has_whatever_the_state(tmp_path: Path) -> None:
    """Rows of a key with many are not written again, also where they have their first match."""
    query = Query(str(tmp_path))
    join = kernel("left", 0, 0, 0)
    query.batch(join, [("a", 5, n) for n in range(2000)], [])
    before = query.version.size
    out = query.batch(join, [("a", 6, 1)], [("a", 7, 1)])
    assert len(out) == 2001
    (_, *new) = sorted(query.version.runs, key=lambda run: run.sequence)
    rows = {run.part: run.rows for run in new}
    assert rows == {"left": 1, "right": 1, "left-matched": 2000}
    assert before > sum(run.size for run in new if run.part != "left-matched")


def test_rows_that_fail_their_own_condition_come_out_at_once(tmp_path: Path) -> None:
    travelling = pa.schema([*TRAVELLING, ("fits", pa.bool_())])
    one = replace(side(None, 0), fits=4)
    join = JoinKernel(travelling, KEY, one, side(None, 0), padded=("left",))
    rows = pa.RecordBatch.from_arrays(
        [
            pa.array([False, False, False, True]),
            pa.array(["a", "b", "a", "a"]),
            pa.array([5, 5, 5, 5], STAMP),
            pa.array([1, 2, 3, 4], pa.int32()),
            pa.array([True, False, None, None]),
        ],
        schema=travelling,
    )
    zeros = np.zeros(4, np.int64)
    stores = {
        part: RunStore(str(tmp_path), StateVersion(0, 1), layout, 1, 0, "a", part)
        for part, layout in join.layouts.items()
    }
    decision = join.decide(Input(zeros, zeros.astype(np.int32), rows), stores)
    found = Counter(row for batch in decision.output for row in _rows(batch))
    none = (None, None, None)
    assert found == Counter([("a", 5, 1, "a", 5, 4), ("b", 5, 2, *none), ("a", 5, 3, *none)])
    assert decision.figures == Figures(updated=2, added=2)
