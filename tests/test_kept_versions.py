"""Old versions: what is kept can be restarted from and read, what is not is gone."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from protocol.explore import Process, Worlds, explore
from protocol.handler import Handler
from protocol.rig import BATCHES, RETAINED, counts, emitted, kept, run_query, visible
from protocol.world import MemoryDisk, World

from stateplan.runtime.checkpoint import Checkpoint
from stateplan.runtime.state import Location, load_version, located
from stateplan.runtime.state.storage_local import LocalStorage
from stateplan.runtime.state.version import manifest_name

PLACES = ("local", "uploads", "files")
ALL = len(BATCHES)


def checkpoint(place: str, folder: Path) -> Location:
    if place == "local":
        return located(folder / "box" / "c")
    return located("own://box/c", Handler(str(folder), atomic_uploads=place == "uploads"))


def run(root: Location, batches: int, retained: int = RETAINED) -> dict[int, Any]:
    sink: dict[int, Any] = {}
    run_query(root, f"run{batches}", sink.setdefault, batches, retained)
    return sink


@pytest.mark.parametrize("place", PLACES)
def test_what_no_kept_version_needs_is_deleted(tmp_path: Path, place: str) -> None:
    root = checkpoint(place, tmp_path)
    for batches in range(1, ALL + 1):
        run(root, batches)
        assert visible(root) == kept(batches)
        opened, runs = Checkpoint(root, ""), root / "state" / "0" / "runs"
        needed = set()
        for version in range(max(1, batches - RETAINED + 1), batches + 1):
            commit = opened.commit(version - 1)
            assert commit is not None and commit.stateAttempt is not None
            state = load_version(runs, version, 2, commit.stateAttempt)
            needed |= {run.file for run in state.runs}
            needed.add(manifest_name(version, commit.stateAttempt))
        assert set(runs.names()) == needed
        assert opened.commit_log.ids() == list(range(max(0, batches - 1 - RETAINED), batches))
        assert opened.offset_log.ids() == opened.commit_log.ids()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("last", [ALL - 1, ALL - 2, ALL - 3])
def test_a_restart_from_any_kept_version(tmp_path: Path, place: str, last: int) -> None:
    """Whoever takes the newest entries out of the logs goes back to the batch before them."""
    root = checkpoint(place, tmp_path)
    run(root, ALL, retained=4)
    opened = Checkpoint(root, "")
    for log in (opened.commit_log, opened.offset_log):
        for batch in range(last, ALL):
            log.path(batch).delete()
            log.path(batch).with_name(f".{batch}.crc").delete()
    left = last + 4 - ALL
    assert visible(root, left) == kept(last, left)
    again = run(root, ALL, retained=4)
    assert again == {n: rows for n, rows in emitted(ALL).items() if n >= last}
    assert visible(root, 4) == kept(ALL, 4)


def test_a_reader_never_finds_a_file_of_a_kept_version_missing() -> None:
    """Whatever the order of its steps and those of a driver that commits and cleans up."""

    def program(name: str, batches: int) -> Process:
        def drive(take: Any) -> None:
            root = Location(LocalStorage(MemoryDisk(take)), "/c")
            run_query(root, name, lambda n, rows: take("emit", n, rows), batches)

        return Process(name, drive)

    def read(take: Any) -> tuple[int, Any]:
        committed, states = visible(Location(LocalStorage(MemoryDisk(take)), "/c"), versions=1)
        return committed, tuple(states[0].items())

    world = World(locks={})
    program("A", 2).to_the_end(world)
    driver, reader = program("B", 1 + RETAINED), Process("reader", read)
    for _ in explore(world, Worlds(), driver, reader, alike=False):
        pass
    found = {(n, tuple(counts(n).items())) for n in (2, 3)}
    assert reader.ends == found and driver.ends == {None}


def test_an_old_checkpoint_can_be_copied_while_it_is_read(tmp_path: Path) -> None:
    root = checkpoint("local", tmp_path)
    run(root, ALL - 1)
    shutil.copytree(tmp_path / "box", tmp_path / "copy" / "box")
    run(root, ALL)
    copied = checkpoint("local", tmp_path / "copy")
    assert visible(copied) == kept(ALL - 1)
    run(copied, ALL)
    assert visible(copied) == visible(root) == kept(ALL)
