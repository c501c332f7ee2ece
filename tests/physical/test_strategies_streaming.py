"""Limits, deduplication and the operators without state."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateplan.physical.streaming_join import StreamingSymmetricHashJoinExec
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import lit
from stateplan.planner.model.plans.logical import Filter, Join, Offset, Union


def names(plan) -> list[str]:
    return [node.node_name for node in plan.walk()]


def test_limit_in_append_mode_counts_over_batches(make) -> None:
    plan = make.planned(make.limit(3, make.events))
    assert names(plan) == ["StreamingGlobalLimit", "StreamingLocalLimit", "StreamingRelation"]


def test_limit_over_an_aggregate_in_complete_mode_collects(make) -> None:
    plan = make.planned(make.limit(3, make.counted(make.user)), make.execution("complete"))
    assert names(plan)[0] == "CollectLimit"


def test_limit_below_an_aggregate_in_complete_mode_counts_over_batches(make) -> None:
    logical = make.counted(make.user, child=make.limit(3, make.events))
    plan = make.planned(logical, make.execution("complete"))
    assert "StreamingGlobalLimit" in names(plan)


def test_inner_limit_of_a_batch_stays_a_plain_limit(make) -> None:
    inner = make.limit(3, make.counted(make.user))
    condition = make.call(">", inner.output[1], lit(1))
    logical = Filter(condition=condition, child=inner)
    plan = make.planned(logical, make.execution("complete"))
    assert names(plan)[:3] == ["Filter", "GlobalLimit", "LocalLimit"]


def test_sorted_limit_takes_the_top_rows(make) -> None:
    counted = make.counted(make.user)
    logical = make.limit(3, make.sort(make.user, child=counted))
    plan = make.planned(logical, make.execution("complete"))
    assert make.text(plan).splitlines()[0] == (
        "TakeOrderedAndProject(limit=3, orderBy=[user#0 ASC NULLS FIRST], output=[user#0,n#1L])"
    )


def test_sorted_limit_takes_a_projection_along(make) -> None:
    ordered = make.sort(make.user, child=make.counted(make.user))
    logical = make.limit(3, make.project(make.user, child=ordered))
    plan = make.planned(logical, make.execution("complete"))
    assert names(plan)[:2] == ["TakeOrderedAndProject", "HashAggregate"]
    assert [a.name for a in plan.output] == ["user"]


def test_deduplication(make) -> None:
    plan = make.planned(make.dedup(make.user, make.timed, child=make.watermark()))
    assert (
        make.text(plan)
        == """\
StreamingDeduplicate [user#0, ts#1-T600000ms]
+- EventTimeWatermark node, ts#1: timestamp, 10 minutes
   +- StreamingRelation FileSource[events], [user#0, ts#1, amount#2, qty#3]"""
    )


def two_streams(make):
    """Two streams and a column of each."""
    other = make.user.new_instance()
    return make.events, replace(make.events, name="more", attributes=(other,)), make.user, other


def test_join_of_two_streams_by_their_equal_keys(make) -> None:
    left, right, one, other = two_streams(make)
    join = Join(left=left, right=right, join_type="Inner", condition=make.call("=", other, one))
    planned = make.planned(join)
    assert isinstance(planned, StreamingSymmetricHashJoinExec)
    assert (planned.left_keys, planned.right_keys, planned.condition) == ((one,), (other,), None)


def test_join_without_an_equality_is_refused_as_in_spark(make) -> None:
    left, right, one, other = two_streams(make)
    join = Join(left=left, right=right, join_type="Inner", condition=make.call(">", one, other))
    with pytest.raises(StateplanError) as caught:
        make.planned(join)
    assert caught.value.condition == "_LEGACY_ERROR_TEMP_1181"
    assert caught.value.tree.startswith("~Join Inner")


def test_an_unknown_operator_is_named(make) -> None:
    with pytest.raises(StateplanError) as caught:
        make.planned(Offset(offset=lit(1), child=make.events))
    assert caught.value.phase == "planning"
    assert "Offset" in caught.value.message


def test_union_keeps_the_order_of_its_inputs(make) -> None:
    plan = make.planned(Union(inputs=(make.project(make.user), make.project(make.qty))))
    assert [a.name for a in plan.output] == ["user"]
    assert names(plan) == ["Union", *["Project", "StreamingRelation"] * 2]
