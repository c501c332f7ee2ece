"""Golden plans: what a live Spark said of each description (derive_golden.py), and what we say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from random_queries.ours import planned

import stateplan
from stateplan.physical.explain.plan_json import from_json, json_text
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

HERE = Path(__file__).resolve().parent
GOLDEN = sorted((HERE / "golden").glob("*.yaml"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_plan(path: Path) -> None:
    want = path.with_suffix(".plan").read_text(encoding="utf-8").strip("\n")
    assert planned(yaml.safe_load(path.read_text(encoding="utf-8"))) == want


def test_every_golden_plan_comes_back_from_json() -> None:
    lost = []
    for path in GOLDEN:
        try:
            query = Query.of(parse_description(yaml.safe_load(path.read_text(encoding="utf-8"))))
            plan = query.execution.executed_plan
        except stateplan.StateplanError:
            continue  # a refusal
        if from_json(json.loads(json_text(plan))) != plan:
            lost.append(path.stem)
    assert not lost


def test_no_golden_plan_is_orphaned() -> None:
    plans = {path.stem for path in (HERE / "golden").glob("*.plan")}
    assert plans == {path.stem for path in GOLDEN}
