"""Results that are kept: a JSON file to which runs are added, and CSV of every batch's time.

A benchmark of hours can so be measured in pieces; the table is over all runs that the file holds.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from .report import Comparison
from .runs import Run
from .works import WORKS


def kept(path: Path) -> list[Comparison]:
    """The comparisons of a file, in the order of the works; none if there is no file."""
    if not path.exists():
        return []
    found = [_comparison(one) for one in json.loads(path.read_text(encoding="utf-8"))["works"]]
    order = list(WORKS)
    return sorted(found, key=lambda c: order.index(c.work.name))


def added(earlier: Iterable[Comparison], later: Iterable[Comparison]) -> list[Comparison]:
    """All runs of the same work and native store as one comparison."""
    found: dict[tuple[str, str], Comparison] = {}
    for one in [*earlier, *later]:
        key = (one.work.name, one.against)
        before = found.get(key)
        if before is not None:
            one = Comparison(
                work=one.work,
                against=one.against,
                ours=[*before.ours, *one.ours],
                native=[*before.native, *one.native],
                memory=one.memory or before.memory,
            )
        found[key] = one
    order = list(WORKS)
    return sorted(found.values(), key=lambda c: order.index(c.work.name))


def write(path: Path, comparisons: Sequence[Comparison], heading: str) -> None:
    """Write the file that `kept` reads: every batch's seconds and rows, and the figures of both."""
    works = [
        {
            "work": c.work.name,
            "against": c.against,
            "ratio": c.ratio,
            "reached": c.reached,
            "ours": [_run(run) for run in c.ours],
            "native": [_run(run) for run in c.native],
            "memory": None if c.memory is None else _run(c.memory),
        }
        for c in comparisons
    ]
    text = json.dumps({"heading": heading, "works": works}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def write_csv(path: Path, comparisons: Iterable[Comparison]) -> None:
    """Write a line a batch: work, native store, system, run, batch, rows, seconds."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["work", "against", "system", "run", "batch", "rows", "seconds"])
        for one in comparisons:
            for runs in (one.ours, one.native):
                for number, run in enumerate(runs):
                    for batch, (rows, seconds) in enumerate(
                        zip(run.rows, run.seconds, strict=True)
                    ):
                        start = (one.work.name, one.against, run.system, number, batch)
                        lines.writerow([*start, rows, seconds])


def _run(run: Run) -> dict[str, Any]:
    kept = asdict(replace(run, progress=()))
    del kept["progress"]
    return kept


def _comparison(data: dict[str, Any]) -> Comparison:
    return Comparison(
        work=WORKS[data["work"]],
        against=data["against"],
        ours=[_read(run) for run in data["ours"]],
        native=[_read(run) for run in data["native"]],
        memory=None if data["memory"] is None else _read(data["memory"]),
    )


def _read(data: dict[str, Any]) -> Run:
    return Run(
        **{**data, "seconds": tuple(data["seconds"]), "rows": tuple(data["rows"]), "progress": ()}
    )
