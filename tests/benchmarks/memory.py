"""The memory of Python workers, or of this process, without the files they map."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_SECONDS_BETWEEN = 0.03
_PROC = Path("/proc")


class PeakMemory:
    """Looks at the memory of all of this process's Python workers together, again and again.

    Attributes:
        peak: the most bytes seen at once; None if it was not to look.

    Where the engine is in the process, `workers` is false: the process itself is looked at.
    """

    def __init__(self, wanted: bool = True, *, workers: bool = True) -> None:
        self.peak: int | None = None
        self._wanted = wanted
        self._workers = workers
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        if self._wanted:
            self.peak = 0
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        if self._wanted:
            self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(_SECONDS_BETWEEN):
            watched = python_workers(os.getpid()) if self._workers else [os.getpid()]
            now = sum(private_bytes(pid) for pid in watched)
            self.peak = max(self.peak or 0, now)


def python_workers(root: int) -> list[int]:
    """The processes below one that run PySpark's daemon or a worker forked from it."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                status = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                children.setdefault(int(status[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        for child in children.get(waiting.pop(), []):
            waiting.append(child)
            with suppress(OSError):
                if b"pyspark.daemon" in (_PROC / str(child) / "cmdline").read_bytes():
                    found.append(child)
    return found


def private_bytes(pid: int) -> int:
    """A process's anonymous memory, pages shared with forks counted in shares; 0 if it ended."""
    with suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss_Anon:"):
                return int(line.split()[1]) * 1024
    return 0
