"""Which casts exist, which may give null."""

from __future__ import annotations

import pytest

from stateplan.planner.model.schemas.casts import (
    can_cast,
    can_store_assign,
    can_up_cast,
    may_be_null,
)
from stateplan.planner.model.schemas.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)


@pytest.mark.parametrize(
    ("source", "target", "ansi", "legacy"),
    [
        (STRING, INT, True, True),
        (INT, STRING, True, True),
        (BOOLEAN, DATE, False, False),
        (BOOLEAN, TIMESTAMP, False, True),
        (DATE, INT, False, True),
        (TIMESTAMP, LONG, True, True),
        (NULL, ArrayType(INT), True, True),
        (ArrayType(INT), ArrayType(STRING), True, True),
        (ArrayType(INT), INT, False, False),
        (ArrayType(INT, True), ArrayType(INT, False), True, True),
        (ArrayType(INT, True), ArrayType(LONG, False), False, False),
        (MapType(STRING, INT), MapType(INT, INT), False, False),
        (
            StructType((StructField("a", INT),)),
            StructType((StructField("b", STRING),)),
            True,
            True,
        ),
    ],
)
def test_can_cast(source: DataType, target: DataType, ansi: bool, legacy: bool) -> None:
    assert can_cast(source, target, "ANSI") == ansi
    assert can_cast(source, target, "LEGACY") == legacy


@pytest.mark.parametrize(
    ("source", "target", "null"),
    [
        (INT, LONG, False),
        (INT, STRING, False),
        (STRING, INT, True),
        (DOUBLE, INT, True),
        (TIMESTAMP, DATE, False),
        (INT, DecimalType(10, 0), False),
        (INT, DecimalType(5, 2), True),
    ],
)
def test_may_be_null(source: DataType, target: DataType, null: bool) -> None:
    assert may_be_null(source, target, "ANSI") == null


def test_try_casts_are_null_unless_nothing_can_be_lost() -> None:
    assert not may_be_null(INT, LONG, "TRY")
    assert may_be_null(LONG, INT, "TRY")


def test_up_casts_lose_nothing() -> None:
    assert can_up_cast(INT, LONG)
    assert can_up_cast(INT, DecimalType(12, 2))
    assert can_up_cast(DATE, TIMESTAMP)
    assert not can_up_cast(LONG, INT)
    assert not can_up_cast(STRING, INT)


def test_store_assignment_takes_numbers_for_numbers_but_no_strings() -> None:
    assert can_store_assign(DOUBLE, INT)
    assert can_store_assign(INT, STRING)
    assert not can_store_assign(STRING, INT)
    assert not can_store_assign(BOOLEAN, INT)
