"""No plan above a stateful operator runs it twice, or among other tasks than its own; on Spark.

Spark reads an input twice where it samples it (a global sort, a range), and numbers the tasks of a
stage anew where it puts partitions together. Over a few rows neither shows: these are many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stateplan.planner.description import parse_description
from stateplan.planner.query import Query
from stateplan.runtime import micro_batch
from stateplan.runtime.plan import facts
from stateplan.runtime.sinks import MemorySink, Sink
from stateplan.runtime.sinks.console import ConsoleSink
from stateplan.runtime.sinks.simple import NoopSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, USERS, BATCHES = 300_000, 30_000, 2
COUNTED = "SELECT user, count(*) AS n FROM STREAM events GROUP BY user"
WATERMARK = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of so many users, each equally often; the second batch's times are an hour later."""
    folder = tmp_path_factory.mktemp("events")
    for batch in range(BATCHES):
        ids = np.arange(batch * ROWS // BATCHES, (batch + 1) * ROWS // BATCHES)
        seconds = pa.array(ids % 60 + 3600 * batch, pa.timestamp("s", "UTC"))
        columns = {"user": pa.array(ids % USERS), "id": pa.array(ids), "ts": seconds}
        pq.write_table(pa.table(columns), folder / f"part-{batch}.parquet")
    return folder


@pytest.fixture
def run(
    spark: SparkSession, events: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[dict[str, Any]]]:
    """Runs a query in two batches and two tasks; gives the figures of its operators at the end."""
    monkeypatch.setattr(micro_batch, "ATTEMPTS", 1)  # a task that ran again fails the query

    def run(
        query: str,
        mode: str,
        sink: Sink | None = None,
        foreach_batch: Callable[[DataFrame, int], None] | None = None,
    ) -> list[dict[str, Any]]:
        source = {
            "schema": "user BIGINT, id BIGINT, ts TIMESTAMP",
            "format": "parquet",
            "path": str(events),
            "options": {"maxFilesPerTrigger": 1},
        }
        described = {
            "python" if query.startswith("events.") else "sql": query,
            "sources": {"events": source},
            "output_mode": mode,
            "conf": {"spark.sql.shuffle.partitions": "4"},
        }
        ended = Query.of(parse_description(described)).run(
            spark,
            sink=sink,
            foreach_batch=foreach_batch,
            trigger="available_now",
            tasks=2,
            background=False,
        )
        ended.await_termination()
        progress = ended.last_progress
        assert progress is not None
        return list(progress["stateOperators"])

    return run


def totals(operators: list[dict[str, Any]]) -> list[int]:
    return [operator["numRowsTotal"] for operator in operators]


@pytest.mark.parametrize("few", [1_000_000, 0], ids=["in one task", "by range"])
@pytest.mark.parametrize("kind", [MemorySink, NoopSink, ConsoleSink])
def test_order_by_in_complete_mode(
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    kind: Callable[[], Sink],
    few: int,
) -> None:
    monkeypatch.setattr(facts, "FEW", few)
    sink = kind()
    operators = run(f"{COUNTED} ORDER BY n, user DESC", "complete", sink)
    # Spark reads the state of a sorted batch twice, and counts it twice.
    assert totals(operators) == [2 * USERS]
    assert operators[0]["numRowsUpdated"] == 2 * USERS
    if isinstance(sink, MemorySink):
        each = ROWS // USERS
        assert sink.rows() == [(user, each) for user in reversed(range(USERS))]


def test_order_by_with_a_limit_in_complete_mode(run: Callable[..., Any]) -> None:
    sink = MemorySink()
    assert totals(run(f"{COUNTED} ORDER BY user LIMIT 3", "complete", sink)) == [USERS]
    assert sink.rows() == [(user, ROWS // USERS) for user in range(3)]


def test_a_limit_in_complete_mode(run: Callable[..., Any]) -> None:
    sink = MemorySink()
    assert totals(run(f"{COUNTED} LIMIT 3", "complete", sink)) == [USERS]
    assert [n for _, n in sink.rows()] == [ROWS // USERS] * 3


def test_a_limit_below_a_filter_in_complete_mode(run: Callable[..., Any]) -> None:
    sink = MemorySink()
    filtered = f"SELECT * FROM ({COUNTED} LIMIT 3) WHERE n > 1"
    assert totals(run(filtered, "complete", sink)) == [USERS]
    assert [n for _, n in sink.rows()] == [ROWS // USERS] * 3


def test_a_limit_of_each_input_of_a_union(run: Callable[..., Any]) -> None:
    sink = MemorySink()
    unique = f"SELECT user, count(*) AS n FROM {WATERMARK} GROUP BY user, window(ts, '1 minute')"
    both = f"SELECT user FROM ({unique}) UNION ALL SELECT user FROM ({unique}) LIMIT 3"
    limit, *counts = run(both, "append", sink)
    assert totals([limit]) == [1] and len(sink.rows()) == 3
    assert totals(counts) == [USERS, USERS]


@pytest.mark.parametrize(
    "above",
    [
        "repartitionByRange(3, 'count', 'user')",
        "repartition(3)",
        "coalesce(1)",
        "coalesce(1).repartitionByRange(3, 'user')",
    ],
)
def test_rows_that_are_moved_above_an_aggregate(run: Callable[..., Any], above: str) -> None:
    sink = MemorySink()
    (figures,) = run(f"events.groupBy('user').count().{above}", "update", sink)
    twice = 2 if "Range" in above else 1  # as Spark counts it
    assert figures["numRowsTotal"] == twice * USERS
    # Each batch has a row of each user.
    assert Counter(sink.rows()) == Counter(
        (user, n * ROWS // USERS // BATCHES) for user in range(USERS) for n in range(1, BATCHES + 1)
    )


def test_two_actions_and_a_self_join_in_foreach_batch(run: Callable[..., Any]) -> None:
    seen: list[tuple[int, int, int]] = []

    def look(frame: DataFrame, batch_id: int) -> None:
        same = frame.alias("a").join(frame.alias("b"), "user").where("a.n = b.n")
        seen.append((frame.count(), frame.agg({"n": "sum"}).collect()[0][0], same.count()))

    operators = run(COUNTED, "update", foreach_batch=look)
    assert totals(operators) == [USERS]
    assert seen == [(USERS, n * ROWS // BATCHES, USERS) for n in (1, 2)]


@pytest.mark.parametrize("same", [True, False])
def test_a_union_of_two_aggregates(run: Callable[..., Any], same: bool) -> None:
    keys = ("user", "user") if same else ("user", "id % 7")
    one, other = (
        f"SELECT {key} AS k, count(*) AS n FROM {WATERMARK} GROUP BY {key}, window(ts, '1 minute')"
        for key in keys
    )
    sink = MemorySink()
    operators = run(f"{one} UNION ALL {other}", "append", sink)
    # The windows of the first batch came out; those of the second are held.
    assert totals(operators) == [USERS, USERS] if same else [USERS, 7]
    rows = sink.rows()
    assert sum(n for _, n in rows) == 2 * ROWS // BATCHES
    assert len(rows) == USERS + (USERS if same else 7)


def test_deduplication_below_a_sorted_aggregate(run: Callable[..., Any]) -> None:
    sink = MemorySink()
    query = (
        "SELECT user % 10 AS k, count(*) AS n FROM "
        "(SELECT DISTINCT ON (user) user FROM STREAM events) GROUP BY 1 ORDER BY k"
    )
    # An exchange lies between: what is below it runs once in Spark, too.
    assert totals(run(query, "complete", sink)) == [20, USERS]
    assert sink.rows() == [(k, USERS // 10) for k in range(10)]


def test_maps_with_null_values_come_to_the_task_of_their_store(run: Callable[..., Any]) -> None:
    """Spark sorts a map that it exchanges or groups by, and makes 0 of its null values then."""
    sink = MemorySink()
    by_map = "SELECT map('a', if(user % 3 = 0, NULL, user % 3), 'b', id % 2) AS m, count(*) AS n"
    (figures,) = run(f"{by_map} FROM STREAM events GROUP BY 1", "complete", sink)
    assert figures["numRowsTotal"] == 6
    found = {tuple(dict(m).values()): n for m, n in sink.rows()}
    assert found == {(a, b): ROWS // 6 for a in (0, 1, 2) for b in (0, 1)}
