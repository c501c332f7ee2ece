"""Scenarios on our own runtime against what Structured Streaming emitted for them.

The project's own (derive_scenarios.py) run embedded: either restarted before every step or with
another number of tasks, every third one as written. On Spark, which takes ten times as long, those
that the embedded engine refuses run so, and every sixth one as written. The shared corpus of runs
is run too where it stands beside the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stateplan.planner.description import load_scenario
from stateplan.runtime.comparison import differences
from stateplan.runtime.scenario_run import run_scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
OWN = sorted((HERE / "scenarios").glob("*.yaml"))
CORPUS = sorted((HERE.parent.parent / "shared" / "corpus" / "runs").glob("*.yaml"))


HOW: tuple[dict[str, Any], ...] = ({}, {"restart_always": True}, {"tasks": 3})
REFUSED = (
    "aggregates-numbers-complete",
    "collated-columns",
    "collated-distinct",
    "collated-keys",
    "session-lists-merged",
    "session-lists-partitions",
)
"""What the embedded engine does not compute as Spark does."""
IN_ORDER = ("deduplicated-limited", "deduplicated-listed")
"""What shows the order of rows, which is Spark's in one task only."""


def check(spark: SparkSession, path: Path, **how: Any) -> None:
    scenario = load_scenario(path)
    assert scenario.expect is not None
    emitted = run_scenario(spark, scenario, **how)
    assert differences(scenario.expect, emitted, ordered=scenario.ordered) == []


def by_name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize(
    "path", [p for i, p in enumerate(OWN) if i % 6 == 1 or p.stem in REFUSED], ids=by_name
)
def test_scenario(spark: SparkSession, path: Path) -> None:
    check(spark, path)


@pytest.mark.parametrize("path", [p for p in OWN if p.stem in REFUSED], ids=by_name)
def test_scenario_restarted_on_three_tasks(spark: SparkSession, path: Path) -> None:
    check(spark, path, restart_always=True, tasks=3)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("how", "path"),
    [
        (how, p)
        for i, p in enumerate(OWN)
        for how in (HOW[i % 3] if i % 3 < 2 or p.stem not in IN_ORDER else HOW[1],)
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else by_name(value),
)
def test_scenario_on_the_embedded_engine(how: dict[str, Any], path: Path) -> None:
    from stateplan.runtime.engines.embedded_session import session

    if path.stem not in REFUSED:
        check(session(), path, **how)
        return
    emitted = run_scenario(session(), load_scenario(path), **how)
    assert emitted["error"]["condition"] == "STATEPLAN_NOT_EXACT"


def corpus_cases() -> list[Path]:
    return CORPUS


@pytest.mark.parametrize("path", corpus_cases(), ids=by_name)
def test_corpus_scenario(spark: SparkSession, path: Path) -> None:
    check(spark, path)
