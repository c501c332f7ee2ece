"""Files that our own code reads for the tasks of an operator: the same as through the engine."""

from __future__ import annotations

import datetime as dt
import gc
import importlib
import json
import random
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.engines.batch import Batch
from stateplan.runtime.kernels.errors import WRONG_HEADER
from stateplan.runtime.kernels.file_parts import FilePart
from stateplan.runtime.kernels.readers import line_files
from stateplan.runtime.kernels.readers.line_files import blocks, lines_before, parts_of
from stateplan.runtime.kernels.readers.own_reader import OwnReader
from stateplan.runtime.kernels.scans.parquet_files import ParquetReader, ScanFile
from stateplan.runtime.kernels.worker_memory import made_ready_behind
from stateplan.runtime.plan.reading_nodes import are_dealt, rows_of_tasks
from stateplan.runtime.sinks import ForeachBatchSink, MemorySink
from stateplan.runtime.sources import MemorySource
from stateplan.runtime.sources.file_partitions import in_partitions
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
    "pairs": "SELECT k, v, p, max(n) AS m FROM STREAM events LATERAL VIEW OUTER posexplode("
    "str_to_map(concat(shop, ':', n, ',x:', x), ',', ':')) AS p, k, v GROUP BY 1, 2, 3",
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
        rows = rows_of_tasks(node)
        if rows and self.context.files["events"].files:
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


@pytest.mark.parametrize("separator", [None, b";"])
@pytest.mark.parametrize("size", [1, 2, 7, 30, 1000])
@pytest.mark.parametrize(
    "text", ["a\nbb\n\nccc\ndddd", "a\r\nbb\r\n", "\n\n\n", "one line", "", "a;b\nb;;\ncc"]
)
def test_the_parts_of_a_file_hold_each_line_once(
    tmp_path: Path,
    text: str,
    size: int,
    separator: bytes | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_files, "PART", size)
    monkeypatch.setattr(line_files, "BLOCK", 3)
    path = tmp_path / "a.json"
    path.write_bytes(text.encode())
    monkeypatch.setattr(line_files, "_LINE", 2)
    whole = b"".join(blocks(str(path), separator))
    parts = parts_of(str(path))
    assert len(parts) == max(1, round(len(text) / size))
    lines = 0
    found = []
    for part in parts:
        found.append(b"".join(blocks(str(path), separator, part)))
        if separator is None:
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


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_rows_come_from_the_partitions_in_which_spark_reads_them(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    own = random.Random(format)
    settings = {
        "spark.sql.files.openCostInBytes": "300",
        "spark.sql.files.maxPartitionBytes": "2KB",
    }
    paths = [tmp_path / f"{i}.{format}" for i in range(8)]
    first = 0
    for path in paths:
        count = own.choice([0, 1, 3, 60, 400])
        ids = range(first, first + count)
        first += count
        texts = [own.choice(["s1", "straße", "x" * own.randrange(40)]) for _ in ids]
        if format == "parquet":
            table = pa.table({"id": pa.array(ids, pa.int64()), "text": texts})
            pyarrow.parquet.write_table(table, path, row_group_size=own.choice([25, 90, 1000]))
        elif format == "json":
            lines = [json.dumps({"id": i, "text": t}) for i, t in zip(ids, texts, strict=True)]
            path.write_text("".join(f"{line}\n" for line in lines))
        else:
            lines = [f"{i},{t}" for i, t in zip(ids, texts, strict=True)]
            path.write_text("".join(f"{line}\n" for line in ["id,text", *lines]))
    session = spark.newSession()
    for name, value in settings.items():
        session.conf.set(name, value)
    reader = session.read.schema("id BIGINT, text STRING").option("header", "true").format(format)
    frame = reader.load(list(map(str, paths)))
    wanted = {
        row.id: row.partition
        for row in frame.selectExpr("id", "spark_partition_id() AS partition").collect()
    }
    files = in_partitions(
        [ScanFile(str(path), pyarrow.parquet.read_metadata(path).num_rows) for path in paths]
        if format == "parquet"
        else [ScanFile(str(path), 0) for path in paths],
        [path.stat().st_size for path in paths],
        format,
        spark.sparkContext.defaultParallelism,
        settings.get,
    )
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    own_reader = OwnReader(
        format=format,
        schema=schema,
        columns=(0,),
        options=(("header", "true"),),
        time_zone="UTC",
        filters=(),
        given=None,
    )
    rows_of = ParquetReader(schema) if format == "parquet" else own_reader
    found = [
        (row, file.origin)
        for file in files
        for batch in rows_of.batches(file)
        for row in batch.column(0).to_pylist()
    ]
    assert len(set(wanted.values())) > 5
    assert [row for row, _ in found] == list(range(first))
    assert dict(found) == wanted


@pytest.mark.parametrize("engine", ["spark", pytest.param("embedded", marks=pytest.mark.embedded)])
def test_no_engine_plans_how_to_read_no_rows(
    request: pytest.FixtureRequest,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    found: dict[int, bool] = {}
    original = Batch.run_kernel

    def noted(self: Batch, node: Any, *args: Any) -> Any:
        found[self.context.batch_id] = bool(rows_of_tasks(node))
        return original(self, node, *args)

    monkeypatch.setattr(Batch, "run_kernel", noted)
    source = MemorySource(parse_schema(SCHEMA), 1)
    source.add([("s1", START, 1, 0.5), ("s2", START + dt.timedelta(seconds=40), 1, 0.5)])
    sink = MemorySink()
    stateplan.sql(QUERIES["windows"], {"events": SCHEMA}, "append").run(
        spark,
        engine=engine,
        sources={"events": source},
        sink=sink,
        trigger="available_now",
        background=False,
    ).await_termination()
    assert found == {0: False, 1: True}
    assert [row[1:] for row in sink.rows()] == [("S1", 0.5)]


def test_a_worker_has_little_to_do_before_its_next_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "some.zip"
    with zipfile.ZipFile(archive, "w") as modules:
        modules.writestr("first_in_a_zip.py", "")
        modules.writestr("second_in_a_zip.py", "")
    monkeypatch.syspath_prepend(str(archive))
    importlib.import_module("first_in_a_zip")
    assert str(archive) in sys.path_importer_cache
    before = gc.get_freeze_count()
    try:
        assert list(made_ready_behind(iter("ab"))) == ["a", "b"]
        assert gc.get_freeze_count() > before + 10_000
    finally:
        gc.unfreeze()
    assert str(archive) not in sys.path_importer_cache
    importlib.import_module("second_in_a_zip")
