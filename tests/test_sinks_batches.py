"""Sinks: each batch whole and once, also after a failure."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.schema_json import type_from_json
from stateplan.planner.model.schemas.types import INT, StructField, StructType
from stateplan.planner.model.settings.conf import Conf
from stateplan.runtime import compactible_log
from stateplan.runtime.engines.local_rows import LocalRows
from stateplan.runtime.files import write_new
from stateplan.runtime.frames import for_arrow
from stateplan.runtime.output_log import visible_files
from stateplan.runtime.plan.facts import SPARK
from stateplan.runtime.sinks import (
    ConsoleSink,
    FileSink,
    ForeachBatchSink,
    MemorySink,
    NoopSink,
    files,
    make_sink,
    publication,
)
from stateplan.runtime.sources import FileSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Action = Callable[[], object]


def rows(spark: SparkSession, *values: int) -> DataFrame:
    return spark.createDataFrame([(v,) for v in values], "v int").coalesce(1)


def opened(directory: Path, query: str = "q", next_batch: int = 0) -> FileSink:
    sink = FileSink("parquet", str(directory))
    sink.attach(query, next_batch, "append")
    return sink


def put(sink: FileSink, frame: DataFrame, batch_id: int) -> None:
    sink.write(frame, batch_id)
    sink.publish()


def read(spark: SparkSession, directory: Path) -> list[int]:
    return sorted(r.v for r in spark.read.parquet(str(directory)).collect())


def test_spark_reads_each_batch_once(spark: SparkSession, tmp_path: Path) -> None:
    sink = opened(tmp_path / "out")
    put(sink, rows(spark, 1, 2), 0)
    put(sink, rows(spark, 3), 1)
    put(opened(tmp_path / "out", next_batch=1), rows(spark, 3), 1)
    assert read(spark, tmp_path / "out") == [1, 2, 3]
    names = {p.name for p in (tmp_path / "out").iterdir() if not p.name.startswith((".", "_"))}
    assert names == {Path(f.path).name for f in visible_files(tmp_path / "out")}


def test_a_file_source_reads_an_output_by_its_log(spark: SparkSession, tmp_path: Path) -> None:
    put(opened(tmp_path / "out"), rows(spark, 1, 2), 0)
    (tmp_path / "out" / "part-stray.parquet").write_bytes(b"no parquet")
    schema = StructType((StructField("v", INT),))
    source = FileSource("parquet", str(tmp_path / "out"), schema)
    source.attach(tmp_path / "log")
    frame = source.batch(spark, None, source.latest_offset(None))
    assert sorted(r.v for r in frame.collect()) == [1, 2]


def listed(directory: Path) -> list[str]:
    """What a reader sees that lists the directory."""
    return sorted(p.name for p in directory.iterdir() if p.name[0] not in "._")


def test_a_batch_that_comes_again_before_it_is_published(
    spark: SparkSession, tmp_path: Path
) -> None:
    sink = opened(tmp_path / "out")
    sink.write(rows(spark, 1, 2), 0)
    assert listed(tmp_path / "out") == []
    put(sink, rows(spark, 3), 0)
    sink.publish()
    assert read(spark, tmp_path / "out") == [3]
    assert [p.name for p in (tmp_path / "out" / "_stateplan").iterdir() if p.suffix != ".crc"] == [
        "query"
    ]


def before(monkeypatch: pytest.MonkeyPatch, where: ModuleType, name: str, what: Action) -> None:
    """Do something before a function is called, once."""
    function = getattr(where, name)

    def wrapped(*args: object) -> object:
        monkeypatch.setattr(where, name, function)
        what()
        return function(*args)

    monkeypatch.setattr(where, name, wrapped)


def test_a_batch_that_cannot_be_published_is_taken_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    sink = opened(tmp_path / "out")
    sink.write(rows(spark, 1), 0)
    before(monkeypatch, compactible_log, "link_new", fail)
    with pytest.raises(StateplanError, match="No space left"):
        sink.publish()
    assert listed(tmp_path / "out") == []
    put(sink, rows(spark, 1), 0)
    assert read(spark, tmp_path / "out") == [1]


@pytest.mark.parametrize("step", ["link_new", "remove"])
def test_what_a_driver_that_died_had_moved_is_removed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    out, then = tmp_path / "out", tmp_path / "then"
    sink = opened(out)
    sink.write(rows(spark, 1), 0)
    where = compactible_log if step == "link_new" else publication
    before(monkeypatch, where, step, lambda: shutil.copytree(out, then))
    sink.publish()
    shutil.rmtree(out)
    then.rename(out)
    published = step == "remove"
    assert len(listed(out)) == 1
    opened(out)
    assert len(listed(out)) == published
    put(opened(out), rows(spark, 1), 0)
    assert read(spark, out) == [1]
    assert len(listed(out)) == 1


@pytest.mark.parametrize("step", ["write_new", "_sync", "link_new", "remove"])
def test_a_driver_that_was_superseded_cannot_publish(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Two drivers, no lock that keeps them apart: the second starts within a publication."""
    out = tmp_path / "out"
    first = opened(out)
    first.write(rows(spark, 1), 0)
    where = compactible_log if step == "link_new" else publication
    before(monkeypatch, where, step, lambda: put(opened(out), rows(spark, 2), 0))
    if step == "remove":
        first.publish()
    else:
        with pytest.raises(StateplanError):
            first.publish()
    assert read(spark, out) == [1 if step == "remove" else 2]
    opened(out, next_batch=1)
    assert len(listed(out)) == 1


