"""Random streams through our runtime and through Structured Streaming itself: the same batches.

A run of the tests takes a few cases. For more of them:

    STATEPLAN_RANDOM_CASES=100 python -m pytest tests/test_runtime_against_spark.py

A case that failed is named by shape and seed; `STATEPLAN_RANDOM_FIRST=<seed>` begins there.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stateplan.planner.description import Scenario
from stateplan.runtime.comparison import differences
from stateplan.runtime.scenario_run import SCENARIO_CONF, run_scenario

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
CASES = int(os.environ.get("STATEPLAN_RANDOM_CASES", "1"))
FIRST = int(os.environ.get("STATEPLAN_RANDOM_FIRST", "0"))


def module(name: str) -> Any:
    """A module of this folder, which is no package."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


streams, live = module("random_streams"), module("derive_scenarios")
tables, joins = module("random_tables"), module("random_joins")


def ours(spark: SparkSession, case: dict[str, Any]) -> Mapping[str, Any]:
    """What our runtime emits."""
    build = case.get("build")
    if build is None:
        return run_scenario(spark, Scenario(**case))
    query = build().query(output_mode=case["output_mode"], conf=SCENARIO_CONF | case["conf"])
    steps = {key: case[key] for key in ("sources", "steps", "conf")}
    return run_scenario(spark, Scenario(sql="", **steps), query=query)


@pytest.mark.parametrize("shape", streams.SHAPES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_random_streams(spark: SparkSession, shape: str, seed: int) -> None:
    case = streams.case(shape, seed, batches=3 if CASES == 1 else 5)
    found = differences(live.derive(spark, case), ours(spark, case))
    what = case.get("sql") or case["title"]
    assert not found, "\n".join([f"{what} | {case['output_mode']} {case['conf']}", *found])


@pytest.mark.parametrize("shape", tables.SHAPES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_random_tables(spark: SparkSession, shape: str, seed: int) -> None:
    batches = 2 if CASES == 1 else 4
    case = tables.case(shape, seed, streams.EVENTS, streams.event, batches)
    python = case.get("python")
    derived = case if python is None else {**case, "native": tables.native(python)}
    found = differences(live.derive(spark, derived), ours(spark, case), ordered="ordered" in case)
    what = python or case["sql"]
    assert not found, "\n".join([f"{what} | {case['output_mode']} {case['conf']}", *found])


@pytest.mark.parametrize("shape", joins.SHAPES)
@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_random_joins(spark: SparkSession, shape: str, seed: int) -> None:
    case = joins.case(shape, seed, batches=2 if CASES == 1 else 4)
    found = differences(live.derive(spark, case), ours(spark, case))
    assert not found, "\n".join([f"{case['sql']} | {case['output_mode']} {case['conf']}", *found])
