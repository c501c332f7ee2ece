"""`stateplan test`: run scenario files, compare, report for people and for machines."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from ..planner.description import Scenario, load_scenario
from ..planner.model.errors import DescriptionError
from .comparison import as_text, differences
from .engines.opening import open_session
from .scenario_run import run_scenario

SUFFIXES = (".yaml", ".yml", ".json")


def scenario_files(paths: Sequence[str | Path]) -> Iterator[Path]:
    """The files named, and those in the directories named, in order.

    Raises:
        DescriptionError: a path does not exist.
    """
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(p for p in path.iterdir() if p.suffix in SUFFIXES)
        elif path.exists():
            yield path
        else:
            raise DescriptionError(
                "STATEPLAN_FILE_NOT_FOUND",
                f"There is no scenario file or directory '{path}'.",
                hint="Name scenario files (YAML or JSON) or directories of them.",
            )


def step_lines(scenario: Scenario, emitted: Mapping[str, Any], found: Sequence[str]) -> list[str]:
    """The scenario's steps with an arrow at the first that went wrong."""
    wrong = _first_wrong_step(emitted, found)
    lines = []
    for number, step in enumerate(scenario.steps):
        if step.restart:
            text = "restart"
        else:
            rows = {name: len(rows or []) for name, rows in (step.batch or {}).items()}
            counts = ", ".join(f"{count} rows of {name}" for name, count in rows.items())
            text = "batch: " + (counts or "no rows") + (", then a crash" if step.crash else "")
        lines.append(f"{'-->' if number == wrong else '   '} step {number}: {text}")
    return lines


def _first_wrong_step(emitted: Mapping[str, Any], found: Sequence[str]) -> int | None:
    steps: dict[int, int] = {batch["id"]: batch["step"] for batch in emitted.get("batches") or []}
    failed: int | None = emitted.get("error", {}).get("step")
    for line in found:
        if line.startswith("batch "):
            number = int(line.split()[1].rstrip(":"))
            return steps.get(number, failed)
    return failed


def run_paths(
    paths: Sequence[str | Path],
    *,
    master: str | None = None,
    engine: str = "auto",
    json_out: str | Path | None = None,
    out: TextIO | None = None,
) -> int:
    """Run scenario files and directories; returns 0 if all that expect something got it, else 1.

    Raises:
        StateplanError: a file is unusable, or Spark cannot start.
    """
    files = list(scenario_files(paths))
    scenarios = [(path, load_scenario(path)) for path in files]
    spark, choice = open_session(engine, "test", master=master)
    print(f"engine: {choice.engine}. {choice.reason}", file=out)
    emitted_all, passed, failed, unchecked = [], 0, 0, 0
    for path, scenario in scenarios:
        began = time.perf_counter()
        emitted = run_scenario(spark, scenario)
        took = f"{time.perf_counter() - began:.1f} s"
        emitted_all.append({"id": scenario.id or path.stem, **emitted})
        name = scenario.id or path.stem
        batches = len(emitted.get("batches") or [])
        if scenario.expect is None:
            unchecked += 1
            print(f"ran   {name}: {batches} batches, {took}, nothing expected", file=out)
            _print_emitted(emitted, out)
            continue
        found = differences(scenario.expect, emitted, ordered=scenario.ordered)
        if not found:
            passed += 1
            print(f"ok    {name}: {batches} batches, {took}", file=out)
            continue
        failed += 1
        print(f"FAIL  {name}: {scenario.title or ''} ({took})", file=out)
        for line in (*step_lines(scenario, emitted, found), *found):
            print(f"      {line}", file=out)
    if json_out is not None:
        text = json.dumps(emitted_all, indent=1, ensure_ascii=False)
        Path(json_out).write_text(text + "\n", encoding="utf-8")
    rest = f", {unchecked} without expectation" if unchecked else ""
    print(f"{passed} passed, {failed} failed{rest}", file=out)
    return 1 if failed else 0


def _print_emitted(emitted: Mapping[str, Any], out: TextIO | None) -> None:
    for batch in emitted.get("batches") or []:
        print(f"      batch {batch['id']} (step {batch['step']})", file=out)
        for row in batch["rows"]:
            print(f"        {as_text(row)}", file=out)
    if "error" in emitted:
        print(f"      error: {as_text(emitted['error'])}", file=out)
