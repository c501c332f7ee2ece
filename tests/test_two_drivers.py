"""Two processes on one checkpoint: the second is refused, or the first is fenced."""

from __future__ import annotations

from pathlib import Path

import pytest
from protocol.processes import LIMIT, Place, await_that, launch
from protocol.rig import emitted, kept, visible

BATCHES = 4
FENCED = ("CONCURRENT_QUERY", "CONCURRENT_STREAM_LOG_UPDATE")


def test_on_a_local_disk_the_second_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    place = Place(tmp_path, remote=False)
    first = launch(place, "first", BATCHES, pause=1)
    await_that((tmp_path / "paused").exists)
    before = place.log()
    launch(place, "second", BATCHES).join(LIMIT)
    refused = place.outcome("second")
    assert refused is not None
    assert refused.startswith("CONCURRENT_QUERY") and "run first, process 1 on h" in refused
    assert place.log() == before and not list(tmp_path.glob("sink-*-second"))
    first.kill()
    first.join(LIMIT)
    launch(place, "third", BATCHES).join(LIMIT)
    assert place.outcome("third") is None
    assert visible(place.checkpoint) == kept(BATCHES) and place.sink == emitted(BATCHES)


def test_elsewhere_the_first_is_fenced(tmp_path: Path) -> None:
    """There is no lock that ends with its process: the newer driver takes over at once."""
    place = Place(tmp_path, remote=True)
    first = launch(place, "first", BATCHES, pause=1)
    await_that((tmp_path / "paused").exists)
    launch(place, "second", BATCHES).join(LIMIT)
    assert place.outcome("second") is None
    before = place.log()
    (tmp_path / "go").touch()
    first.join(LIMIT)
    fenced = place.outcome("first")
    assert fenced is not None
    assert fenced.startswith("CONCURRENT_STREAM_LOG_UPDATE") and "run second" in fenced
    assert place.log() == before
    assert visible(place.checkpoint) == kept(BATCHES) and place.sink == emitted(BATCHES)


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_drivers_that_start_at_once(tmp_path: Path, remote: bool) -> None:
    place = Place(tmp_path, remote)
    names = ("one", "two", "three")
    for process in [launch(place, name, BATCHES) for name in names]:
        process.join(LIMIT)
    failures = [text for text in map(place.outcome, names) if text is not None]
    assert all(text.startswith(FENCED) for text in failures), failures
    launch(place, "last", BATCHES).join(LIMIT)
    assert place.outcome("last") is None
    assert visible(place.checkpoint) == kept(BATCHES) and place.sink == emitted(BATCHES)
