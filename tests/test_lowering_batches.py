"""Lowered batches on a live PySpark: values of all types, tasks, attempts, evaluations."""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import stateplan
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.conf import Conf
from stateplan.planner.model.ddl import parse_schema
from stateplan.planner.model.errors import InternalError, RuntimeFailure
from stateplan.planner.model.ids import id_scope
from stateplan.planner.sql import parse
from stateplan.runtime.lowering import BatchResults, LoweringContext, lower
from stateplan.runtime.session import configure, own_session
from stateplan.runtime.sources import MemorySource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CONF = Conf({"spark.sql.shuffle.partitions": "4"})
EVENTS = "user STRING, ts TIMESTAMP, qty INT"
UTC = dt.UTC


def at(second: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(second, UTC)


class Query:
    """One query, batch after batch, by hand: what the loop does, without files."""

    def __init__(
        self, own: SparkSession, location: Path, sql: str, mode: str, schema: str = EVENTS
    ) -> None:
        self.own, self.schema, self.location = own, schema, str(location)
        self.batch_id = self.late = 0
        self.results: BatchResults | None = None
        ids = itertools.count()
        source = Source(name="events", schema=parse_schema(schema), format="memory")
        with id_scope(ids):
            logical = parse(sql, CONF)
        self.execution = IncrementalExecution(
            logical,
            catalog={"events": source},
            output_mode=mode,  # type: ignore[arg-type]
            conf=CONF,
            watermark_late=0,
            watermark_eviction=0,
            ids=ids,
        )

    def lowered(self, rows: DataFrame | list[Any], watermark: int = 0, tasks: int = 2) -> Any:
        frame = self.own.createDataFrame(rows, self.schema) if isinstance(rows, list) else rows
        self.own.conf.set("spark.sql.shuffle.partitions", str(tasks))
        context = LoweringContext(
            spark=self.own,
            sources={"events": frame},
            state_location=self.location,
            batch_id=self.batch_id,
            conf=CONF,
            tasks=tasks,
            attempt=uuid.uuid4().hex,
        )
        return lower(self.execution.for_batch(self.batch_id, self.late, watermark), context)

    def batch(
        self, rows: DataFrame | list[Any], watermark: int = 0, tasks: int = 2
    ) -> list[tuple[Any, ...]]:
        lowered = self.lowered(rows, watermark, tasks)
        emitted = [tuple(row) for row in lowered.dataframe.collect()]
        self.results = lowered.results()
        lowered.commit_state()
        self.batch_id, self.late = self.batch_id + 1, watermark
        return sorted(emitted, key=repr)


@pytest.fixture
def own(spark: SparkSession) -> SparkSession:
    session = own_session(spark)
    configure(session, CONF, 2)
    return session


@pytest.fixture
def query(own: SparkSession, tmp_path: Path) -> Callable[..., Query]:
    return lambda *arguments: Query(own, tmp_path, *arguments)


VALUES: dict[str, list[Any]] = {
    "BOOLEAN": [True, False],
    "TINYINT": [-128, 7],
    "SMALLINT": [300, -5],
    "INT": [2**31 - 1, 0],
    "BIGINT": [-(2**63), 5],
    "FLOAT": [float("nan"), -0.0, 0.0],
    "DOUBLE": [float("-inf"), -0.0, 0.0, float("nan")],
    "DECIMAL(12,3)": [Decimal("-1.500"), Decimal("999999999.999")],
    "DECIMAL(38,10)": [Decimal("1234567890123456789012345678.0123456789")],
    "STRING": ["", "é😀", "a"],
    "BINARY": [b"", b"\x00\xff"],
    "DATE": [dt.date(1, 1, 1), dt.date(2026, 2, 28)],
    "TIMESTAMP": [dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), dt.datetime(2026, 1, 1)],
    "TIMESTAMP_NTZ": [dt.datetime(1582, 10, 15), dt.datetime(2026, 1, 1, 0, 0, 0, 1)],
    "INTERVAL DAY TO SECOND": [dt.timedelta(days=-1, microseconds=1)],
    "INTERVAL HOUR": [dt.timedelta(hours=5)],
    "ARRAY<DOUBLE>": [[], [0.0, None], [-0.0, None], [float("nan")]],
    "STRUCT<a: INT, b: ARRAY<STRING>>": [(1, ["x", None]), (None, None)],
}
KEYS = ", ".join(f"k{i}" for i in range(len(VALUES)))
SCHEMA = ", ".join(f"k{i} {kind}" for i, kind in enumerate(VALUES)) + ", m MAP<STRING, INT>"


