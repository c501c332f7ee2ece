"""Files that our own code reads for the tasks of an operator: the same as through the engine."""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc
import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.engines.batch import Batch
from stateplan.runtime.kernels.errors import WRONG_HEADER
from stateplan.runtime.kernels.readers import line_files
from stateplan.runtime.kernels.readers.line_files import FilePart, blocks, lines_before, parts_of
from stateplan.runtime.plan.reading_nodes import are_dealt, rows_of_tasks
from stateplan.runtime.sinks import ForeachBatchSink
from stateplan.runtime.sources.parquet import ENABLED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "shop STRING, ts TIMESTAMP, n INT, x DOUBLE"
START = dt.datetime(2026, 1, 1)
LATE = "FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS"
QUERIES = {
    "filtered windows": f"SELECT window(ts, '10 seconds', '4 seconds') AS w, shop, count(*) AS c, "
    f"sum(n) AS s {LATE} WHERE n > 2 AND shop <> 's1' GROUP BY 1, 2",
    "windows": f"SELECT window(ts, '10 seconds') AS w, upper(shop) AS u, max(x) AS m {LATE} "
    "GROUP BY 1, 2",
    "sessions": f"SELECT session_window(ts, '2 seconds') AS w, shop, count(*) AS c {LATE} "
    "GROUP BY 1, 2",
    "all rows": f"SELECT count(*) AS c, sum(n) AS s, max(shop) AS m {LATE} WHERE x < 6",
    "words": "SELECT word, p, count(*) AS c FROM STREAM events LATERAL VIEW OUTER posexplode("
    "split(concat(shop, ' in ', n), ' ')) AS p, word GROUP BY 1, 2",
    "distinct": f"SELECT DISTINCT ON (shop, ts) shop, ts {LATE} WHERE x < 6",
}


def rows(own: random.Random, step: int, count: int) -> Iterator[dict[str, Any]]:
    for _ in range(count):
        time = START + dt.timedelta(seconds=round(20 * step + own.random() * 22, 1))
        row = {
            "shop": own.choice(["s1", "s2", "straße", None]),
            "ts": time,
            "n": own.choice([None, *range(9)]),
            "x": own.choice([None, 0.5, 7.25]),
        }
        yield {name: value for name, value in row.items() if own.random() < 0.95}


def write(format: str, path: Path, found: list[dict[str, Any]]) -> None:
    if format == "orc":
        schema = pa.schema(
            [
                *(("shop", pa.string()), ("ts", pa.timestamp("us"))),
                *(("n", pa.int32()), ("x", pa.float64())),
            ]
        )
        whole = [{name: row.get(name) for name in schema.names} for row in found]
        pyarrow.orc.write_table(pa.Table.from_pylist(whole, schema), path)
        return
    shown = [{k: f"{v.isoformat()}Z" if k == "ts" else v for k, v in r.items()} for r in found]
    if format == "json":
        lines = [json.dumps(row, ensure_ascii=False) for row in shown]
        lines[3] = '{"shop": "s2", "n": "no number", "ts": 1}'
        lines[7] = "no JSON"
    else:
        names = ("shop", "ts", "n", "x")
        lines = [
            ",".join("" if row.get(name) is None else str(row[name]) for name in names)
            for row in shown
        ]
        lines[5] = "s2,2026-01-01T00:00:03Z"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def results(
    root: Path, format: str, sql: str, conf: dict[str, str], spark: SparkSession | None = None
) -> list[Any]:
    (root / "in").mkdir(parents=True)
    found: list[Any] = []
    own = random.Random(5)
    for step in range(2):
        for part in range(2):
            made = list(rows(own, step, 60))
            write(format, root / "in" / f"{step}-{part}.{format}", made)
        progress: list[Any] = []
        emitted: list[str] = []

        def take(frame: Any, batch_id: int, emitted: list[str] = emitted) -> None:
            emitted.extend(map(repr, frame.collect()))

        query = stateplan.sql(
            sql,
            {"events": {"schema": SCHEMA, "format": format, "path": str(root / "in")}},
            "append" if "ts" in sql.split("FROM")[0] else "update",
            conf={"spark.sql.shuffle.partitions": "4", **conf},
        )
        query.run(
            spark,
            engine="embedded" if spark is None else "spark",
            sink=ForeachBatchSink(take),
            trigger="available_now",
            checkpoint=root / "checkpoint",
            listeners=[progress.append],
            tasks=2,
            background=False,
        ).await_termination()
        states = [[one["numInputRows"], one.get("eventTime")] for one in progress]
        found.append((sorted(emitted), states))
    return found


