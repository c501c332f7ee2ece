"""What was broken and what came of it: JSON lines, a summary, and Markdown."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .faults import MEANING, FaultMaker, step_kind
from .lives import Outcome

Life = dict[str, Any]


class Results:
    """The outcomes so far.

    Args:
        path: a file of JSON lines that new ones are added to; None: none is kept.

    Attributes:
        lives: one entry each.
        refused: why the embedded engine does not run the query of a seed, in this process.
        steps: the kinds of steps that fault-free runs were seen to make.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self.lives: list[Life] = []
        self.refused: dict[int, str] = {}
        self.steps: set[str] = set()
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.steps.update(entry.pop("steps"))
                self.lives.append(entry)

    def add(self, on: str, outcome: Outcome, maker: FaultMaker) -> None:
        """Take in a life."""
        entry = {"on": on, **asdict(outcome)}
        self.lives.append(entry)
        new, self.steps = sorted(maker.seen - self.steps), self.steps | maker.seen
        if self._path is not None:
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps({**entry, "steps": new}) + "\n")

    def led(self, on: str) -> set[int]:
        """The seeds of the lives that were led there."""
        return {life["seed"] for life in self.lives if life["on"] == on}

    def count(self, on: str | None = None) -> int:
        """How many faults there were, in one place or all."""
        return sum(len(x["kinds"]) for x in self.lives if on in (None, x["on"]))

    def met(self) -> Counter[str]:
        """How often a driver ended at each kind of step."""
        return Counter(step_kind(name) for life in self.lives for name in life["ended"])

    @property
    def wrong(self) -> list[Life]:
        """The lives that differ from the fault-free ones."""
        return [life for life in self.lives if life["wrong"]]

    @staticmethod
    def line(on: str, outcome: Outcome) -> str:
        """One life in one line."""
        what = "; ".join(outcome.faults) or "no fault"
        came = " | ".join(outcome.wrong) or "equal"
        return (
            f"{on} {outcome.seed} {outcome.kind}, {outcome.mode}, {outcome.sink}: {what}: "
            f"{came} ({outcome.seconds:.0f} s)"
        )

    def summary(self) -> str:
        """The figures in one line."""
        met = self.met()
        refused = f"; {len(self.refused)} queries were refused" if self.refused else ""
        return (
            f"{self.count()} faults in {len(self.lives)} lives, {len(self.wrong)} lives differ; "
            f"drivers ended at {len(met)} of {len(self.steps | set(met))} kinds of steps{refused}"
        )

    def figures(self) -> dict[str, Any]:
        """Everything as data: counts by kind of fault and query, by step, and each life."""
        return {
            "faults": self.count(),
            "lives": len(self.lives),
            "differ": len(self.wrong),
            "by_kind": self._by_kind(),
            "by_query_and_kind": self._by_query_and_kind(),
            "by_sink": Counter(x["sink"] for x in self.lives for _ in x["kinds"]),
            "by_step": {name: self.met()[name] for name in sorted(self.steps | set(self.met()))},
            "runs": [{**life, "again": _again(life)} for life in self.lives],
        }

    def report(self) -> str:
        """The report as Markdown."""
        kinds = self._by_kind()
        queries = self._by_query_and_kind()
        lines = ["# Faults", "", f"{self.summary()}.", "", "| fault | count |", "|---|---|"]
        lines += [f"| {kind}: {MEANING[kind]} | {n} |" for kind, n in kinds.items()]
        lines += ["", f"| query | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
        for query, counts in queries.items():
            lines.append(f"| {query} | {' | '.join(str(counts.get(k, '')) for k in kinds)} |")
        lines += ["", *self._by_step(), "", *self._differing(), "", *self._repeated()]
        return "\n".join(lines) + "\n"

    def _by_kind(self) -> dict[str, int]:
        counts = Counter(kind for life in self.lives for kind in life["kinds"])
        return {kind: counts[kind] for kind in MEANING if kind in counts}

    def _by_query_and_kind(self) -> dict[str, Mapping[str, int]]:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for life in self.lives:
            found[f"{life['kind']}, {life['mode']}"].update(life["kinds"])
        return dict(sorted(found.items()))

    def _by_step(self) -> Iterable[str]:
        met = self.met()
        yield from ("| step at which a driver ended | times |", "|---|---|")
        yield from (f"| {name} | {met[name]} |" for name in sorted(self.steps | set(met)))

    def _differing(self) -> Iterable[str]:
        yield from ["Lives that differ:", ""] if self.wrong else ["No life differs."]
        for life in self.wrong:
            yield f"- {life['on']} {life['seed']} {life['kind']}: `{_again(life)}`"
            yield from (f"  - {text}" for text in life["wrong"])

    def _repeated(self) -> Iterable[str]:
        yield from ("Each life again, alone (random moments are as exact as the clock):", "")
        yield from (f"    {_again(life)}" for life in self.lives)


def _again(life: Life) -> str:
    plan = "; ".join(life["plan"])
    which = f'--life {life["seed"]} --queries "{life["kind"]}" --on {life["on"]}'
    return f'python tests/inject_faults.py {which} --with "{plan}"'
