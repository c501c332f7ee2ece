"""What the embedded engine sees of the rows that pass: how many, and their event times."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ..kernels.scans.scan import SeenTimes
from .context import EventTimeStats
from .engine import EventTimes, Reading


class PassedRows:
    def __init__(self) -> None:
        self.rows = 0
        self._lock = threading.Lock()

    def count(self, batch: Any) -> None:
        """Take in a batch."""
        with self._lock:
            self.rows += batch.num_rows


@dataclass(frozen=True)
class RowCount(Reading):
    name: str
    passed: PassedRows

    def values(self, deadline: float) -> Mapping[str, Any] | None:
        return {self.name: self.passed.rows}


class SeenEventTimes(EventTimes):
    """Event times of a column by its place."""

    def __init__(self, column: int) -> None:
        self._column = column
        self._seen = SeenTimes()
        self._lock = threading.Lock()

    def look(self, batch: Any) -> None:
        """Take in a batch."""
        seen = SeenTimes().with_times(batch.column(self._column).cast(pa.timestamp("us")))
        with self._lock:
            self._seen = self._seen.with_seen(seen)

    def stats(self, deadline: float) -> EventTimeStats | None:
        return EventTimeStats.of(self._seen)
