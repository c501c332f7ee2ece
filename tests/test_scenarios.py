"""Scenarios on our own runtime against what Structured Streaming emitted for them.

The project's own (derive_scenarios.py) run three ways: as written, restarted before every step, and
with another number of tasks. The shared corpus of runs is run too where it stands beside the
repository.
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


def check(spark: SparkSession, path: Path, **how: Any) -> None:
    scenario = load_scenario(path)
    assert scenario.expect is not None
    emitted = run_scenario(spark, scenario, **how)
    assert differences(scenario.expect, emitted, ordered=scenario.ordered) == []


def by_name(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", OWN, ids=by_name)
def test_scenario(spark: SparkSession, path: Path) -> None:
    check(spark, path)


@pytest.mark.parametrize("path", OWN, ids=by_name)
def test_scenario_restarted_before_every_step(spark: SparkSession, path: Path) -> None:
    check(spark, path, restart_always=True)


@pytest.mark.parametrize("path", OWN, ids=by_name)
def test_scenario_on_three_tasks(spark: SparkSession, path: Path) -> None:
    check(spark, path, tasks=3)


def corpus_cases() -> list[Path]:
    return CORPUS


@pytest.mark.parametrize("path", corpus_cases(), ids=by_name)
def test_corpus_scenario(spark: SparkSession, path: Path) -> None:
    check(spark, path)
