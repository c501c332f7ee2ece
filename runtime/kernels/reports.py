"""What a task says of itself, and how it travels to the driver."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..state import RunInfo, Writes
from .kernel import Figures
from .scans.scan import SeenTimes

META = "__task"
"""The last column of what a task gives whose last row is its report: null in all other rows, there
`task:` and the report as text."""


@dataclass(frozen=True)
class TaskReport:
    """What a task did; times in milliseconds, `metrics` as in RunStore.

    Attributes:
        seen: per scan, the event times of the rows that it read itself.
    """

    writes: Writes
    figures: Figures
    update_ms: int
    commit_ms: int
    metrics: Mapping[str, int] = field(default_factory=dict)
    seen: tuple[SeenTimes, ...] = ()

    @property
    def removal_ms(self) -> int:
        """The part of `update_ms` in which the task looked for what a watermark has passed."""
        return round(self.metrics.get("eviction_us", 0) / 1000)

    def to_json(self) -> str:
        """The report as text."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> TaskReport:
        """The report that `to_json` wrote."""
        data = json.loads(text)
        writes = data["writes"]
        written = tuple(RunInfo(**{**run, "taken": ()}) for run in writes["written"])
        return cls(
            Writes(writes["tasks"], writes["task"], written, tuple(writes["absorbed"])),
            Figures(**data["figures"]),
            data["update_ms"],
            data["commit_ms"],
            data["metrics"],
            tuple(SeenTimes(**one) for one in data["seen"]),
        )


class Collected:
    """How Spark's accumulator adds up texts by the operator and batch that they belong to.

    As its AccumulatorParam. Each step on a dictionary is atomic: the driver takes out what it
    waited for while texts of others come in.
    """

    def zero(self, value: object) -> dict[str, list[str]]:
        return {}

    def addInPlace(
        self, value1: dict[str, list[str]], value2: dict[str, list[str]]
    ) -> dict[str, list[str]]:
        for key, texts in value2.items():
            value1.setdefault(key, []).extend(texts)
        return value1


@dataclass(frozen=True)
class ReportSender:
    """Sends a task's report to an accumulator; that takes it only if the task ends well."""

    accumulator: Any
    key: str

    def __call__(self, report: str) -> None:
        self.accumulator.add({self.key: [report]})
