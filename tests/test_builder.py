"""Queries built in Python give the plans that their SQL gives."""

from __future__ import annotations

import pytest

import stateplan
from stateplan.physical.explain.normalise import normalise
from stateplan.planner.builder import QueryBuilder, stream, table
from stateplan.planner.model.errors import AnalysisError, DescriptionError
from stateplan.planner.model.expressions.unresolved import UnresolvedAttribute

SCHEMA = "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT"


def same(built: QueryBuilder, text: str, output_mode: str = "append") -> None:
    want = stateplan.sql(text, sources={"events": SCHEMA}, output_mode=output_mode).explain()
    assert normalise(built.query(output_mode=output_mode).explain()) == normalise(want)


def events() -> QueryBuilder:
    return stream("events", SCHEMA)


WATERMARKED = "STREAM events WATERMARK ts DELAY OF INTERVAL 10 MINUTES"


def test_windowed_counts() -> None:
    same(
        events()
        .with_watermark("ts", "10 minutes")
        .group_by("user", "window(ts, '5 minutes')")
        .agg("count(*) AS n"),
        f"SELECT user, window(ts, '5 minutes'), count(*) AS n FROM {WATERMARKED} "
        "GROUP BY user, window(ts, '5 minutes')",
    )


def test_select_where_and_limit() -> None:
    same(
        events().where("qty > 1").select("user", "amount * 2 AS twice").limit(3),
        "SELECT user, amount * 2 AS twice FROM STREAM events WHERE qty > 1 LIMIT 3",
    )


def test_having_counts_and_nodes_as_columns() -> None:
    same(
        events().group_by(UnresolvedAttribute(parts=("user",))).having("count(*) > 1").count(),
        "SELECT user, count(*) AS count FROM STREAM events GROUP BY user HAVING count(*) > 1",
        "update",
    )
    same(events().agg("max(qty) AS most"), "SELECT max(qty) AS most FROM STREAM events", "complete")


def test_deduplication() -> None:
    plan = events().with_watermark("ts", "1 hour").drop_duplicates("user", "ts").query().explain()
    assert "StreamingDeduplicate [user" in plan
    within = (
        events().with_watermark("ts", "1 hour").drop_duplicates_within_watermark("user").query()
    )
    assert "StreamingDeduplicateWithinWatermark [user" in within.explain()


def test_deduplication_over_all_columns() -> None:
    plan = events().select("user", "qty").drop_duplicates().query().explain()
    assert "StreamingDeduplicate [user#0, qty#1]" in normalise(plan)


def test_distinct_order_and_union() -> None:
    same(
        events().select("user").distinct(),
        "SELECT DISTINCT user FROM STREAM events",
        "complete",
    )
    same(
        events().select("user").union(events().select("user")),
        "SELECT user FROM STREAM events UNION ALL SELECT user FROM STREAM events",
    )


def test_join_takes_the_sources_of_both_sides() -> None:
    users = table("users", "user STRING, name STRING", format="json")
    joined = events().join(users, using=("user",), how="leftouter")
    assert set(joined.sources) == {"events", "users"}
    assert joined.sources["users"].static
    with pytest.raises(DescriptionError) as caught:
        events().join(users, how="sideways")
    assert caught.value.condition == "STATEPLAN_UNKNOWN_JOIN"


def test_bad_delays() -> None:
    with pytest.raises(AnalysisError) as caught:
        events().with_watermark("ts", "ten minutes")
    assert caught.value.condition == "CANNOT_PARSE_INTERVAL"
    with pytest.raises(DescriptionError):
        events().with_watermark("ts", "-10 minutes")


def test_bad_column_text() -> None:
    with pytest.raises(AnalysisError) as caught:
        events().select("qty +")
    assert caught.value.condition == "PARSE_SYNTAX_ERROR"
