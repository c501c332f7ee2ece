"""The column `_metadata` of streams of files, on both engines as Structured Streaming gives it."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from stateplan.planner.description import parse_description
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.query import Query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("json", "csv", "text", "parquet", "orc")
NAMES = ("a b#1", "ç%41;x", "plain", "a&<>\"'^`|", "nbsp\u00a0\u2028\u0085é", "+~@,=$!()")
FOLDER = "in %20é+ü"
NANOSECONDS = 1_700_000_000_123_456_789
FIELDS = (
    *("file_path", "file_name", "file_size", "file_block_start", "file_block_length"),
    "file_modification_time",
)


def write(path: Path, format: str, values: list[str]) -> None:
    table = pa.table({"value": values})
    if format == "parquet":
        pq.write_table(table, path, row_group_size=2)
    elif format == "orc":
        orc.write_table(table, path)
    else:
        line = '{{"value":"{}"}}\n' if format == "json" else "{}\n"
        path.write_text("".join(line.format(value) for value in values))


@pytest.fixture(params=FORMATS)
def files(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A format, and a folder of files of it."""
    folder = tmp_path / FOLDER
    folder.mkdir()
    for number, name in enumerate(NAMES):
        path = folder / f"{name}.{request.param}"
        write(path, request.param, [f"{number}{letter}" for letter in "abcde"])
        os.utime(path, ns=(0, NANOSECONDS + number * 10**9))
    return request.param, folder


def run(session: Any, format: str, folder: Path, python: str, **content: Any) -> list[Any]:
    """The rows of all batches of a query over `t`; no view of SQL has the column."""
    source = {"schema": "value STRING", "format": format, "path": str(folder)}
    description = {"sources": {"t": source}, "python": python, "output_mode": "append", **content}
    found: list[Any] = []
    handle = Query.of(parse_description(description)).run(
        session,
        foreach_batch=lambda frame, _: found.extend(map(as_tuple, frame.collect())),
        trigger="available_now",
        background=False,
    )
    if handle.exception() is not None:
        raise handle.exception()
    return sorted(found, key=repr)


def as_tuple(value: Any) -> Any:
    return tuple(map(as_tuple, value)) if isinstance(value, tuple) else value


