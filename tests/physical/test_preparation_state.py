"""Operator ids, state info, watermarks."""

from __future__ import annotations

import pytest

from stateplan.physical.plan import StatefulOperator, StateStoreWriter
from stateplan.physical.state import NO_WATERMARK
from stateplan.planner.model.errors import PlanningError
from stateplan.planner.model.plans.logical import Union
from stateplan.rules.preparation.state import fill_in_state, for_version, propagate_watermarks


def chained(make):
    """A windowed count over deduplicated events."""
    deduplicated = make.dedup(make.user, make.timed, child=make.watermark())
    return make.counted(make.timed, make.user, child=deduplicated)


def test_ids_count_from_the_sink_and_save_shares_with_restore(make) -> None:
    plan = make.prepared(chained(make))
    ids = [(n.node_name, n.state_info.operator_id) for n in plan.collect(StatefulOperator)]
    assert ids == [("StateStoreSave", 0), ("StateStoreRestore", 0), ("StreamingDeduplicate", 1)]


def test_before_a_start_every_watermark_is_the_least_long(make) -> None:
    for node in make.prepared(chained(make)).collect(StatefulOperator):
        assert node.event_time_watermark_for_eviction == NO_WATERMARK
        assert node.event_time_watermark_for_late_events == NO_WATERMARK


def test_for_version_moves_state_and_watermarks_only(make) -> None:
    plan = make.prepared(chained(make))
    later = for_version(plan, 7, 1000, 2000)
    for node in later.collect(StatefulOperator):
        assert node.state_info.version == 7
        assert node.event_time_watermark_for_late_events == 1000
        assert node.event_time_watermark_for_eviction == 2000
    assert [n.node_name for n in later.walk()] == [n.node_name for n in plan.walk()]


def test_the_input_watermark_is_the_least_of_the_children(make, monkeypatch) -> None:
    held_back = make.dedup(make.user, make.timed, child=make.watermark())
    both = Union(inputs=(held_back, make.watermark()))
    plan = make.prepared(make.counted(make.timed, child=both))
    kind = type(plan.collect(StateStoreWriter)[1])
    monkeypatch.setattr(kind, "produce_output_watermark", lambda self, ms: ms - 60)
    assert propagate_watermarks(plan, 1000) == {0: 940, 1: 1000}


def test_without_a_watermark_no_operator_has_one(make) -> None:
    plan = make.prepared(make.dedup(make.user))
    assert propagate_watermarks(plan, 1000) == {0: None}


def test_a_watermark_above_another_one_fails_once_the_watermark_has_moved(make) -> None:
    twice = make.watermark(make.watermark())
    plan = make.prepared(make.counted(make.timed, child=twice))
    assert propagate_watermarks(plan, 0) == {0: 0}
    with pytest.raises(PlanningError, match="Redefining watermark is disallowed") as refused:
        for_version(plan, 1, 0, 1000)
    assert refused.value.condition == "_LEGACY_ERROR_TEMP_3076"
    assert propagate_watermarks(plan, 1000, redefine=True) == {0: 1000}


@pytest.mark.parametrize(
    ("below", "expected"), [(True, "StreamingLocalLimit"), (False, "LocalLimit")]
)
def test_a_local_limit_reads_all_only_above_state(make, below, expected) -> None:
    child = make.dedup(make.user) if below else make.events
    plan = make.prepared(make.limit(3, child))
    assert expected in [node.node_name for node in plan.walk()]


def test_output_mode_and_store_count_are_filled_in(make) -> None:
    execution = make.execution("update")
    plan = fill_in_state(make.planned(make.counted(make.user), execution), execution)
    save = plan.collect(StateStoreWriter)[0]
    assert save.output_mode == "update"
    assert save.num_stores == 5
    assert plan.num_shuffle_partitions == 5
