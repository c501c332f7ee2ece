"""What the runs show: medians, spread and ratios, as a table for people and as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from .job import FLOOR, NATIVE, OTHERS, OURS, Run
from .work import Work

COLUMNS = (
    "work",
    "native s/batch",
    "Spark's floor",
    *(text for engine in OURS for text in (f"{engine} s/batch", "x native", "to reach")),
)
_NOTES = (
    "Seconds a batch: median (least-most) over all batches that count, from one trigger's start to "
    "the next one's. Floor: the same SQL as a batch query over the files of one batch, warm, "
    "without state. x native: native's median by this one's (least-most over the rounds)."
)
_RESOURCES = (
    "work",
    *(f"CPU, {system}" for system in (NATIVE, FLOOR, *OURS)),
    *(f"memory, {engine}" for engine in OURS),
    *(f"disk, {system}" for system in (*OURS, NATIVE)),
)
_RESOURCE_NOTES = (
    "CPU: processor time of a batch in all processes of a system, the median over its runs. "
    "Memory: the peak of all Python workers together, or of the process of the embedded engine, "
    "mapped files left out, in a run of its own. State on disk: the checkpoint's state directory "
    "at the end, old versions included."
)
_OTHER_NOTES = (
    "Seconds a batch. duckdb: each batch's files alone, a floor. bytewax, pathway: the time of a "
    "whole run without a checkpoint, divided by its batches."
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The time of a batch on one system: the median over all batches, the least and the most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Figure:
        """The figure over all batches of all runs."""
        seconds = list(chain.from_iterable(run.seconds for run in runs))
        return cls(median=statistics.median(seconds), least=min(seconds), most=max(seconds))

    @property
    def text(self) -> str:
        """`0.42 (0.40-0.47)`."""
        return f"{self.median:.2f} ({self.least:.2f}-{self.most:.2f})"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A work on some systems.

    Attributes:
        work: the work.
        against: the native state store.
        runs: by system, those that were timed, in alternation.
        failures: by system, why it could not run the work.
        memory: runs of stateplan by engine that were watched, and are not timed.
    """

    work: Work
    against: str
    runs: Mapping[str, Sequence[Run]]
    failures: Mapping[str, str]
    memory: Mapping[str, Run]

    @property
    def name(self) -> str:
        """The work, and the state store if it is not the usual one."""
        return self.work.name if self.against == NATIVE else f"{self.work.name}, {self.against}"

    def median(self, system: str) -> float | None:
        """The median time of a batch; None: not run."""
        return Figure.of(self.runs[system]).median if system in self.runs else None

    def ratio(self, system: str) -> float | None:
        """How many times native's rows a second, by the medians."""
        native, ours = self.median(self.against), self.median(system)
        return None if native is None or ours is None else native / ours

    def round_ratios(self, system: str) -> list[float]:
        """The ratio of each round's medians."""
        pairs = zip(self.runs[self.against], self.runs[system], strict=False)
        return [statistics.median(n.seconds) / statistics.median(o.seconds) for n, o in pairs]

    def limit(self, engine: str) -> float | None:
        """The seconds that a batch may take; None if the work has no such goal."""
        goal = self.work.goals.get(engine)
        if goal is None or engine not in self.runs:
            return goal.seconds if goal else None
        return goal.most(self.median(FLOOR), self.runs[engine][0].operators)

    def reached(self, engine: str) -> bool | None:
        """Whether the engine reaches the work's goal; None: it was not run, or against nothing."""
        goal, ours = self.work.goals.get(engine), self.median(engine)
        if engine in self.failures:
            return False
        if goal is None or ours is None:
            return None
        found = []
        limit, ratio = self.limit(engine), self.ratio(engine)
        if goal.ratio is not None:
            found.append(None if ratio is None else ratio >= goal.ratio)
        if goal.near_floor or goal.seconds is not None:
            found.append(None if limit is None else ours <= limit)
        return None if None in found else all(found)

    def cells(self) -> tuple[str, ...]:
        """The work's row of the table."""
        cells = [self.name, self._time(self.against), self._time(FLOOR)]
        for engine in OURS:
            cells += [self._time(engine), self._ratio_text(engine), self._goal_text(engine)]
        return tuple(cells)

    def other_cells(self) -> tuple[str, ...]:
        """The work's row of the table of other systems."""
        return (self.name, *(self._time(system) for system in (*OURS, *OTHERS)))

    def _time(self, system: str) -> str:
        if system in self.failures:
            return "fails"
        return Figure.of(self.runs[system]).text if system in self.runs else "-"

    def _ratio_text(self, system: str) -> str:
        ratio = self.ratio(system)
        if ratio is None:
            return "-"
        rounds = self.round_ratios(system)
        if len(rounds) < 2:
            return f"{ratio:.1f}x"
        return f"{ratio:.1f}x ({min(rounds):.1f}-{max(rounds):.1f})"

    def _goal_text(self, engine: str) -> str:
        goal, limit = self.work.goals.get(engine), self.limit(engine)
        if goal is None:
            return "-"
        texts = [f"{goal.ratio:g}x"] if goal.ratio is not None else []
        texts += [f"{limit:.2f} s"] if limit is not None else []
        reached = self.reached(engine)
        text = ", ".join(texts)
        return text if reached is None else f"{text}: {'yes' if reached else 'no'}"

    def resource_cells(self) -> tuple[str, ...]:
        """The work's row of the table of processor time, memory and disk."""
        cells = [self.name]
        for system in (self.against, FLOOR, *OURS):
            runs = self.runs.get(system)
            cpu = statistics.median(run.cpu_seconds for run in runs) if runs else None
            cells.append("-" if cpu is None else f"{cpu:.2f} s")
        for engine in OURS:
            watched = self.memory.get(engine)
            cells.append(_size(watched.python_bytes if watched else None))
        for system in (*OURS, self.against):
            runs = self.runs.get(system)
            size = statistics.median(run.state_bytes for run in runs) if runs else None
            cells.append(_size(size))
        return tuple(cells)

    def disagreement(self) -> str | None:
        """What the systems' states say differently; None if nothing."""
        found = {
            system: sorted({run.state_rows for run in runs})
            for system, runs in self.runs.items()
            if system != FLOOR and system not in OTHERS
        }
        if len({rows for each in found.values() for rows in each}) < 2:
            return None
        return f"{self.name}: rows in the state {found}"