def by_spark(spark: SparkSession, format: str, folder: Path, *columns: str) -> list[Any]:
    found: list[Any] = []
    place = str(folder.parent / "checkpoint")
    query = (
        spark.readStream.format(format)
        .schema("value string")
        .load(str(folder))
        .selectExpr(*columns)
        .writeStream.option("checkpointLocation", place)
        .foreachBatch(lambda frame, _: found.extend(map(as_tuple, frame.collect())))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(found, key=repr)


def expected(format: str, folder: Path) -> Iterator[tuple[Any, ...]]:
    """What Spark gives, as test_values_are_those_of_spark asks it: value, then the fields."""
    in_uri = (
        *("a%20b%231", "ç%2541;x", "plain", "a&%3C%3E%22'%5E%60%7C"),
        *("nbsp%C2%A0%E2%80%A8%C2%85é", "+~@,=$!()"),
    )
    for number, (name, written) in enumerate(zip(NAMES, in_uri, strict=True)):
        size = (folder / f"{name}.{format}").stat().st_size
        place = f"file:{folder.parent}/in%20%2520é+ü/{written}.{format}"
        seconds = datetime.timedelta(seconds=NANOSECONDS // 10**9 + number, milliseconds=123)
        time = (datetime.datetime(1970, 1, 1) + seconds).isoformat(" ", "milliseconds")
        for index, letter in enumerate("abcde"):
            values = (f"{number}{letter}", place, f"{written}.{format}", size, 0, size, time)
            yield (*values, index) if format == "parquet" else values


def asked_for(format: str) -> list[str]:
    names = (*FIELDS, "row_index") if format == "parquet" else FIELDS
    fields = [f"_metadata.{name}" for name in names]
    fields[5] = "CAST(_metadata.file_modification_time AS STRING)"
    return ["value", *fields]


def test_values_are_those_of_spark(spark: SparkSession, files: tuple[str, Path]) -> None:
    format, folder = files
    columns = asked_for(format)
    assert by_spark(spark, format, folder, *columns) == sorted(expected(format, folder), key=repr)
    shutil.rmtree(folder.parent / "checkpoint")
    assert run(spark, format, folder, "t.select('*', '_metadata')") == by_spark(
        spark, format, folder, "*", "_metadata"
    )


def test_each_field(session: Any, files: tuple[str, Path]) -> None:
    format, folder = files
    python = f"t.selectExpr(*{asked_for(format)})"
    assert run(session, format, folder, python) == sorted(expected(format, folder), key=repr)


def test_one_field_and_a_condition(session: Any, files: tuple[str, Path]) -> None:
    format, folder = files
    python = """t.where("_metadata.file_name LIKE 'pl%'").select("_metadata.file_size")"""
    size = (folder / f"plain.{format}").stat().st_size
    assert run(session, format, folder, python) == [(size,)] * 5


@pytest.mark.parametrize("tasks", [1, 2])
def test_what_tasks_group_by(session: Any, files: tuple[str, Path], tasks: int) -> None:
    format, folder = files
    python = """t.groupBy(F.col("_metadata.file_name").alias("file")).agg(
        F.count("*"), F.max("value"), F.min("_metadata.file_size")
    )"""
    conf = {"spark.sql.shuffle.partitions": str(tasks)}
    found = run(session, format, folder, python, output_mode="complete", conf=conf)
    rows = sorted(expected(format, folder), key=repr)[4::5]
    assert found == sorted(((row[2], 5, row[0], row[3]) for row in rows), key=repr)


def test_whole_struct_as_a_key(session: Any, files: tuple[str, Path]) -> None:
    format, folder = files
    python = "t.groupBy('_metadata').count()"
    found = run(session, format, folder, python, output_mode="complete")
    if format == "parquet":  # which has a field that differs row by row
        assert [n for _, n in found] == [1] * len(NAMES) * 5
    else:
        rows = sorted(expected(format, folder), key=repr)[::5]
        assert sorted((*key[:5], n) for key, n in found) == sorted((*row[1:6], 5) for row in rows)


def test_one_of_two_places_asks_for_it(session: Any, files: tuple[str, Path]) -> None:
    format, folder = files
    python = """
        t.select("value", F.lit("none")).union(t.select("value", "_metadata.file_name"))
    """
    rows = list(expected(format, folder))
    both = [(row[0], "none") for row in rows] + [(row[0], row[2]) for row in rows]
    assert run(session, format, folder, python) == sorted(both, key=repr)


def test_row_index_of_what_a_kernel_reads(session: Any, tmp_path: Path) -> None:
    write(tmp_path / "one.parquet", "parquet", [f"v{number}" for number in range(7)])
    python = "t.where('value > \"v1\"').select('value', '_metadata.row_index').distinct()"
    found = run(session, "parquet", tmp_path, python)
    assert found == [(f"v{number}", number) for number in range(2, 7)]


def test_many_parquet_files(session: Any, tmp_path: Path) -> None:
    for number in range(70):
        write(tmp_path / f"{number}.parquet", "parquet", [str(number)])
    python = "t.select('value', '_metadata.file_name')"
    names = {f"{number}": f"{number}.parquet" for number in range(70)}
    assert dict(run(session, "parquet", tmp_path, python)) == names


def test_own_column_of_that_name(session: Any, tmp_path: Path) -> None:
    line = '{"_metadata":{"file_path":"p","file_size":1},"value":"x"}\n'
    (tmp_path / "one.json").write_text(line)
    kind = (
        "STRUCT<file_path: STRING NOT NULL, file_name: STRING NOT NULL, file_size: BIGINT NOT NULL,"
        " file_block_start: BIGINT NOT NULL, file_block_length: BIGINT NOT NULL,"
        " file_modification_time: TIMESTAMP NOT NULL>"
    )
    schema = f"value STRING, _metadata {kind}"
    source = {"schema": schema, "format": "json", "path": str(tmp_path)}
    python = "t.select('value', '_metadata.file_path')"
    assert run(session, "json", tmp_path, python, sources={"t": source}) == [("x", "p")]


def test_a_source_that_does_not_say_it_is_refused_before_the_start(
    session: Any, tmp_path: Path
) -> None:
    pytest.importorskip("deltalake").write_deltalake(str(tmp_path), pa.table({"value": ["x"]}))
    with pytest.raises(StateplanError) as caught:
        run(session, "delta", tmp_path, "t.select('_metadata.file_name')")
    assert caught.value.condition == "STATEPLAN_UNSUPPORTED_COLUMN"


@pytest.mark.parametrize("format", ["text", "parquet"])
def test_signs_in_names_of_files(session: Any, tmp_path: Path, format: str) -> None:
    folder = tmp_path / "100%25"
    folder.mkdir()
    names = ("ç%41", "q?r", "[a]", "a#b", "c d")
    for name in names:
        write(folder / f"{name}.{format}", format, [name])
    assert run(session, format, folder, "t") == [(name,) for name in sorted(names, key=repr)]


def named(format: str, folder: Path) -> list[tuple[str, str]]:
    """Values, and what `input_file_name()` says of their files."""
    return [(row[0], f"file://{row[1].removeprefix('file:')}") for row in expected(format, folder)]


def test_names_of_files_are_those_of_spark(spark: SparkSession, files: tuple[str, Path]) -> None:
    format, folder = files
    found = by_spark(spark, format, folder, "value", "input_file_name()")
    assert found == sorted(named(format, folder), key=repr)


def test_names_of_files(session: Any, files: tuple[str, Path]) -> None:
    format, folder = files
    rows = named(format, folder)
    python = """t.withColumn("file", F.input_file_name()).select("value", "file")
        .where("file NOT LIKE '%plain%' AND value != '0a'")"""
    wanted = sorted((row for row in rows if "plain" not in row[1] and row[0] != "0a"), key=repr)
    assert run(session, format, folder, f"({python})") == wanted
    python = "t.groupBy(F.input_file_name()).count()"
    counts = sorted(((name, 5) for name in {name for _, name in rows}), key=repr)
    assert run(session, format, folder, python, output_mode="update") == counts


def test_names_of_files_with_metadata_and_a_watermark(session: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"value": ["2026-01-01 00:00:01"]}), tmp_path / "a b.parquet")
    python = """(t.select(F.col("value").cast("timestamp").alias("at"), "_metadata.file_size")
        .withWatermark("at", "5 seconds")
        .select("file_size", F.regexp_extract(F.input_file_name(), "([^/]*)$", 1)))"""
    size = (tmp_path / "a b.parquet").stat().st_size
    assert run(session, "parquet", tmp_path, python) == [(size, "a%20b.parquet")]


@pytest.mark.embedded
def test_above_an_operator_no_file_is_known(tmp_path: Path) -> None:
    from stateplan.runtime.engines.embedded_session import session

    pq.write_table(pa.table({"value": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(StateplanError, match=r"input_file_name\(\)"):
        run(session(), "parquet", tmp_path, "t.dropDuplicates().select(F.input_file_name())")


def test_only_columns_that_are_used_are_read_beside_the_fields(
    session: Any, tmp_path: Path
) -> None:
    """A line with a bad value of a column that nobody uses is no malformed one to Spark."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.csv").write_text("1,x\n2,3\ny,4\n")
    python = (
        "t.withColumn('size', F.col('_metadata.file_size')).where('size > 0')"
        ".where('id > 1 OR _corrupt_record IS NOT NULL').select('id', '_corrupt_record', 'size')"
    )
    schema = "id INT, n INT, _corrupt_record STRING"
    source = {"schema": schema, "format": "csv", "path": str(folder)}
    found = run(session, "csv", folder, python, sources={"t": source})
    assert found == [(2, None, 12), (None, "y,4", 12)]
