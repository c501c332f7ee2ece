"""Types of Avro schemas, compared with those that a live Spark makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.schemas.avro import avro_type
from stateplan.planner.model.schemas.schema_json import type_from_json


def record(*fields: object, name: str = "R", **more: object) -> dict[str, object]:
    listed = [{"name": f"f{i}", "type": field} for i, field in enumerate(fields)]
    return {"type": "record", "name": name, "fields": listed, **more}


PLACE = {"type": "fixed", "name": "Place", "size": 4, "logicalType": "decimal", "precision": 9}
WIDE = {**PLACE, "name": "Wide", "precision": 10, "scale": 2}
SCHEMAS: tuple[object, ...] = (
    *("string", "int", "long", "float", "double", "boolean", "bytes", "null"),
    record("int", ["null", "string"], ["string", "null"], {"type": "string"}),
    record({"type": "int", "logicalType": "date"}, {"type": "int", "logicalType": "time-millis"}),
    record({"type": "long", "logicalType": "timestamp-micros"}),
    record({"type": "long", "logicalType": "local-timestamp-millis"}),
    record({"type": "long", "logicalType": "timestamp-millis"}, namespace="a.b"),
    record({"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}, PLACE, WIDE),
    record({"type": "enum", "name": "Suit", "symbols": ["A", "B"]}, "Suit"),
    record({"type": "array", "items": ["null", "int"]}, {"type": "map", "values": "long"}),
    record(["int", "long"], ["float", "double"], ["null", "int", "string"], ["int"]),
    record(record("int", name="Inner"), "Inner", ["null", "x.Inner"], namespace="x"),
    record(record("int", name="y.Inner"), "y.Inner", namespace="x"),
    record({"type": "int", "spark.sql.catalyst.type": "smallint"}),
    ["null", "string"],
)


def test_types_are_those_of_a_live_spark(spark: Any) -> None:
    jvm = spark._jvm
    converters = jvm.org.apache.spark.sql.avro.SchemaConverters
    for schema in SCHEMAS:
        text = json.dumps(schema)
        parsed = jvm.org.apache.avro.Schema.Parser().parse(text)
        expected = json.loads(converters.toSqlType(parsed).dataType().json())
        assert avro_type(text, {}) == type_from_json(expected), text


def test_options_of_unions_and_of_records_within_themselves(spark: Any) -> None:
    tree = record("int", ["null", "Tree"], {"type": "array", "items": "Tree"}, name="Tree")
    union = record(["int", "string", {"type": "enum", "name": "E", "symbols": ["A"]}])
    jvm = spark._jvm
    for schema, options in (
        (tree, {"recursiveFieldMaxDepth": "1"}),
        (tree, {"recursiveFieldMaxDepth": "3"}),
        (union, {"enableStableIdentifiersForUnionType": "true"}),
        (
            union,
            {
                "enableStableIdentifiersForUnionType": "true",
                "stableIdentifierPrefixForUnionType": "u_",
            },
        ),
    ):
        text = json.dumps(schema)
        parsed = jvm.org.apache.avro.Schema.Parser().parse(text)
        found = jvm.org.apache.spark.sql.avro.SchemaConverters.toSqlType(
            parsed,
            options.get("enableStableIdentifiersForUnionType") == "true",
            options.get("stableIdentifierPrefixForUnionType", "member_"),
            int(options.get("recursiveFieldMaxDepth", "-1")),
        )
        expected = type_from_json(json.loads(found.dataType().json()))
        assert avro_type(text, options) == expected, (text, options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no Avro schema"),
        ('"nothing"', "is no Avro schema"),
        ('{"type": ["null", "int"]}', "is no Avro schema"),
        ('{"type": "record", "name": "R"}', "is no Avro schema"),
        (json.dumps(record("R")), "recursive reference"),
        ('{"type": "long", "logicalType": "time-micros"}', "TIME is not supported"),
    ],
)
def test_what_is_no_schema_is_refused(text: str, words: str) -> None:
    with pytest.raises(AnalysisError, match=words):
        avro_type(text, {})
