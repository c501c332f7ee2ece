"""Files that our own code writes: what a live Spark writes of the same rows."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.runtime.kernels.writers.files import FileWriter
from stateplan.runtime.plan.facts import SPARK
from stateplan.runtime.sinks import FileSink
from stateplan.runtime.sinks.files import partition_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE = "k STRING, t TIMESTAMP"
UNPACKED = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".deflate": zlib.decompress}
TEXTS = (
    *(None, "", "a", " a ", "a,b", 'a"b', '"', '"a"', "a\nb", "a\\b", "\\,", "#", "\t", "\r"),
    *(";", "'", "é😀", "\x00a", "a\x00", '\\"', '""', "\u2028", "a'b", "{z}", "__", "NIL"),
)
SIGNS = (*map(chr, range(1, 128)), "é", "..", "a  ")
VALUES = """SELECT id, texts[id] AS s, texts[id + 3] AS t,
    CASE id WHEN 0 THEN double('Infinity') WHEN 1 THEN 1e20D WHEN 2 THEN -0.0D WHEN 3 THEN NULL
        ELSE id / 7 END AS d,
    CAST(id / 3 AS FLOAT) AS f, CAST(id AS DECIMAL(20,9)) / 100 AS m,
    CAST(texts[id] AS BINARY) AS b,
    id = 1 AS o, date_add(DATE'1899-12-30', int(id) * 700) AS y,
    timestampadd(MILLISECOND, id * 1234567890123, TIMESTAMP'1500-01-01 00:00:00.000001') AS z,
    CAST(timestampadd(DAY, id, TIMESTAMP'2024-03-09 23:59:59.5') AS TIMESTAMP_NTZ) AS n
    FROM range(8) CROSS JOIN texts"""
SCHEMA = """id BIGINT, s STRING, t STRING, d DOUBLE, f FLOAT, m DECIMAL(24,13), b BINARY, o BOOLEAN,
    y DATE, z TIMESTAMP, n TIMESTAMP_NTZ"""


def files(root: Path) -> Mapping[str, Sequence[str]]:
    """The lines by directory, and by what the files' names end with."""
    found = defaultdict(list)
    for path in root.rglob("part-*"):
        ending = path.name[path.name.index(".") :].removeprefix(".c000")
        content = UNPACKED.get(path.suffix, bytes)(path.read_bytes())
        found[str(path.parent.relative_to(root)) + ending] += content.split(b"\n")
    return {name: sorted(map(repr, lines)) for name, lines in found.items()}


def compare(frame: DataFrame, schema: str, root: Path, written: Mapping[str, Any]) -> None:
    """Write a DataFrame by Spark and here."""
    format, parts = written["format"], written.get("parts", ())
    options = written.get("options", {})
    spark = frame.coalesce(1).write.format(format).options(**options)
    (spark.partitionBy(*parts) if parts else spark).save(str(root / "spark"))
    writer = FileWriter(
        format=format,
        schema=parse_schema(schema),
        options=options,
        partition_by=parts,
        time_zone=frame.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC",
    )
    assert writer.unsupported() is None
    (root / "here").mkdir()
    writer.write(root / "here", frame.coalesce(1).toArrow())
    assert files(root / "here") == files(root / "spark")


