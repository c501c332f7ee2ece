"""The progressions of streaming aggregation."""

from __future__ import annotations

import pytest

from stateplan.physical.aggregate import (
    BaseAggregateExec,
    HashAggregateExec,
    ObjectHashAggregateExec,
    SortAggregateExec,
)
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import Alias, lit
from stateplan.planner.strategies.aggregation import take_apart


def test_progression_of_a_keyed_aggregate(make) -> None:
    plan = make.planned(make.counted(make.user))
    assert (
        make.text(plan)
        == """\
HashAggregate(keys=[user#0], functions=[count(1)])
+- StateStoreSave [user#0], 2
   +- HashAggregate(keys=[user#0], functions=[merge_count(1)])
      +- StateStoreRestore [user#0], 2
         +- HashAggregate(keys=[user#0], functions=[merge_count(1)])
            +- HashAggregate(keys=[user#0], functions=[partial_count(1)])
               +- StreamingRelation FileSource[events], [user#0, ts#1, amount#2, qty#3]"""
    )


def test_progression_of_sessions(make) -> None:
    session, child = make.session()
    plan = make.planned(make.counted(session, make.user, child=child))
    lines = [line.split(" ", 1)[0].lstrip("+- ") for line in make.text(plan).splitlines()]
    names = [node.node_name for node in plan.walk()]
    assert len(lines) == len(names)
    assert names[:5] == [
        "HashAggregate",
        "SessionWindowStateStoreSave",
        "MergingSessions",
        "SessionWindowStateStoreRestore",
        "HashAggregate",
    ]


def test_sessions_merge_in_the_local_partition_if_asked(make) -> None:
    session, child = make.session()
    key = "streaming__sessionWindow__merge__sessions__in__local__partition"
    execution = make.execution(**{key: "true"})
    plan = make.planned(make.counted(session, make.user, child=child), execution)
    merging = [node for node in plan.walk() if node.node_name == "MergingSessions"]
    assert [m.required_keys is None for m in merging] == [False, True]


def test_a_session_without_another_key_is_refused(make) -> None:
    session, child = make.session()
    with pytest.raises(StateplanError) as caught:
        make.planned(make.counted(session, child=child))
    assert caught.value.condition == "_LEGACY_ERROR_TEMP_3068"
    assert caught.value.phase == "planning"


@pytest.mark.parametrize(
    ("function", "column", "kind"),
    [
        ("min", "qty", HashAggregateExec),
        ("min", "user", SortAggregateExec),
        ("collect_list", "qty", ObjectHashAggregateExec),
        ("approx_count_distinct", "user", HashAggregateExec),
    ],
)
def test_operator_by_the_buffers(make, function, column, kind) -> None:
    value = make.aggregate(function, getattr(make, column))
    plan = make.planned(make.grouped((make.qty,), Alias(child=value, name="v")))
    steps = plan.collect(BaseAggregateExec)
    assert {type(step) for step in steps} == {kind}


def test_an_imperative_function_has_no_generated_code(make) -> None:
    value = make.aggregate("approx_count_distinct", make.user)
    plan = make.planned(make.grouped((make.qty,), Alias(child=value, name="v")))
    assert not any(step.supports_codegen for step in plan.collect(BaseAggregateExec))


def test_rows_are_sorted_where_objects_may_not_be_hashed(make) -> None:
    value = make.aggregate("collect_list", make.qty)
    execution = make.execution(execution__useObjectHashAggregateExec="false")
    plan = make.planned(make.grouped((make.user,), Alias(child=value, name="v")), execution)
    assert {type(step) for step in plan.collect(BaseAggregateExec)} == {SortAggregateExec}


def test_each_function_is_computed_once(make) -> None:
    twice = make.call("+", make.count(), make.count())
    parts = take_apart(make.grouped((make.user,), Alias(child=twice, name="n")))
    assert len(parts.aggregates) == 1
    assert len({node.expr_id for node in parts.results[1].child.children}) == 1


def test_functions_with_other_filters_stay_apart(make) -> None:
    condition = make.call(">", make.qty, lit(3))
    both = make.call("+", make.count(), make.aggregate("count", lit(1), where=condition))
    parts = take_apart(make.grouped((make.user,), Alias(child=both, name="n")))
    assert len(parts.aggregates) == 2


def test_filter_stands_on_the_partial_step_only(make) -> None:
    condition = make.call(">", make.qty, lit(3))
    value = make.aggregate("count", lit(1), where=condition)
    plan = make.planned(make.grouped((make.user,), Alias(child=value, name="n")))
    filters = [step.aggregates[0].filter for step in plan.collect(BaseAggregateExec)]
    assert filters == [None, None, None, condition]


def test_double_keys_are_normalised_in_the_partial_step(make) -> None:
    plan = make.planned(make.counted(make.amount))
    partial = plan.collect(BaseAggregateExec)[-1]
    assert make.text(partial).startswith(
        "HashAggregate(keys=[knownfloatingpointnormalized(normalizenanandzero(amount#0)) "
        "AS amount#0]"
    )
    assert partial.output[0].expr_id == make.amount.expr_id


def test_state_format_version_comes_from_the_settings(make) -> None:
    execution = make.execution(streaming__aggregation__stateFormatVersion="1")
    text = make.text(make.planned(make.counted(make.user), execution))
    assert "StateStoreSave [user#0], 1" in text
    assert "StateStoreRestore [user#0], 1" in text
