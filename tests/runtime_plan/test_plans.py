"""The whole runtime plans of queries, on both engines; and what holds for all of them."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from typing import Any

import pytest
import yaml_files
from golden_cases import goldens

import stateplan
from runtime_plan.queries import ALL_EXACT, CASES, STORES, WATERMARK, executed, planned, plans_of
from stateplan.physical.plan import SparkPlan
from stateplan.planner.description import parse_description
from stateplan.planner.model.errors import InternalError
from stateplan.planner.query import Query
from stateplan.runtime.plan import SPARK, BatchFacts, EngineFacts, RuntimePlan, runtime_plan
from stateplan.runtime.plan.nodes import Kernel, ReadSource, RuntimeNode, Select
from stateplan.runtime.plan.passes import PASSES
from stateplan.runtime.plan.printing import runtime_json, runtime_text

LOADED = [case for path in CASES for case in yaml_files.load(path)]


@pytest.mark.parametrize("case", LOADED, ids=lambda case: case["id"])
def test_runtime_plan(case: dict[str, Any]) -> None:
    # `python tests/derive_runtime_plans.py` writes them anew.
    assert plans_of(case) == {name: case[name] for name in ("spark", "embedded")}


@cache
def golden() -> tuple[tuple[str, SparkPlan], ...]:
    """The executed plans of every other golden query that can be planned."""
    accepted = [case for case in goldens() if not case.is_refused]
    queries = [(case.name, Query.of(parse_description(case.description))) for case in accepted[::2]]
    return tuple((name, query.execution.executed_plan) for name, query in queries)


@cache
def plans(engine: EngineFacts) -> tuple[tuple[str, RuntimePlan], ...]:
    """The runtime plans of the golden queries that can be run."""
    found = []
    for name, plan in golden():
        with contextlib.suppress(stateplan.StateplanError):
            found.append((name, runtime_plan(plan, BatchFacts(engine=engine))))
    return tuple(found)


@pytest.mark.filterwarnings("ignore:It is preferred to specify type hints")
@pytest.mark.parametrize("engine", [SPARK, ALL_EXACT], ids=lambda engine: engine.name)
def test_every_pass_is_idempotent(engine: EngineFacts) -> None:
    found = plans(engine)
    assert len(found) > 100
    for name, plan in found:
        for one in PASSES:
            assert one(plan.root, plan.facts) is plan.root, f"{one.__name__} changes {name} again"


@pytest.mark.parametrize("engine", [SPARK, ALL_EXACT], ids=lambda engine: engine.name)
def test_every_column_comes_from_below(engine: EngineFacts) -> None:
    for name, plan in plans(engine):
        for node in plan.nodes:
            below = {a.expr_id for child in node.children for a in child.output}
            if isinstance(node, Select):
                used = set().union(*(e.references for e in node.expressions))
                assert used <= below, f"{name}: {sorted(used - below)}"
            if isinstance(node, Kernel):
                # Place and hash, if they are there, come first; where a row was read comes last.
                taken = [part.expr_id for column in node.taken for part in column.parts]
                rows = [a.expr_id for child in node.inputs for a in child.output]
                assert rows[2 * node.placed :][: len(taken)] == taken, name


def test_a_plan_is_a_function_of_the_query_and_the_facts() -> None:
    sql = f"SELECT user, window(ts, '1 minute') AS w, count(*) AS n FROM {WATERMARK} GROUP BY 1, 2"
    plan, facts = executed(sql), BatchFacts(conf=STORES)
    assert runtime_json(runtime_plan(plan, facts)) == runtime_json(runtime_plan(plan, facts))


def test_a_pass_that_changes_the_output_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from stateplan.runtime.plan import make

    def halve(plan: RuntimeNode, facts: BatchFacts) -> RuntimeNode:
        return Select(child=plan, columns=plan.output[:1])

    monkeypatch.setattr(make, "PASSES", (halve,))
    with pytest.raises(InternalError, match="halve changes the output"):
        planned("SELECT user, qty FROM STREAM events")


def test_json_holds_the_tree() -> None:
    sql = "SELECT user, qty + 1 AS q FROM STREAM events WHERE user = (SELECT max(user) FROM users)"
    plan = planned(sql)
    found = json.loads(runtime_json(plan))
    assert (found["version"], found["engine"]) == (1, "spark")
    assert list(found["subqueries"]) == list(plan.subqueries)
    assert len(plan.subqueries) == 1
    assert found["plan"]["node"] == "Select"
    assert [c["name"] for c in found["plan"]["output"]] == ["user", "q"]
    leaf = found["plan"]["children"][0]["children"][0]
    assert leaf["node"] == "ReadSource" and leaf["children"] == []
    (source,) = plan.root.collect(ReadSource)
    assert [c["id"] for c in leaf["output"]] == [a.expr_id for a in source.output]


def test_the_text_says_what_runs_it() -> None:
    plan = planned("SELECT user FROM STREAM events", engine=ALL_EXACT)
    assert runtime_text(plan).splitlines()[0] == "== Runtime Plan (embedded) =="
