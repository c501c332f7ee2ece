"""The columns that are found in files of CSV and JSON are those that Spark finds."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.types import StructType
from stateplan.runtime.kernels.readers.csv_options import csv_options
from stateplan.runtime.sources.inferred_csv import (
    column_names,
    first_values,
    inferred_from_texts,
)
from stateplan.runtime.sources.inferred_json import inferred_from_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = (
    *("1", "+1", "-0", "007", " 1", "1 ", "2147483648", "-2147483648", "9223372036854775808"),
    *("12345678901234567890123456789012345678901", "00012345678901234567890", "1e5", "1.5", "5."),
    *("1.5d", ".5", "0x1p3", "1e400", "-1E-3", "NaN", "Inf", "-Inf", "Infinity", "nan", "-", "1_0"),
    *("true", "FALSE", "t", "2024", "2024-01", "2024-01-02", "2024-1-2", "2024-02-30", "x", ""),
    *("2024-01-02 10:00:00", "2024-01-02T10:00:00Z", "2024-01-02 10:00"),
    *("2024-01-02T", "2024-01-02abc", "2024-01-02 25:00:00", "2024-01-02T10:00:00.123+02:00"),
)
KINDS = (
    ("1", "22", "-333", "2147483648", "9999999999999999999", "1.5", "1e9"),
    ("2024-01-02", "2024-02-29", "2024-01-02 10:00:00", "2024"),
    ("true", "false", "TRUE"),
)


def table_of(columns: list[list[str]]) -> pa.Table:
    return pa.table([pa.array(texts) for texts in columns], [f"_c{i}" for i in range(len(columns))])


def csv_file(path: Path, columns: list[list[str]]) -> None:
    rows = zip(*columns, strict=True)
    path.write_text("".join(",".join(f'"{text}"' for text in row) + "\n" for row in rows))


def simple(schema: StructType) -> str:
    return ",".join(f"{field.name}:{field.data_type.simple}" for field in schema.fields)


def sparks(schema: Any) -> str:
    return ",".join(f"{field.name}:{field.dataType.simpleString()}" for field in schema.fields)


def test_types_of_csv_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Each text alone, and columns of random ones: what came before decides, too."""
    own = random.Random(3)
    columns = [[text] * 4 for text in TEXTS]
    for _ in range(300):
        pool = own.choice((TEXTS, *KINDS, *KINDS))
        columns.append([own.choice(pool) for _ in range(4)])
    csv_file(tmp_path / "a.csv", columns)
    read = spark.read.csv(str(tmp_path / "a.csv"), inferSchema=True)
    found = inferred_from_texts(table_of(columns), csv_options({}), "UTC")
    assert simple(found) == sparks(read.schema)


def test_a_time_without_a_day_is_refused() -> None:
    with pytest.raises(StateplanError, match="whether Spark takes '10:00:00'"):
        inferred_from_texts(table_of([["10:00:00"]]), csv_options({}), "UTC")