def test_partition_columns_become_directories(spark: SparkSession, tmp_path: Path) -> None:
    sink = FileSink("json", str(tmp_path / "out"), partition_by=["k"])
    sink.attach("q", 0, "append")
    put(sink, spark.createDataFrame([(1, "a"), (2, "b")], "v int, k string"), 0)
    assert sorted(p.name for p in (tmp_path / "out").glob("k=*")) == ["k=a", "k=b"]
    found = spark.read.json(str(tmp_path / "out")).collect()
    assert sorted((r.v, r.k) for r in found) == [(1, "a"), (2, "b")]


def test_a_directory_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    with pytest.raises(StateplanError, match="is not empty") as caught:
        opened(tmp_path)
    assert caught.value.condition == "STATEPLAN_OUTPUT_NOT_EMPTY"


def test_another_run_may_take_the_output_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken(by: str) -> Callable[[Path, bytes], None]:
        def write(path: Path, data: bytes) -> None:
            write_new(path, by.encode())
            write_new(path, data)

        return write

    monkeypatch.setattr(files, "write_new", taken("q"))
    opened(tmp_path / "same", "q")
    with pytest.raises(StateplanError) as caught:
        opened(tmp_path / "other", "other")
    assert caught.value.condition == "STATEPLAN_OUTPUT_OTHER_QUERY"


def test_the_output_of_another_query_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    put(opened(tmp_path / "out"), rows(spark, 1), 0)
    with pytest.raises(StateplanError) as caught:
        opened(tmp_path / "out", "other")
    assert caught.value.condition == "STATEPLAN_OUTPUT_OTHER_QUERY"


def test_a_damaged_output_log_is_named(spark: SparkSession, tmp_path: Path) -> None:
    put(opened(tmp_path / "out"), rows(spark, 1), 0)
    os.truncate(tmp_path / "out" / "_spark_metadata" / "0", 20)
    with pytest.raises(StateplanError, match="_spark_metadata/0") as caught:
        visible_files(tmp_path / "out")
    assert caught.value.condition == "STATEPLAN_CHECKPOINT_CORRUPT"


def test_files_take_append_only(tmp_path: Path) -> None:
    with pytest.raises(StateplanError) as caught:
        FileSink("json", str(tmp_path)).attach("q", 0, "complete")
    assert caught.value.condition == "STREAMING_OUTPUT_MODE.UNSUPPORTED_DATASOURCE"


def test_memory_adds_batches_or_keeps_the_last(spark: SparkSession) -> None:
    sink = MemorySink(spark, "seen")
    sink.attach("q", 0, "append")
    for batch_id, values in ((0, [1]), (1, [2, 3]), (1, [2, 3])):
        assert sink.write(rows(spark, *values), batch_id) == len(values)
    assert sink.rows() == [(1,), (2,), (3,)]
    assert [r.v for r in spark.table("seen").collect()] == [1, 2, 3]
    sink.attach("q", 2, "complete")
    sink.write(rows(spark, 9), 2)
    assert [r.v for r in spark.table("seen").collect()] == [9]


INTERVALS = (
    "make_ym_interval(1, CAST(id AS INT)) AS y",
    "array(INTERVAL '3' MONTH) AS m",
    "DATE'2026-01-03' - DATE'2026-01-01' AS d",
    "map('a', INTERVAL '5' MINUTE) AS p",
    "IF(id > 0, struct(id AS a, id + 1 AS a, 'x' AS b), NULL) AS s",
)


def test_a_view_of_a_memory_sink_has_the_types_of_its_rows(spark: SparkSession) -> None:
    frame = spark.range(2).selectExpr(*INTERVALS)
    sink = MemorySink(spark, "kept")
    for batch in range(2):
        sink.write(frame, batch)
    kept = spark.table("kept")
    assert kept.dtypes == frame.dtypes
    shown = [f"CAST({name} AS STRING) AS {name}" for name in kept.columns]
    expected = frame.union(frame).selectExpr(*shown).collect()
    assert kept.selectExpr(*shown).collect() == expected


