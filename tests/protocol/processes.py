"""Drivers that are processes, on real files: the rig's query, stopped where a test wants it."""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.state import Location, located

from .handler import Handler
from .rig import run_query

LIMIT = 60.0  # seconds
_context = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Place:
    """Where a checkpoint and a sink are.

    Attributes:
        folder: of both.
        remote: whether the checkpoint is behind `pyarrow.fs`.
    """

    folder: Path
    remote: bool

    @property
    def checkpoint(self) -> Location:
        if self.remote:
            return located("own://box/c", Handler(str(self.folder), atomic_uploads=True))
        return located(self.folder / "box" / "c")

    @property
    def sink(self) -> dict[int, Any]:
        """What was emitted, by batch; every driver's rows of a batch are compared."""
        found: dict[int, Any] = {}
        for path in sorted(self.folder.glob("sink-*")):
            rows = tuple(tuple(pair) for pair in json.loads(path.read_text()))
            assert found.setdefault(int(path.name.split("-")[1]), rows) == rows
        return found

    def outcome(self, who: str) -> str | None:
        """The condition and the message that a driver ended with."""
        path = self.folder / f"failure-{who}"
        return path.read_text() if path.exists() else None

    def log(self) -> dict[str, bytes]:
        """The files of the logs."""
        root = self.folder / "box" / "c"
        found = [*root.glob("offsets/*"), *root.glob("commits/*"), *root.glob("metadata")]
        return {str(path.relative_to(root)): path.read_bytes() for path in found}


def drive(place: Place, who: str, batches: int, pause: int | None = None) -> None:
    """A driver's life; before it emits the batch `pause` it waits for the file `go`."""

    def emit(batch: int, rows: Any) -> None:
        if batch == pause:
            (place.folder / "paused").touch()
            await_that((place.folder / "go").exists)
        (place.folder / f"sink-{batch}-{who}").write_text(json.dumps(rows))

    try:
        run_query(place.checkpoint, who, emit, batches)
    except StateplanError as problem:
        text = f"{problem.condition} {problem}"
        (place.folder / f"failure-{who}").write_text(text)


def launch(place: Place, who: str, batches: int, pause: int | None = None) -> BaseProcess:
    """Start a driver as a process of its own."""
    process = _context.Process(target=drive, args=(place, who, batches, pause))
    process.start()
    return process


def await_that(happened: Callable[[], bool]) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it does not come.
    """
    deadline = time.monotonic() + LIMIT
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(str(happened))
        time.sleep(0.005)
