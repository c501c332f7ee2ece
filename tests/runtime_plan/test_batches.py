"""The plan of a batch is what it would be if nothing were known of the batches before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from golden_cases import goldens

import stateplan
from runtime_plan.queries import ALL_EXACT, STORES, WATERMARK, executed
from stateplan.planner.description import parse_description
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.schemas.types import STRING
from stateplan.planner.query import Query
from stateplan.runtime.batch_time import with_batch_time
from stateplan.runtime.plan import (
    SPARK,
    BatchFacts,
    EngineFacts,
    RuntimePlan,
    RuntimePlans,
    runtime_json,
    runtime_plan,
)
from stateplan.runtime.plan import batches as module
from stateplan.runtime.plan.facts import FEW, GROUPS, MANY, RECEIVED, STATE_ROWS, Figures
from stateplan.runtime.plan.nodes import Kernel, PassingLimit

COUNTED = f"SELECT user, window(ts, '1 minute') AS w, count(*) AS n FROM {WATERMARK} GROUP BY 1, 2"


@pytest.fixture
def planned_anew(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is planned as if it were the first batch."""
    found: list[Any] = []

    def watched(*arguments: Any) -> Any:
        found.append(arguments)
        return runtime_plan(*arguments)

    monkeypatch.setattr(module, "runtime_plan", watched)
    return found


def everything_of(plan: RuntimePlan) -> tuple[Any, ...]:
    """All of a plan: what is printed, and what the kernels that run take from the operators."""
    kernels = [node for node in plan.nodes if isinstance(node, Kernel | PassingLimit)]
    return runtime_json(plan), [node.operator for node in kernels], plan.facts


@pytest.mark.filterwarnings("ignore:It is preferred to specify type hints")
@pytest.mark.parametrize("engine", [SPARK, ALL_EXACT], ids=lambda engine: engine.name)
def test_batches_of_golden_queries(engine: EngineFacts, planned_anew: list[Any]) -> None:
    accepted = [case for case in goldens() if not case.is_refused]
    seen = 0
    for case in accepted[::3]:
        execution = Query.of(parse_description(case.description)).execution
        assert isinstance(execution, IncrementalExecution)
        times = [(1, 0, 0), (2, 0, 7_000), (3, 7_000, 95_000)]
        batches = RuntimePlans()
        try:
            plans = [with_batch_time(execution.for_batch(*time), 1_000 * time[0]) for time in times]
            fresh = [
                runtime_plan(plan, BatchFacts(conf=execution.conf, engine=engine, batch_id=number))
                for number, plan in enumerate(plans, 1)
            ]
        except stateplan.StateplanError:
            continue
        for plan, one in zip(plans, fresh, strict=True):
            assert everything_of(batches.of(plan, one.facts)) == everything_of(one), case.name
            seen += 1
    assert len(planned_anew) < 0.4 * seen  # but for those that ask for the time, one of three


FEW_KEYS = Figures.of({RECEIVED: MANY, GROUPS: MANY // 100})
MUCH_STATE = Figures.of({STATE_ROWS: FEW + 1})


@pytest.mark.parametrize(
    ("changes", "anew"),
    [
        ({"batch_id": 9}, False),
        ({"source_rows": {"events": 7}}, False),
        ({"figures": {0: Figures.of({RECEIVED: 3, GROUPS: 1, STATE_ROWS: 4})}}, False),
        ({"batch_id": 0}, True),
        ({"source_rows": {}}, True),
        ({"tasks": 2}, True),
        ({"deals_out": False}, True),
        ({"figures": {0: FEW_KEYS}}, True),
        ({"figures": {0: MUCH_STATE}}, True),
        ({"files": {"events": {"user": STRING}}}, True),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_what_a_plan_is_made_anew_for(
    changes: dict[str, Any], anew: bool, planned_anew: list[Any]
) -> None:
    facts = BatchFacts(conf=STORES, batch_id=4, source_rows={"events": 3}, figures={0: Figures()})
    batches, plan = RuntimePlans(), executed(COUNTED)
    first = batches.of(plan, facts)
    second = batches.of(plan, replace(facts, **changes))
    assert len(planned_anew) == 1 + anew
    assert anew or second.root == first.root


def test_a_limit_goes_by_the_rows(planned_anew: list[Any]) -> None:
    batches = RuntimePlans()
    plan = executed("SELECT user FROM STREAM events LIMIT 10")
    for rows, passed in ((3, 0), (3, 3), (9, 6)):
        facts = BatchFacts(conf=STORES, source_rows={"events": rows}, passed={0: passed})
        assert everything_of(batches.of(plan, facts)) == everything_of(runtime_plan(plan, facts))
    assert len(planned_anew) == 3
