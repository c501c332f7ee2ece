"""What holds of any plan: rules idempotent, requirements met, texts and JSON faithful."""

from __future__ import annotations

import itertools
import json
import random

import pytest

from stateplan.physical.exchange import ReusedExchangeExec
from stateplan.physical.explain.plan_json import from_json, json_text
from stateplan.physical.explain.stateful import stateful_text
from stateplan.physical.explain.tree import tree_text
from stateplan.physical.plan import StateStoreWriter
from stateplan.planner.model.expressions.core import Alias, to_attribute
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.logical import Filter, Union
from stateplan.planner.model.plans.query_plan import LogicalPlan
from stateplan.rules.preparation import RULES
from stateplan.rules.preparation.codegen import collapse_codegen_stages
from stateplan.rules.preparation.state import for_version


def grown(make, choose: random.Random) -> LogicalPlan:
    """A plan of up to six operators over the stream."""
    plan: LogicalPlan = choose.choice([make.events, make.watermark()])
    for _ in range(choose.randint(1, 6)):
        columns = list(plan.output)
        some = tuple(choose.sample(columns, choose.randint(1, len(columns))))
        match choose.randrange(7):
            case 0:
                plan = make.project(*some, child=plan)
            case 1:
                renamed = tuple(Alias(child=c, name=f"{c.name}_") for c in some)
                plan = make.project(*renamed, child=plan)
            case 2:
                plan = Filter(condition=make.call("isnotnull", some[0]), child=plan)
            case 3:
                plan = make.dedup(*some, child=plan)
            case 4:
                value = make.aggregate(choose.choice(["count", "first", "collect_list"]), some[0])
                keys = tuple(map(to_attribute, some)) if choose.random() < 0.8 else ()
                plan = make.grouped(keys, Alias(child=value, name="v"), child=plan)
            case 5:
                plan = make.limit(choose.randint(1, 5), plan)
            case _:
                plan = Union(inputs=(plan, make.project(*columns, child=plan)))
    return plan


@pytest.mark.parametrize("seed", range(150))
def test_any_plan(make, seed: int) -> None:
    choose = random.Random(seed)
    mode = choose.choice(["append", "update", "complete"])
    settings = {"shuffle__partitions": choose.choice(["1", "5"])}
    if choose.random() < 0.3:
        settings["streaming__statefulOperator__useStrictDistribution"] = "false"
    with id_scope(itertools.count(1000)):
        logical = grown(make, choose)
        plan = make.prepared(logical, make.execution(mode, **settings))  # validates itself
    assert [a.expr_id for a in plan.output] == [a.expr_id for a in logical.output]
    reused = plan.collect(ReusedExchangeExec)
    for rule in RULES[1:]:
        if rule is collapse_codegen_stages and reused:
            continue  # the stages that are not run keep their numbers
        assert rule(plan, make.execution(mode, **settings)) == plan, rule.__name__
    assert from_json(json.loads(json_text(plan))) == plan
    ids = [writer.state_info.operator_id for writer in plan.collect(StateStoreWriter)]
    assert ids == list(range(len(ids)))
    again = for_version(for_version(plan, 9, 5, 6), 3, 1, 2)
    assert again == for_version(plan, 3, 1, 2)
    assert tree_text(again).count("ver = 3") == tree_text(plan).count("ver = 0")
    assert stateful_text(plan).count("evicted:") == len(ids)
