"""ORC files read here and by a live Spark: the same rows, or a refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import orc
from test_csv_files import arrow_schema, rows

from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.readers.orc_files import read_orc, unsupported

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALL = (
    "b boolean, ti tinyint, s smallint, i int, l bigint, f float, d double, c decimal(10,2), "
    "e decimal(38,10), st string, bi binary, da date, t timestamp, n timestamp_ntz, a array<date>, "
    "m map<string,timestamp>, r struct<x:int,y:array<string>>"
)
ROWS = """
    SELECT id % 2 = 0 AS b, CAST(id % 100 AS TINYINT) AS ti, CAST(-id AS SMALLINT) AS s,
        CAST(id AS INT) AS i, -id AS l, CAST(id / 3 AS FLOAT) AS f,
        CASE id WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D ELSE id / 7 END AS d,
        CAST(id / 3 AS DECIMAL(10,2)) AS c, CAST(id / 3 AS DECIMAL(38,10)) AS e,
        CASE id WHEN 0 THEN '' ELSE repeat('😀é', int(id)) END AS st, CAST('ab' AS BINARY) AS bi,
        DATE'1582-10-15' + int(id) * 300 AS da,
        TIMESTAMP'1700-01-01 00:00:00.000001' + make_interval(0, int(id) * 7, 0, 1, 2, 0, 0.5) AS t,
        TIMESTAMP_NTZ'2026-03-08 02:30:00.123456' AS n, array(DATE'2026-01-01', NULL) AS a,
        map('k', TIMESTAMP'1960-01-01 00:00:00.1') AS m,
        named_struct('x', int(id), 'y', array('z', NULL)) AS r
    FROM range(400)
"""
NULLS = "SELECT " + ", ".join(
    f"CAST(NULL AS {field.data_type.sql}) AS {field.name}" for field in parse_schema(ALL).fields
)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file that Spark wrote, of every type."""
    folder = tmp_path_factory.mktemp("orc") / "all"
    spark.sql(f"{ROWS} UNION ALL {NULLS}").coalesce(1).write.orc(str(folder))
    yield next(folder.glob("*.orc"))


def here(path: Path, ddl: str, columns: list[str] | None = None) -> list[Any]:
    schema = arrow_schema(ddl)
    assert unsupported(parse_schema(ddl), {}) is None
    places = [schema.names.index(name) for name in columns or schema.names]
    batches = list(read_orc(str(path), schema, places))
    return rows(pa.Table.from_batches(batches, pa.schema([schema.field(p) for p in places])))


def by_spark(spark: SparkSession, path: Path, ddl: str, columns: list[str] | None) -> list[Any]:
    frame = spark.read.schema(ddl).orc(str(path))
    return rows((frame if columns is None else frame.select(*columns)).toArrow())


@pytest.mark.parametrize(
    ("ddl", "columns"),
    [
        (ALL, None),
        (ALL, ["i", "t", "r"]),
        (f"{ALL}, missing string", ["m", "st", "missing"]),
        ("TI bigint, s int, I bigint, F double, l bigint", None),
        ("n bigint", None),
    ],
)
def test_columns(spark: SparkSession, written: Path, ddl: str, columns: list[str] | None) -> None:
    """All types; by name in any case, in any order, missing ones null; numbers of fewer bits."""
    found = here(written, ddl, columns)
    assert len(found) == 401
    assert repr(found) == repr(by_spark(spark, written, ddl, columns))


def test_columns_without_names(spark: SparkSession, tmp_path: Path) -> None:
    """Hive's files have names that say nothing: columns are read by their places."""
    path = tmp_path / "hive.orc"
    orc.write_table(pa.table({"_col0": [1, None], "_col1": ["a", "😀"]}), path)
    ddl = "a bigint, b string, c date"
    assert (
        here(path, ddl) == by_spark(spark, path, ddl, None) == [(1, "a", None), (None, "😀", None)]
    )


def test_files_of_other_programs(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "other.orc"
    times = pa.array([0, 10**18 + 1999, None], pa.timestamp("ns"))
    lists = [[{"x": 1}], None, []]
    orc.write_table(pa.table({"t": times, "l": lists, "A": [1.5, float("nan"), -0.0]}), path)
    ddl = "a double, l array<struct<x:bigint>>, t timestamp"
    assert here(path, ddl) == by_spark(spark, path, ddl, None)


def test_rows_are_counted_where_no_column_is_read(written: Path, tmp_path: Path) -> None:
    batches = list(read_orc(str(written), arrow_schema(ALL), []))
    assert sum(batch.num_rows for batch in batches) == 401
    path = tmp_path / "empty.orc"
    orc.write_table(pa.table({"a": pa.array([], pa.int32())}), path)
    assert here(path, "a int") == []


@pytest.mark.parametrize(
    ("table", "ddl", "reason"),
    [
        ({"a": [1]}, "a int", "the type int64 in the column 'a', which is int32"),
        ({"a": ["1"]}, "a int", "the type string in the column 'a'"),
        ({"a": [1], "A": [2]}, "a bigint", "several columns 'a'"),
        ({"_col0": [1], "_col1": [2]}, "a bigint", "more columns than the schema"),
        ({"a": [{"x": 1}]}, "a struct<y:bigint>", "the type struct<x: int64> in the column 'a'"),
        ({"a": pa.array([0], pa.timestamp("us"))}, "a timestamp_ntz", "the type timestamp"),
        (
            {"a": pa.array([0], pa.timestamp("us")), "b": [1]},
            "t timestamp_ntz, b bigint",
            "the type",
        ),
        ({"a": pa.array([0], pa.timestamp("us", "UTC"))}, "a timestamp", "the type timestamp"),
        ({"a": pa.array([-1], pa.timestamp("us"))}, "a timestamp", "before 1970"),
        ({"a": pa.array([-150_000], pa.date32())}, "a date", "a time long ago"),
    ],
)
def test_what_is_refused(tmp_path: Path, table: Any, ddl: str, reason: str) -> None:
    """What Spark's reader converts, or fails over, and times of another calendar."""
    path = tmp_path / "refused.orc"
    orc.write_table(pa.table(table), path)
    with pytest.raises(KernelError, match=rf"has {reason}|{reason}.*--engine spark") as caught:
        here(path, ddl)
    assert caught.value.condition == "STATEPLAN_NOT_EXACT"


def test_times_of_another_calendar(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    spark.sql("SELECT TIMESTAMP'9999-12-31 00:00:00' AS t").write.orc(str(folder))
    with pytest.raises(KernelError, match="a time that is far from 1970"):
        here(next(folder.glob("*.orc")), "t timestamp")


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "damaged.orc"
    path.write_bytes(b"ORC nothing")
    with pytest.raises(KernelError, match=r"FAILED_READ_FILE.*damaged\.orc"):
        here(path, "a int")


def test_unsupported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unsupported(parse_schema("a int"), {"mergeSchema": "true"}) is None
    assert unsupported(parse_schema("a int"), {"other": "1"}) == "the option 'other' is '1'"
    assert unsupported(parse_schema("a interval day"), {}) == "a value has the type INTERVAL DAY"
    monkeypatch.setattr("time.timezone", 18_000)
    assert unsupported(parse_schema("a timestamp_ntz"), {}) is None
    assert "time zone" in (unsupported(parse_schema("a array<timestamp>"), {}) or "")
