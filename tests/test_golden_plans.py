"""Golden plans: what a live Spark said of each query (derive_golden.py), and what we say."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from golden_cases import FOLDER, Golden, goldens, read, write
from random_queries.ours import planned

from stateplan.physical.explain.plan_json import from_json, json_text
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

# PySpark's advice to users who give a function's kind instead of type hints.
pytestmark = pytest.mark.filterwarnings("ignore:It is preferred to specify type hints")
IN_OTHER_MODES = [(case, mode) for case in goldens() for mode in case.plans if mode != "simple"]


@pytest.mark.parametrize("case", goldens(), ids=lambda case: case.name)
def test_golden_plan(case: Golden) -> None:
    assert planned(case.description) == case.plans["simple"]


@pytest.mark.parametrize(("case", "mode"), IN_OTHER_MODES, ids=lambda value: str(value))
def test_golden_plan_in_another_mode(case: Golden, mode: str) -> None:
    assert planned(case.description, mode) == case.plans[mode]


@cache
def plans() -> tuple[tuple[str, Query], ...]:
    """The golden queries that are not refused."""
    found = []
    for case in goldens():
        if not case.is_refused:
            query = Query.of(parse_description(case.description))
            query.execution.executed_plan  # noqa: B018
            found.append((case.name, query))
    return tuple(found)


def test_every_golden_plan_comes_back_from_json() -> None:
    found = ((name, query.execution.executed_plan) for name, query in plans())
    assert [n for n, plan in found if from_json(json.loads(json_text(plan))) != plan] == []


@pytest.mark.parametrize(
    "mode", ["extended", "formatted", "cost", "codegen", "stateful", "mermaid", "dot"]
)
def test_every_golden_plan_has_a_text_in_every_mode(mode: str) -> None:
    assert [name for name, query in plans() if not query.explain(mode).strip()] == []


def test_every_golden_query_has_a_name_and_a_plan() -> None:
    names = [case.name for case in goldens()]
    assert len(set(names)) == len(names)
    assert [case.name for case in goldens() if not case.plans["simple"]] == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yaml")), ids=lambda path: path.stem)
def test_files_are_as_they_would_be_written(path: Path, tmp_path: Path) -> None:
    again = tmp_path / path.name
    again.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    write(again, {case.name: case.plans for case in read(path)})
    assert again.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")


def test_other_plans_are_written_in_their_places(tmp_path: Path) -> None:
    file = tmp_path / "topic.yaml"
    file.write_text(
        "- id: a\n  sql: |\n    SELECT 1\n\n- id: b\n  sql: SELECT 2\n  plan: |\n    old\n"
    )
    write(file, {"a": {"simple": " one\n\ntwo"}, "b": {"simple": "x\x01", "cost": "c"}})
    first, second = read(file)
    assert (first.plans, second.plans) == (
        {"simple": " one\n\ntwo"},
        {"simple": "x\x01", "cost": "c"},
    )
    assert (first.description, second.description) == (
        {"id": "a", "sql": "SELECT 1\n"},
        {"id": "b", "sql": "SELECT 2"},
    )
