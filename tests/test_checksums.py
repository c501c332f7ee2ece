"""Runs of state under damage: whatever happens to a file, it is noticed before it is used."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from stateplan.runtime.state import Keys, Layout, RunStore, StateError, StateRows, StateVersion
from stateplan.runtime.state.checksums import BLOCK, Sealing

LAYOUT = Layout(
    pa.schema([pa.field("k", pa.string())]), pa.schema([pa.field("v", pa.int64())]), True
)


def state(folder: Path, count: int) -> StateVersion:
    """A version of so many rows in one run."""
    hashes = np.sort(np.random.default_rng(count).integers(-(2**60), 2**60, count))
    keys = Keys(
        hashes,
        np.zeros(count, np.int32),
        pa.RecordBatch.from_arrays(
            [pa.array([f"key {i}" for i in range(count)])], schema=LAYOUT.keys
        ),
    )
    values = pa.RecordBatch.from_arrays([pa.array(np.arange(count))], schema=LAYOUT.values)
    rows = StateRows(keys, np.arange(count, dtype=np.int64), values)
    store = RunStore(str(folder), StateVersion(0, 1), LAYOUT, 1, 0, "a")
    return StateVersion(0, 1).next(
        [store.commit(rows, None)], schema=LAYOUT.text, added=count, evicted={}
    )


def read(folder: Path, version: StateVersion) -> object:
    """Everything, by look-up and by event time."""
    store = RunStore(str(folder), version, LAYOUT, 1, 0, "b")
    rows = store.scan(LAYOUT.empty_keys())
    old = store.expired(version.total // 2, LAYOUT.empty_keys())
    return (
        rows.keys.columns.to_pydict(),
        rows.values.to_pydict(),
        rows.times.tolist(),
        len(old),
    )


def flipped(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1 << (position % 8)
    path.write_bytes(data)


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    version = state(tmp_path, 40)
    path = tmp_path / version.runs[0].file
    expected, whole = read(tmp_path, version), path.read_bytes()
    for position in range(0, len(whole), 11):
        flipped(path, position)
        with pytest.raises(StateError, match=path.name) as caught:
            read(tmp_path, version)
        assert caught.value.condition == "STATEPLAN_CORRUPT_STATE"
        path.write_bytes(whole)
    assert read(tmp_path, version) == expected


def test_flipped_bits_in_a_file_of_many_blocks(tmp_path: Path) -> None:
    version = state(tmp_path, 160_000)
    path = tmp_path / version.runs[0].file
    assert version.runs[0].size > 16 * BLOCK
    whole, rng = path.read_bytes(), random.Random(1)
    read(tmp_path, version)
    for position in [rng.randrange(len(whole)) for _ in range(30)]:
        flipped(path, position)
        with pytest.raises(StateError, match=path.name):
            read(tmp_path, version)
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda path: os.truncate(path, 0), "it has 0 bytes"),
        (lambda path: os.truncate(path, 100), "it has 100 bytes"),
        (lambda path: path.write_bytes(bytes(path.stat().st_size)), "checksums are cut off"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "instead of"),
        (Path.unlink, "there is no file"),
    ],
)
def test_a_file_that_is_no_longer_whole_is_named(
    tmp_path: Path, damage: Callable[[Path], object], why: str
) -> None:
    version = state(tmp_path, 100)
    path = tmp_path / version.runs[0].file
    damage(path)
    with pytest.raises(StateError, match=why) as caught:
        read(tmp_path, version)
    assert str(path) in caught.value.message


def test_what_is_untouched_is_not_read(tmp_path: Path) -> None:
    """The work of checking is that of what is needed, once a process."""
    version = state(tmp_path, 200_000)
    path = tmp_path / version.runs[0].file
    store = RunStore(str(tmp_path), version, LAYOUT, 1, 0, "b")
    (run,) = store.runs
    assert run.sealed is not None
    done = run.sealed._done
    before = sum(done)
    assert before < len(done) / 2
    assert run.hashes[0] <= run.hashes[1]
    assert before < sum(done) < len(done)
    (again,) = RunStore(str(tmp_path), version, LAYOUT, 1, 0, "c").runs
    assert again.sealed is not None
    assert again.sealed._done is done
    os.utime(path, (1, 1))
    (anew,) = RunStore(str(tmp_path), version, LAYOUT, 1, 0, "d").runs
    assert anew.sealed is not None
    assert sum(anew.sealed._done) == before


@pytest.mark.parametrize("sizes", [[0], [1], [BLOCK], [BLOCK - 1, 2], [3, BLOCK, 2 * BLOCK, 5]])
def test_checksums_do_not_depend_on_how_it_was_written(sizes: list[int]) -> None:
    data = os.urandom(sum(sizes))
    whole, parts = Sealing(pa.BufferOutputStream()), Sealing(pa.BufferOutputStream())
    whole.write(data)
    for size in sizes:
        parts.write(data[:size])
        data = data[size:]
    whole.seal()
    parts.seal()
    assert (whole.check, whole.size) == (parts.check, parts.size)