@pytest.fixture
def values(spark: SparkSession) -> DataFrame:
    """Rows of all types, in a session of another time zone."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.createDataFrame([(list(TEXTS),)], "texts ARRAY<STRING>").createOrReplaceTempView(
        "texts"
    )
    return session.sql(VALUES)


@pytest.mark.parametrize(
    "written",
    [
        {"format": "json"},
        {"format": "json", "options": {"compression": "gzip"}},
        {"format": "json", "options": {"timestampFormat": "yyyy/MM/dd HH:mm:ssXXX"}},
        {"format": "json", "options": {"timestampFormat": "dd HH:mmXXXXX"}},
        {"format": "json", "options": {"dateFormat": "dd.MM.yyyy", "compression": "bzip2"}},
        {"format": "json", "options": {"ignoreNullFields": "false"}},
        {"format": "json", "parts": ("z", "n", "y", "o")},
        {"format": "json", "parts": ("d", "f", "m")},
        {"format": "csv"},
        {"format": "csv", "options": {"header": "true", "sep": ";", "compression": "deflate"}},
        {"format": "csv", "options": {"dateFormat": "MM/dd/yy", "timestampNTZFormat": "HH:mm"}},
        {"format": "csv", "parts": ("s",), "options": {"header": "true"}},
    ],
    ids=str,
)
def test_values_are_written_as_spark_writes_them(
    values: DataFrame, tmp_path: Path, written: Mapping[str, Any]
) -> None:
    compare(values, SCHEMA, tmp_path, written)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"quoteAll": "true"},
        {"nullValue": "NIL", "emptyValue": "E"},
        {"nullValue": 'a,"b', "emptyValue": '"-"', "quoteAll": "true"},
        {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
        {"escape": '"'},
        {"quote": "'", "sep": "\t", "header": "true"},
    ],
    ids=str,
)
def test_texts_are_quoted_in_csv_files_as_spark_quotes_them(
    spark: SparkSession, tmp_path: Path, options: Mapping[str, str]
) -> None:
    rows = [(text, text, number) for number, text in enumerate(TEXTS)]
    schema = "`a,b` STRING, `#c` STRING, n INT"
    compare(
        spark.createDataFrame(rows, schema), schema, tmp_path, {"format": "csv", "options": options}
    )


def test_a_lone_null_has_no_line_in_csv_files(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(None,), ("",), ("a",)], "s STRING")
    compare(frame, "s STRING", tmp_path, {"format": "csv"})


@pytest.mark.parametrize(
    "written",
    [
        {"format": "json"},
        {"format": "json", "options": {"compression": "gzip", "maxRecordsPerFile": "1"}},
        {"format": "json", "parts": ("k",)},
        {"format": "csv"},
        {"format": "csv", "options": {"header": "true"}},
    ],
    ids=str,
)
def test_no_rows_have_a_file_without_partitions(
    spark: SparkSession, tmp_path: Path, written: Mapping[str, Any]
) -> None:
    schema = "k STRING, v INT"
    compare(spark.createDataFrame([], schema), schema, tmp_path, written)
    assert bool(files(tmp_path / "here")) == ("parts" not in written)


def test_directories_are_named_as_spark_names_them(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(sign, f"v{number}") for number, sign in enumerate((None, "", *SIGNS))]
    schema = "`k=/ey` STRING, v STRING"
    frame = spark.createDataFrame(rows, schema)
    compare(frame, schema, tmp_path, {"format": "text", "parts": ("k=/ey",)})


def test_text_files_have_a_line_a_row(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(text,) for text in TEXTS], "s STRING")
    compare(frame, "s STRING", tmp_path, {"format": "text", "options": {"lineSep": "|\n"}})


def test_nested_values_are_written_to_json_files(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        """SELECT array(struct(id, CAST(NULL AS INT) AS x)) AS a, map('k', id, 'l', NULL) AS m,
        IF(id = 1, NULL, struct(IF(id = 1, NULL, TIMESTAMP'2024-01-01') AS t)) AS s FROM range(2)"""
    )
    schema = "a ARRAY<STRUCT<id: BIGINT, x: INT>>, m MAP<STRING, BIGINT>, s STRUCT<t: TIMESTAMP>"
    compare(frame, schema, tmp_path, {"format": "json"})


@pytest.mark.parametrize(
    ("packer", "suffix"),
    [
        ("", ".snappy.parquet"),
        ("gzip", "-c000.gz.parquet"),
        ("lz4_raw", ".lz4raw.parquet"),
        ("uncompressed", "-c000.parquet"),
    ],
)
def test_spark_reads_parquet_files_of_partitions(
    spark: SparkSession, values: DataFrame, tmp_path: Path, packer: str, suffix: str
) -> None:
    schema = parse_schema(SCHEMA)
    writer = FileWriter(
        format="parquet",
        schema=schema,
        options={"compression": packer} if packer else {},
        partition_by=("s", "o"),
        time_zone="UTC",
    )
    assert writer.unsupported() is None
    writer.write(tmp_path, values.toArrow())
    assert all(path.name.endswith(suffix) for path in tmp_path.rglob("part-*"))
    names = [field.name for field in schema.fields]
    read = values.sparkSession.read.schema(SCHEMA).parquet(str(tmp_path)).select(*names)
    expected = [{**row.asDict(), "s": row.s or None} for row in values.collect()]
    assert sorted((r.asDict() for r in read.collect()), key=repr) == sorted(expected, key=repr)


def test_no_file_has_more_records_than_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    writer = FileWriter(
        format="json",
        schema=parse_schema("id BIGINT"),
        options={"maxRecordsPerFile": "2"},
        partition_by=(),
        time_zone="UTC",
    )
    writer.write(tmp_path, spark.range(5).toArrow())
    lines = sorted(len(path.read_text().splitlines()) for path in tmp_path.iterdir())
    assert lines == [1, 2, 2]


@pytest.mark.parametrize(
    ("format", "schema", "options", "words"),
    [
        ("json", "a INT", {"pretty": "true"}, "'pretty' = 'true'"),
        ("json", "a INT", {"encoding": "UTF-16"}, "'encoding' = 'UTF-16'"),
        ("json", "m MAP<INT, INT>", {}, "to_json of"),
        ("csv", "a INT", {"sep": "::"}, "'sep' = '::'"),
        ("csv", "a INT", {"compression": "zstd"}, "compression 'zstd'"),
        ("csv", "a TIMESTAMP", {"timestampFormat": "w"}, "date_format"),
        ("csv", "a INTERVAL DAY", {}, "interval day"),
    ],
)
def test_what_is_not_known_to_be_sparks_is_refused(
    format: str, schema: str, options: Mapping[str, str], words: str
) -> None:
    writer = FileWriter(
        format=format,
        schema=parse_schema(schema),
        options=options,
        partition_by=(),
        time_zone="UTC",
    )
    assert words in str(writer.unsupported())


@pytest.mark.parametrize(
    ("names", "condition"),
    [
        (["nope"], "_LEGACY_ERROR_TEMP_1196"),
        (["l"], "INVALID_PARTITION_COLUMN_DATA_TYPE"),
        (["k", "V"], None),
        (["k", "K"], "COLUMN_ALREADY_EXISTS"),
        (["k", "V", "w"], "ALL_PARTITION_COLUMNS_NOT_ALLOWED"),
    ],
)
def test_partition_columns_that_spark_refuses(
    spark: SparkSession, tmp_path: Path, names: Sequence[str], condition: str | None
) -> None:
    schema = "k STRING, v INT, l ARRAY<INT>" if "l" in names else "k STRING, v INT, w INT"
    if condition is None:
        assert partition_columns(names, parse_schema(schema), Conf()) == ("k", "v")
        return
    sink = FileSink("json", str(tmp_path / "here"), partition_by=names)
    with pytest.raises(StateplanError) as refused:
        sink.check(parse_schema(schema), SPARK, Conf())
    assert refused.value.condition == condition
    with pytest.raises(Exception) as native:
        frame = spark.createDataFrame([], schema)
        frame.write.partitionBy(*names).json(str(tmp_path / "spark"))
    native_condition = native.value.getCondition()  # type: ignore[attr-defined]
    if native_condition == condition:
        assert refused.value.message.splitlines()[0] in str(native.value)


@pytest.mark.parametrize("case_sensitive", ["false", "true"])
@pytest.mark.parametrize(
    ("sql", "format", "parts"),
    [
        ("SELECT k, v AS K FROM {}", "json", []),
        ("SELECT k, v AS k FROM {}", "csv", []),
        ("SELECT k AS p, v AS P FROM {}", "parquet", []),
        ("SELECT v, k AS p, k AS P FROM {}", "json", ["P"]),
        ("SELECT v, k FROM {}", "json", ["k"]),
        ("SELECT v, k FROM {}", "parquet", ["k"]),
    ],
)
def test_a_stream_writes_the_files_that_sparks_own_writes(
    spark: SparkSession,
    tmp_path: Path,
    sql: str,
    format: str,
    parts: list[str],
    case_sensitive: str,
) -> None:
    """Names that differ in case alone; texts that share a folder with null."""
    rows = [("a", 1), ("__HIVE_DEFAULT_PARTITION__", 2), (None, 3), ("", 4)]
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps({"k": k, "v": v}) + "\n" for k, v in rows)
    (tmp_path / "in" / "0.json").write_text(lines)
    events = spark.readStream.schema("k STRING, v INT").json(str(tmp_path / "in"))
    events.createOrReplaceTempView("events")
    writer = spark.sql(sql.format("events")).writeStream.format(format).partitionBy(*parts)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    spark.conf.set("spark.sql.caseSensitive", case_sensitive)
    try:
        writer.trigger(availableNow=True).start(str(tmp_path / "spark")).awaitTermination()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    query = stateplan.sql(
        sql.format("STREAM events"),
        {"events": {"schema": "k STRING, v INT", "format": "json", "path": str(tmp_path / "in")}},
        conf={"spark.sql.caseSensitive": case_sensitive},
    )
    sink = {"format": format, "path": str(tmp_path / "here"), "partition_by": parts}
    query.run(spark, sink=sink, trigger="available_now", background=False).await_termination()

    def contents(root: Path) -> dict[str, list[str]]:
        found = defaultdict(list)
        for path in root.rglob("part-*"):
            if format == "parquet":
                lines = map(str, pq.ParquetFile(path).read().to_pylist())
            else:
                lines = path.read_text().splitlines()
            found[str(path.parent.relative_to(root))] += lines
        return {folder: sorted(lines) for folder, lines in found.items()}

    assert contents(tmp_path / "here") == contents(tmp_path / "spark")


@pytest.mark.embedded
def test_the_embedded_engine_writes_sparks_files_or_none(tmp_path: Path) -> None:
    def run(sink: Mapping[str, Any], where: str = "") -> None:
        select = f"SELECT k, t, 1 AS n FROM STREAM events {where}"
        query = stateplan.sql(select, sources={"events": SOURCE})
        rows = {"events": [(None, at), ("", at), ("a b:c", at)]}
        handle = query.run(sources=rows, sink=sink, engine="embedded", trigger="available_now")
        handle.await_termination()

    at = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    run({"format": "json", "path": str(tmp_path / "out"), "partition_by": ["K"]})
    line = '{"t":"2024-01-01T00:00:00.000Z","n":1}'
    found = {
        path.parent.name: path.read_text().splitlines()
        for path in sorted((tmp_path / "out").glob("k=*/part-*.json"))
    }
    assert found == {"k=__HIVE_DEFAULT_PARTITION__": [line, line], "k=a b%3Ac": [line]}
    run({"format": "parquet", "path": str(tmp_path / "parted"), "partition_by": ["k"]})
    table = pa.concat_tables(map(pq.read_table, (tmp_path / "parted").glob("k=*/*.parquet")))
    assert table.column("n").to_pylist() == [1, 1, 1]
    run({"format": "parquet", "path": str(tmp_path / "none")}, "WHERE k > 'z'")
    (file,) = (tmp_path / "none").glob("part-*.parquet")
    empty = pq.read_table(file)
    assert (empty.num_rows, empty.schema.names) == (0, ["k", "t", "n"])
    for sink, words in (
        ({"format": "orc"}, "no orc files"),
        ({"format": "csv", "options": {"escapeQuotes": "false"}}, "'escapequotes' = 'false'"),
    ):
        with pytest.raises(StateplanError, match=words) as refused:
            run({**sink, "path": str(tmp_path / "refused")})
        assert not (tmp_path / "refused").exists()
        assert refused.value.condition == "STATEPLAN_NOT_EXACT"