SHOWN = """
SELECT 1 AS a, 'x' AS a, CAST(NULL AS INT) AS `a name that is longer than any value`,
    array(1, NULL, 3) AS numbers, array(array('n'), NULL, array()) AS lists,
    named_struct('x', CAST(NULL AS INT), 'y', 'y') AS pair, map('k', CAST(NULL AS INT)) AS m,
    X'6162' AS bytes, array(X'61', X'') AS many, CAST(0 AS DECIMAL(20, 10)) AS zero,
    array(CAST(1e-9 AS DECIMAL(20, 10))) AS small, 1e-7D AS d, CAST('NaN' AS FLOAT) AS f,
    DATE '2024-02-29' AS day, TIMESTAMP '2024-02-29 10:00:00.5' AS at,
    TIMESTAMP_NTZ '0001-01-01 00:00:00' AS ntz, struct(true AS b, DATE '2024-01-01' AS c) AS s,
    '\u65e5\u672c\u8a9e and more than twenty' AS wide, '\U0001f600\U0001f600' AS faces,
    'a\\nb\\u0007\\f\\tc' AS escaped
UNION ALL SELECT 22, NULL, 3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL, NULL, NULL, NULL, NULL
"""
ENGINES_OWN = """
SELECT INTERVAL '1' YEAR AS years,
    array(INTERVAL '1-2' YEAR TO MONTH, NULL) AS more, 'a' COLLATE UNICODE_CI AS collated,
    1.50 AS d, named_struct('x', 1, 'x', 'y') AS twice
"""


def schema_of(frame: DataFrame) -> StructType:
    schema = type_from_json(frame.schema.jsonValue())
    assert isinstance(schema, StructType)
    return schema


def console(frame: Any, schema: StructType, **settings: Any) -> str:
    """What the console sink prints of a batch 3."""
    out = io.StringIO()
    sink = ConsoleSink(out=out, **settings)
    sink.check(schema, SPARK, Conf({"spark.sql.session.timeZone": "UTC"}))
    sink.write(frame, 3)
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 2, 12, None])
@pytest.mark.parametrize("query", [SHOWN, ENGINES_OWN, "SELECT 1 AS a WHERE false"])
def test_console_prints_as_spark_shows(spark: SparkSession, query: str, width: int | None) -> None:
    frame = spark.sql(query)
    table = frame._show_string(20, False if width is None else width)
    line = "-" * 43
    assert console(frame, schema_of(frame), width=width) == f"{line}\nBatch: 3\n{line}\n{table}\n"


def test_console_prints_rows_of_this_process_alike(spark: SparkSession) -> None:
    frame = spark.sql(SHOWN)
    here = for_arrow(frame).toArrow()
    rows = LocalRows(schema_of(frame), [here.to_batches()], lambda *_: pytest.fail("a query"))
    assert console(rows, rows.kind) == console(frame, rows.kind)


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_console_says_that_there_are_more_rows(spark: SparkSession, rows: int) -> None:
    frame = spark.sql("SELECT id FROM range(3)")
    assert console(frame, schema_of(frame), rows=rows).endswith(f"\n{frame._show_string(rows)}\n")


def test_noop_computes_rows_and_does_not_count_them(spark: SparkSession) -> None:
    assert NoopSink().write(rows(spark, 1, 2), 0) is None
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        NoopSink().write(rows(spark, 1).selectExpr("1 / (v - v) AS v"), 1)


def test_foreach_batch_may_use_its_rows_in_part_and_often(spark: SparkSession) -> None:
    calls: list[object] = []

    def function(frame: DataFrame, batch_id: int) -> None:
        calls.extend([batch_id, frame.isEmpty(), frame.count()])

    ForeachBatchSink(function).write(rows(spark, 1, 2), 4)
    assert calls == [4, False, 2]


def test_make_sink(tmp_path: Path) -> None:
    assert isinstance(make_sink("Console", options={"truncate": "false"}), ConsoleSink)
    assert isinstance(make_sink("parquet", path=str(tmp_path)), FileSink)
    for settings, condition in (
        ({"format": "kafak"}, "DATA_SOURCE_NOT_FOUND"),
        ({"format": "rate"}, "_LEGACY_ERROR_TEMP_2049"),
        ({"format": "json"}, "_LEGACY_ERROR_TEMP_2047"),
        ({"format": "console", "options": {"numRows": "x"}}, "STATEPLAN_BAD_OPTION"),
    ):
        with pytest.raises(StateplanError) as caught:
            make_sink(**settings)  # type: ignore[arg-type]
        assert caught.value.condition == condition
