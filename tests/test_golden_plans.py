"""Golden plans: what a live Spark said of each description (derive_golden.py), and what we say."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path

import pytest
import yaml
from random_queries.ours import planned

import stateplan
from stateplan.physical.explain.normalise import normalise
from stateplan.physical.explain.plan_json import from_json, json_text
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

HERE = Path(__file__).resolve().parent
GOLDEN = sorted((HERE / "golden").glob("*.yaml"))
IN_OTHER_MODES = sorted((HERE / "golden").glob("*/*.plan"))


# PySpark's advice to users who give a function's kind instead of type hints.
@pytest.mark.filterwarnings("ignore:It is preferred to specify type hints")
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden_plan(path: Path) -> None:
    want = path.with_suffix(".plan").read_text(encoding="utf-8").strip("\n")
    assert planned(yaml.safe_load(path.read_text(encoding="utf-8"))) == want


@pytest.mark.parametrize("path", IN_OTHER_MODES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_golden_plan_in_another_mode(path: Path) -> None:
    description = (HERE / "golden" / path.name).with_suffix(".yaml").read_text(encoding="utf-8")
    query = Query.of(parse_description(yaml.safe_load(description)))
    want = path.read_text(encoding="utf-8").strip("\n")
    assert normalise(query.explain(path.parent.name)).strip("\n") == want


@cache
def plans() -> tuple[tuple[str, Query], ...]:
    """The golden queries that are not refused."""
    found = []
    for path in GOLDEN:
        query = Query.of(parse_description(yaml.safe_load(path.read_text(encoding="utf-8"))))
        with contextlib.suppress(stateplan.StateplanError):
            query.execution.executed_plan  # noqa: B018
            found.append((path.stem, query))
    return tuple(found)


def test_every_golden_plan_comes_back_from_json() -> None:
    found = ((name, query.execution.executed_plan) for name, query in plans())
    assert [n for n, plan in found if from_json(json.loads(json_text(plan))) != plan] == []


@pytest.mark.parametrize(
    "mode", ["extended", "formatted", "cost", "codegen", "stateful", "mermaid", "dot"]
)
def test_every_golden_plan_has_a_text_in_every_mode(mode: str) -> None:
    assert [name for name, query in plans() if not query.explain(mode).strip()] == []


def test_no_golden_plan_is_orphaned() -> None:
    plans = {path.stem for path in (HERE / "golden").glob("*.plan")}
    assert plans == {path.stem for path in GOLDEN}
