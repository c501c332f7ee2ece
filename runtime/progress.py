"""What a query says about each batch, with the fields of Spark's StreamingQueryProgress."""

from __future__ import annotations

import base64
import datetime as dt
import json
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, TextIO

from ..planner.pages.run_page import run_page
from ..planner.pages.shell import write_page
from .engines.context import EventTimeStats, OperatorResult

_REPORTED = 10_000  # batches on the page of a run


class StreamingQueryProgress(dict[str, Any]):
    """One batch's figures under Spark's names (`batchId`, `numInputRows`, `durationMs`, ...).

    As PySpark's they are keys, and attributes too.
    """

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a batch's figures have no '{name}'") from None

    @property
    def batch_id(self) -> int:
        return int(self["batchId"])

    @property
    def json(self) -> str:
        """The figures as one line of JSON."""
        return json.dumps(self._shown(), ensure_ascii=False)

    @property
    def prettyJson(self) -> str:
        """The figures as JSON for people."""
        return json.dumps(self._shown(), ensure_ascii=False, indent=2)

    def _shown(self) -> dict[str, Any]:
        """The figures as Spark writes them: metrics only of a batch that observed some."""
        return {k: v for k, v in self.items() if v or k != "observedMetrics"}


class Durations:
    """How long the parts of a trigger took, in milliseconds."""

    def __init__(self) -> None:
        self._ms: dict[str, int] = {}

    @contextmanager
    def measure(self, part: str) -> Iterator[None]:
        """Add the time that the block takes to a part."""
        start = time.monotonic_ns()
        try:
            yield
        finally:
            took = (time.monotonic_ns() - start) // 1_000_000
            self._ms[part] = self._ms.get(part, 0) + took

    def as_dict(self) -> dict[str, int]:
        """The parts in alphabetical order, as Spark writes them."""
        return dict(sorted(self._ms.items()))


def clock_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def timestamp_text(ms: int) -> str:
    """`2026-01-01T00:00:01.500Z`; years are those of Python's calendar."""
    moment = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=ms)
    return moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + f".{ms % 1000:03d}Z"


def rate(rows: int, seconds: float) -> float:
    """Rows a second with one decimal, 0 where no time went by."""
    return round(rows / seconds, 1) if seconds > 0 else 0.0


def event_time_figures(watermark_ms: int, seen: Sequence[EventTimeStats | None]) -> dict[str, str]:
    """The `eventTime` object: the first watermark operator that saw rows, and the watermark."""
    stats = next((s for s in seen if s is not None and s.count > 0), None)
    found = {}
    if stats is not None:
        found = {
            "avg": timestamp_text(int(stats.avg_ms)),
            "max": timestamp_text(stats.max_ms),
            "min": timestamp_text(stats.min_ms),
        }
    return {**found, "watermark": timestamp_text(watermark_ms)}


def operator_figures(result: OperatorResult) -> dict[str, Any]:
    """One entry of `stateOperators`."""
    return {
        "operatorName": result.operator_name,
        "numRowsTotal": result.num_rows_total,
        "numRowsUpdated": result.num_rows_updated,
        "allUpdatesTimeMs": result.all_updates_time_ms,
        "numRowsRemoved": result.num_rows_removed,
        "allRemovalsTimeMs": result.all_removals_time_ms,
        "commitTimeMs": result.commit_time_ms,
        "memoryUsedBytes": result.memory_used_bytes,
        "numRowsDroppedByWatermark": result.num_rows_dropped_by_watermark,
        "numShufflePartitions": result.num_shuffle_partitions,
        "numStateStoreInstances": result.num_state_store_instances,
        "customMetrics": dict(result.custom_metrics),
    }


def json_value(value: Any) -> Any:
    """An observed value as JSON has it: rows as objects, what JSON has no form for as text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            return float(value)
        case bytes() | bytearray():
            return base64.b64encode(value).decode("ascii")
        case tuple() if hasattr(value, "asDict"):
            return {name: json_value(part) for name, part in value.asDict().items()}
        case dict():
            return {str(key): json_value(part) for key, part in value.items()}
        case list() | tuple():
            return [json_value(part) for part in value]
        case _:
            return str(value)


Listener = Callable[[StreamingQueryProgress], object]


class ProgressLine:
    """A listener that prints one line a batch for people.

    On a terminal a line takes the place of the one before it.
    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._total = 0

    def __call__(self, progress: StreamingQueryProgress) -> None:
        out = self._out or sys.stderr
        self._total += progress["numInputRows"]
        state = sum(o["numRowsTotal"] for o in progress["stateOperators"])
        late = sum(o["numRowsDroppedByWatermark"] for o in progress["stateOperators"])
        parts = [
            f"batch {progress['batchId']}",
            f"{progress['numInputRows']:,} rows in {progress['batchDuration'] / 1000:.1f} s",
            f"{self._total:,} in all",
        ]
        if progress["stateOperators"]:
            parts.append(f"state {state:,}")
        if late:
            parts.append(f"{late:,} late")
        watermark = _watermark(progress)
        if watermark is not None:
            parts.append(f"watermark {watermark}")
        line = " | ".join(parts)
        print(f"\r\x1b[K{line}" if out.isatty() else line, end="", file=out, flush=True)
        if not out.isatty():
            print(file=out, flush=True)


class RunReport:
    """A listener that keeps a page about the run: written at most once a second, and by `write`.

    Args:
        path: the page.
        title: its title.

    Raises:
        DescriptionError: the page cannot be written.
    """

    def __init__(self, path: str, title: str) -> None:
        self._path, self._title = path, title
        self._batches: deque[StreamingQueryProgress] = deque(maxlen=_REPORTED)
        self._written = time.monotonic()
        self.write()

    def __call__(self, progress: StreamingQueryProgress) -> None:
        self._batches.append(progress)
        if time.monotonic() - self._written >= 1:
            self.write()

    def write(self) -> None:
        """Write the page as things stand."""
        write_page(self._path, run_page(self._title, list(self._batches)))
        self._written = time.monotonic()


def json_lines(out: TextIO | None = None) -> Listener:
    """A listener that prints each batch's figures as a line of JSON."""

    def listener(progress: StreamingQueryProgress) -> None:
        print(progress.json, file=out or sys.stdout, flush=True)

    return listener


def _watermark(progress: Mapping[str, Any]) -> str | None:
    text = progress.get("eventTime", {}).get("watermark")
    if text is None or text.startswith("1970-01-01T00:00:00.000"):
        return None
    return str(text).replace("T", " ").removesuffix(".000Z").removesuffix("Z")
