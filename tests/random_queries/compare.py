"""Compares what is said here of random queries with what a live Spark says; groups and shrinks."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .cases import Case, replayed
from .choices import smaller
from .ours import planned_or_crash

Ask = Callable[[Mapping[str, Any]], str]
_OPERATOR = re.compile(r"[A-Z]\w+")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A query of which the two say different things."""

    case: Case
    spark: str
    ours: str

    @property
    def kind(self) -> str:
        """What differences of one cause mostly share."""
        if self.ours.startswith("crash: "):
            return " ".join(self.ours.split("\n"))[:150]
        here, there = _head(self.ours), _head(self.spark)
        if here != there:
            return f"here {here}, Spark {there}"
        ours, spark = self.ours.split("\n"), self.spark.split("\n")
        if "plan" not in here:
            return (
                f"message of {here}: {_masked(' '.join(ours[2:]))} / {_masked(' '.join(spark[2:]))}"
            )
        for mine, other in zip(ours, spark, strict=False):
            if mine != other:
                return f"text: here {_operator(mine)}, Spark {_operator(other)}"
        return "text: one is longer"

    def shown(self, width: int = 400) -> str:
        """The query and the lines that differ."""
        description = self.case.description
        text = description.get("sql") or description.get("python")
        lines = difflib.unified_diff(
            self.spark.split("\n"), self.ours.split("\n"), "spark", "here", lineterm="", n=0
        )
        settings = {k: v for k, v in description["conf"].items() if (k, v) != _USUAL}
        head = f"[{self.case.family}] {description['output_mode']} {settings or ''}\n{text}"
        return "\n".join([head, *(line[:width] for line in list(lines)[2:])])


_USUAL = ("spark.sql.shuffle.partitions", "5")


def _head(text: str) -> str:
    """A plan, or a refusal's condition and phase."""
    if text.startswith("== "):
        return "a plan"
    condition, phase = (line.split(": ", 1)[1] for line in text.split("\n")[:2])
    if condition in ("None", "_LEGACY_ERROR_TEMP_3102"):
        condition = _masked(text.split("message: ", 1)[-1])[:60]
    return f"{condition} ({phase})"


def _masked(text: str) -> str:
    """A message without what is the query's own."""
    return re.sub(r"(\"[^\"]*\"|`[^`]*`|'[^']*'|\d+)", "_", text)[:110]


def _operator(line: str) -> str:
    found = _OPERATOR.search(line)
    return found[0] if found else line[:20]


def compare(case: Case, ask: Ask) -> Difference | None:
    """None where both say the same."""
    spark, ours = ask(case.description), planned_or_crash(case.description)
    return None if spark == ours else Difference(case=case, spark=spark, ours=ours)


def shrunk(difference: Difference, ask: Ask, most: int = 60) -> Difference:
    """A plainer query with a difference of the same kind.

    Args:
        difference: where to start.
        ask: the live Spark.
        most: how many queries may be tried.
    """
    tried: set[str] = set()
    progress = True
    while progress and len(tried) < most:
        progress = False
        for choices in smaller(difference.case.made):
            case = replayed(choices)
            key = json.dumps(case.description, sort_keys=True)
            if key in tried or len(key) >= len(json.dumps(difference.case.description)):
                continue
            if len(tried) >= most:
                break
            tried.add(key)
            found = compare(case, ask)
            if found is not None and found.kind == difference.kind:
                difference, progress = found, True
                break
    return difference


class Answers:
    """Spark's answers, kept in a file, so that a query is asked once.

    Args:
        path: the file; None keeps them in memory alone.
        live: asked what is not known.
    """

    def __init__(self, path: Path | None, live: Callable[[], Ask]) -> None:
        self._path = path
        self._live = live
        self._ask: Ask | None = None
        known = path is not None and path.exists()
        self._known: dict[str, str] = json.loads(path.read_text()) if path and known else {}

    def __call__(self, description: Mapping[str, Any]) -> str:
        key = json.dumps(description, sort_keys=True)
        if key not in self._known:
            if self._ask is None:
                self._ask = self._live()
            self._known[key] = self._ask(description)
        return self._known[key]

    def save(self) -> None:
        """Write the file."""
        if self._path is not None:
            self._path.write_text(json.dumps(self._known))
