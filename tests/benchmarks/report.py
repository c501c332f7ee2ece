"""What the runs show: medians, spread and ratios, as a table for people and as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from .runs import Run
from .works import Work

COLUMNS = (
    "work",
    "against",
    "native s/batch",
    "stateplan s/batch",
    "native rows/s",
    "stateplan rows/s",
    "ratio",
    "to reach",
    "Python memory",
    "state on disk",
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The time of a batch on one system: the median over all batches, the least and the most."""

    median: float
    least: float
    most: float
    rows: float

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Figure:
        """The figure over all batches of all runs."""
        seconds = list(chain.from_iterable(run.seconds for run in runs))
        rows = list(chain.from_iterable(run.rows for run in runs))
        return cls(
            median=statistics.median(seconds),
            least=min(seconds),
            most=max(seconds),
            rows=statistics.median(rows),
        )

    @property
    def text(self) -> str:
        """`0.42 (0.40-0.47)`."""
        return f"{self.median:.2f} ({self.least:.2f}-{self.most:.2f})"

    @property
    def rows_a_second(self) -> float:
        """At the median."""
        return self.rows / self.median


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A work on both systems, or on one.

    Attributes:
        work: the work.
        against: the native state store.
        ours: runs of stateplan that were timed.
        native: runs of native Structured Streaming, as many, in alternation; empty: not run.
        memory: a run of stateplan that was watched, and is not timed; None: there was none.
    """

    work: Work
    against: str
    ours: Sequence[Run]
    native: Sequence[Run]
    memory: Run | None

    @property
    def ratio(self) -> float | None:
        """How many times native's rows a second, by the medians."""
        if not self.native or not self.ours:
            return None
        return Figure.of(self.native).median / Figure.of(self.ours).median

    @property
    def round_ratios(self) -> list[float]:
        """The ratio of each round's medians."""
        pairs = zip(self.ours, self.native, strict=False)
        return [statistics.median(n.seconds) / statistics.median(o.seconds) for o, n in pairs]

    @property
    def reached(self) -> bool | None:
        """Whether the work's figure is reached; None where there is none, or it was not run."""
        if self.work.seconds is not None and self.ours:
            return Figure.of(self.ours).median <= self.work.seconds
        if self.work.ratio is not None and self.ratio is not None:
            return self.ratio >= self.work.ratio
        return None

    def cells(self) -> tuple[str, ...]:
        """The work's row of the table."""
        ours = Figure.of(self.ours) if self.ours else None
        native = Figure.of(self.native) if self.native else None
        return (
            self.work.name,
            self.against if native else "-",
            native.text if native else "-",
            ours.text if ours else "-",
            f"{native.rows_a_second:,.0f}" if native else "-",
            f"{ours.rows_a_second:,.0f}" if ours else "-",
            self._ratio_text(),
            self._target_text(),
            self._memory_text(),
            _both(_size(self._bytes(self.ours)), _size(self._bytes(self.native))),
        )

    def _ratio_text(self) -> str:
        if self.ratio is None:
            return "-"
        rounds = self.round_ratios
        return f"{self.ratio:.1f}x ({min(rounds):.1f}-{max(rounds):.1f})"

    def _target_text(self) -> str:
        if self.work.seconds is not None:
            text = f"{self.work.seconds:g} s"
        elif self.work.ratio is not None:
            text = f"{self.work.ratio:g}x"
        else:
            return "-"
        return text if self.reached is None else f"{text}: {'yes' if self.reached else 'no'}"

    def _memory_text(self) -> str:
        if self.memory is None or self.memory.python_bytes is None:
            return "-"
        return _size(self.memory.python_bytes)

    def _bytes(self, runs: Sequence[Run]) -> float | None:
        return statistics.median(run.state_bytes for run in runs) if runs else None

    def disagreement(self) -> str | None:
        """What the two systems' states say differently; None if nothing."""
        totals = {run.state_rows for run in chain(self.ours, self.native)}
        if len(totals) < 2:
            return None
        ours = sorted({run.state_rows for run in self.ours})
        native = sorted({run.state_rows for run in self.native})
        return f"{self.work.name}: state rows of stateplan {ours}, of {self.against} {native}"


def _size(size: float | None) -> str:
    return "-" if size is None else f"{size / 1e6:,.0f} MB"


def _both(ours: str, native: str) -> str:
    return ours if native == "-" else f"{ours} (native {native})"


def markdown(comparisons: Iterable[Comparison], heading: str) -> str:
    """The table as Markdown, with what one has to know to read it."""
    found = list(comparisons)
    lines = [heading, "", "| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    lines += ["| " + " | ".join(c.cells()) + " |" for c in found]
    lines += ["", *_notes(found)]
    return "\n".join(lines) + "\n"


def _notes(found: Sequence[Comparison]) -> list[str]:
    by_name = {c.work.name: c for c in found if c.ours}
    notes = [
        "Seconds a batch: median (least-most) over all batches that count, from one trigger's "
        "start to the next one's. Ratio: of the medians (least-most over the rounds). "
        "Memory: the peak of all Python workers together, mapped files left out, in a run of its "
        "own. State on disk: the checkpoint's state directory at the end, old versions included.",
    ]
    large, small = by_name.get("large-state"), by_name.get("large-state-100k")
    if large and small:
        times = Figure.of(large.ours).median / Figure.of(small.ours).median
        notes += ["", f"10M keys take {times:.2f} times the time of 100k keys (at most 1.3)."]
    for comparison in found:
        different = comparison.disagreement()
        if different:
            notes += ["", f"DIFFERENT STATE: {different}"]
    return notes


def phases(runs: Sequence[Run]) -> str:
    """Where a batch's time goes: the medians of the progress, for one system."""
    progress = [p for run in runs for p in run.progress]
    lines = [f"{runs[0].system}: durationMs " + _medians([p["durationMs"] for p in progress])]
    for index, operator in enumerate(progress[0]["stateOperators"]):
        shown = [_numbers(p["stateOperators"][index]) for p in progress]
        lines.append(f"  {operator['operatorName']}: {_medians(shown)}")
    return "\n".join(lines)


def _numbers(operator: Mapping[str, object]) -> dict[str, float]:
    custom = operator.get("customMetrics") or {}
    assert isinstance(custom, Mapping)
    flat = {**operator, **custom}
    return {k: v for k, v in flat.items() if isinstance(v, int | float)}


def _medians(each: Sequence[Mapping[str, float]]) -> str:
    names = [name for name in each[0] if any(one.get(name) for one in each)]
    return ", ".join(
        f"{name} {statistics.median(one.get(name, 0) for one in each):,.0f}" for name in names
    )
