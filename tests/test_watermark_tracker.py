"""The global watermark over batches, policies and restarts."""

from __future__ import annotations

import pytest

from stateplan.physical.basic import EventTimeWatermarkExec, StreamingRelationExec
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.types import TIMESTAMP
from stateplan.runtime.engines.context import EventTimeStats, furthest
from stateplan.runtime.watermark import WatermarkTracker


def operator(node_id: str, delay_ms: int) -> EventTimeWatermarkExec:
    ts = AttributeReference(name="ts", type_=TIMESTAMP)
    relation = StreamingRelationExec(name="events", format="json", attributes=(ts,))
    return EventTimeWatermarkExec(
        child=relation,
        event_time=ts,
        delay=(0, 0, delay_ms * 1000),
        delay_text="",
        delay_ms=delay_ms,
        node_id=node_id,
        attributes=(ts,),
    )


def saw(max_ms: int) -> EventTimeStats:
    return EventTimeStats(max_ms=max_ms, min_ms=max_ms, avg_ms=max_ms, count=1)


A, B = operator("a", 100), operator("b", 0)


def test_it_starts_at_1970_and_never_goes_back() -> None:
    tracker = WatermarkTracker()
    assert tracker.current_ms == 0
    assert tracker.update([A], {"a": saw(50)}) == 0
    assert tracker.update([A], {"a": saw(1100)}) == 1000
    assert tracker.update([A], {"a": saw(600)}) == 1000
    assert tracker.update([A], {"a": None}) == 1000


@pytest.mark.parametrize(("policy", "first", "both"), [("min", 0, 900), ("max", 1000, 1000)])
def test_two_operators_by_policy(policy: str, first: int, both: int) -> None:
    tracker = WatermarkTracker(policy)
    assert tracker.update([A, B], {"a": saw(1100), "b": None}) == first
    assert tracker.update([A, B], {"b": saw(900)}) == both


@pytest.mark.parametrize(("policy", "moved"), [("min", 0), ("max", 1000)])
def test_an_operator_that_the_optimizer_removes_counts(policy: str, moved: int) -> None:
    assert WatermarkTracker(policy, ["a", "b"]).update([A], {"a": saw(1100)}) == moved


def test_a_restart_keeps_the_global_one_and_forgets_each_operators_own() -> None:
    tracker = WatermarkTracker()
    tracker.restore(900)
    assert tracker.update([A, B], {"b": saw(5000)}) == 900
    assert tracker.update([A, B], {"a": saw(2100)}) == 2000


def test_no_watermark_operator_moves_nothing() -> None:
    tracker = WatermarkTracker()
    tracker.restore(5)
    assert tracker.update([], {}) == 5


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(StateplanError, match="must be min or max"):
        WatermarkTracker("average")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_of_an_operator_that_stands_twice_the_later_time_counts(order: tuple[int, ...]) -> None:
    seen = [("a", None), ("a", saw(1100)), ("a", saw(900))]
    assert furthest(*(seen[i] for i in order), ("b", None)) == {"a": saw(1100), "b": None}
