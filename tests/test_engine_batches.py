"""Batches by hand on either engine: values of all types, tasks, attempts, actions."""

from __future__ import annotations

import datetime as dt
import gc
import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import stateplan
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.errors import InternalError, RuntimeFailure
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.runtime.engines import reports
from stateplan.runtime.engines.batch import prepare
from stateplan.runtime.engines.context import BatchContext, BatchResults, PreparedBatch, RanAgain
from stateplan.runtime.engines.engine import Engine
from stateplan.runtime.engines.opening import engine_on
from stateplan.runtime.plan import RuntimePlans
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
        self, engine: Engine, location: Path, sql: str, mode: str, schema: str = EVENTS
    ) -> None:
        self.engine, self.schema, self.location = engine, schema, str(location)
        self.batch_id = self.late = 0
        self.plans = RuntimePlans()
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

    def prepared(
        self,
        rows: DataFrame | list[Any],
        watermark: int = 0,
        tasks: int = 2,
        *,
        one_action: bool = False,
    ) -> PreparedBatch:
        spark = self.engine.spark
        frame = spark.createDataFrame(rows, self.schema) if isinstance(rows, list) else rows
        self.engine.configure(CONF, tasks)
        context = BatchContext(
            engine=self.engine,
            sources={"events": frame},
            state_location=self.location,
            batch_id=self.batch_id,
            conf=CONF,
            tasks=tasks,
            attempt=uuid.uuid4().hex,
            one_action=one_action,
        )
        plan = self.execution.for_batch(self.batch_id, self.late, watermark)
        return prepare(plan, context, self.plans)

    def batch(
        self, rows: DataFrame | list[Any], watermark: int = 0, tasks: int = 2
    ) -> list[tuple[Any, ...]]:
        batch = self.prepared(rows, watermark, tasks)
        emitted = [tuple(row) for row in batch.dataframe.collect()]
        self.results = batch.results()
        batch.commit_state()
        batch.clean_up()
        self.batch_id, self.late = self.batch_id + 1, watermark
        return sorted(emitted, key=repr)

    @property
    def totals(self) -> list[tuple[str, int]]:
        """How many rows of state each operator has after the last batch."""
        assert self.results is not None
        return [(o.operator_name, o.num_rows_total) for o in self.results.operators]