def _size(size: float | None) -> str:
    return "-" if size is None else f"{size / 1e6:,.0f} MB"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows)]


def markdown(comparisons: Iterable[Comparison], heading: str) -> str:
    """The tables as Markdown, with what one has to know to read them."""
    found = list(comparisons)
    lines = [heading]
    for name in dict.fromkeys(c.work.set for c in found):
        here = [c for c in found if c.work.set == name]
        lines += ["", f"## {name} works", "", *_table(COLUMNS, [c.cells() for c in here])]
    lines += ["", _NOTES]
    lines += ["", *_table(_RESOURCES, [c.resource_cells() for c in found]), "", _RESOURCE_NOTES]
    others = [c for c in found if any(s in OTHERS for s in (*c.runs, *c.failures))]
    if others:
        columns = ("work", *OURS, *OTHERS)
        lines += ["", "## Other systems", "", *_table(columns, [c.other_cells() for c in others])]
        lines += ["", _OTHER_NOTES]
    lines += _remarks(found)
    return "\n".join(lines) + "\n"


def _remarks(found: Sequence[Comparison]) -> list[str]:
    by_name = {c.work.name: c for c in found}
    large, small = by_name.get("large-state"), by_name.get("large-state-100k")
    lines = []
    for engine in OURS:
        slow = large.median(engine) if large else None
        fast = small.median(engine) if small else None
        if slow and fast:
            times = slow / fast
            lines += ["", f"{engine}: 10M keys take {times:.2f} times the time of 100k keys."]
    for comparison in found:
        for system, why in comparison.failures.items():
            lines += ["", f"{comparison.name} FAILS on {system}: {why.splitlines()[0][:300]}"]
        different = comparison.disagreement()
        if different:
            lines += ["", f"DIFFERENT STATE: {different}"]
    return lines


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
