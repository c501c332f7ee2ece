"""Our own view of state: what evicts it, or why nothing does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateplan.physical.explain.stateful import stateful_text
from stateplan.planner.model.expressions.core import Origin


def facts(make, logical, mode="append") -> dict[str, str]:
    """The first operator's facts by label."""
    text = stateful_text(make.prepared(logical, make.execution(mode)))
    block = text.split("\n\n")[0].splitlines()[2:]
    return {line.split(":", 1)[0].strip(): line.split(":", 1)[1].strip() for line in block}


def test_a_query_without_state_says_so(make) -> None:
    text = stateful_text(make.prepared(make.project(make.user)))
    assert text == "== Stateful Operators ==\nNone: the query keeps no state."


def test_a_windowed_aggregate(make) -> None:
    logical = make.counted(make.timed, make.user, child=make.watermark())
    assert facts(make, logical) == {
        "does": "keeps the aggregates of each group",
        "keyed on": "ts, user",
        "state key": "ts timestamp, user string",
        "state value": "count bigint",
        "watermark": "the latest ts less 10 minutes",
        "late rows": "dropped where ts is at or below the watermark of the batch before",
        "evicted": "once ts is at or below the watermark; the group is emitted then; "
        "null times stay",
        "stores": "5, a row's by the hash of ts, user",
    }


def test_a_window_is_compared_by_its_end(make) -> None:
    column, child = make.window()
    found = facts(make, make.counted(column, child=child))
    assert found["evicted"].startswith("once window.end is at or below the watermark")


@pytest.mark.parametrize(
    ("mode", "watermark", "reason"),
    [
        ("complete", True, "never: complete mode shows every group again in each batch"),
        ("update", False, "never: the query has no watermark"),
        (
            "update",
            True,
            "never: the event time ts is not among the keys: group by it, or by a window of it",
        ),
    ],
)
def test_why_a_group_never_leaves(make, mode, watermark, reason) -> None:
    child = make.watermark() if watermark else make.events
    assert facts(make, make.counted(make.user, child=child), mode)["evicted"] == reason


def test_why_a_global_aggregate_never_leaves(make) -> None:
    found = facts(make, make.counted(), "update")
    assert found["evicted"] == "never: the one group is always needed"
    assert found["stores"] == "5, of which only store 0 is used"


def test_why_deduplication_never_forgets(make) -> None:
    found = facts(make, make.dedup(make.user, child=make.watermark()))
    assert found["evicted"] == (
        "never: the event time ts is not among the keys: deduplicate by it too, or within the "
        "watermark"
    )
    assert found["late rows"].startswith("dropped where ts is at or below")


def test_deduplication_within_the_watermark(make) -> None:
    logical = replace(make.dedup(make.user, child=make.watermark()), within_watermark=True)
    assert facts(make, logical)["evicted"].startswith("once the first row's ts plus 10 minutes")


def test_sessions(make) -> None:
    session, child = make.session()
    found = facts(make, make.counted(session, make.user, child=child))
    assert found["state key"] == "user string, sessionStartTime timestamp"
    assert found["evicted"] == "once session_window.end is at or below the watermark; emitted then"


def test_a_limit_counts_for_ever(make) -> None:
    found = facts(make, make.limit(3, make.events))
    assert found["evicted"] == "never: the one count holds for the life of the query"
    assert found["does"] == "counts the rows let through so far, 3 at most"


def test_the_place_in_the_query(make) -> None:
    source = "SELECT user, count(*)\nFROM STREAM events GROUP BY user"
    origin = Origin(line=2, position=19, start=41, stop=53, source=source)
    logical = replace(make.counted(make.user), origin=origin)
    assert facts(make, logical, "update")["from"] == "line 2, position 19: GROUP BY user"


def test_operators_come_in_the_order_of_their_ids(make) -> None:
    logical = make.counted(make.user, child=make.dedup(make.user))
    text = stateful_text(make.prepared(logical, make.execution("complete")))
    heads = [block.splitlines()[0] for block in text.split("\n\n")]
    assert heads[1] == "(1) StreamingDeduplicate (dedupe), complete mode"
    assert "(0) StateStoreSave (stateStoreSave), complete mode" in text
