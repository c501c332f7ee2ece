"""Alternating runs of the systems, each in a process with a JVM of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from .report import Comparison
from .runs import Run, run, session
from .works import OURS, Work


def compare(
    work: Work, root: Path, *, rounds: int, only: str | None, memory: bool
) -> Iterator[Comparison]:
    """A comparison with each native state store that the work names.

    Args:
        work: what to run.
        root: where the data are kept.
        rounds: runs of each system.
        only: `ours` or `native`, to run that alone; None: both.
        memory: whether to run stateplan once more and watch its workers' memory.
    """
    root.mkdir(parents=True, exist_ok=True)
    work.data.path(root, work.files)
    natives = work.natives if only != "ours" else ()
    systems = (*((OURS,) if only != "native" else ()), *natives)
    runs: dict[str, list[Run]] = {system: [] for system in systems}
    watched = None
    with ExitStack() as stack:
        places = {system: stack.enter_context(_process()) for system in systems}
        for _ in range(rounds):
            for system, place in places.items():
                runs[system].append(place.submit(in_process, system, work, root).result())
        if memory and OURS in places:
            watched = places[OURS].submit(in_process, OURS, work, root, True).result()
    ours = runs.get(OURS, [])
    for against in natives or (work.natives[0],):
        yield Comparison(
            work=work, against=against, ours=ours, native=runs.get(against, []), memory=watched
        )


def _process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def in_process(system: str, work: Work, root: Path, watch_memory: bool = False) -> Run:
    """A run on this process's Spark, which the first run starts."""
    return run(session(work.driver_memory), system, work, root, watch_memory=watch_memory)