def rows_of_all_types(turn: int) -> list[tuple[Any, ...]]:
    """Rows in which each column takes each of its values, and null, beside some of the others."""
    columns = [[*values, None] for values in VALUES.values()]
    return [
        (
            *(column[(i + turn * (n % 3)) % len(column)] for n, column in enumerate(columns)),
            {"a": i},
        )
        for i in range(10)
    ]


def test_keys_of_every_type_group_as_in_spark(
    query: Callable[..., Query], own: SparkSession
) -> None:
    sql = f"SELECT {KEYS}, count(*) AS n FROM STREAM events GROUP BY {KEYS}"
    running = query(sql, "complete", SCHEMA)
    running.batch(rows_of_all_types(0))
    running.batch([])
    emitted = running.batch(rows_of_all_types(1), tasks=4)
    every = own.createDataFrame([*rows_of_all_types(0), *rows_of_all_types(1)], SCHEMA)
    every.createOrReplaceTempView("every")
    wanted = own.sql(sql.replace("STREAM events", "every")).collect()
    assert Counter(map(repr, emitted)) == Counter(repr(tuple(row)) for row in wanted)


def test_rows_of_every_type_pass_deduplication(
    query: Callable[..., Query], own: SparkSession
) -> None:
    running = query(f"SELECT DISTINCT ON ({KEYS}) * FROM STREAM events", "append", SCHEMA)
    rows = rows_of_all_types(0)
    wanted = [tuple(row) for row in own.createDataFrame(rows, SCHEMA).collect()]
    assert Counter(map(repr, running.batch([*rows, *rows]))) == Counter(map(repr, wanted))
    assert running.batch(rows, tasks=1) == []


def test_year_month_intervals_are_carried_as_months(query: Callable[..., Query]) -> None:
    sql = (
        "SELECT CAST(make_ym_interval(0, qty) AS STRING) AS text, max(n) AS n FROM "
        "(SELECT DISTINCT ON (i) i, qty, qty AS n FROM "
        "(SELECT make_ym_interval(0, qty) AS i, qty FROM STREAM events)) GROUP BY 1"
    )
    running = query(sql, "complete")
    assert running.batch([("a", None, 14), ("b", None, -1), ("c", None, 14)]) == [
        ("INTERVAL '-0-1' YEAR TO MONTH", -1),
        ("INTERVAL '1-2' YEAR TO MONTH", 14),
    ]


def test_the_number_of_tasks_may_change_at_every_batch(query: Callable[..., Query]) -> None:
    sql = "SELECT user, count(*) AS n, sum(qty) AS s FROM STREAM events GROUP BY user"
    running = query(sql, "update")
    for turn, tasks in enumerate([1, 4, 3, 1, 7, 2], 1):
        rows = [(f"u{i}", None, i) for i in range(20)]
        assert Counter(running.batch(rows, tasks=tasks)) == Counter(
            (f"u{i}", turn, turn * i) for i in range(20)
        )
        assert running.results is not None
        assert running.results.operators[0].num_rows_total == 20


@pytest.mark.parametrize("grouping", ["id", "id % 100"])
def test_rows_that_spark_knows_to_be_clustered_are_still_exchanged(
    query: Callable[..., Query], own: SparkSession, grouping: str
) -> None:
    sql = f"SELECT {grouping} AS k, count(*) AS n FROM STREAM events GROUP BY {grouping}"
    running = query(sql, "update", "id BIGINT")
    assert len(running.batch(own.range(0, 100, 1, 3).where("id >= 0"))) == 100
    assert len(running.batch(own.range(0, 100, 1, 1))) == 100
    assert running.results is not None
    assert running.results.operators[0].num_rows_total == 100


def test_session_keys_with_floats_lie_where_their_stores_are(query: Callable[..., Query]) -> None:
    sql = (
        "SELECT k, session_window(ts, '5 seconds') AS s, count(*) AS n FROM STREAM events "
        "WATERMARK ts DELAY OF INTERVAL 1 SECONDS GROUP BY k, session_window(ts, '5 seconds')"
    )
    running = query(sql, "append", "k DOUBLE, ts TIMESTAMP")
    rows = [(float(i % 7), at(i)) for i in range(40)] + [(-0.0, at(2)), (0.0, at(5))]
    running.batch(rows)
    emitted = running.batch([], watermark=200_000)
    assert sum(row[2] for row in emitted) == 42
    assert [row[2] for row in emitted if row[0] == 0.0] == [4, 1, 1, 1, 1]