@pytest.fixture
def over_files(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each kernel whose tasks read files, whether others deal the rows out."""
    found: list[bool] = []
    original = Batch.run_kernel

    def noted(self: Batch, node: Any, *args: Any) -> Any:
        if rows := rows_of_tasks(node):
            found.append(are_dealt(rows))
        return original(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", noted)
    return found


@pytest.mark.embedded
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("format", ["json", "csv", "orc"])
def test_either_way_is_the_same(
    tmp_path: Path,
    format: str,
    name: str,
    monkeypatch: pytest.MonkeyPatch,
    over_files: list[bool],
) -> None:
    monkeypatch.setattr(line_files, "PART", 500)
    own, by_engine = (
        results(tmp_path / way, format, QUERIES[name], {ENABLED: way}) for way in ("true", "false")
    )
    assert own == by_engine
    assert any(emitted for emitted, _ in own)
    assert over_files == [False, False]


@pytest.mark.parametrize(
    ("format", "name"),
    [("json", "filtered windows"), ("csv", "windows"), ("json", "distinct"), ("csv", "all rows")],
)
def test_tasks_of_spark_deal_out_what_they_read(
    spark: SparkSession, tmp_path: Path, format: str, name: str, over_files: list[bool]
) -> None:
    own, by_spark = (
        results(tmp_path / way, format, QUERIES[name], {ENABLED: way}, spark)
        for way in ("true", "false")
    )
    assert own == by_spark
    assert any(emitted for emitted, _ in own)
    assert over_files == [True, True]


def test_spark_reads_what_our_own_reader_does_not_know(
    spark: SparkSession, tmp_path: Path, over_files: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = '{"shop": "s\\q", "ts": "2026-01-01T00:00:01Z", "n": 5}'
    original = write

    def written(format: str, path: Path, found: list[dict[str, Any]]) -> None:
        original(format, path, found)
        path.write_text(f"{path.read_text()}{odd}\n")

    monkeypatch.setattr("test_own_scans.write", written)
    own, by_spark = (
        results(tmp_path / way, "json", QUERIES["windows"], {ENABLED: way}, spark)
        for way in ("true", "false")
    )
    assert own == by_spark
    assert over_files == [True, True]  # in each of two runs once


def test_spark_says_what_is_wrong_with_a_header(
    spark: SparkSession, tmp_path: Path, over_files: list[bool]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("other\n1\n")
    events = {
        "schema": "n INT",
        "format": "csv",
        "path": str(tmp_path / "in"),
        "options": {"header": "true", "enforceSchema": "false"},
    }
    query = stateplan.sql(
        "SELECT n, count(*) AS c FROM STREAM events GROUP BY n",
        sources={"events": events},
        output_mode="update",
    )
    with pytest.raises(StateplanError, match="CSV header does not conform") as caught:
        query.run(spark, sink="noop", trigger="available_now", background=False).await_termination()
    assert caught.value.condition == WRONG_HEADER
    assert len(over_files) == 1


@pytest.mark.embedded
def test_a_line_that_is_not_known_is_named_by_its_number_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"shop": f"s{i}", "n": i}) for i in range(100)]
    lines[60] = '{"shop": "s\\q", "n": 1}'
    (tmp_path / "in" / "a.json").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(line_files, "PART", 300)
    query = stateplan.sql(
        "SELECT shop, count(*) AS c FROM STREAM events GROUP BY shop",
        sources={"events": {"schema": SCHEMA, "format": "json", "path": str(tmp_path / "in")}},
        output_mode="update",
    )
    with pytest.raises(StateplanError, match=r"Line 61 of .*a\.json"):
        query.run(
            engine="embedded",
            sink="noop",
            trigger="available_now",
            checkpoint=tmp_path / "checkpoint",
            background=False,
        ).await_termination()


@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize("text", ["a\nbb\n\nccc\ndddd", "a\r\nbb\r\n", "\n\n\n", "one line", ""])
def test_the_parts_of_a_file_hold_each_line_once(
    tmp_path: Path, text: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_files, "PART", size)
    monkeypatch.setattr(line_files, "BLOCK", 3)
    path = tmp_path / "a.json"
    path.write_bytes(text.encode())
    whole = b"".join(blocks(str(path)))
    parts = parts_of(str(path))
    assert len(parts) == max(1, round(len(text) / size))
    lines = 0
    found = []
    for part in parts:
        found.append(b"".join(blocks(str(path), part=part)))
        assert not found[-1] or lines_before(str(path), part.start) == lines
        lines += found[-1].count(b"\n")
    assert b"".join(found) == whole


def test_a_compressed_file_is_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line_files, "PART", 1)
    path = tmp_path / "a.json.gz"
    path.write_bytes(b"anything")
    assert parts_of(str(path)) == [FilePart()]
