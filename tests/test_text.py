"""Expressions in plans and in column names."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    CaseWhen,
    Cast,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    Metadata,
    SortOrder,
    lit,
)
from stateplan.planner.model.expressions.unresolved import (
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedStar,
)
from stateplan.planner.model.expressions.windows import PreciseTimestampConversion
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.schemas.types import (
    BINARY,
    BOOLEAN,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.literal_text import time_zone_scope
from stateplan.planner.model.text.text import plan_text, pretty
from stateplan.planner.model.text.time_zones import fixed_offset, known_zone, zone
from stateplan.rules.analysis.names.names import automatic_name

CONF = Conf()
USER = AttributeReference(name="user", type_=STRING, expr_id=3)
TOTAL = AttributeReference(name="n", type_=LONG, expr_id=0)
QTY = AttributeReference(name="qty", type_=INT, expr_id=4)
TIME = AttributeReference(name="ts", type_=TIMESTAMP, expr_id=1, metadata=Metadata(delay_ms=10_000))


def call(name: str, *arguments: Expression) -> Expression:
    return resolve(name, arguments, CONF)


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (USER, "user#3"),
        (TOTAL, "n#0L"),
        (TIME, "ts#1-T10000ms"),
        (Alias(child=TOTAL, name="x", expr_id=9), "n#0L AS x#9L"),
        (Cast(child=USER, type_=LONG), "cast(user#3 as bigint)"),
        (Cast(child=USER, type_=LONG, mode="TRY"), "try_cast(user#3 as bigint)"),
        (SortOrder(child=TOTAL, ascending=False, nulls_first=False), "n#0L DESC NULLS LAST"),
        (
            PreciseTimestampConversion(child=TIME, from_type=TIMESTAMP, to_type=LONG),
            "precisetimestampconversion(ts#1-T10000ms, TimestampType, LongType)",
        ),
        (
            CaseWhen(conditions=(call(">", QTY, lit(3)),), values=(lit("a"),), otherwise=lit("b")),
            "CASE WHEN (qty#4 > 3) THEN a ELSE b END",
        ),
        (UnresolvedAttribute(parts=("a", "b c")), "'a.`b c`"),
        (UnresolvedStar(target=("t",)), "t.*"),
        (UnresolvedFunction(name="count", arguments=(lit(1),)), "'count(1)"),
        (UnresolvedFunction(name="=", arguments=(USER, lit("a"))), "(user#3 = a)"),
        (call("in", QTY, lit(1), lit(2)), "qty#4 IN (1,2)"),
        (call("trim", USER), "trim(user#3, None)"),
        (call("trim", lit("x"), USER), "trim(user#3, Some(x))"),
        (call("date_format", TIME, lit("yyyy")), "date_format(ts#1-T10000ms, yyyy, Some(UTC))"),
        (call("if", call("isnull", QTY), lit(1), QTY), "if (isnull(qty#4)) 1 else qty#4"),
    ],
)
def test_plan_text(expression: Expression, text: str) -> None:
    assert plan_text(expression) == text


def test_aggregates_show_their_step_and_filter() -> None:
    total = resolve("sum", (QTY,), CONF)
    assert isinstance(total, Call)
    partial = AggregateExpression(
        function=total, mode="Partial", filter=call("isnotnull", USER), distinct=True
    )
    assert plan_text(partial) == "partial_sum(distinct qty#4) FILTER (WHERE isnotnull(user#3))"
    assert pretty(partial) == "sum(DISTINCT qty) FILTER (WHERE (user IS NOT NULL))"


def test_lambdas_name_their_variables_in_plans_only() -> None:
    item = StructType((StructField("price", DOUBLE),))
    variable = LambdaVariable(name="x", type_=item, expr_id=7)
    body = GetStructField(child=variable, ordinal=0, name="price")
    function = LambdaFunction(body=body, parameters=(variable,))
    assert plan_text(function) == "lambdafunction(lambda x#7.price, lambda x#7, false)"
    assert pretty(function) == "lambdafunction(namedlambdavariable().price, namedlambdavariable())"


@pytest.mark.parametrize(
    ("value", "data_type", "text", "name"),
    [
        ("a'b", STRING, "a'b", "a'b"),
        (None, INT, "null", "NULL"),
        (None, DATE, "null", "CAST(NULL AS DATE)"),
        (True, BOOLEAN, "true", "true"),
        (100.0, DOUBLE, "100.0", "100.0"),
        (1e10, DOUBLE, "1.0E10", "1.0E10"),
        (0.00012, DOUBLE, "1.2E-4", "1.2E-4"),
        (float("nan"), DOUBLE, "NaN", "NaN"),
        (0.1, FLOAT, "0.1", "0.1"),
        (Decimal("1.50"), DecimalType(3, 2), "1.50", "1.50"),
        (b"\xab", BINARY, "0xAB", "X'AB'"),
        (19_723, DATE, "2024-01-01", "DATE '2024-01-01'"),
        (1_500_000, TIMESTAMP, "1970-01-01 00:00:01.5", "TIMESTAMP '1970-01-01 00:00:01.5'"),
        ((1, 2, 90_000_000), CALENDAR_INTERVAL, "1 months 2 days 1 minutes 30 seconds", None),
        (300_000_000, DayTimeIntervalType(2, 2), "INTERVAL '05' MINUTE", "INTERVAL '05' MINUTE"),
        (-300_000_000, DayTimeIntervalType(2, 2), "INTERVAL '-05' MINUTE", None),
        (93_784_500_000, DayTimeIntervalType(), "INTERVAL '1 02:03:04.5' DAY TO SECOND", None),
        (14, YearMonthIntervalType(), "INTERVAL '1-2' YEAR TO MONTH", None),
        ((1, None), ArrayType(INT), "[1,null]", "ARRAY(1, CAST(NULL AS INT))"),
        ((("a", 1),), MapType(STRING, INT), "map(keys: [a], values: [1])", None),
    ],
)
def test_literals(value: object, data_type: DataType, text: str, name: str | None) -> None:
    literal = Literal(value=value, type_=data_type)
    assert plan_text(literal) == text
    if name is not None:
        assert pretty(literal) == name


def test_timestamps_are_written_in_the_session_time_zone() -> None:
    with time_zone_scope("America/New_York"):
        literal = Literal(value=1_704_067_200_000_000, type_=TIMESTAMP)
        assert plan_text(literal) == "2023-12-31 19:00:00"


def test_pretty_leaves_out_implicit_casts() -> None:
    widened = call("+", QTY, TOTAL)
    assert plan_text(widened) == "(cast(qty#4 as bigint) + n#0L)"
    assert pretty(widened) == "(qty + n)"
    assert pretty(Cast(child=QTY, type_=LONG)) == "CAST(qty AS BIGINT)"


def test_automatic_names_of_casts() -> None:
    assert automatic_name(Cast(child=QTY, type_=LONG)) == "qty"
    assert automatic_name(call("upper", USER)) == "upper(user)"
    assert automatic_name(Literal(value=None, type_=NULL)) == "NULL"


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("+05:30", 19_800), ("-3", -10_800), ("UTC+01:15", 4_500), ("+1:5", 3_900), ("Z", 0)],
)
def test_zones_by_their_distance_from_utc(name: str, seconds: int) -> None:
    assert zone(name).utcoffset(None) == timedelta(seconds=seconds)
    assert fixed_offset(name) == seconds


def test_names_of_zones_that_there_are() -> None:
    assert known_zone("Asia/Kolkata") and fixed_offset("Asia/Kolkata") is None
    assert not known_zone("Asia/Nowhere") and not known_zone("+25:00")
