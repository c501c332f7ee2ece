"""Strings with a collation: columns are handed on with their type, nothing computes with them."""

from __future__ import annotations

import json

import pytest

from stateplan.planner.builder import QueryBuilder, stream
from stateplan.planner.connect.types import read_schema
from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.schemas.ddl import collated, parse_schema, parse_type
from stateplan.planner.model.schemas.types import STRING, CollatedStringType, is_collated

EVENTS = (
    "k STRING COLLATE UTF8_LCASE, n STRING COLLATE UTF8_BINARY, m MAP<INT, STRING COLLATE UNICODE>"
)


@pytest.fixture
def events() -> QueryBuilder:
    return stream("events", EVENTS)


def test_a_columns_type_names_its_collation(events: QueryBuilder) -> None:
    columns = events.select("k", "n AS other", "m").query().execution.analyzed.output
    assert [(c.name, c.data_type.simple) for c in columns] == [
        ("k", "string collate UTF8_LCASE"),
        ("other", "string"),
        ("m", "map<int,string collate UNICODE>"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "k = 'a'",
        "upper(k) = n",
        "n IN (k)",
        "m[1] IS NULL",
        "CAST(n AS STRING COLLATE UNICODE) = n",
    ],
)
def test_a_comparison_is_refused_by_the_columns_name(events: QueryBuilder, text: str) -> None:
    with pytest.raises(AnalysisError, match="STRING COLLATE") as refused:
        events.where(text).query().explain()
    assert refused.value.condition == "STATEPLAN_UNSUPPORTED_COLLATION"


def test_an_aggregate_over_one_is_refused(events: QueryBuilder) -> None:
    grouped = events.group_by("n").agg("max(k) AS last")
    with pytest.raises(AnalysisError, match="k has the type STRING COLLATE UTF8_LCASE"):
        grouped.query(output_mode="update").explain()


def test_other_columns_may_be_compared(events: QueryBuilder) -> None:
    assert "Filter" in events.where("n = 'a'").select("k").query().explain()


def test_the_collation_of_plain_strings_is_no_type_of_its_own() -> None:
    assert collated("utf8_binary") == STRING
    assert collated("Unicode_CI") == CollatedStringType("UNICODE_CI")


def test_an_unknown_collation_is_refused() -> None:
    with pytest.raises(AnalysisError, match="does not know the collation 'klingon'"):
        parse_type("STRING COLLATE klingon")


def test_schema_json_has_the_collations_in_the_fields_metadata() -> None:
    lists = "MAP<STRING, ARRAY<STRING COLLATE unicode_ci>>"
    schema = parse_schema(f"m {lists}, k STRING COLLATE utf8_lcase")
    first, second = (field.json["metadata"] for field in schema.fields)
    assert first == {"__COLLATIONS": {"m.value.element": "icu.UNICODE_CI"}}
    assert second == {"__COLLATIONS": {"k": "spark.UTF8_LCASE"}}
    assert read_schema(json.dumps(schema.json)) == schema


def test_parts_count() -> None:
    assert is_collated(parse_type("struct<a: array<map<string collate unicode, int>>>"))
    assert not is_collated(parse_type("struct<a: array<map<string, int>>>"))
