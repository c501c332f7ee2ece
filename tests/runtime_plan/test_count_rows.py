"""The rows of each source are counted once: by the source, by its watermark, or by a node."""

from __future__ import annotations

import pytest

from runtime_plan.small import TS, A, as_is, call, relation, select, source, text, tree
from stateplan.physical.basic import UnionExec
from stateplan.physical.stateful import StreamingGlobalLimitExec
from stateplan.planner.model.expressions.core import lit
from stateplan.planner.model.tree import replace
from stateplan.runtime.plan import BatchFacts, RuntimeNode
from stateplan.runtime.plan.nodes import PassingLimit
from stateplan.runtime.plan.observing_nodes import CountRows, ObserveEventTime
from stateplan.runtime.plan.passes.count_rows import count_rows, counted_by_watermarks
from stateplan.runtime.plan.specs import LimitSpec


def observed(child: RuntimeNode, node_id: str = "w") -> ObserveEventTime:
    return ObserveEventTime(child=child, event_time=TS, node_id=node_id)


def counted(plan: RuntimeNode, facts: BatchFacts) -> list[str]:
    """The sources that a node counts."""
    after = count_rows(plan, facts)
    assert count_rows(after, facts) is after
    return [node.source for node in after.collect(CountRows)]


def test_a_source_that_nothing_counts() -> None:
    plan = select(source(A, TS), A)
    assert text(count_rows(plan, BatchFacts())) == tree("""
        Select [a#0]
        +- CountRows events
           +- ReadSource events [a#0, ts#1]
    """)


def test_a_source_that_knows_its_rows_is_not_counted() -> None:
    facts = BatchFacts(source_rows={"events": 7})
    plan = source(A)
    assert count_rows(plan, facts) is plan


def test_a_watermark_counts_the_rows_of_its_source() -> None:
    plan = observed(select(source(A, TS), TS))
    assert counted(plan, BatchFacts()) == []
    assert counted_by_watermarks(plan) == [("events", "w")]


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(
            observed(select(source(A, TS), TS, where=[call(">", A, lit(0))])),
            id="a filter drops rows below the watermark",
        ),
        pytest.param(
            observed(
                as_is(
                    UnionExec(inputs=(relation(TS), relation(TS)), attributes=(TS,)),
                    source(TS),
                    source(TS),
                )
            ),
            id="a union makes rows below the watermark",
        ),
    ],
)
def test_a_watermark_that_sees_other_rows_counts_none(plan: RuntimeNode) -> None:
    assert set(counted(plan, BatchFacts())) == {"events"}
    assert counted_by_watermarks(plan) == []


def test_a_source_that_is_read_twice_is_counted_twice() -> None:
    sides = (observed(source(TS), "w"), observed(source(TS), "v"))
    plan = as_is(UnionExec(inputs=(relation(TS), relation(TS)), attributes=(TS,)), *sides)
    assert counted(plan, BatchFacts()) == ["events", "events"]


def test_a_limit_that_counts_asks_for_all_rows_of_its_source() -> None:
    limit = PassingLimit(
        child=select(source(A), A, where=[call(">", A, lit(0))]),
        operator=StreamingGlobalLimitExec(child=relation(A), limit=9),
        spec=LimitSpec(rows=(), limit=9),
        rows=None,
        passes=True,
        counted=True,
    )
    facts = BatchFacts(source_rows={"events": 7})
    assert counted(limit, facts) == ["events"]
    assert counted(replace(limit, rows=7), facts) == []
