"""Common types and the casts of operators, with ANSI and without."""

from __future__ import annotations

from decimal import Decimal

import pytest

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.expressions.core import (
    AttributeReference,
    CaseWhen,
    Expression,
    Literal,
    lit,
)
from stateplan.planner.model.functions import resolve
from stateplan.planner.model.functions.coercion import (
    common_type,
    tightest_common_type,
    wider_type,
)
from stateplan.planner.model.functions.conditional import coerce_case_when
from stateplan.planner.model.schemas.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    StructField,
    StructType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.text import plan_text

ANSI = Conf()
LEGACY = Conf({"spark.sql.ansi.enabled": "false"})


def column(name: str, data_type: DataType) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type, expr_id=0)


USER, QTY, AMOUNT = column("user", STRING), column("qty", INT), column("amount", DOUBLE)
DAY, TIME, FLAG = column("d", DATE), column("ts", TIMESTAMP), column("b", BOOLEAN)
PRICE = column("dec", DecimalType(10, 2))


@pytest.mark.parametrize(
    ("left", "right", "ansi", "legacy"),
    [
        (INT, LONG, LONG, LONG),
        (INT, FLOAT, DOUBLE, FLOAT),
        (NULL, DATE, DATE, DATE),
        (DATE, TIMESTAMP, TIMESTAMP, TIMESTAMP),
        (DATE, TIMESTAMP_NTZ, TIMESTAMP_NTZ, TIMESTAMP_NTZ),
        (INT, DecimalType(12, 2), DecimalType(12, 2), DecimalType(12, 2)),
        (INT, BOOLEAN, None, None),
        (DayTimeIntervalType(1, 1), DayTimeIntervalType(2, 3), DayTimeIntervalType(1, 3), None),
    ],
)
def test_tightest_common_type(
    left: DataType, right: DataType, ansi: DataType | None, legacy: DataType | None
) -> None:
    assert tightest_common_type(left, right, ANSI) == ansi
    if legacy is not None:
        assert tightest_common_type(left, right, LEGACY) == legacy


@pytest.mark.parametrize(
    ("left", "right", "ansi", "legacy"),
    [
        (STRING, INT, LONG, STRING),
        (STRING, DOUBLE, DOUBLE, STRING),
        (STRING, DATE, DATE, STRING),
        (STRING, BOOLEAN, BOOLEAN, None),
        (INT, DecimalType(3, 1), DecimalType(11, 1), DecimalType(11, 1)),
        (DecimalType(38, 10), DecimalType(38, 0), DecimalType(38, 0), DecimalType(38, 0)),
        (DOUBLE, DecimalType(3, 1), DOUBLE, DOUBLE),
        (
            ArrayType(INT, False),
            ArrayType(LONG, True),
            ArrayType(LONG, True),
            ArrayType(LONG, True),
        ),
    ],
)
def test_wider_type(
    left: DataType, right: DataType, ansi: DataType | None, legacy: DataType | None
) -> None:
    assert wider_type(left, right, ANSI) == ansi
    assert wider_type(left, right, LEGACY) == legacy


def test_structs_meet_where_their_names_do() -> None:
    left = StructType((StructField("a", INT, False),))
    right = StructType((StructField("A", LONG, False),))
    assert wider_type(left, right, ANSI) == StructType((StructField("a", LONG, False),))
    assert wider_type(left, StructType((StructField("b", LONG),)), ANSI) is None


def test_legacy_strings_win_wherever_they_stand() -> None:
    assert common_type([TIMESTAMP, INT, STRING], LEGACY) == STRING
    assert common_type([INT, BOOLEAN], LEGACY) is None


