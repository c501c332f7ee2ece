"""The processor time that a system takes, in all of its processes.

On a machine that does other things beside, it says more than the time on the clock.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_right
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_SECONDS_BETWEEN = 0.1
_TICKS = os.sysconf("SC_CLK_TCK")


class CpuClock:
    """Reads, again and again, how much processor time this process and those below it have had."""

    def __init__(self) -> None:
        self._readings: list[tuple[float, float]] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> CpuClock:
        self._read()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        self._read()

    def between(self, start: float, end: float) -> float:
        """The seconds of processor time between two moments (`time.time()`)."""
        return self._at(end) - self._at(start)

    def _watch(self) -> None:
        while not self._done.wait(_SECONDS_BETWEEN):
            self._read()

    def _read(self) -> None:
        self._readings.append((time.time(), processor_seconds(os.getpid())))

    def _at(self, moment: float) -> float:
        place = bisect_right(self._readings, (moment, float("inf")))
        if place in (0, len(self._readings)):
            return self._readings[max(0, place - 1)][1]
        (before, less), (after, more) = self._readings[place - 1 : place + 1]
        return less + (more - less) * (moment - before) / (after - before)


def processor_seconds(root: int) -> float:
    """What a process and all below it have used, those that have ended and were waited for too."""
    ticks, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        with suppress(OSError, ValueError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return ticks / _TICKS
