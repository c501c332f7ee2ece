"""Results that are kept: a JSON file to which runs are added, and CSV of every batch's time.

A benchmark of hours can so be measured in pieces; the table is over all runs that the file holds.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from .job import Run
from .report import Comparison
from .works import WORKS


def kept(path: Path) -> list[Comparison]:
    """The comparisons of a file, in the order of the works; none if there is no file."""
    if not path.exists():
        return []
    found = [_comparison(one) for one in json.loads(path.read_text(encoding="utf-8"))["works"]]
    return added(found, [])


def added(earlier: Iterable[Comparison], later: Iterable[Comparison]) -> list[Comparison]:
    """All runs of the same work and native store as one comparison; a failure goes when it ran."""
    found: dict[tuple[str, str], Comparison] = {}
    for one in chain(earlier, later):
        key = (one.work.name, one.against)
        before = found.get(key)
        if before is not None:
            systems = dict.fromkeys([*before.runs, *one.runs])
            runs = {s: [*before.runs.get(s, ()), *one.runs.get(s, ())] for s in systems}
            failures = {s: w for s, w in before.failures.items() if s not in one.runs}
            one = replace(
                one,
                runs=runs,
                failures={**failures, **one.failures},
                memory={**before.memory, **one.memory},
            )
        found[key] = one
    order = list(WORKS)
    return sorted(found.values(), key=lambda c: order.index(c.work.name))


def write(path: Path, comparisons: Sequence[Comparison], heading: str) -> None:
    """Write the file that `kept` reads: every batch's seconds and rows, ratios and goals."""
    works = [
        {
            "work": c.work.name,
            "against": c.against,
            "ratio": {system: c.ratio(system) for system in c.runs},
            "reached": {engine: c.reached(engine) for engine in c.work.goals},
            "runs": {system: [_run(run) for run in runs] for system, runs in c.runs.items()},
            "failures": c.failures,
            "memory": {engine: _run(run) for engine, run in c.memory.items()},
        }
        for c in comparisons
    ]
    text = json.dumps({"heading": heading, "works": works}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(path: Path, comparisons: Iterable[Comparison]) -> None:
    """Write a line a batch: work, native store, system, run, batch, seconds."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["work", "against", "system", "run", "batch", "seconds"])
        for one in comparisons:
            for system, runs in one.runs.items():
                for number, run in enumerate(runs):
                    for batch, seconds in enumerate(run.seconds):
                        lines.writerow([one.work.name, one.against, system, number, batch, seconds])


def _run(run: Run) -> dict[str, Any]:
    return asdict(replace(run, progress=(), watermarks=None, kept=None))


def _comparison(data: dict[str, Any]) -> Comparison:
    return Comparison(
        work=WORKS[data["work"]],
        against=data["against"],
        runs={system: [Run(**run) for run in runs] for system, runs in data["runs"].items()},
        failures=data["failures"],
        memory={engine: Run(**run) for engine, run in data["memory"].items()},
    )
