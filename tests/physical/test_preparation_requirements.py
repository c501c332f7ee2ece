"""Exchanges, sorts, and the check of both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateplan.physical.basic import UnionExec
from stateplan.physical.exchange import (
    ReusedExchangeExec,
    ShuffleExchangeExec,
    SortExec,
    expand_reused_exchanges,
)
from stateplan.physical.plan import SparkPlan
from stateplan.planner.model.errors import InternalError
from stateplan.planner.model.expressions.core import Alias
from stateplan.planner.model.plans.logical import Union
from stateplan.rules.preparation import RULES, check_same_output
from stateplan.rules.preparation.requirements import ensure_requirements, validate_requirements
from stateplan.rules.preparation.state import fill_in_state


def exchanges(plan: SparkPlan) -> list[str]:
    return [e.arguments(25).split(", [plan_id")[0] for e in plan.collect(ShuffleExchangeExec)]


def test_state_by_key_is_hashed_exactly(make) -> None:
    found = exchanges(make.prepared(make.dedup(make.user)))
    hashed = f"hashpartitioning(user#{make.user.expr_id}, 5)"
    assert found == [f"{hashed}, REQUIRED_BY_STATEFUL_OPERATOR"]


def test_without_strict_distribution_it_is_an_ordinary_exchange(make) -> None:
    execution = make.execution(streaming__statefulOperator__useStrictDistribution="false")
    found = exchanges(make.prepared(make.dedup(make.user), execution))
    assert found == [f"hashpartitioning(user#{make.user.expr_id}, 5), ENSURE_REQUIREMENTS"]


def test_a_global_aggregate_goes_to_one_partition(make) -> None:
    assert exchanges(make.prepared(make.counted())) == ["SinglePartition, ENSURE_REQUIREMENTS"]


def test_no_exchange_when_child_is_hashed_on_same_keys(make) -> None:
    plan = make.prepared(make.counted(make.user, child=make.dedup(make.user)))
    assert len(exchanges(plan)) == 1


def test_no_exchange_when_the_key_was_only_renamed(make) -> None:
    renamed = Alias(child=make.user, name="u")
    child = make.project(renamed, child=make.dedup(make.user))
    assert len(exchanges(make.prepared(make.counted(renamed.to_attribute(), child=child)))) == 1


def test_an_exchange_when_the_keys_are_others(make) -> None:
    plan = make.prepared(make.counted(make.user, child=make.dedup(make.user, make.qty)))
    assert len(exchanges(plan)) == 2


def test_no_exchange_to_one_partition_when_there_is_one_anyway(make) -> None:
    execution = make.execution(shuffle__partitions="1")
    plan = make.prepared(make.limit(3, make.dedup(make.user)), execution)
    assert len(exchanges(plan)) == 1


def test_no_exchange_behind_a_union_of_inputs_that_lie_alike(make) -> None:
    inputs = tuple(make.dedup(make.user, child=make.project(make.user)) for _ in range(2))
    both = Union(inputs=inputs)
    plan = make.prepared(make.dedup(both.output[0], child=both))
    assert not isinstance(plan.children[0], ShuffleExchangeExec)


def test_the_same_rows_are_shuffled_once(make) -> None:
    both = Union(inputs=(make.dedup(make.user), make.dedup(make.user)))
    plan = make.prepared(both)
    (reused,) = plan.collect(ReusedExchangeExec)
    assert reused.exchange is plan.collect(ShuffleExchangeExec)[0]
    assert plan.collect(ShuffleExchangeExec) == [reused.exchange]


def test_reuse_can_be_undone_for_a_runtime_without_it(make) -> None:
    other = replace(make.events, attributes=tuple(a.new_instance() for a in make.events.output))
    ours = make.project(make.user, Alias(child=make.qty, name="q"))
    theirs = make.project(other.output[0], Alias(child=other.output[3], name="q"), child=other)
    both = Union(inputs=tuple(make.dedup(*p.output, child=p) for p in (ours, theirs)))
    plan = make.prepared(both)
    assert plan.collect(ReusedExchangeExec)
    expanded = expand_reused_exchanges(plan)
    assert not expanded.collect(ReusedExchangeExec)
    assert validate_requirements(expanded, make.execution()) is expanded
    assert [p.output for p in expanded.children] == [p.output for p in plan.children]
    for node in expanded.walk():
        given = frozenset(a.expr_id for child in node.children for a in child.output)
        if node.children and not isinstance(node, UnionExec):
            assert node.references <= given | node.output_ids


def test_other_rows_are_shuffled_themselves(make) -> None:
    both = Union(inputs=(make.dedup(make.user), make.dedup(make.qty)))
    assert not make.prepared(both).collect(ReusedExchangeExec)


def test_a_sorted_aggregate_is_sorted_also_above_restore_and_save(make) -> None:
    value = Alias(child=make.aggregate("min", make.user), name="v")
    plan = make.prepared(make.grouped((make.qty,), value))
    below = [sort.child.node_name for sort in plan.collect(SortExec)]
    assert below == ["StateStoreSave", "StateStoreRestore", "Exchange", "StreamingRelation"]


def test_sessions_are_shuffled_without_and_sorted_with_the_session(make) -> None:
    session, child = make.session()
    plan = make.prepared(make.counted(session, make.user, child=child))
    assert exchanges(plan)[0].startswith(f"hashpartitioning(user#{make.user.expr_id}, 5)")
    (sort,) = plan.collect(SortExec)
    assert [order.child.name for order in sort.order] == ["user", "session_window"]


def test_a_complete_sort_is_shuffled_by_range(make) -> None:
    logical = make.sort(make.user, child=make.counted(make.user))
    plan = make.prepared(logical, make.execution("complete"))
    assert exchanges(plan)[0].startswith("rangepartitioning(user#")


def test_validation_sees_a_missing_exchange(make) -> None:
    execution = make.execution()
    plan = fill_in_state(make.planned(make.dedup(make.user), execution), execution)
    with pytest.raises(InternalError, match="StreamingDeduplicate: requires"):
        validate_requirements(plan, execution)
    placed = ensure_requirements(plan, execution)
    assert validate_requirements(placed, execution) is placed


def test_a_rule_that_changes_columns_is_caught(make) -> None:
    plan = make.planned(make.events)
    with pytest.raises(InternalError, match="The rule broken changed"):
        check_same_output("broken", plan, make.planned(make.project(make.user)))


IDEMPOTENT = [rule for rule in RULES if rule is not fill_in_state]  # which gives out new ids


@pytest.mark.parametrize("rule", IDEMPOTENT, ids=lambda rule: rule.__name__)
def test_rules_are_idempotent(make, rule) -> None:
    session, child = make.session()
    value = Alias(child=make.aggregate("min", make.user), name="v")
    for logical in (
        make.counted(session, make.user, child=child),
        make.grouped((make.qty,), value, child=make.dedup(make.qty)),
        make.limit(3, make.project(make.user)),
    ):
        execution = make.execution()
        plan = make.prepared(logical, execution)
        assert rule(plan, execution) == plan
