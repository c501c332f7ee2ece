"""The commit protocol, exhaustively: two drivers, tasks that run twice, death at any step.

The loop, the task runner, the state store, the logs and the claims are the real ones; the file
system is a value (tests/protocol). Every order of the two drivers' steps is explored, and from
every world that can be reached a third driver starts, after the processes died, or after the
machine lost what was not synced.
"""

from __future__ import annotations

import errno
import gc
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from protocol.explore import LOSSES, Process, Worlds, explore
from protocol.rig import emitted, kept, repeatable, run_query, visible
from protocol.world import MemoryDisk, ObjectStore, Take, World

from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.state import Location
from stateplan.runtime.state.storage_local import LocalStorage
from stateplan.runtime.state.storage_remote import RemoteStorage

SYSTEMS = ("locks", "no locks", "object store")
FENCED = ("CONCURRENT_QUERY", "CONCURRENT_STREAM_LOG_UPDATE")


def root(system: str, take: Take) -> Location:
    if system == "object store":
        return Location(RemoteStorage(ObjectStore(take), "s3:/"), "/c")
    return Location(LocalStorage(MemoryDisk(take)), "/c")


def driver(system: str, name: str, batches: int) -> Process:
    def program(take: Take) -> None:
        run_query(root(system, take), name, lambda n, rows: take("emit", n, rows), batches)

    return Process(name, program)


def begun(system: str) -> World:
    """A checkpoint with one committed batch, all of it durable."""
    world = World(locks={} if system == "locks" else None)
    assert driver(system, "Z", 1).to_the_end(world) is None
    return world.after("names", "")


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Millions of small objects that all stay: looking for rubbish takes most of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("system", SYSTEMS)
def test_nothing_is_lost_or_doubled_whatever_two_drivers_do(system: str) -> None:
    worlds = Worlds()
    first, second, third = (driver(system, name, 2) for name in "ABR")
    reader = Process("reader", lambda take: visible(root(system, take)))
    reached: dict[int, World] = {}
    for world, _, _ in explore(begun(system), worlds, first, second):
        reached[id(world)] = world
    failures = {end for end in first.ends | second.ends if end is not None}
    assert all(isinstance(end, StateplanError) for end in failures)
    assert {end.condition for end in failures} <= {*FENCED}, failures
    losses = LOSSES[:1] if system == "object store" else LOSSES
    restarts = {id(w): w for old in reached.values() for w in _after(old, losses, worlds)}
    for world in restarts.values():
        committed, states = reader.to_the_end(world.copy())
        assert (committed, states) == kept(committed), sorted(world.names)
        ended = third.to_the_end(world)
        assert ended is None, (ended, sorted(world.names))
        assert world.sink == emitted(2)
        assert reader.to_the_end(world) == kept(2)
    assert len(restarts) > 100


def _after(world: World, losses: tuple[str, ...], worlds: Worlds) -> Iterator[World]:
    return (worlds.one(world.after(loss, "")) for loss in losses)  # type: ignore[arg-type]


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_driver_that_dies_at_any_step_is_continued(system: str) -> None:
    """From the first file of a checkpoint on, over deletions of what is too old."""
    batches = 3
    path = []
    process, world = driver(system, "A", batches), World(locks={} if system == "locks" else None)
    node = process.start(world)
    while node.step is not None:
        path.append(world.copy())
        node = process._step(node, world)
    reader = Process("reader", lambda take: visible(root(system, take)))
    third, worlds = driver(system, "R", batches), Worlds()
    for before in path:
        for after in _after(before, LOSSES[:1] if system == "object store" else LOSSES, worlds):
            restarted = after.copy()
            assert third.to_the_end(restarted) is None
            assert restarted.sink == emitted(batches)
            assert reader.to_the_end(restarted) == kept(batches)


def test_a_first_run_that_sleeps_at_any_step_is_told_of_a_newer_one() -> None:
    """Where there are no locks: the newer one makes the checkpoint's first files, too."""
    told, first, second = 0, driver("no locks", "A", 1), driver("no locks", "B", 1)
    for steps in itertools.count():
        world = World(locks=None)
        node = first.start(world)
        for _ in range(steps):
            if node.step is None:
                assert told > 20
                return
            node = first._step(node, world)
        second.to_the_end(world)
        while node.step is not None:
            node = first._step(node, world)
        if node.ended is not None:
            assert isinstance(node.ended, StateplanError), node.ended
            assert node.ended.condition in FENCED, (steps, node.ended)
            told += 1
        assert world.sink == emitted(1)


@pytest.mark.parametrize(
    ("system", "number"),
    [("locks", errno.ENOSPC), ("no locks", errno.EIO), ("object store", errno.ENOSPC)],
)
def test_any_step_that_fails_fails_the_batch_and_loses_nothing(system: str, number: int) -> None:
    """A disk that is full, or broken, from any step on; then it is mended."""
    for first in itertools.count():
        world = World(locks={} if system == "locks" else None)
        broken, problem = _on_a_failing_disk(system, world, first, number)
        if problem is None:
            break
        assert isinstance(problem, StateplanError), problem
        assert _names_a_file(problem, broken), (problem, broken)
        assert "goes on from the last commit" in (problem.hint or ""), problem
        committed, states = Process("reader", lambda t: visible(root(system, t))).to_the_end(world)
        assert (committed, states) == kept(committed)
        assert driver(system, "R", 2).to_the_end(world) is None
        assert world.sink == emitted(2)
    assert first > 40


CHANGES = ("write", "sync", "link", "rename", "folder", "open", "lock")


def _on_a_failing_disk(
    system: str, world: World, first: int, number: int
) -> tuple[list[str], Exception | None]:
    """Run a driver whose changes fail from one on: the paths they were of, and its error.

    No error: it needs no more steps.
    """
    changes, broken = itertools.count(), list[str]()

    def take(*step: Any) -> Any:
        if step[0] in CHANGES and next(changes) >= first:
            broken.append(step[1])
            raise OSError(number, "the disk fails", step[1])
        result = world.do("A", step)
        if isinstance(result, Exception):
            raise result
        return result

    with repeatable("A"):
        try:
            run_query(root(system, take), "A", lambda n, rows: take("emit", n, rows), 2)
        except Exception as problem:
            return broken, problem
    return broken, None


def _names_a_file(problem: StateplanError, broken: list[str]) -> bool:
    """Whether a message names what failed: the file, not a passing name of it or its folder."""
    named = re.search(r"/c[^ ':]*", problem.message)
    assert named is not None and not named[0].endswith(".tmp"), problem
    beside = tuple(f"{path.rpartition('/')[0]}/" for path in broken)
    return named[0] in broken or named[0].startswith(beside)
