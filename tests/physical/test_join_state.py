"""How long a join keeps rows: watermarks of its state, in Spark's arithmetic."""

from __future__ import annotations

import pytest

import stateplan

SOURCES = {"a": "k BIGINT, s STRING, d DOUBLE, t TIMESTAMP", "b": "k BIGINT, s STRING, t TIMESTAMP"}
A = "STREAM a WATERMARK t DELAY OF INTERVAL 10 SECONDS AS a"
B = "STREAM b WATERMARK t DELAY OF INTERVAL 20 SECONDS AS b"
NO_WATERMARK = -(2**63)


def join_of(on: str, kind: str = "JOIN"):
    query = stateplan.sql(f"SELECT a.k FROM {A} {kind} {B} ON {on}", SOURCES)
    plan = query.execution.executed_plan
    (join,) = [n for n in plan.walk() if n.node_name == "StreamingSymmetricHashJoin"]
    return join


@pytest.mark.parametrize(
    ("on", "left", "right"),
    [
        ("a.k = b.k", None, None),
        ("a.k = b.k AND a.t = b.t", 1000, 1000),
        ("a.k = b.k AND a.t > b.t", 1000, None),
        ("a.k = b.k AND a.t >= b.t", 999, None),
        ("a.k = b.k AND b.t < a.t + INTERVAL 5 SECONDS", -4000, None),
        ("a.k = b.k AND a.t BETWEEN b.t AND b.t + INTERVAL 1 MINUTE", 999, -59001),
        ("a.k = b.k AND a.t > b.t AND a.t > b.t - INTERVAL 1 SECOND", 0, None),
        ("a.k = b.k AND a.t > b.t + INTERVAL 1 MONTH", None, None),
    ],
)
def test_state_watermarks(on: str, left: int | None, right: int | None) -> None:
    assert join_of(on).state_watermarks(1000) == (left, right)


def test_longs_wrap_before_a_start_as_plans_show() -> None:
    text = join_of("a.k = b.k AND a.t BETWEEN b.t AND b.t + INTERVAL 1 MINUTE").cleanup_text
    assert text.count("<= -1000)") == 2
    assert "left value predicate: (t#" in text
    text = join_of("a.k = b.k AND a.t > b.t").cleanup_text
    assert "<= 0), right = null ]" in text
    assert (
        "key predicate: (input[1, timestamp, true] <= 0)"
        in join_of("a.k = b.k AND a.t = b.t").cleanup_text
    )


def test_what_comes_out_keeps_to_the_lesser_state_watermark() -> None:
    join = join_of("a.k = b.k AND a.t BETWEEN b.t AND b.t + INTERVAL 1 MINUTE")
    assert join.produce_output_watermark(1000) == -59001
    assert join_of("a.k = b.k").produce_output_watermark(1000) is None


def test_the_condition_by_sides() -> None:
    join = join_of(
        "a.k = b.k AND a.d > 3 AND b.s = 'x' AND a.t >= b.t", "LEFT JOIN"
    )  # b.s moves below the join
    assert "leftOnly = (d#" in join.parts.text
    assert "rightOnly = null" in join.parts.text
    assert join.parts.both is not None and join.parts.full is not None


def test_two_event_times_on_one_side_are_refused() -> None:
    windowed = f"(SELECT *, window(t, '5 seconds') w FROM {A}) a"
    query = stateplan.sql(f"SELECT * FROM {windowed} JOIN {B} ON a.k = b.k", SOURCES)
    with pytest.raises(stateplan.StateplanError) as caught:
        query.explain()
    assert caught.value.condition == "MULTIPLE_EVENT_TIME_COLUMNS"
    assert caught.value.phase == "planning"


TABLES = {**SOURCES, "u": {"schema": "k BIGINT, i INT, j INT, s STRING, d DOUBLE", "static": True}}


def plan_of(sql: str, **conf: str) -> str:
    settings = {"spark.sql.shuffle.partitions": "5", **conf}
    return stateplan.sql(sql, TABLES, "append", settings).explain()


@pytest.mark.parametrize(
    ("select", "operator"),
    [
        ("a.k FROM STREAM a JOIN u ON a.k = u.k", "BroadcastHashJoin [k#0L], [k#4L], Inner"),
        ("/*+ MERGE(u) */ a.k FROM STREAM a JOIN u ON a.k = u.k", "SortMergeJoin [k#0L]"),
        ("/*+ SHUFFLE_HASH(u) */ a.k FROM STREAM a JOIN u ON a.k = u.k", "ShuffledHashJoin [k#0L]"),
        ("/*+ SHUFFLE_REPLICATE_NL(u) */ a.k FROM STREAM a JOIN u", "CartesianProduct"),
        ("a.k FROM STREAM a JOIN u ON a.k > u.k", "BroadcastNestedLoopJoin BuildRight, Inner"),
        ("a.k FROM u RIGHT JOIN STREAM a ON a.k = u.k", "RightOuter, BuildLeft, false, false"),
    ],
)
def test_a_stream_and_a_table(select: str, operator: str) -> None:
    assert operator in plan_of(f"SELECT {select}")


def test_tables_above_the_threshold_are_merged() -> None:
    text = plan_of(
        "SELECT a.k FROM STREAM a JOIN u ON a.k = u.k",
        **{"spark.sql.autoBroadcastJoinThreshold": "-1"},
    )
    assert "SortMergeJoin" in text
    assert text.count("Exchange hashpartitioning") == 2


def test_only_the_columns_that_a_query_needs_are_read() -> None:
    text = plan_of("SELECT a.k FROM STREAM a JOIN u ON a.k = u.k AND u.d > 3 AND u.s LIKE 'x%'")
    assert "ReadSchema: struct<k:bigint,s:string,d:double>" in text
    assert "GreaterThan(d,3.0)" in text
    assert "StringStartsWith(s,x)" in text
