"""A scenario run, compared with what it expects, and the report of what went wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...planner.description import Scenario
from ...planner.model.errors import StateplanError
from ...planner.model.settings.conf import Conf
from ...planner.query import Query
from ..comparison import differences
from ..scenario_run import SCENARIO_CONF, ScenarioRun, scenario_folder
from .report import arrowed, side_by_side, state_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OF_ROWS = (" row missing:", " row unexpected:", " rows: expected")


@dataclass(frozen=True, kw_only=True)
class CheckedScenario:
    """What a scenario emitted, and whether that is what it expects.

    Attributes:
        emitted: as `expect` is.
        expects: whether the file says what it expects.
        found: what differs, a line each.
        report: for people: steps, rows side by side, state, plan; empty where nothing differs.
        seconds: how long it took.
    """

    emitted: Mapping[str, Any]
    expects: bool
    found: Sequence[str]
    report: Sequence[str]
    seconds: float


def check_scenario(spark: SparkSession, scenario: Scenario) -> CheckedScenario:
    """Run a scenario from an empty checkpoint and compare what it emits."""
    began = time.perf_counter()
    found: list[str] = []
    report: list[str] = []
    with scenario_folder() as folder:
        emitted = ScenarioRun(spark, scenario, folder).run()
        if scenario.expect is not None:
            found = differences(scenario.expect, emitted, ordered=scenario.ordered)
        if found:
            report = list(_report(scenario, emitted, found, folder))
    return CheckedScenario(
        emitted=emitted,
        expects=scenario.expect is not None,
        found=found,
        report=report,
        seconds=time.perf_counter() - began,
    )


def _report(
    scenario: Scenario, emitted: Mapping[str, Any], found: Sequence[str], folder: Path
) -> Iterator[str]:
    came = {batch["id"]: batch for batch in emitted.get("batches") or []}
    wanted = {batch["id"]: batch for batch in (scenario.expect or {}).get("batches") or []}
    wrong = _first_wrong_batch(found)
    step = came.get(wrong, wanted.get(wrong, {})).get("step")
    if step is None:
        step = emitted.get("error", {}).get("step")
    yield from arrowed(list(map(_step_text, scenario.steps)), step)
    rows_differ = {line.split(":")[0].split(" row")[0] for line in found if _is_of_rows(line)}
    for number in sorted(came.keys() | wanted.keys()):
        if f"batch {number}" in rows_differ:
            yield f"batch {number}:"
            sides = [list(side.get(number, {}).get("rows") or []) for side in (wanted, came)]
            yield from (f"  {line}" for line in side_by_side(*sides, ordered=scenario.ordered))
    yield from (line for line in found if not _is_of_rows(line))
    version = None if wrong is None or wrong not in came else wrong + 1
    yield from state_text(str(folder / "checkpoint"), version)
    yield from _plan(scenario)


def _is_of_rows(line: str) -> bool:
    return line.startswith("batch ") and any(part in line for part in _OF_ROWS)


def _first_wrong_batch(found: Sequence[str]) -> int | None:
    numbers = (line.split()[1].rstrip(":") for line in found if line.startswith("batch "))
    return next((int(number) for number in numbers), None)


def _step_text(step: Any) -> str:
    if step.restart:
        return "restart"
    rows = {name: len(rows or []) for name, rows in (step.batch or {}).items()}
    counts = ", ".join(f"{count} rows of {name}" for name, count in rows.items())
    return "batch: " + (counts or "no rows") + (", then a crash" if step.crash else "")


def _plan(scenario: Scenario) -> Iterator[str]:
    query = Query.of(scenario, conf=Conf({**SCENARIO_CONF, **scenario.conf}))
    try:
        text = query.explain()
    except StateplanError:
        return  # that it cannot be planned stands above
    yield "plan:"
    yield from (f"  {line}" for line in text.splitlines())