@pytest.mark.parametrize(
    ("name", "arguments", "ansi", "legacy"),
    [
        ("+", (QTY, AMOUNT), "(cast(qty#0 as double) + amount#0)", None),
        ("/", (QTY, lit(2)), "(cast(qty#0 as double) / cast(2 as double))", None),
        (
            "+",
            (USER, lit(1)),
            "(cast(user#0 as bigint) + cast(1 as bigint))",
            "(cast(user#0 as double) + cast(1 as double))",
        ),
        (
            "=",
            (USER, lit(1)),
            "(cast(user#0 as bigint) = cast(1 as bigint))",
            "(cast(user#0 as int) = 1)",
        ),
        ("=", (DAY, TIME), "(cast(d#0 as timestamp) = ts#0)", None),
        ("*", (PRICE, lit(2)), "(dec#0 * cast(2 as decimal(1,0)))", None),
        ("=", (PRICE, lit(1)), "(dec#0 = cast(cast(1 as decimal(1,0)) as decimal(10,2)))", None),
        ("+", (DAY, lit(1)), "date_add(d#0, 1)", None),
        ("-", (TIME, DAY), "(ts#0 - cast(d#0 as timestamp))", None),
        (
            "in",
            (QTY, lit(1), lit(2**40)),
            "cast(qty#0 as bigint) IN (cast(1 as bigint),cast(1099511627776 as bigint))",
            None,
        ),
        ("and", (FLAG, Literal(value=None, type_=NULL)), "(b#0 AND cast(null as boolean))", None),
        (
            "coalesce",
            (USER, QTY),
            "coalesce(cast(user#0 as bigint), cast(qty#0 as bigint))",
            "coalesce(user#0, cast(qty#0 as string))",
        ),
    ],
)
def test_operators_cast_their_operands(
    name: str, arguments: tuple[Expression, ...], ansi: str, legacy: str | None
) -> None:
    assert plan_text(resolve(name, arguments, ANSI)) == ansi
    if legacy is not None:
        assert plan_text(resolve(name, arguments, LEGACY)) == legacy


def test_a_whole_number_is_compared_with_a_rounded_decimal() -> None:
    constant = Literal(value=Decimal("1.5"), type_=DecimalType(2, 1))
    assert plan_text(resolve("<", (QTY, constant), ANSI)) == "(cast(qty#0 as bigint) < 2)"
    assert plan_text(resolve("<", (constant, QTY), ANSI)) == "(1 < cast(qty#0 as bigint))"


def test_legacy_booleans_equal_one_and_zero() -> None:
    assert plan_text(resolve("=", (FLAG, lit(1)), LEGACY)) == "b#0"
    assert plan_text(resolve("=", (FLAG, lit(0)), LEGACY)) == "NOT b#0"
    with pytest.raises(AnalysisError, match="BINARY_OP_DIFF_TYPES"):
        resolve("=", (FLAG, lit(1)), ANSI)


@pytest.mark.parametrize(
    ("left", "right", "operator", "result"),
    [
        (DecimalType(10, 2), DecimalType(10, 2), "+", DecimalType(11, 2)),
        (DecimalType(10, 2), DecimalType(10, 2), "*", DecimalType(21, 4)),
        (DecimalType(10, 2), DecimalType(10, 2), "/", DecimalType(23, 13)),
        (DecimalType(10, 2), DecimalType(1, 0), "%", DecimalType(3, 2)),
        (DecimalType(38, 10), DecimalType(38, 10), "*", DecimalType(38, 6)),
        (DecimalType(38, 18), DecimalType(20, 0), "+", DecimalType(38, 17)),
    ],
)
def test_decimal_results(left: DataType, right: DataType, operator: str, result: DataType) -> None:
    made = resolve(operator, (column("a", left), column("b", right)), ANSI)
    assert made.data_type == result


def test_case_branches_meet_and_conditions_must_be_boolean() -> None:
    case = CaseWhen(conditions=(FLAG,), values=(lit(1),), otherwise=AMOUNT)
    assert plan_text(coerce_case_when(case, ANSI)) == (
        "CASE WHEN b#0 THEN cast(1 as double) ELSE amount#0 END"
    )
    bad = CaseWhen(conditions=(QTY,), values=(lit(1),))
    with pytest.raises(AnalysisError) as refused:
        coerce_case_when(bad, ANSI)
    assert refused.value.message == (
        '[DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE] Cannot resolve "CASE WHEN qty THEN 1 END" due '
        'to data type mismatch: The first parameter requires the "BOOLEAN" type, however "qty" '
        'has the type "INT". SQLSTATE: 42K09'
    )
