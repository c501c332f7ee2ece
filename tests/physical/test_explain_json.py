"""Plans as JSON and back."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pytest

from stateplan.physical.distribution import Distribution, Partitioning
from stateplan.physical.explain.plan_json import VERSION, from_json, json_text, to_json
from stateplan.physical.explain.plan_nodes import NAMES
from stateplan.physical.plan import SparkPlan
from stateplan.planner.description import parse_description
from stateplan.planner.model.errors import DescriptionError
from stateplan.planner.model.expressions.core import Alias, Literal, lit
from stateplan.planner.model.plans.logical import Union
from stateplan.planner.model.schemas.types import BINARY, DOUBLE, DataType, DecimalType
from stateplan.planner.query import Query


def plans(make):
    session, child = make.session()
    yield make.counted(session, make.user, child=child)
    yield make.limit(3, make.dedup(make.user))
    yield Union(inputs=(make.dedup(make.user), make.dedup(make.user)))
    yield make.grouped((make.amount,), Alias(child=make.aggregate("min", make.user), name="v"))


def test_a_plan_comes_back_equal(make) -> None:
    for logical in plans(make):
        plan = make.prepared(logical)
        text = json_text(plan)
        again = from_json(json.loads(text))
        assert again == plan
        assert json_text(again) == text


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /*+ COALESCE(2) */ i FROM STREAM stats",
        "SELECT /*+ REPARTITION(3, i) */ i FROM STREAM stats",
        "SELECT /*+ REBALANCE */ i FROM STREAM stats",
        "SELECT i FROM STREAM stats JOIN (SELECT i, rank() OVER (ORDER BY j) FROM hosts) USING (i)",
        "SELECT (SELECT max(i) FROM hosts) FROM STREAM stats WHERE j < (SELECT max(i) FROM hosts)",
        "SELECT i FROM STREAM stats JOIN (SELECT i FROM hosts TABLESAMPLE (1 PERCENT)) USING (i)",
    ],
)
def test_operators_of_every_family_come_back(sql) -> None:
    rows = {"schema": "i INT, j INT"}
    query = {"sql": sql, "sources": {"stats": rows, "hosts": {**rows, "static": True}}}
    plan = Query.of(parse_description(query)).execution.executed_plan
    assert from_json(json.loads(json_text(plan))) == plan


@pytest.mark.parametrize(
    ("value", "data_type"),
    [
        (math.nan, DOUBLE),
        (-0.0, DOUBLE),
        (-math.inf, DOUBLE),
        (Decimal("1.20"), DecimalType(3, 2)),
        (b"\x00\xff", BINARY),
    ],
)
def test_values_without_a_json_form_come_back(make, value, data_type) -> None:
    literal = Literal(value=value, type_=data_type)
    plan = make.planned(make.project(Alias(child=literal, name="v")))
    assert from_json(json.loads(json_text(plan))) == plan


def test_the_schema_is_versioned(make) -> None:
    document = to_json(make.planned(make.events))
    assert document["version"] == VERSION == 1
    assert document["plan"]["node"] == "StreamingRelationExec"


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ([], "it has no plan"),
        ({"version": 2, "plan": {}}, "its version is 2"),
        ({"version": 1, "plan": {"node": "Popen"}}, "unknown node 'Popen'"),
        ({"version": 1, "plan": {"node": "RDDScanExec", "x": 1}}, "has other fields"),
        ({"version": 1, "plan": {"value": "code", "text": "x"}}, "unknown kind 'code'"),
        ({"version": 1, "plan": {"node": "IntegerType"}}, "its root is no physical operator"),
    ],
)
def test_an_unusable_document_is_refused(document, reason) -> None:
    with pytest.raises(DescriptionError, match="cannot be read") as caught:
        from_json(document)
    assert reason in caught.value.message


def test_numbers_and_truth_values_stay_apart(make) -> None:
    one = make.planned(make.project(Alias(child=lit(1), name="v")))
    true = make.planned(make.project(Alias(child=lit(True), name="v")))
    assert json_text(one) != json_text(true)


@pytest.mark.parametrize("base", [SparkPlan, Distribution, Partitioning, DataType])
def test_every_class_has_a_name_in_json(base: type) -> None:
    def leaves(kind: type) -> set[type]:
        below = set().union(*(leaves(each) for each in kind.__subclasses__()))
        return below or {kind}

    ours = {kind for kind in leaves(base) if kind.__module__.startswith("stateplan.")}
    assert ours and ours <= set(NAMES)


def test_names_in_json_do_not_follow_the_classes(make) -> None:
    plan = make.planned(make.project(Alias(child=lit(1), name="v")))
    before, kind, name = json_text(plan), type(plan), type(plan).__name__
    try:
        kind.__name__ = "Renamed"
        assert json_text(plan) == before
        assert from_json(json.loads(before)) == plan
    finally:
        kind.__name__ = name
