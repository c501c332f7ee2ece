"""Rows that stateful operators read from Parquet files themselves: the same as through Spark."""

from __future__ import annotations

import datetime as dt
import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from engines import some_on_spark

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.schema_json import type_from_json
from stateplan.planner.model.schemas.types import StructType
from stateplan.runtime.engines.batch import Batch
from stateplan.runtime.kernels.expressions.evaluator import Evaluator
from stateplan.runtime.kernels.expressions.operations import OPERATIONS
from stateplan.runtime.kernels.expressions.programs.program import Program, Step
from stateplan.runtime.kernels.expressions.values.vectors import decoded, is_encoded
from stateplan.runtime.kernels.scans.dealt_rows import TO, Dealing, received
from stateplan.runtime.kernels.scans.early_groups import EarlyGroups
from stateplan.runtime.kernels.scans.parquet_files import ParquetReader, ScanFile, file_batches
from stateplan.runtime.kernels.scans.placed_rows import PlacedRows
from stateplan.runtime.kernels.scans.scan import Scan, SeenTimes, scan_rows
from stateplan.runtime.plan.nodes import Kernel
from stateplan.runtime.plan.passes.read_files import MOST_TASKS
from stateplan.runtime.plan.reading_nodes import DealOut, rows_of_tasks
from stateplan.runtime.sinks import ForeachBatchSink
from stateplan.runtime.sources.parquet import ENABLED, parquet_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

UTC = pa.timestamp("us", "UTC")
SCHEMA = "key STRING, ts TIMESTAMP, n INT, x DOUBLE, day DATE, id BIGINT, marks ARRAY<DOUBLE>"
ARROW = pa.schema(
    [
        *(("key", pa.string()), ("ts", UTC), ("n", pa.int32())),
        *(("x", pa.float64()), ("day", pa.date32()), ("id", pa.int64())),
        ("marks", pa.list_(pa.float64())),
    ]
)
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LATE = "FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS"


# ------------------------------------------------------------------------------ what files say


