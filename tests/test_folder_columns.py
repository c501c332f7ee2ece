"""Columns whose values the names of folders have: as a live Spark takes them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.output_modes import OutputMode
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.schema_json import type_from_json
from stateplan.runtime.engines.embedded_folders import FolderColumns, with_folder_columns
from stateplan.runtime.listing import list_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NONE = "__HIVE_DEFAULT_PARTITION__"
TEXTS = (
    *("7", "07", "+5", "-3", "-0", "2147483648", "9223372036854775807", "9223372036854775808"),
    *("1.5", ".25", "-.5", "1e3", "5.", "1E-2", "NaN", "1d", "1_000", "0x10", "0x1p3", " 7"),
    "2024",
    *("2024-01-02", "2024-1-2", "2024-02-30", "1969-12-31", "12-31", "2024-01-02T03%3A04%3A05"),
    *("2024-01-02 03%3A04%3A05", "2024-01-02 03%3A04%3A05.5", "2024-01-02 03%3A04%3A05.55"),
    *("2024-03-10 02%3A30%3A00", "2024-11-03 01%3A30%3A00", "2024-01-02 03%3A04", "2024-01-02 03"),
    *("a b", "a%20b", "x=y", "%zz", "%31", "true", "TRUE", "é", NONE),
)
EACH_TYPE = ("7", "2147483648", "1.5", "2024-01-02", "2024-01-02 03%3A04%3A05", "a b", NONE)
ZONE = "America/New_York"
UNKNOWN = {"1e3", "5.", "1E-2", "NaN", "1d", "0x1p3", " 7", "9223372036854775808"}
"""What Spark takes for a number in ways of its own."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", ZONE)
    return own


def put(root: Path, *texts: str) -> list[str]:
    for text in texts:
        (root / f"p={text}").mkdir(parents=True)
        (root / f"p={text}" / "a.json").write_text('{"v": 1}\n')
    return [file.path for file in list_files(str(root))]


@pytest.mark.parametrize(
    ("kind", "taken"),
    [
        ("string", 43),
        ("tinyint", 6),
        ("int", 7),
        ("bigint", 9),
        ("float", 13),
        ("double", 13),
        ("decimal(2,1)", 3),
        ("decimal(20,0)", 10),
        ("date", 3),
        ("timestamp", 8),
        ("timestamp_ntz", 8),
        ("boolean", 3),
        ("binary", 43),
    ],
)
def test_values_are_those_that_spark_takes(
    session: SparkSession, tmp_path: Path, kind: str, taken: int
) -> None:
    found = {}
    for path in put(tmp_path, *TEXTS):
        schema = f"v INT, p {kind}"
        folders = FolderColumns.of([path], tmp_path, parse_schema(schema), ZONE)
        with suppress(StateplanError):
            found[path] = folders.values(path)[1]
    rows = session.read.schema(schema).option("basePath", str(tmp_path)).json(list(found))
    shown = "unix_micros(p)" if kind == "timestamp" else "p"
    table = rows.selectExpr("_metadata.file_path AS path", f"{shown} AS p").toArrow()
    expected = {unquote(urlsplit(row["path"]).path): row["p"] for row in table.to_pylist()}
    is_instant = kind == "timestamp"
    values = {
        path: v.value if is_instant and v.is_valid else v.as_py() for path, v in found.items()
    }
    assert {path: repr(v) for path, v in values.items()} == {
        k: repr(v) for k, v in expected.items()
    }
    assert len(values) == taken


@pytest.mark.parametrize(
    "texts", [*((text,) for text in TEXTS), *itertools.combinations(EACH_TYPE, 2)], ids=" ".join
)
def test_types_are_those_that_spark_infers(
    session: SparkSession, tmp_path: Path, texts: Sequence[str]
) -> None:
    paths = put(tmp_path, *texts)
    expected = type_from_json(session.read.schema("v INT").json(str(tmp_path)).schema.jsonValue())
    try:
        found = with_folder_columns(parse_schema("v INT"), paths, tmp_path)
    except StateplanError as refused:
        assert refused.condition == "STATEPLAN_NOT_EXACT"
        assert UNKNOWN & set(texts)
    else:
        assert found == expected


def test_declared_columns_of_folders_stand_last(session: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "year=2024", "x")
    put(tmp_path / "year=2025", "y")
    paths = [file.path for file in list_files(str(tmp_path))]
    for schema in ("P STRING, v INT", "v INT, year BIGINT", "year INT, v INT, p STRING"):
        read = session.read.schema(schema).json(str(tmp_path))
        expected = type_from_json(read.schema.jsonValue())
        assert with_folder_columns(parse_schema(schema), paths, tmp_path) == expected


def test_other_columns_in_some_folders_are_refused(tmp_path: Path) -> None:
    paths = put(tmp_path, "1")
    (tmp_path / "q=1").mkdir()
    (tmp_path / "q=1" / "a.json").write_text("{}")
    paths.append(str(tmp_path / "q=1" / "a.json"))
    schema = parse_schema("v INT, p INT")
    with pytest.raises(StateplanError, match="q=1"):
        with_folder_columns(schema, paths, tmp_path)
    with pytest.raises(StateplanError, match="q=1"):
        FolderColumns.of(paths, tmp_path, schema, "UTC")


def _write(path: Path, format: str, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True)
    match format:
        case "parquet":
            pq.write_table(pa.Table.from_pylist(list(rows)), path)
        case "json":
            path.write_text("".join(json.dumps({"day": "none", **row}) + "\n" for row in rows))
        case "csv":
            path.write_text("".join(",".join(map(str, row.values())) + "\n" for row in rows))
        case "text":
            path.write_text("".join(f"{row['k']}\n" for row in rows))


@pytest.mark.embedded
@pytest.mark.parametrize("format", ["json", "csv", "parquet", "text"])
def test_the_embedded_engine_reads_them(format: str, tmp_path: Path) -> None:
    days = {"2024-01-02": 1, "2024-01-03": 2, NONE: 3}
    for day, number in days.items():
        rows = [{"k": f"a{number}", "v": number}, {"k": "b", "v": 10 * number}]
        _write(tmp_path / f"day={day}" / "ONE=a%20b" / f"f.{format}", format, rows)
    v = "" if format == "text" else ", v BIGINT"
    source = {"format": format, "schema": f"day DATE, k STRING{v}, one STRING"}

    def run(sql: str, mode: OutputMode = "append") -> list[Any]:
        found: list[Any] = []
        stateplan.sql(sql, {"events": {**source, "path": str(tmp_path)}}, output_mode=mode).run(
            engine="embedded",
            foreach_batch=lambda rows, _: found.extend(map(tuple, rows.collect())),
            trigger="available_now",
            background=False,
        ).await_termination()
        return sorted(found, key=repr)

    found = run("SELECT one, k, CAST(day AS STRING) AS d FROM STREAM events WHERE k <> 'b'")
    assert found == [("a b", "a1", "2024-01-02"), ("a b", "a2", "2024-01-03"), ("a b", "a3", None)]
    found = run("SELECT day FROM STREAM events WHERE day > DATE'2024-01-02'")
    assert [str(day) for (day,) in found] == ["2024-01-03"] * 2
    found = run("SELECT one, count(day) AS n FROM STREAM events GROUP BY one", "update")
    assert found == [("a b", 4)]
