"""The state store against a dictionary: versions, look-ups, eviction, compaction, other tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateplan.runtime.state import (
    NEVER,
    Keys,
    Layout,
    RunInfo,
    RunStore,
    StateError,
    StateRows,
    StateVersion,
    load_version,
    run,
    save_version,
)
from stateplan.runtime.state.manifests import delete_files, delete_orphans
from stateplan.runtime.state.sorting import stable_order

STORES = 4
LAYOUT = Layout(
    pa.schema([pa.field("k", pa.string())]), pa.schema([pa.field("v", pa.int64())]), True
)
State = dict[str | None, list[tuple[int, int]]]  # per key its rows: (event time, value)


def place(key: str | None) -> int:
    return 7 if key is None else sum(key.encode()) - 300


def keys(texts: Iterable[str | None]) -> Keys:
    """Keys whose hashes collide a lot."""
    found = sorted(texts, key=lambda t: (place(t) % 3, t or ""))
    hashes = np.array([place(t) % 3 for t in found], np.int64)
    places = np.array([place(t) for t in found], np.int32)
    column = pa.array(found, pa.string())
    return Keys(hashes, places, pa.RecordBatch.from_arrays([column], schema=LAYOUT.keys))


def rows(state: State) -> StateRows:
    flat = [(key, *row) for key, group in state.items() for row in group]
    flat.sort(key=lambda r: place(r[0]) % 3)
    column = pa.array([r[0] for r in flat], pa.string())
    own = Keys(
        np.array([place(r[0]) % 3 for r in flat], np.int64),
        np.array([place(r[0]) for r in flat], np.int32),
        pa.RecordBatch.from_arrays([column], schema=LAYOUT.keys),
    )
    values = pa.array([r[2] for r in flat], pa.int64())
    batch = pa.RecordBatch.from_arrays([values], schema=LAYOUT.values)
    return StateRows(own, np.array([r[1] for r in flat], np.int64), batch)


def as_state(found: StateRows) -> State:
    state: State = {}
    texts, values = found.keys.columns.column(0).to_pylist(), found.values.column(0).to_pylist()
    for text, time, value in zip(texts, found.times.tolist(), values, strict=True):
        state.setdefault(text, []).append((time, value))
    return {key: sorted(group) for key, group in state.items()}


def stores_of(location: str, base: StateVersion, tasks: int) -> list[RunStore]:
    name = f"attempt{base.version}"
    return [RunStore(location, base, LAYOUT, tasks, task, name) for task in range(tasks)]


def of_task(state: State, tasks: int, task: int) -> State:
    return {k: v for k, v in state.items() if place(k) % STORES % tasks == task}


def commit(
    location: str, base: StateVersion, changes: State, tasks: int, evict: int | None
) -> StateVersion:
    writes = [
        store.commit(rows(of_task(changes, tasks, store.task)), evict)
        for store in stores_of(location, base, tasks)
    ]
    after = base.next(writes, schema=LAYOUT.text, added=0, evicted={"": evict})
    save_version(location, after, f"attempt{base.version}", retain=2)
    delete_files(location, after.due(retain=2))
    return load_version(location, after.version, STORES)


def merged(parts: Iterable[State]) -> State:
    return {key: group for part in parts for key, group in part.items()}


texts = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ab", "ba", "d", "é", "xyz"]))
batches = st.lists(
    st.tuples(
        st.dictionaries(texts, st.lists(st.integers(0, 9), min_size=1, max_size=3), max_size=6),
        st.one_of(st.none(), st.integers(0, 3)),
        st.sampled_from([1, 2, 4]),
    ),
    max_size=9,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(batches, st.sampled_from([0, 3, run.SCANNED]))
def test_store_agrees_with_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    history: list[tuple[dict[str | None, list[int]], int | None, int]],
    scanned_rows: int,
) -> None:
    monkeypatch.setattr(run, "SCANNED", scanned_rows)
    location = str(tmp_path_factory.mktemp("state"))
    version = StateVersion(0, STORES)
    state: State = {}
    clock = watermark = 0
    for changes, step, tasks in history:
        # A key's event times never decrease: each batch's lie above all earlier ones.
        clock += 10
        fresh = {k: [(clock + v, v) for v in sorted(set(vs))] for k, vs in changes.items()}
        probes = [None, "a", "b", "ba", "nowhere", *fresh]
        evict = None
        if step is not None:
            watermark = max(watermark, clock - 10 + 3 * step)
            evict = watermark
        found, expired, scanned = [], [], []
        for store in stores_of(location, version, tasks):
            wanted = keys({p for p in probes if place(p) % STORES % tasks == store.task})
            at, hit = store.get(wanted)
            names = wanted.columns.column(0).to_pylist()
            assert [names[i] for i in at] == hit.keys.columns.column(0).to_pylist()
            found.append(as_state(hit))
            touched = keys(of_task(fresh, tasks, store.task))
            scanned.append(as_state(store.scan(touched)))
            if evict is not None:
                expired.append(as_state(store.expired(evict, touched)))
        assert merged(found) == {k: v for k, v in state.items() if k in probes}
        untouched = {k: v for k, v in state.items() if k not in fresh}
        assert merged(scanned) == untouched
        state = {**untouched, **fresh}
        version = commit(location, version, fresh, tasks, evict)
        if evict is not None:
            due = {k: [r for r in v if r[0] <= evict] for k, v in untouched.items()}
            assert merged(expired) == {k: v for k, v in due.items() if v}
            state = {k: [r for r in v if r[0] > evict] for k, v in state.items()}
            state = {k: v for k, v in state.items() if v}
    assert merged(as_state(s.scan(keys([]))) for s in stores_of(location, version, 2)) == state


def test_number_of_runs_stays_logarithmic(tmp_path: Path) -> None:
    version = StateVersion(0, STORES)
    for batch in range(200):
        changes: State = {f"key{batch}": [(NEVER, batch)]}
        version = commit(str(tmp_path), version, changes, 1, None)
        assert len(version.runs) <= 9
    assert sum(run.rows for run in version.runs) == 200


def test_a_run_wholly_below_the_watermark_is_dropped_unread(tmp_path: Path) -> None:
    version = commit(str(tmp_path), StateVersion(0, STORES), {"a": [(5, 1)]}, 1, None)
    version = commit(str(tmp_path), version, {}, 1, 5)
    assert version.runs == ()
    assert [since for _, since in version.dropped] == [2, 2]


def test_old_versions_and_files_are_deleted_after_a_while(tmp_path: Path) -> None:
    version = StateVersion(0, STORES)
    for batch in range(8):
        version = commit(str(tmp_path), version, {"a": [(NEVER, batch)]}, 1, None)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in names if name.startswith("v")] == [
        "v0000000007-attempt6.json",
        "v0000000008-attempt7.json",
    ]
    in_use = {run.file for run in version.runs} | {file for file, _ in version.dropped}
    assert {*names} == in_use | {"v0000000008-attempt7.json"}


def test_a_version_that_fails_half_way_is_not_seen(tmp_path: Path) -> None:
    base = commit(str(tmp_path), StateVersion(0, STORES), {"a": [(NEVER, 1)]}, 1, None)
    zombie = stores_of(str(tmp_path), base, 1)[0]
    zombie.commit(rows({"a": [(NEVER, 2)]}), None)
    again = load_version(str(tmp_path), 1, STORES)
    assert as_state(stores_of(str(tmp_path), again, 1)[0].scan(keys([]))) == {"a": [(NEVER, 1)]}
    before = len(list(tmp_path.iterdir()))
    zombie.abort()
    assert len(list(tmp_path.iterdir())) == before - 1


def test_what_failed_attempts_left_is_deleted_in_time(tmp_path: Path) -> None:
    location = str(tmp_path)
    base = StateVersion(0, STORES)
    stores_of(location, base, 1)[0].commit(rows({"a": [(NEVER, 2)]}), None)
    (orphan,) = tmp_path.iterdir()
    orphan = orphan.rename(tmp_path / orphan.name.replace("attempt0", "failed"))
    version = commit(location, base, {"a": [(NEVER, 1)]}, 1, None)
    running = tmp_path / "r0000000002-0-other.arrow"
    running.write_bytes(b"")
    delete_orphans(location, version)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"v0000000001-attempt0.json", version.runs[0].file, running.name}


def test_a_mark_that_a_key_is_gone_outlives_compaction(tmp_path: Path) -> None:
    location = str(tmp_path)
    version = StateVersion(0, 1)
    base: State = {f"key{i}": [(NEVER, i)] for i in range(16)}
    version = commit(location, version, base, 1, None)
    gone = rows({"key3": [(NEVER, 0)]})
    gone = StateRows(gone.keys, gone.times, gone.values, np.zeros(1, np.bool_))
    others = [rows({name: [(NEVER, 1)]}) for name in ("other", "third", "fourth")]
    for change in (gone, *others):
        writes = stores_of(location, version, 1)[0].commit(change, None)
        version = version.next([writes], schema=LAYOUT.text, added=0, evicted={})
    assert len(version.runs) == 2
    store = stores_of(location, version, 1)[0]
    assert "key3" not in as_state(store.scan(keys([])))
    assert len(store.get(keys(["key3", "other"])).queries) == 1


def test_compaction_goes_by_what_a_batch_replaces(tmp_path: Path) -> None:
    """New keys wait for a few runs to be merged together; what is replaced goes at once."""

    def written(batches: Iterable[int]) -> tuple[StateVersion, int]:
        location, version, count = str(tmp_path / "state"), StateVersion(0, 1), 0
        for first in batches:
            store = stores_of(location, version, 1)[0]
            change = rows({f"key{first + i}": [(NEVER, version.version)] for i in range(8)})
            store.get(change.keys)
            writes = store.commit(change, None)
            count += writes.written[0].rows
            version = version.next([writes], schema=LAYOUT.text, added=8, evicted={})
        return version, count

    version, count = written(range(0, 8 * 40, 8))
    assert sum(run.rows for run in version.runs) == 8 * 40
    assert len(version.runs) <= 8
    assert count <= 3.5 * 8 * 40
    version, count = written([0] * 40)
    assert (len(version.runs), count) == (1, 8 * 40)


@pytest.mark.parametrize("damage", ["truncated", "flipped", "missing"])
@pytest.mark.parametrize("kind", ["v*.json", "r*.arrow"])
def test_damaged_files_are_named(tmp_path: Path, damage: str, kind: str) -> None:
    commit(str(tmp_path), StateVersion(0, STORES), {"a": [(NEVER, 1)]}, 1, None)
    (file,) = tmp_path.glob(kind)
    content = file.read_bytes()
    match damage:
        case "truncated":
            file.write_bytes(content[: len(content) // 2])
        case "flipped" if kind == "v*.json":
            file.write_bytes(content.replace(b'"total":0', b'"total":1'))
        case "flipped":
            file.write_bytes(b"?" * len(content))
        case "missing":
            file.unlink()
    with pytest.raises(StateError, match=file.name) as caught:
        version = load_version(str(tmp_path), 1, STORES, "attempt0")
        stores_of(str(tmp_path), version, 1)[0].scan(keys([]))
    assert caught.value.condition in (
        "STATEPLAN_CORRUPT_STATE",
        "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
    )


def test_state_of_other_types_is_refused(tmp_path: Path) -> None:
    version = commit(str(tmp_path), StateVersion(0, STORES), {"a": [(NEVER, 1)]}, 1, None)
    other = Layout(LAYOUT.keys, pa.schema([pa.field("v", pa.string())]), True)
    store = RunStore(str(tmp_path), version, other, 1, 0, "attempt")
    with pytest.raises(StateError, match="holds string"):
        store.get(keys(["a"]))


def test_another_number_of_stores_needs_no_other_files(tmp_path: Path) -> None:
    location = str(tmp_path)
    state: State = {f"key{i}": [(NEVER, i)] for i in range(40)}
    version = commit(location, StateVersion(0, 12), state, 4, None)
    for stores, tasks in ((9, 3), (5, 5), (14, 2), (1, 1)):
        version = replace(version, stores=stores)
        parts = [as_state(s.scan(keys([]))) for s in stores_of(location, version, tasks)]
        assert sum(map(len, parts)) == 40 and merged(parts) == state
        for task, part in enumerate(parts):
            assert part == {k: v for k, v in state.items() if place(k) % stores % tasks == task}
        changes: State = {k: [(NEVER, -stores)] for k in list(state)[:8]}
        version = commit(location, version, changes, tasks, None)
        state |= changes


def test_a_run_serves_what_other_tasks_left_in_it() -> None:
    run = RunInfo("r", 1, 10, 10, 2, 1, 0, 0)
    assert run.serves(4, 3) and not run.serves(4, 2) and run.serves(3, 0)
    assert run.wholly(1, 0) and run.wholly(2, 1) and not run.wholly(4, 1)
    left = run.without(4, 1)
    assert left is not None
    assert not left.serves(4, 1) and left.serves(4, 3) and left.serves(8, 7)
    assert left.owned(np.array([3, -1, 1, 5, -3], np.int32), 1, 0).tolist() == [1, 1, 0, 0, 0]
    assert left.without(4, 3) is None


@pytest.mark.parametrize("low, high", [(-(2**63), 2**63), (0, 50), (2**60, 2**60 + 2**20), (9, 10)])
@pytest.mark.parametrize("sorted_rows", [0, 19_990])
def test_order_is_stable_whatever_the_numbers(low: int, high: int, sorted_rows: int) -> None:
    numbers = np.random.default_rng(1).integers(low, high, 20_000)
    numbers[:sorted_rows].sort()
    assert np.array_equal(stable_order(numbers), np.argsort(numbers, kind="stable"))
