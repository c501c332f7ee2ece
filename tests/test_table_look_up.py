"""Tables that the tasks of a stateful operator join with what they read: the same as by Spark."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stateplan
from stateplan.runtime.engines.batch import Batch
from stateplan.runtime.kernels.expressions.evaluator import Evaluator
from stateplan.runtime.kernels.expressions.programs.program import Program, Step
from stateplan.runtime.kernels.scans.parquet_files import ScanFile
from stateplan.runtime.kernels.scans.table_look_up import KeyedTable, TableLookUp, forget_tables
from stateplan.runtime.plan.reading_nodes import rows_of_tasks
from stateplan.runtime.sinks import ForeachBatchSink
from stateplan.runtime.sources.parquet import ENABLED, TableFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = "key STRING, ts TIMESTAMP, n INT, id BIGINT, day DATE, price DECIMAL(9,2)"
SHOPS = "id BIGINT, day DATE, name STRING, factor DOUBLE, price DECIMAL(9,2)"
UTC = pa.timestamp("us", "UTC")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LATE = "STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS AS e"


def some(own: random.Random, value: Any) -> Any:
    return None if own.random() < 0.1 else value


def price(own: random.Random) -> Any:
    return some(own, Decimal(own.randrange(6)) / 4)


def events(own: random.Random, step: int, count: int) -> pa.Table:
    return pa.table(
        {
            "key": [some(own, f"k{own.randrange(9)}") for _ in range(count)],
            "ts": [
                START + dt.timedelta(seconds=20 * step + own.random() * 25) for _ in range(count)
            ],
            "n": pa.array([some(own, own.randrange(-9, 9)) for _ in range(count)], pa.int32()),
            "id": [some(own, own.choice((own.randrange(12), -(1 << 62)))) for _ in range(count)],
            "day": [some(own, dt.date(2026, 1, 1 + own.randrange(4))) for _ in range(count)],
            "price": pa.array([price(own) for _ in range(count)], pa.decimal128(9, 2)),
        }
    ).cast(
        pa.schema(
            [
                *(("key", pa.string()), ("ts", UTC), ("n", pa.int32()), ("id", pa.int64())),
                *(("day", pa.date32()), ("price", pa.decimal128(9, 2))),
            ]
        )
    )


def shops(own: random.Random, count: int) -> pa.Table:
    """Rows of which some have the same key, some a null in it."""
    return pa.table(
        {
            "id": pa.array([some(own, own.randrange(9)) for _ in range(count)], pa.int64()),
            "day": [some(own, dt.date(2026, 1, 1 + own.randrange(3))) for _ in range(count)],
            "name": [some(own, f"k{own.randrange(14)}") for _ in range(count)],
            "factor": [some(own, own.randrange(-4, 4) / 2) for _ in range(count)],
            "price": pa.array([price(own) for _ in range(count)], pa.decimal128(9, 2)),
        }
    )


JOINS = {
    "inner": "JOIN shops AS s ON e.id = s.id",
    "of two keys": "JOIN shops AS s ON e.id = s.id AND e.day = s.day",
    "of a computed key": "JOIN shops AS s ON e.n + 1 = s.id AND upper(e.key) = upper(s.name)",
    "of a decimal": "JOIN shops AS s ON e.price = s.price",
    "with a condition": "JOIN shops AS s ON e.key = s.name AND e.n > s.factor",
    "of some rows": "JOIN (SELECT * FROM shops WHERE factor > 0) AS s ON e.id = s.id",
    "left": "LEFT JOIN shops AS s ON e.id = s.id AND e.key = s.name",
    "left and filtered": "LEFT JOIN shops AS s ON e.id = s.id WHERE coalesce(s.factor, 1) > 0",
    "semi": "LEFT SEMI JOIN shops AS s ON e.id = s.id",
    "anti": "LEFT ANTI JOIN shops AS s ON e.key = s.name",
    "twice": "JOIN shops AS o ON e.id = o.id LEFT JOIN shops AS s ON o.name = s.name WHERE e.n > 0",
}


def query_of(join: str) -> str:
    added = "e.day" if "SEMI" in join or "ANTI" in join else "s.name"
    return (
        f"SELECT window(e.ts, '10 seconds') AS w, {added} AS added, count(*) AS c, sum(e.n) AS s, "
        f"max(e.key) AS k FROM {LATE} {join} GROUP BY 1, 2"
    )


def run(
    spark: SparkSession | None, root: Path, join: str, conf: dict[str, str], steps: int = 2
) -> Iterator[Any]:
    """Per step what a query emits, and what its progress says of state and event times."""
    own = random.Random(7)
    (root / "in").mkdir(parents=True)
    (root / "shops").mkdir()
    pq.write_table(shops(own, 12), root / "shops" / "a.parquet")
    pq.write_table(shops(own, 5), root / "shops" / "b.parquet")
    sources = {
        "events": {"schema": EVENTS, "format": "parquet", "path": str(root / "in")},
        "shops": {
            "schema": SHOPS,
            "format": "parquet",
            "path": str(root / "shops"),
            "static": True,
        },
    }
    for step in range(steps):
        pq.write_table(events(own, step, 90), root / "in" / f"{step}.parquet", row_group_size=40)
        rows: list[Any] = []
        progress: list[Any] = []

        def take(frame: DataFrame, batch_id: int, rows: list[Any] = rows) -> None:
            rows.extend(sorted(map(repr, frame.collect())))

        query = stateplan.sql(
            query_of(join),
            sources=sources,
            output_mode="append",
            conf={"spark.sql.shuffle.partitions": "4", **conf},
        )
        query.run(
            spark,
            engine="auto" if spark is not None else "embedded",
            sink=ForeachBatchSink(take),
            trigger="available_now",
            checkpoint=root / "checkpoint",
            listeners=[progress.append],
            background=False,
        ).await_termination()
        names = ("numRowsTotal", "numRowsUpdated", "numRowsRemoved", "numRowsDroppedByWatermark")
        states = [[one["stateOperators"][0][name] for name in names] for one in progress]
        yield rows, states, [one.get("eventTime") for one in progress]


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many look-ups each kernel over files does."""
    found: list[int] = []
    original = Batch.run_kernel

    def counted(self: Batch, node: Any, *args: Any) -> Any:
        inputs = rows_of_tasks(node)
        if inputs and self.context.files["events"].files:
            found.append(sum(len(rows.steps) for rows in inputs))
        return original(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", counted)
    return found


@pytest.mark.parametrize("name", ["of two keys", "anti", "twice"])
def test_either_way_is_the_same(
    spark: SparkSession, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = counting(monkeypatch)
    own, by_spark = (
        list(run(spark, tmp_path / way, JOINS[name], {ENABLED: way})) for way in ("true", "false")
    )
    assert own == by_spark
    assert any(rows for rows, *_ in own)
    assert looked_up == [2 if name == "twice" else 1] * 2


@pytest.mark.embedded
@pytest.mark.parametrize("name", JOINS)
def test_either_way_is_the_same_embedded(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = counting(monkeypatch)
    own, by_engine = (
        list(run(None, tmp_path / way, JOINS[name], {ENABLED: way})) for way in ("true", "false")
    )
    assert own == by_engine
    assert looked_up


def column(place: int, kind: str) -> Step:
    return Step("column", (), kind, options=(place,))


def picked(*kinds: str) -> Evaluator:
    steps = tuple(column(place, kind) for place, kind in enumerate(kinds))
    return Evaluator(Program(steps, (), tuple(range(len(kinds)))))


def keyed_table(path: Path, table: pa.Table, written_ns: int = 0) -> KeyedTable:
    pq.write_table(table, path)
    files = (ScanFile(str(path), table.num_rows, written_ns=written_ns),)
    return KeyedTable(files, table.schema, picked("string", "bigint"), 1)


@pytest.mark.parametrize("spread", [1, 1 << 40])
def test_numbers_close_together_or_far_apart_find_the_same(tmp_path: Path, spread: int) -> None:
    table = pa.table({"name": ["a", "b", "c", "d"], "id": [-3 * spread, 0, None, 9 * spread]})
    one = TableLookUp(
        keyed_table(tmp_path / "t.parquet", table), picked("bigint", "bigint"), 1, "LeftOuter"
    )
    least, most = -(1 << 63), (1 << 63) - 1
    ids = [9 * spread, None, least, most, 0, -3 * spread, 1, -4 * spread]
    rows = pa.record_batch({"n": pa.array(range(len(ids))), "id": pa.array(ids, pa.int64())})
    (joined,) = one.over([rows])
    assert joined.column(0).to_pylist() == list(range(len(ids)))
    assert joined.column(1).to_pylist() == ["d", None, None, None, "b", "a", None, None]


def test_an_empty_table_matches_nothing(tmp_path: Path) -> None:
    table = pa.table({"name": pa.array([], pa.string()), "id": pa.array([], pa.int64())})
    keyed = keyed_table(tmp_path / "t.parquet", table)
    rows = pa.record_batch({"n": [1, 2], "id": [1, None]})
    for join_type, count in (("Inner", 0), ("LeftOuter", 2), ("LeftSemi", 0), ("LeftAnti", 2)):
        one = TableLookUp(keyed, picked("bigint", "bigint"), 1, join_type)  # type: ignore[arg-type]
        assert [batch.num_rows for batch in one.over([rows])] == [count]


def test_a_table_is_read_again_once_a_file_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = pa.record_batch({"n": [1], "id": [7]})
    files = TableFiles([str(path)])
    assert files.now() is None
    found = []
    for name in ("before", "after!"):
        pq.write_table(pa.table({"name": [name], "id": [7]}), path)
        now = files.now()
        assert now is not None
        assert files.now() is now
        schema = pa.schema({"name": pa.string(), "id": pa.int64()})
        table = KeyedTable(now.files, schema, picked("string", "bigint"), 1)
        one = TableLookUp(table, picked("bigint", "bigint"), 1, "Inner")
        found += [batch.column(1)[0].as_py() for batch in one.over([rows])]
    assert found == ["before", "after!"]
    forget_tables()