def test_columns_that_spark_reads_otherwise_are_not_read_here(tmp_path: Path) -> None:
    table = pa.table(
        {
            "plain": [1],
            "Twice": [1],
            "twice": [1],
            "a.b": [1],
            "nanos": pa.array([1], pa.timestamp("ns", "UTC")),
            "zone": pa.array([1], pa.timestamp("us", "Europe/Berlin")),
            "nested nanos": pa.array([[1]], pa.list_(pa.timestamp("ns", "UTC"))),
            "parts": pa.array([{"a": 1, "A": 2}]),
            "list": [[1]],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    found = parquet_batch([str(tmp_path / "a.parquet")])
    assert found is not None
    assert found.rows == 1
    assert found.types == {"plain": pa.int64(), "zone": UTC, "list": pa.list_(pa.int64())}
    flat = parquet_batch([str(tmp_path / "a.parquet")], nested=False)
    assert flat is not None and "list" not in flat.types
    pq.write_table(pa.table({"plain": pa.array([1], pa.int32())}), tmp_path / "b.parquet")
    both = parquet_batch([str(tmp_path / name) for name in ("a.parquet", "b.parquet")])
    assert both is not None
    assert both.types == {}


NESTED = """
    SELECT id,
      IF(id % 7 = 0, NULL, named_struct('a', IF(id % 3 = 0, NULL, id),
        't', date_from_unix_date(CAST(id AS INT)),
        'x', IF(id % 5 = 0, NULL, array(id, NULL, id + 1)))) AS part,
      IF(id % 4 = 0, NULL, IF(id % 6 = 1, array(), array(struct(id AS n), NULL))) AS parts,
      IF(id % 5 = 0, NULL, map(CAST(id AS STRING), IF(id % 2 = 0, NULL, 1.5D), 'k', 2D)) AS pairs,
      array(array('x', CAST(id AS STRING)), array(), NULL) AS lists
    FROM range(0, 300, 1, 2)
"""


def test_columns_with_parts_are_read_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.sql(NESTED).write.parquet(str(tmp_path / "own"))
    read = spark.read.parquet(str(tmp_path / "own"))
    paths = sorted(str(path) for path in (tmp_path / "own").glob("*.parquet"))
    found = parquet_batch(paths)
    assert found is not None
    declared = type_from_json(json.loads(read.schema.json()))
    assert isinstance(declared, StructType)
    assert found.columns == {f.name: f.data_type for f in declared.fields}
    reader = ParquetReader(pa.schema(list(found.types.items())))
    batches = [batch for file in found.files for batch in reader.batches(file)]
    rows = [row for batch in batches for row in batch.to_pylist()]
    theirs = [row for path in paths for row in spark.read.parquet(path).toArrow().to_pylist()]
    assert rows == theirs


def test_files_of_spark_2_and_damaged_ones_are_left_to_spark(tmp_path: Path) -> None:
    path = str(tmp_path / "old.parquet")
    table = pa.table({"a": [1]})
    pq.write_table(table.replace_schema_metadata({"org.apache.spark.version": "2.4.8"}), path)
    found = parquet_batch([path])
    assert found is not None
    assert found.types == {}
    Path(path).write_bytes(b"PAR1nothing")
    assert parquet_batch([path]) is None


@pytest.mark.parametrize("words", [3, 200_000])
def test_strings_by_a_dictionary_are_read_as_any_other(tmp_path: Path, words: int) -> None:
    # A writer gives up a dictionary of too many words, in the middle of a row group.
    own = np.random.default_rng(words)
    texts = np.array([f"wörd {'x' * (i % 9)}{i}" for i in range(words)])[
        own.integers(0, words, 300_000)
    ]
    table = pa.table(
        {
            "some": pa.array(texts, mask=own.random(300_000) < 0.1),
            "none": pa.nulls(300_000, pa.string()),
            "n": pa.array(own.integers(0, 9, 300_000)),
        }
    )
    path = str(tmp_path / "a.parquet")
    pq.write_table(table, path, row_group_size=120_000)
    batches = list(file_batches(table.schema, ScanFile(path, 300_000)))
    kinds = {is_encoded(batch.column("some")) for batch in batches}
    assert kinds == {words == 3}
    read = [[decoded(column) for column in batch.columns] for batch in batches]
    assert pa.Table.from_batches(
        [pa.RecordBatch.from_arrays(columns, schema=table.schema) for columns in read]
    ).equals(table)


def test_event_times_add_up() -> None:
    first = SeenTimes().with_times(pa.array([-1, 5_999, None], UTC))
    assert first == SeenTimes(3, -1, 5, 4)
    assert first.with_seen(SeenTimes()) == first == SeenTimes().with_seen(first)
    huge = SeenTimes().with_times(pa.array(np.full(3000, (1 << 63) - 1), UTC))
    assert huge.sum_ms == 3000 * (((1 << 63) - 1) // 1000)


# ----------------------------------------------------------------------------- the two ways to run


def rows_of(own: random.Random, step: int, count: int) -> pa.Table:
    """Rows of a step: 20 s of event time, some late, some without key, time or value."""

    def some(value: Any) -> Any:
        return None if own.random() < 0.05 else value

    seconds = [
        20 * step + own.choice((own.random() * 20, -own.random() * 60)) for _ in range(count)
    ]
    return pa.table(
        {
            "key": [some(f"k{own.randrange(12)}") for _ in range(count)],
            "ts": [some(START + dt.timedelta(seconds=round(s, 1))) for s in seconds],
            "n": [some(own.randrange(-50, 50)) for _ in range(count)],
            "x": [some(own.choice((-0.0, own.randrange(99) / 4))) for _ in range(count)],
            "day": [some(dt.date(2026, 1, 1 + own.randrange(3))) for _ in range(count)],
            "id": [some(own.randrange(8)) for _ in range(count)],
            "marks": [
                some([some(own.choice((-0.0, 0.0, 1.5))) for _ in range(own.randrange(4))])
                for _ in range(count)
            ],
        },
        schema=ARROW,
    )


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> list[list[Path]]:
    """The files of each step: two of several row groups and an empty one."""
    own, root = random.Random(11), tmp_path_factory.mktemp("steps")
    found = []
    for step in range(3):
        files = [root / f"{step}-{part}.parquet" for part in range(3)]
        for file, count in zip(files, (150, 70, 0), strict=True):
            pq.write_table(rows_of(own, step, count), file, row_group_size=40)
        found.append(files)
    return found


@dataclass
class Job:
    """A query over files that come step by step, each step a run of its own."""

    session: SparkSession
    root: Path
    sql: str
    mode: str
    tasks: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def step(self, files: list[Path], conf: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
        """Add files and run to the end: per batch what it emits and what its progress says."""
        (self.root / "in").mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(file, self.root / "in" / file.name)
        rows: list[Any] = []
        progress: list[Mapping[str, Any]] = []

        def take(frame: DataFrame, batch_id: int) -> None:
            rows.append(sorted(map(repr, frame.collect())))

        source = {
            "schema": SCHEMA,
            "format": "parquet",
            "path": str(self.root / "in"),
            "options": dict(self.options),
        }
        query = stateplan.sql(
            self.sql,
            sources={name: source for name in ("events", "others") if name in self.sql},
            output_mode=self.mode,
            conf={"spark.sql.shuffle.partitions": "2", **conf},
        )
        query.run(
            self.session,
            sink=ForeachBatchSink(take),
            trigger="available_now",
            checkpoint=self.root / "checkpoint",
            tasks=self.tasks,
            listeners=[progress.append],
            background=False,
        ).await_termination()
        names = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark")
        for emitted, one in zip(rows, progress, strict=True):
            states = [[operator[name] for name in names] for operator in one["stateOperators"]]
            yield emitted, one["numInputRows"], one.get("eventTime"), states


def both_ways(
    job: Job, steps: list[list[Path]], first: str, conf: Mapping[str, str] | None = None
) -> list[tuple[Any, ...]]:
    """A step one way, and the next one the other way on the same checkpoint."""
    second = "false" if first == "true" else "true"
    return [
        batch
        for files, way in zip(steps, (first, second), strict=False)
        for batch in job.step(files, {**(conf or {}), ENABLED: way})
    ]


QUERIES = {
    "session": (
        f"SELECT session_window(ts, '4 seconds') AS w, key, count(*) AS c, sum(n) AS s, "
        f"max(x) AS m {LATE} GROUP BY 1, 2",
        "append",
    ),
    "window": (
        f"SELECT window(ts, '10 seconds', '10 seconds', '3 seconds') AS w, key, id, count(n) AS c, "
        f"sum(x) AS s, min(day) AS d {LATE} GROUP BY 1, 2, 3",
        "append",
    ),
    "computed": (
        f"SELECT upper(key) AS k, n % 5 AS m, count(*) AS c, max(x + 1) AS x {LATE} "
        "WHERE n > -40 AND day < DATE '2026-01-03' GROUP BY 1, 2",
        "update",
    ),
    "sliding": (
        f"SELECT window(ts, '10 seconds', '4 seconds') AS w, key, count(n) AS c, max(day) AS d "
        f"{LATE} WHERE n > -40 GROUP BY 1, 2",
        "append",
    ),
    "sliding sums": (
        f"SELECT window(ts, '10 seconds', '5 seconds') AS w, upper(key) AS k, sum(x) AS s {LATE} "
        "GROUP BY 1, 2",
        "append",
    ),
    "rollup": (
        "SELECT key, id, count(*) AS c, sum(n) AS s FROM STREAM events GROUP BY ROLLUP(key, id)",
        "update",
    ),
    "deduplicate": (f"SELECT DISTINCT ON (key, ts) key, ts {LATE}", "append"),
    "update": ("SELECT day, id, n, count(*) AS c, sum(id) AS s FROM STREAM events GROUP BY 1, 2, 3",
               "update"),
    "join": (
        "SELECT e.key, e.n + 1 AS n, o.x, o.ts FROM "
        "STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS AS e LEFT JOIN "
        "STREAM others WATERMARK ts DELAY OF INTERVAL 9 SECONDS AS o ON e.id = o.id AND "
        "e.day = o.day AND o.ts >= e.ts AND o.ts <= e.ts + INTERVAL 7 SECONDS "
        "WHERE e.n > -40",
        "append",
    ),
    "union": (
        "SELECT key, count(*) AS c, sum(n) AS s FROM (SELECT upper(key) AS key, n FROM "
        "STREAM events WHERE x > 3 UNION ALL SELECT key, id AS n FROM STREAM others) GROUP BY key",
        "update",
    ),
    "words": (
        "SELECT word, n % 2 AS m, count(*) AS c, sum(id) AS s FROM (SELECT n, id, "
        "explode(split(concat(key, ' a ', id % 5), ' ')) AS word FROM STREAM events) GROUP BY 1, 2",
        "update",
    ),
    "elements": (
        "SELECT window(ts, '10 seconds', '5 seconds') AS w, p, e, count(*) AS c, max(day) AS d "
        "FROM (SELECT * FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS LATERAL VIEW "
        "OUTER posexplode(IF(n % 3 = 0, array(), IF(n % 3 = 1, NULL, array(n, NULL, id % 4)))) "
        "AS p, e) WHERE n > -40 GROUP BY ALL",
        "append",
    ),
    "marks": (
        "SELECT key, mark, count(*) AS c, max(n) AS m FROM (SELECT key, n, explode(marks) AS mark "
        "FROM STREAM events WHERE n > -40 AND day IS NOT NULL AND size(marks) > 1) GROUP BY 1, 2",
        "update",
    ),
    "marks as they are": (
        "SELECT marks, named_struct('k', key, 'd', day) AS both, count(*) AS c, "
        "collect_list(marks) AS l FROM STREAM events WHERE n > -40 GROUP BY 1, 2",
        "update",
    ),
    "all rows": (
        "SELECT count(*) AS c, sum(n) AS s, min(day) AS d, approx_count_distinct(key) AS k, "
        "collect_list(id % 3) AS l FROM STREAM events WHERE n > -40",
        "complete",
    ),
    "no rows": ("SELECT collect_list(id) AS i, max(x) AS x FROM STREAM events WHERE n > 4000",
                "update"),
}  # fmt: skip


IN_ORDER = ("marks as they are", "all rows")
"""Queries whose lists show the order of rows, which the embedded engine does not keep."""


@some_on_spark(
    "name",
    [(name,) for name in QUERIES if name not in IN_ORDER],
    [(name,) for name in ("session", "computed", "sliding", "join", "elements", *IN_ORDER)],
)
def test_either_way_is_the_same(
    session: SparkSession,
    tmp_path: Path,
    steps: list[list[Path]],
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sql, mode = QUERIES[name]
    used: Counter[str] = Counter()
    run = Batch.run_kernel

    def counted(self: Batch, node: Kernel, *args: Any) -> DataFrame:
        if rows_of_tasks(node) and self.context.files["events"].files:
            used[str(self.context.conf.settings.get(ENABLED))] += 1
        return run(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", counted)
    found = [
        both_ways(Job(session, tmp_path / first, sql, mode), steps, first)
        for first in ("true", "false")
    ]
    assert found[0] == found[1]
    assert used == {"true": 2}


CHAINS = {
    "window over windows": (
        "SELECT window(w, '20 seconds', '10 seconds') AS wide, day, sum(c) AS c, max(s) AS s, "
        "sum(k) AS k FROM (SELECT window(ts, '5 seconds') AS w, day, id, count(*) AS c, sum(x) "
        "AS s, count(key) AS k FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS "
        "GROUP BY 1, 2, 3) WHERE c % 3 > 0 GROUP BY 1, 2",
        "append",
    ),
    "distinct rows, then a list": (
        "SELECT upper(key) AS k, collect_list(n) AS l, first(id) AS f, sum(n + id) AS s FROM "
        "(SELECT DISTINCT key, n, id FROM STREAM events) WHERE n > -40 GROUP BY 1",
        "update",
    ),
    "sessions, their words": (
        "SELECT word, count(*) AS c, min(w.start) AS t FROM (SELECT w, explode(split(concat(key, "
        "' all'), ' ')) AS word FROM (SELECT session_window(ts, '3 seconds') AS w, key, count(*) "
        "AS c FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS GROUP BY 1, 2)) "
        "GROUP BY window(w, '1 minute'), word",
        "append",
    ),
    "one row of all": (
        "SELECT count(*) AS c, sum(n) AS s, max(key) AS m FROM (SELECT DISTINCT key, n FROM "
        "STREAM events)",
        "complete",
    ),
    "operators beside files": (
        "SELECT day, count(*) AS c, sum(n) AS s FROM (SELECT DISTINCT day, n FROM STREAM events "
        "UNION ALL SELECT day, n FROM STREAM others WHERE n > 3) GROUP BY day",
        "update",
    ),
    "both sides of a join": (
        "SELECT e.key, e.ts, o.id FROM (SELECT DISTINCT key, ts FROM STREAM events WATERMARK ts "
        "DELAY OF INTERVAL 5 SECONDS) e JOIN (SELECT DISTINCT key, ts, id FROM STREAM others "
        "WATERMARK ts DELAY OF INTERVAL 5 SECONDS) o ON e.key = o.key AND o.ts BETWEEN e.ts AND "
        "e.ts + INTERVAL 2 SECONDS",
        "append",
    ),
}
"""Queries of several stateful operators, and their mode."""
ANY_CHAIN = {"spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false"}


@pytest.mark.parametrize(
    ("name", "tasks"), [*((name, 3) for name in CHAINS), ("operators beside files", 1)]
)
def test_tasks_give_their_rows_to_those_of_the_next_operator(
    spark: SparkSession,
    tmp_path: Path,
    steps: list[list[Path]],
    name: str,
    tasks: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sql, mode = CHAINS[name]
    run = Batch.run_kernel
    given: Counter[str] = Counter()

    def counted(self: Batch, node: Kernel, *args: Any) -> DataFrame:
        if any(isinstance(rows, DealOut) for rows in node.inputs):
            given[str(self.context.conf.settings[ENABLED])] += 1
        return run(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", counted)
    found = [
        both_ways(Job(spark, tmp_path / first, sql, mode, tasks=tasks), steps, first, ANY_CHAIN)
        for first in ("true", "false")
    ]
    assert found[0] == found[1]
    assert any(rows for rows, *_ in found[0])
    assert set(given) == {"true"}


def dealt(scan: Scan, tasks: int, early: EarlyGroups | None) -> list[tuple[list[PlacedRows], Any]]:
    """What reaches each task where the parts of files are read out of order."""
    dealing = Dealing.of({0: scan}, tasks, early)
    units = pa.record_batch({"id": list(range(len(dealing.units)))[::-1]})
    found = pa.Table.from_batches(list(dealing.packed([units])))
    return [
        received(found.filter(pc.field(TO) == to).to_batches(max_chunksize=3), 1)
        for to in dealing.to
    ]


@pytest.mark.parametrize("tasks", [1, 3, 16])
def test_rows_that_are_dealt_out_are_those_that_each_task_reads(
    steps: list[list[Path]], tasks: int
) -> None:
    steps_of = (
        Step("column", (), kind, options=(i,)) for i, kind in enumerate(("string", "bigint"))
    )
    values = Evaluator(Program(tuple(steps_of), (), (0, 1)))
    schema = pa.schema([("key", pa.string()), ("id", pa.int64())])
    files = [ScanFile(str(path), pq.read_metadata(path).num_rows) for path in steps[0]]
    scan = Scan(
        files=tuple(files),
        reader=ParquetReader(schema),
        values=values,
        hashed=1,
        places=(0, 1),
        counted=True,
    )
    read = SeenTimes()
    for task, (rows, (seen,)) in enumerate(dealt(scan, tasks, None)):
        own, _ = scan_rows(scan, tasks, task)
        assert pairs(rows) == pairs(own)
        read = read.with_seen(seen)
    assert read.rows == 220


def test_what_keys_and_columns_share_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    upper, calls = OPERATIONS["upper"], list[int]()

    def counted(step: Step, text: Any) -> Any:
        calls.append(len(text))
        return upper(step, text)

    monkeypatch.setitem(OPERATIONS, "upper", counted)
    read = Step("column", (), "string", options=(0,))
    shared = Step("upper", (0,), "string", ("string",))
    known = Step("isnotnull", (0,), "boolean", ("string",))
    values = Evaluator(Program((read, shared, known), (2,), (1, 1)))
    computation = values.begin(pa.record_batch({"a": ["x", None, "y", "z"]}))
    assert [column.to_pylist() for column in computation.results(0, 1)] == [["X", "Y", "Z"]]
    own = computation.where(pa.array([True, False, True]))
    assert [column.to_pylist() for column in own.results(1)] == [["X", "Z"]]
    assert (calls, computation.count, own.count) == ([3], 3, 2)
    assert computation.kept.to_pylist() == [True, False, True, True]


def pairs(rows: list[PlacedRows]) -> list[tuple[Any, ...]]:
    return [
        (place, hashed, *values)
        for part in rows
        for place, hashed, *values in zip(
            part.places.tolist(),
            part.hashes.tolist(),
            *(column.to_pylist() for column in part.columns.columns),
            strict=True,
        )
    ]


MANY = {
    "groups": (
        "SELECT key, id % 3 AS m, count(*) AS c, sum(n) AS s, max(x) AS x, min(day) AS d "
        "FROM STREAM events WHERE n > -45 GROUP BY 1, 2",
        "update",
    ),
    "sorted": (
        "SELECT key, count(*) AS c FROM STREAM events GROUP BY key ORDER BY c, key",
        "complete",
    ),
    "one group": (
        "SELECT count(*) AS c, sum(n) AS s, sort_array(collect_set(id % 9)) AS k "
        "FROM STREAM events",
        "complete",
    ),
    "sliding windows": (
        f"SELECT window(ts, '12 seconds', '4 seconds') AS w, key, id % 7 AS m, count(*) AS c, "
        f"sum(n) AS s, max(x) AS x, min(day) AS d {LATE} WHERE n > -45 GROUP BY 1, 2, 3",
        "append",
    ),
    "sliding windows of other lengths": (
        f"SELECT window(ts, '10 seconds', '4 seconds') AS w, key, count(n) AS c {LATE} "
        "GROUP BY 1, 2",
        "append",
    ),
    "cube": (
        "SELECT upper(key) AS k, id % 3 AS m, day, count(*) AS c, sum(n) AS s, max(x) AS x "
        "FROM STREAM events GROUP BY CUBE(upper(key), id % 3, day)",
        "update",
    ),
    "grouping sets of what is aggregated": (
        "SELECT key, count(*) AS c, max(upper(key)) AS k FROM STREAM events GROUP BY "
        "GROUPING SETS ((key), ()) HAVING count(*) > 3",
        "complete",
    ),
}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The files of two steps of 60,000 rows."""
    own, root = random.Random(12), tmp_path_factory.mktemp("many")
    files = [root / f"{step}.parquet" for step in range(2)]
    for step, file in enumerate(files):
        rows = [rows_of(own, step, 6_000)]
        pq.write_table(pa.concat_tables(rows * 10), file, row_group_size=30_000)
    return files


@some_on_spark(
    "name",
    [(name,) for name in MANY],
    [("groups",), ("one group",), ("sliding windows",), ("cube",)],
)
def test_many_rows_of_few_keys(
    session: SparkSession, tmp_path: Path, many: list[Path], name: str
) -> None:
    sql, mode = MANY[name]
    found = []
    for way in ("true", "false"):
        job = Job(session, tmp_path / way, sql, mode)
        found.append([batch for file in many for batch in job.step([file], {ENABLED: way})])
    assert found[0] == found[1]
    assert any(emitted for emitted, *_ in found[0])


@pytest.mark.parametrize("name", ["window", "deduplicate"])
def test_with_many_tasks_rows_are_dealt_out(
    spark: SparkSession, tmp_path: Path, steps: list[list[Path]], name: str
) -> None:
    sql, mode = QUERIES[name]
    found = []
    for number, tasks in enumerate((MOST_TASKS + 1, 2)):
        job = Job(spark, tmp_path / str(number), sql, mode, tasks=tasks)
        conf = {"spark.sql.shuffle.partitions": "18"}
        found.append([batch for files in steps[:2] for batch in job.step(files, conf)])
    assert found[0] == found[1]


def test_what_needs_spark_goes_through_it(
    spark: SparkSession, tmp_path: Path, steps: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Batch.run_kernel

    def checked(self: Batch, node: Kernel, *args: Any) -> DataFrame:
        assert not rows_of_tasks(node), "tasks read the files"
        return run(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", checked)
    sql = "SELECT soundex(key) AS k, count(*) AS c FROM STREAM events GROUP BY 1"
    assert list(Job(spark, tmp_path / "a", sql, "update").step(steps[0], {}))
    plain = "SELECT key, count(*) AS c FROM STREAM events GROUP BY 1"
    options = {"mergeSchema": "true"}
    assert list(Job(spark, tmp_path / "b", plain, "update", options=options).step(steps[0], {}))


@pytest.mark.parametrize("rows", ["STREAM events", "(SELECT DISTINCT key, id FROM STREAM events)"])
def test_spark_computes_what_our_own_code_does_not_know(
    spark: SparkSession, tmp_path: Path, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scanned: set[int] = set()
    run = Batch.run_kernel

    def noted(self: Batch, node: Kernel, *args: Any) -> DataFrame:
        if rows_of_tasks(node):
            scanned.add(self.context.batch_id)
        return run(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", noted)
    files = []
    # Java reads the digits of all scripts.
    for number, texts in enumerate((["1.5", "2"], ["3", "٤"], ["5"])):
        files.append(tmp_path / f"{number}.parquet")
        pq.write_table(pa.table({"key": texts, "id": [1] * len(texts)}), files[-1])
    sql = f"SELECT id, sum(CAST(key AS DECIMAL(9, 1))) AS s FROM {rows} GROUP BY 1"
    found = []
    for way in ("true", "false"):
        job = Job(spark, tmp_path / way, sql, "update", options={"maxFilesPerTrigger": "1"})
        found.append(list(job.step(files, ANY_CHAIN | {ENABLED: way})))
    assert found[0] == found[1]
    assert scanned == {0, 1}  # none after that


def test_a_file_damaged_behind_its_footer_is_named(
    spark: SparkSession, tmp_path: Path, steps: list[list[Path]]
) -> None:
    good = steps[0][0]
    data = bytearray(good.read_bytes())
    data[4:200] = bytes(196)
    (tmp_path / "bad.parquet").write_bytes(data)
    sql = "SELECT key, count(*) AS c FROM STREAM events GROUP BY 1"
    job = Job(spark, tmp_path, sql, "update")
    with pytest.raises(StateplanError, match=r"FAILED_READ_FILE.*bad\.parquet"):
        list(job.step([tmp_path / "bad.parquet"], {}))
