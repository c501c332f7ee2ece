"""StreamTest and rows of a program on Spark, as test_stream_tests.py has them embedded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stateplan
from stateplan.runtime.sinks import MemorySink
from stateplan.testing import StreamTest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
    SELECT window.start AS w, team, count(*) AS n
    FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 MINUTES JOIN users USING (user)
    GROUP BY window(ts, '10 minutes'), team"""
SOURCES = {
    "events": "user STRING, ts TIMESTAMP",
    "users": {"schema": "user STRING, team STRING", "static": True},
}


def test_a_query_is_led_step_by_step(spark: SparkSession) -> None:
    tables = {"users": [("ann", "x"), ("bob", None)]}
    with StreamTest(SQL, SOURCES, spark=spark, tables=tables) as test:
        test.add("events", [("ann", "2026-01-01 00:01"), {"user": "eve"}])
        assert test.run() == []
        test.restart().add("events", [("bob", "2026-01-01 00:02")])
        test.run(crash=True)
        test.expect_state([{"team": "x", "count": 1}, {"team": None, "count": 1}])
        test.advance_watermark("2026-01-01 00:10")
        test.expect([("2026-01-01 00:00", "x", 1), ("2026-01-01 00:00", None, 1)])


def test_pyspark_code_is_led_beside_a_classic_session(spark: SparkSession) -> None:
    def per_user(events: Any) -> Any:
        from pyspark.sql import functions as F

        return events.groupBy(F.upper("user").alias("name")).count()

    with StreamTest(per_user, {"events": "user STRING"}, output_mode="update", spark=spark) as test:
        test.add("events", ["ann", "bob", "Ann"]).run()
        test.expect([("ANN", 2), ("BOB", 1)])


def test_rows_of_a_program_are_sources(spark: SparkSession) -> None:
    sink = MemorySink()
    query = stateplan.sql("SELECT user, team FROM STREAM events JOIN users USING (user)", SOURCES)
    rows = {"events": [("ann", "2026-01-01")], "users": [("ann", "x")]}
    handle = query.run(spark, sources=rows, sink=sink, trigger={"availableNow": True})
    handle.awaitTermination()
    assert sink.rows() == [("ann", "x")]
