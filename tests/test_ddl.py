"""Schemas and types as text."""

from __future__ import annotations

import pytest

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.schemas.ddl import parse_schema, parse_type
from stateplan.planner.model.schemas.types import StructField, StructType


def test_schema() -> None:
    text = "user STRING, `a b` TIMESTAMP NOT NULL COMMENT 'it''s', n: decimal(10, 2)"
    schema = parse_schema(text)
    assert [(f.name, f.data_type.simple, f.nullable) for f in schema.fields] == [
        ("user", "string", True),
        ("a b", "timestamp", False),
        ("n", "decimal(10,2)", True),
    ]
    assert parse_schema("  ") == StructType(())


@pytest.mark.parametrize(
    ("text", "simple"),
    [
        ("LONG", "bigint"),
        ("varchar(10)", "string"),
        ("DEC", "decimal(10,0)"),
        ("decimal(5)", "decimal(5,0)"),
        ("array<map<string, struct<a: int, b array<date>>>>", "array<map<string,struct<a:int,"
         "b:array<date>>>>"),
        ("struct<>", "struct<>"),
        ("interval day to second", "interval day to second"),
        ("interval month", "interval month"),
        ("interval", "interval"),
        ("timestamp_ltz", "timestamp"),
        ("string collate utf8_binary", "string"),
        ("string collate utf8_lcase", "string collate UTF8_LCASE"),
        ("array<STRING COLLATE unicode_ci_rtrim>", "array<string collate UNICODE_CI_RTRIM>"),
    ],
)  # fmt: skip
def test_type(text: str, simple: str) -> None:
    assert parse_type(text).simple == simple


def test_types_are_read_back_from_their_simple_string() -> None:
    text = "struct<a:array<struct<x:int>>,m:map<string,decimal(38,18)>,i:interval hour to minute>"
    assert parse_type(text).simple == text
    assert parse_type("struct<a:int>") == StructType((StructField("a", parse_type("int")),))


@pytest.mark.parametrize(
    ("text", "condition", "place"),
    [
        (
            "user STRING ts TIMESTAMP",
            "PARSE_SYNTAX_ERROR",
            "near 'ts'. SQLSTATE: 42601 (line 1, pos",
        ),
        ("user", "PARSE_SYNTAX_ERROR", "near end of input"),
        ("user STRNG", "UNSUPPORTED_DATATYPE", '"STRNG"'),
        ("a ARRAY<INT", "PARSE_SYNTAX_ERROR", "near end of input"),
        ("a INT, ,", "PARSE_SYNTAX_ERROR", "near ','"),
        ("a INT; b INT", "PARSE_SYNTAX_ERROR", "near ';'"),
        ("a decimal(x)", "PARSE_SYNTAX_ERROR", "near 'x'"),
    ],
)
def test_bad_schema(text: str, condition: str, place: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse_schema(text)
    assert caught.value.condition == condition
    assert place in caught.value.message
    assert caught.value.hint