def test_a_second_evaluation_does_no_harm(query: Callable[..., Query]) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    lowered = running.lowered([("a", at(1), 1)] * 3)
    assert [lowered.dataframe.collect() for _ in range(2)] == [[("a", 3)]] * 2
    assert lowered.results().operators[0].num_rows_updated == 1
    lowered.commit_state()
    lowered.commit_state()
    running.batch_id = 1
    assert running.batch([("a", at(1), 1)]) == [("a", 4)]


@pytest.mark.parametrize("rows_taken", [0, 1])
def test_a_batch_that_the_sink_did_not_read_to_the_end_is_run_again(
    query: Callable[..., Query], rows_taken: int
) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    lowered = running.lowered([(f"u{i}", at(1), 1) for i in range(50)])
    if rows_taken:
        assert len(lowered.dataframe.take(rows_taken)) == rows_taken
    assert lowered.results().operators[0].num_rows_total == 50


def test_nothing_of_an_aborted_attempt_is_left(query: Callable[..., Query], tmp_path: Path) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    running.batch([("a", at(1), 1)])
    before = sorted(tmp_path.rglob("*"))
    lowered = running.lowered([("a", at(1), 1), ("b", at(1), 1)])
    lowered.dataframe.collect()
    lowered.abort()
    assert sorted(tmp_path.rglob("*")) == before
    assert running.batch([("a", at(1), 1)]) == [("a", 2)]


def test_a_commit_before_the_results_is_refused(query: Callable[..., Query]) -> None:
    lowered = query("SELECT user FROM STREAM events", "append").lowered([])
    with pytest.raises(InternalError, match="before its results"):
        lowered.commit_state()


def test_event_times_are_seen_with_null_as_1970(query: Callable[..., Query]) -> None:
    sql = (
        "SELECT user, ts, count(*) AS n FROM STREAM events "
        "WATERMARK ts DELAY OF INTERVAL 1 SECONDS GROUP BY user, ts"
    )
    running = query(sql, "append")
    running.batch([("a", at(1.0015), 1), ("a", at(9), 1), ("a", None, 1)])
    assert running.results is not None
    (stats,) = running.results.event_times.values()
    assert stats is not None
    assert (stats.max_ms, stats.min_ms, stats.count) == (9000, 0, 3)
    assert stats.avg_ms == pytest.approx(10_001 / 3)
    running.batch([])
    assert list(running.results.event_times.values()) == [None]


def test_limits_read_state_below_them_to_the_end(query: Callable[..., Query]) -> None:
    running = query("SELECT DISTINCT ON (user) user FROM STREAM events LIMIT 3", "append")
    rows = [(f"u{i}", at(1), 1) for i in range(30)]
    assert len(running.batch(rows)) == 3
    assert running.results is not None
    names = [(o.operator_name, o.num_rows_total) for o in running.results.operators]
    assert names == [("globalLimit", 1), ("dedupe", 30)]
    assert running.batch([("new", at(1), 1)]) == []


def test_damaged_state_is_named(query: Callable[..., Query], tmp_path: Path) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    running.batch([("a", at(1), 1)])
    (manifest,) = tmp_path.rglob("v*.json")
    manifest.write_text(manifest.read_text().replace('"total":1', '"total":2'))
    with pytest.raises(RuntimeFailure, match=manifest.name) as caught:
        running.lowered([])
    assert caught.value.condition == "STATEPLAN_CORRUPT_STATE"
    assert caught.value.hint


def test_a_limit_over_rows_whose_number_is_known_needs_no_python(spark: SparkSession) -> None:
    source = MemorySource(parse_schema("v INT"), 1)
    for step in ([(1,), (2,)], [(3,), (4,)], [(5,)]):
        source.add(step)
    seen: list[tuple[bool, int]] = []

    def take(frame: Any, batch_id: int) -> None:
        text = frame._jdf.queryExecution().optimizedPlan().toString()
        seen.append(("MapInArrow" in text, frame.count()))

    text = "SELECT v FROM STREAM numbers LIMIT 3"
    numbers = {"numbers": {"schema": "v INT", "format": "memory"}}
    stateplan.sql(text, numbers, "append").run(
        spark,
        sources={"numbers": source},
        foreach_batch=take,
        trigger="available_now",
        background=False,
    )
    # All rows, some of them, none of them.
    assert seen == [(False, 2), (True, 1), (False, 0)]
