"""Expressions as Spark SQL for the runtime."""

from __future__ import annotations

from decimal import Decimal

import pytest

from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    lit,
)
from stateplan.planner.model.expressions.unresolved import UnresolvedAttribute
from stateplan.planner.model.expressions.windows import PreciseTimestampConversion, WindowExpression
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.schemas.types import (
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    StructField,
    StructType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.spark_sql import spark_sql, type_sql
from stateplan.planner.model.tree import replace

ITEM = StructType((StructField("a b", INT),))
NUMBERS = AttributeReference(name="arr", type_=ArrayType(INT))
TIME = AttributeReference(name="ts", type_=TIMESTAMP)
STRUCT = AttributeReference(name="st", type_=ITEM)
USER = AttributeReference(name="user", type_=STRING)


def sql(expression: Expression) -> str:
    return spark_sql(expression, lambda column: f"`{column.name}`")


def call(name: str, *arguments: Expression, ansi: bool = True) -> Expression:
    return resolve(name, arguments, Conf({"spark.sql.ansi.enabled": str(ansi).lower()}))


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        ("it's \\ \n", STRING, r"'it\'s \\ \n'"),
        (None, DATE, "CAST(NULL AS DATE)"),
        (5, LONG, "5L"),
        (-5, INT, "(-5)"),
        (-(2**63), LONG, "CAST('-9223372036854775808' AS BIGINT)"),
        (float("nan"), DOUBLE, "CAST('NaN' AS DOUBLE)"),
        (1.5, DOUBLE, "1.5D"),
        (Decimal("1.50"), DecimalType(3, 2), "CAST('1.50' AS DECIMAL(3,2))"),
        (1_500_000, TIMESTAMP, "timestamp_micros(1500000L)"),
        (19_723, DATE, "date_from_unix_date(19723)"),
        ((1, None), ArrayType(INT), "CAST(array(1, CAST(NULL AS INT)) AS ARRAY<INT>)"),
        ((1,), ITEM, "named_struct('a b', 1)"),
    ],
)
def test_constants(value: object, data_type: DataType, text: str) -> None:
    assert sql(Literal(value=value, type_=data_type)) == text


def test_calendar_intervals_are_made_of_their_parts() -> None:
    interval = Literal(value=(1, 2, 1_500_000), type_=CALENDAR_INTERVAL)
    seconds = "CAST(1.500000 AS DECIMAL(18,6))"
    assert sql(interval) == f"make_interval(0, 1, 0, 2, 0, 0, {seconds})"


def test_names_come_from_the_callback_and_fields_are_quoted() -> None:
    assert sql(GetStructField(child=STRUCT, ordinal=0, name="a b")) == "`st`.`a b`"
    assert type_sql(ArrayType(ITEM)) == "ARRAY<STRUCT<`a b`: INT>>"


def test_what_only_plans_have_is_said_otherwise() -> None:
    micros = PreciseTimestampConversion(child=TIME, from_type=TIMESTAMP, to_type=LONG)
    back = PreciseTimestampConversion(child=micros, from_type=LONG, to_type=TIMESTAMP)
    known = Call(name="knownnullable", arguments=(back,))
    assert sql(known) == "timestamp_micros(unix_micros(`ts`))"
    encoded = call("base64", call("encode", USER, lit("UTF-8")))
    assert isinstance(encoded, Call) and encoded.spec.replacement is not None
    assert sql(encoded.spec.replacement(encoded)) == "base64(encode(`user`, 'UTF-8'))"


def test_lambdas() -> None:
    x, i = (LambdaVariable(name=n, type_=INT, expr_id=k) for k, n in enumerate("xi"))
    one = LambdaFunction(body=call("+", x, lit(1)), parameters=(x,))
    two = LambdaFunction(body=call("+", x, i), parameters=(x, i))
    assert sql(call("transform", NUMBERS, one)) == "transform(`arr`, `x_0` -> (`x_0` + 1))"
    expected = "transform(`arr`, (`x_0`, `i_1`) -> (`x_0` + `i_1`))"
    assert sql(call("transform", NUMBERS, two)) == expected


def test_lenient_forms_stay_lenient_in_an_ansi_session() -> None:
    assert sql(call("get_array_item", NUMBERS, lit(3))) == "`arr`[3]"
    lenient = call("get", NUMBERS, lit(3))
    assert isinstance(lenient, Call) and lenient.spec.replacement is not None
    assert sql(lenient.spec.replacement(lenient)) == "get(`arr`, 3)"
    added = call("try_add", lit(1), lit(2))
    assert isinstance(added, Call) and added.spec.replacement is not None
    assert sql(added.spec.replacement(added)) == "try_add(1, 2)"
    date = Cast(child=USER, type_=DATE, mode="LEGACY")
    assert sql(date) == "try_cast(`user` AS DATE)"


def test_aggregates() -> None:
    total = call("sum", AttributeReference(name="n", type_=LONG))
    assert isinstance(total, Call)
    aggregate = AggregateExpression(function=total, distinct=True, filter=call("isnotnull", USER))
    assert sql(aggregate) == "sum(DISTINCT `n`) FILTER (WHERE (`user` IS NOT NULL))"


def test_an_unresolved_expression_has_no_sql() -> None:
    with pytest.raises(TypeError, match="UnresolvedAttribute"):
        sql(UnresolvedAttribute(parts=("a",)))


def test_rows_that_a_rule_numbers_have_an_order_in_sql() -> None:
    numbered = WindowExpression(function=Call(name="row_number"), partition_by=(USER,))
    assert sql(numbered).replace(" ", "").endswith("OVER(PARTITIONBY`user`ORDERBYNULL)")
    counted = replace(numbered, function=Call(name="count", arguments=(USER,)))
    assert sql(counted).replace(" ", "") == "count(`user`)OVER(PARTITIONBY`user`)"