def test_formats_say_what_is_a_time(spark: SparkSession, tmp_path: Path) -> None:
    texts = ["02/01/2024", "2024-01-02", "02/01/2024 10:00", "5"]
    columns = [[text] for text in texts]
    options = {"dateFormat": "dd/MM/yyyy", "timestampFormat": "dd/MM/yyyy HH:mm"}
    csv_file(tmp_path / "a.csv", columns)
    read = spark.read.options(**options).csv(str(tmp_path / "a.csv"), inferSchema=True)
    found = inferred_from_texts(table_of(columns), csv_options(options), "UTC")
    assert simple(found) == sparks(read.schema)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('a,,"b",A,NULL,a\n1,2,3,4,5,6,7\n', {"header": "true", "nullValue": "NULL"}),
        ("a,b\n", {"header": "true"}),
        ("\n  \n", {"header": "true"}),
        ("# no\n a ; b;c\n", {"header": "true", "sep": ";", "comment": "#"}),
        (" a , b\n", {"header": "true", "ignoreLeadingWhiteSpace": "true"}),
        ("x|y\n", {"sep": "|"}),
        ('"x, y",z\n', {}),
        ("'x, y',\"z\",'it\\'s'\n", {"header": "true", "quote": "'"}),
        (" 'a' ; b\n", {"header": "true", "quote": "'", "sep": ";"}),
    ],
)
def test_names_of_csv_columns(
    spark: SparkSession, tmp_path: Path, text: str, options: Mapping[str, str]
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    names = spark.read.options(**options).csv(str(path)).columns
    chosen = csv_options(options)
    assert column_names(first_values([str(path)], chosen), chosen, False) == names


VALUES = (
    *("1", "-0", "9223372036854775808", "99999999999999999999", "1.5", "1e2", "NaN", "true"),
    *('"x"', '""', '"2024-01-02T00:00:00Z"', "null", "{}", "[]", "[1, null, 2.5]", '[[1], ["x"]]'),
    *('{"x": 1}', '{"x": null, "y": [[]]}', '[{"x": 1}, {"y": 2}]', '{"": 1}', '{"x": "t"}'),
    "123456789012345678901234567890123456789012",
)


@pytest.mark.parametrize(
    "options", [{}, {"primitivesAsString": "true"}, {"dropFieldIfAllNull": "true"}]
)
def test_types_of_json_fields(
    spark: SparkSession, tmp_path: Path, options: Mapping[str, str]
) -> None:
    own = random.Random(4)
    fields = [[value] * 3 for value in VALUES]
    for _ in range(300):
        fields.append([own.choice(VALUES) for _ in range(3)])
    rows = zip(*fields, strict=True)
    lines = ["{" + ", ".join(f'"f{i}": {v}' for i, v in enumerate(row)) + "}" for row in rows]
    path = tmp_path / "a.json"
    path.write_text("\n".join(lines))
    read = spark.read.options(**options).json(str(path))
    assert simple(inferred_from_json([str(path)], options)) == sparks(read.schema)


@pytest.mark.parametrize(
    "text",
    [
        '{"b": 1, "a": {"z": [1.5, null], "y": "t"}, "c": null}\n\n{"b": 2.5, "a": null}',
        '{"a": 1}\nbad\n',
        '[{"a": 1}, {"b": 2}]',
        '{"a": 1} {"b": 2}',
        "5",
        '{"a": 01}',
        '{"a": [1]}\n{"a": "x"}\n{"c": "2024-01-02"}',
        "{'a': 1, \"b\": 'it\\'s'}",
    ],
)
@pytest.mark.parametrize("mode", ["PERMISSIVE", "DROPMALFORMED"])
def test_lines_of_json(spark: SparkSession, tmp_path: Path, text: str, mode: str) -> None:
    path, options = tmp_path / "a.json", {"mode": mode}
    path.write_text(text)
    read = spark.read.options(**options).json(str(path))
    assert simple(inferred_from_json([str(path)], options)) == sparks(read.schema)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ('{"a": 1, "a": 2}', "COLUMN_ALREADY_EXISTS"),
        ("{'a: 1}", "STATEPLAN_NOT_EXACT"),
        ("bad", "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION"),
    ],
)
def test_json_of_which_no_columns_are_found(tmp_path: Path, text: str, condition: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(StateplanError) as raised:
        inferred_from_json([str(path)], {"mode": "FAILFAST"})
    assert raised.value.condition == condition


def test_well_formed_lines_are_not_looked_at_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateplan.runtime.sources import inferred_json

    path = tmp_path / "a.json"
    path.write_text("\n".join(json.dumps({"n": i, "t": "2024-01-02T00:00:00Z"}) for i in range(99)))
    monkeypatch.setattr(inferred_json, "_of_line", None)
    assert simple(inferred_from_json([str(path)], {})) == "n:bigint,t:string"