@pytest.fixture(params=["spark", pytest.param("embedded", marks=pytest.mark.embedded)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "spark":
        session = request.getfixturevalue("spark")
    else:
        from stateplan.runtime.engines.embedded_session import session as start

        session = start()
    started = engine_on(session)
    yield started
    started.close()


on_spark = pytest.mark.parametrize("engine", ["spark"], indirect=True)
on_embedded = pytest.mark.parametrize(
    "engine", [pytest.param("embedded", marks=pytest.mark.embedded)], indirect=True
)


@pytest.fixture
def query(engine: Engine, tmp_path: Path) -> Callable[..., Query]:
    return lambda *arguments: Query(engine, tmp_path, *arguments)


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


def grouped(rows: list[Any]) -> Counter[str]:
    """Rows that begin with keys as Spark groups them: each group's keys and number of rows."""

    def key(value: Any) -> Any:
        if isinstance(value, float):  # one zero, one NaN
            return value + 0.0
        if isinstance(value, list):
            return [key(each) for each in value]
        return value

    keys = [tuple(map(key, row[: len(VALUES)])) for row in rows]
    counts = Counter(map(repr, keys))
    return Counter(repr((*key, counts[repr(key)])) for key in {repr(k): k for k in keys}.values())


@on_spark
def test_keys_of_every_type_group_as_in_spark(query: Callable[..., Query], engine: Engine) -> None:
    sql = f"SELECT {KEYS}, count(*) AS n FROM STREAM events GROUP BY {KEYS}"
    running = query(sql, "complete", SCHEMA)
    running.batch(rows_of_all_types(0))
    running.batch([])
    emitted = running.batch(rows_of_all_types(1), tasks=4)
    rows = [*rows_of_all_types(0), *rows_of_all_types(1)]
    every = engine.spark.createDataFrame(rows, SCHEMA)
    assert Counter(map(repr, emitted)) == grouped(every.collect())
    if engine.facts.name == "spark":
        every.createOrReplaceTempView("every")
        asked = engine.spark.sql(sql.replace("STREAM events", "every")).collect()
        assert grouped(every.collect()) == Counter(repr(tuple(row)) for row in asked)


@on_spark
def test_rows_of_every_type_pass_deduplication(query: Callable[..., Query], engine: Engine) -> None:
    running = query(f"SELECT DISTINCT ON ({KEYS}) * FROM STREAM events", "append", SCHEMA)
    rows = rows_of_all_types(0)
    wanted = [tuple(row) for row in engine.spark.createDataFrame(rows, SCHEMA).collect()]
    assert Counter(map(repr, running.batch([*rows, *rows]))) == Counter(map(repr, wanted))
    assert running.batch(rows, tasks=1) == []


@on_spark
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
        assert running.totals == [("stateStoreSave", 20)]


@pytest.mark.parametrize("grouping", ["id", "id % 100"])
def test_rows_that_spark_knows_to_be_clustered_are_still_exchanged(
    query: Callable[..., Query], engine: Engine, grouping: str
) -> None:
    sql = f"SELECT {grouping} AS k, count(*) AS n FROM STREAM events GROUP BY {grouping}"
    running = query(sql, "update", "id BIGINT")
    assert len(running.batch(engine.spark.range(0, 100, 1, 3).where("id >= 0"))) == 100
    assert len(running.batch(engine.spark.range(0, 100, 1, 1))) == 100
    assert running.totals == [("stateStoreSave", 100)]


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


def test_two_actions_read_the_same_rows_of_one_run(query: Callable[..., Query]) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    batch = running.prepared([("a", at(1), 1)] * 3)
    assert [batch.dataframe.collect() for _ in range(2)] == [[("a", 3)]] * 2
    assert batch.results().operators[0].num_rows_updated == 1
    batch.commit_state()
    batch.commit_state()
    running.batch_id = 1
    assert running.batch([("a", at(1), 1)]) == [("a", 4)]


@on_spark
def test_tasks_that_run_again_for_rows_that_memory_lost_change_nothing(
    query: Callable[..., Query], engine: Engine
) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    batch = running.prepared([("a", at(1), 1)] * 3)
    assert batch.dataframe.collect() == [("a", 3)]
    texts = reports._collected[engine.spark.sparkContext].value
    before = set(texts)
    batch.dataframe.unpersist(blocking=True)
    assert batch.dataframe.selectExpr("user", "n + 1").collect() == [("a", 4)]
    assert set(texts) > before, "no task ran again"
    assert batch.results().operators[0].num_rows_updated == 1
    batch.commit_state()
    batch.clean_up()
    del batch
    gc.collect()
    assert set(texts) <= before
    running.batch_id = 1
    assert running.batch([("a", at(1), 1)]) == [("a", 4)]


@on_spark
def test_a_second_action_where_one_was_promised_is_noticed(query: Callable[..., Query]) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    batch = running.prepared([("a", at(1), 1)], one_action=True)
    for _ in range(2):
        assert batch.dataframe.collect() == [("a", 1)]
    with pytest.raises(RanAgain):
        batch.results()


@pytest.mark.parametrize("one_action", [True, False])
@pytest.mark.parametrize("rows_taken", [0, 1])
def test_state_moves_on_though_the_sink_does_not_read_to_the_end(
    query: Callable[..., Query], rows_taken: int, one_action: bool
) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    rows = [(f"u{i}", at(1), 1) for i in range(50)]
    batch = running.prepared(rows, one_action=one_action)
    if rows_taken:
        assert len(batch.dataframe.take(rows_taken)) == rows_taken
    assert batch.results().operators[0].num_rows_total == 50


def test_nothing_of_an_aborted_attempt_is_left(query: Callable[..., Query], tmp_path: Path) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    running.batch([("a", at(1), 1)])
    before = sorted(tmp_path.rglob("*"))
    batch = running.prepared([("a", at(1), 1), ("b", at(1), 1)])
    batch.dataframe.collect()
    batch.abort()
    assert sorted(tmp_path.rglob("*")) == before
    assert running.batch([("a", at(1), 1)]) == [("a", 2)]


def test_a_commit_before_the_results_is_refused(query: Callable[..., Query]) -> None:
    batch = query("SELECT user FROM STREAM events", "append").prepared([])
    with pytest.raises(InternalError, match="before its results"):
        batch.commit_state()


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
    assert running.totals == [("globalLimit", 1), ("dedupe", 30)]
    assert running.batch([("new", at(1), 1)]) == []


@on_embedded
def test_a_limit_that_decides_the_watermark_is_refused(query: Callable[..., Query]) -> None:
    source = "STREAM events WATERMARK ts DELAY OF INTERVAL 1 SECONDS"
    with pytest.raises(RuntimeFailure, match="a limit right above a watermark") as caught:
        query(f"SELECT user FROM {source} LIMIT 3", "append").prepared([])
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"
    # State below reads all rows.
    running = query(f"SELECT DISTINCT ON (user) user FROM {source} LIMIT 3", "append")
    assert running.batch([("a", at(1), 1)]) == [("a",)]


def test_arrays_and_maps_pass_between_the_engine_and_our_own_code(
    query: Callable[..., Query],
) -> None:
    parts = "array_distinct(split(user, ','))"
    running = query(
        f"SELECT k, v, format_string('%s|%05d', user, qty), CAST({parts} AS STRING), "
        f"to_json(struct(array_remove({parts}, 'x') AS t)), slice(sort_array({parts}), -1, 1), "
        "split_part(user, ',', 2), "
        "get_json_object(to_json(struct(split(user, ',') AS t)), '$.t[1]') "
        "FROM STREAM events LATERAL VIEW explode(map('m', qty, 'n', qty + 1)) AS k, v",
        "append",
    )
    found = running.batch([("x,a,x", at(1), 7)] * 3 + [(None, at(2), 8)])
    first = ("x,a,x|00007", "[x, a]", '{"t":["a"]}', ["x"], "a", "a")
    second = ("null|00008", None, "{}", None, None, None)
    assert found == [
        *[("m", 7, *first)] * 3,
        ("m", 8, *second),
        *[("n", 8, *first)] * 3,
        ("n", 9, *second),
    ]


def test_functions_with_lambdas(query: Callable[..., Query]) -> None:
    parts = "split(user, ',')"
    running = query(
        f"SELECT transform({parts}, (e, i) -> concat(upper(e), i, qty)), "
        f"filter({parts}, e -> e <> 'x'), exists({parts}, e -> 12 % qty = 5), "
        f"aggregate({parts}, named_struct('n', 0L), (sum, e) -> "
        "named_struct('n', sum.n + length(e)), sum -> sum.n * 10), "
        f"zip_with({parts}, array(qty, 1), (e, n) -> format_string('%s=%d', e, n)), "
        "transform_values(map('k', qty), (k, v) -> v + 1)['k'], "
        f"array_sort({parts}, (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END), "
        "make_date(2024, qty, 1), conv(CAST(qty AS STRING), 10, 16) "
        "FROM STREAM events WHERE forall(split(user, ','), e -> e <> 'no')",
        "append",
    )
    found = running.batch([("x,a,x", at(1), 7), ("no,a", at(2), 8), ("b", at(3), 12)])
    assert found == [
        (["B012"], ["b"], False, 10, ["b=12", "null=1"], 13, ["b"], dt.date(2024, 12, 1), "C"),
        (
            *(["X07", "A17", "X27"], ["a"], True, 30, ["x=7", "a=1", "x=null"], 8),
            *(["x", "x", "a"], dt.date(2024, 7, 1), "7"),
        ),
    ]
    with pytest.raises(Exception, match="DATETIME_FIELD_OUT_OF_BOUNDS"):
        running.batch([("x", at(4), 13)])
    # What only the engine computes, and is the same for all elements, the engine gives.
    given = f"transform({parts}, e -> format_string('%s-%s', e, soundex(user)))"
    whole = f"to_json(struct(transform({parts}, e -> soundex(e)) AS t))"
    running = query(f"SELECT {given}, {whole} FROM STREAM events", "append")
    assert running.batch([("ab,c", at(1), 1)]) == [
        (["ab-A120", "c-A120"], '{"t":["A100","C000"]}'),
    ]
    running = query("SELECT transform(array(qty), e -> e % 0) FROM STREAM events", "append")
    with pytest.raises(Exception, match="REMAINDER_BY_ZERO"):
        running.batch([("x", at(1), 1)])


def test_zeros_within_keys_are_one_group(query: Callable[..., Query]) -> None:
    keys = "array(if(qty = 1, -0.0D, 0.0D)) AS k"
    running = query(f"SELECT {keys}, count(*) AS n FROM STREAM events GROUP BY 1", "update")
    assert running.batch([("a", at(1), 1), ("b", at(2), 2)]) == [([0.0], 2)]


def test_rows_of_sliding_windows_keep_their_order(query: Callable[..., Query]) -> None:
    sql = "SELECT window(ts, '10 seconds', '5 seconds') AS w, first(qty) AS q"
    running = query(f"{sql} FROM STREAM events GROUP BY 1", "complete")
    emitted = running.batch([("a", at(8), 1), ("a", at(3), 2), ("a", at(6), 3), ("a", at(4), 4)])
    assert [row[1] for row in emitted] == [2, 1, 1]


def test_damaged_state_is_named(query: Callable[..., Query], tmp_path: Path) -> None:
    running = query("SELECT user, count(*) AS n FROM STREAM events GROUP BY user", "update")
    running.batch([("a", at(1), 1)])
    (manifest,) = tmp_path.rglob("v*.json")
    manifest.write_text(manifest.read_text().replace('"total":1', '"total":2'))
    with pytest.raises(RuntimeFailure, match=manifest.name) as caught:
        running.prepared([])
    assert caught.value.condition == "STATEPLAN_CORRUPT_STATE"
    assert caught.value.hint


@pytest.mark.parametrize("doubled", ["n", "n * 2"])
def test_sorted_rows_stay_so_below_several_actions(
    engine: Engine, tmp_path: Path, doubled: str
) -> None:
    words = [word for number in range(1, 30) for word in [f"w{number % 7}-{number}"] * (number % 5)]
    parquet.write_table(pa.table({"k": words}), tmp_path / "0.parquet")
    seen: list[list[Any]] = []

    def take(frame: DataFrame, _: int) -> None:
        seen.extend([row.k for row in frame.collect()] for _ in range(2))

    counted = "SELECT k, count(*) AS n FROM STREAM words GROUP BY k ORDER BY n DESC, k"
    stateplan.sql(
        f"SELECT k, {doubled} AS n FROM ({counted})",
        {"words": {"schema": "k STRING", "format": "parquet", "path": str(tmp_path)}},
        "complete",
        conf=CONF,
    ).run(engine.spark, foreach_batch=take, trigger="available_now", background=False)
    counts = Counter(words)
    assert seen == [sorted(counts, key=lambda k: (-counts[k], k))] * 2


def test_a_limit_over_rows_whose_number_is_known(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, values in enumerate(([1, 2], [3, 4], [5])):
        path = tmp_path / "in" / f"{number}.parquet"
        parquet.write_table(pa.table({"v": pa.array(values, pa.int32())}), path)
    numbers = {"schema": "v INT", "format": "parquet", "path": str(tmp_path / "in")}
    seen: list[int] = []
    stateplan.sql(
        "SELECT v FROM STREAM numbers LIMIT 3",
        {"numbers": {**numbers, "options": {"maxFilesPerTrigger": "1"}}},
        "append",
    ).run(
        engine.spark,
        foreach_batch=lambda frame, _: seen.append(frame.count()),
        trigger="available_now",
        background=False,
    )
    # All rows, some of them, none of them.
    assert seen == [2, 1, 0]


def test_a_limit_over_filtered_rows_counts_those_that_pass(spark: SparkSession) -> None:
    source = MemorySource(parse_schema("v INT"), 1)
    for step in ([(1,), (2,), (3,)], [(4,), (5,)], [(6,), (7,)], [(8,)]):
        source.add(step)
    seen: list[tuple[bool, list[int]]] = []

    def take(frame: Any, batch_id: int) -> None:
        text = frame._jdf.queryExecution().optimizedPlan().toString()
        # What reads a part only does not decide how many have passed.
        first = [row.v for row in frame.limit(1).collect()]
        seen.append(("MapInArrow" in text, first))

    stateplan.sql(
        "SELECT v FROM STREAM numbers WHERE v % 2 = 1 LIMIT 4",
        {"numbers": {"schema": "v INT", "format": "memory"}},
        "append",
    ).run(
        spark,
        sources={"numbers": source},
        foreach_batch=take,
        trigger="available_now",
        background=False,
    )
    # Two of three; one of two; one of two, where all might pass no more; none.
    assert seen == [(False, [1]), (False, [5]), (True, [7]), (False, [])]


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
