"""Alternating runs of the systems, each in a process of its own; one of them works at a time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from .job import FLOOR, NATIVE, OTHER_WORKS, OTHERS, OURS, ROCKSDB, Job, Run
from .report import Comparison
from .work import Work

_HERE = Path(__file__).resolve().parent


class Failed(Exception):
    """A system could not run a job; the text says why."""


class Process:
    """A child process that runs jobs with one interpreter, and keeps its JVM between them."""

    def __init__(self, python: str) -> None:
        environment = {**os.environ, "TZ": "UTC", "PYTHONPATH": str(_HERE.parent)}
        environment.pop("PYSPARK_PYTHON", None)
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )

    def run(self, job: Job) -> Run:
        """Run a job and wait for it.

        Raises:
            Failed: the job failed, or the process ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asdict(job)) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed("the process has ended") from None
        answer = self._process.stdout.readline()
        if not answer:
            raise Failed(f"the process ended with {self._process.wait()}")
        data = json.loads(answer)
        if "error" in data:
            raise Failed(data["error"])
        return Run(**data)

    def close(self) -> None:
        """End the process, its JVM with it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def process(python: str) -> Iterator[Process]:
    """A process that ends with the block."""
    one = Process(python)
    try:
        yield one
    finally:
        one.close()


def run(place: Process, work: Work, system: str, root: Path, **settings: bool) -> Run:
    """Run a work once in a process, on a fresh checkpoint.

    Raises:
        Failed: the job failed.
    """
    parent = Path(tempfile.mkdtemp(prefix="checkpoint-", dir=root))
    try:
        return place.run(work.job(system, root, parent / "c", **settings))
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def compare(
    work: Work,
    root: Path,
    *,
    pythons: dict[str, str],
    rounds: int,
    memory: bool,
) -> Iterator[Comparison]:
    """A comparison with each native state store that the work names.

    Args:
        work: what to run.
        root: where the data are kept.
        pythons: the interpreter of each system that is to run.
        rounds: runs of each system.
        memory: whether to run stateplan once more and watch its memory.
    """
    root.mkdir(parents=True, exist_ok=True)
    systems = [s for s in pythons if _runs(s, work)]
    runs: dict[str, list[Run]] = {}
    watched: dict[str, Run] = {}
    failures: dict[str, str] = {}
    with ExitStack() as stack:
        places = {s: stack.enter_context(process(pythons[s])) for s in systems}
        for number in range(rounds + memory):
            for system, place in places.items():
                watching = number == rounds
                if system in failures or (watching and system not in OURS):
                    continue
                try:
                    result = run(place, work, system, root, watch_memory=watching)
                except Failed as error:
                    failures[system] = str(error)
                    continue
                if watching:
                    watched[system] = result
                else:
                    runs.setdefault(system, []).append(result)
    for against in [s for s in systems if s in work.natives] or work.natives[:1]:
        shown = (against, FLOOR, *OURS, *OTHERS)
        yield Comparison(
            work=work,
            against=against,
            runs={s: runs[s] for s in shown if s in runs},
            failures={s: failures[s] for s in shown if s in failures},
            memory=watched,
        )


def _runs(system: str, work: Work) -> bool:
    """Whether a system has the work."""
    if system in (NATIVE, ROCKSDB):
        return system in work.natives
    return system not in OTHERS or work.name in OTHER_WORKS
