"""Joins in formatted plans, and tables read in batches of columns, as a live Spark shows them."""

from __future__ import annotations

import pytest

from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

SOURCES = {
    "events": {"schema": "user STRING, n INT"},
    "clicks": {"schema": "user STRING, m INT"},
    "users": {"schema": "user STRING, since INT", "static": True, "format": "parquet"},
}


def explained(sql: str, mode: str, output_mode: str = "append") -> str:
    description = {"sql": sql, "sources": SOURCES, "output_mode": output_mode}
    return Query.of(parse_description(description)).explain(mode)


def test_a_stream_join_shows_both_sides() -> None:
    sql = "SELECT * FROM STREAM events e JOIN STREAM clicks c ON e.user = c.user"
    block = explained(sql, "formatted").split("StreamingSymmetricHashJoin\n", 1)[1]
    assert block.splitlines()[:2] == [
        "Left output [2]: [user#0, n#1]",
        "Right output [2]: [user#2, m#3]",
    ]


@pytest.mark.parametrize(
    ("hint", "outline"),
    [
        ("BROADCAST", "BroadcastHashJoin LeftOuter BuildRight ("),
        ("MERGE", "SortMergeJoin LeftOuter ("),
        ("SHUFFLE_HASH", "ShuffledHashJoin LeftOuter BuildRight ("),
    ],
)
def test_a_join_says_its_kind_in_the_tree_and_its_keys_below(hint: str, outline: str) -> None:
    text = explained(
        f"SELECT /*+ {hint}(u) */ * FROM STREAM events e"
        " LEFT JOIN users u ON e.user = u.user AND n > since",
        "formatted",
    )
    assert outline in text
    name = outline.split()[0]
    block = next(part for part in text.split("\n\n") if f") {name}" in part.split("\n", 1)[0])
    assert block.splitlines()[1:] == [
        "Left keys [1]: [user#0]",
        "Right keys [1]: [user#2]",
        "Join type: LeftOuter",
        "Join condition: (n#1 > since#3)",
    ]


def test_columns_become_rows_below_a_filter_without_a_projection_between() -> None:
    sql = "SELECT count(*) FROM STREAM events JOIN users USING (user)"
    text = explained(sql, "simple", "complete")
    lines = [line.strip(" :+-") for line in text.splitlines()]
    place = next(i for i, line in enumerate(lines) if line.startswith("BroadcastExchange"))
    assert [line.split(" [")[0] for line in lines[place + 1 : place + 4]] == [
        "*(1) Filter isnotnull(user#2)",
        "*(1) ColumnarToRow",
        "FileScan parquet",
    ]


def test_a_plan_that_is_planned_again_at_run_time_has_no_transitions_yet() -> None:
    text = explained("SELECT * FROM STREAM events JOIN users USING (user)", "simple")
    assert "AdaptiveSparkPlan" in text
    assert "ColumnarToRow" not in text
