"""Scenario comparison: what counts as equal and how a difference reads."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from stateplan.planner.model.schemas.types import (
    BINARY,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)
from stateplan.runtime.comparison import differences, plain, same

NOON = dt.datetime(2026, 1, 31, 12, 0, 0, 500_000)


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (float("nan"), DOUBLE, "NaN"),
        (float("-inf"), DOUBLE, "-Infinity"),
        (Decimal("1.50"), DecimalType(5, 2), "1.50"),
        (NOON.replace(tzinfo=dt.UTC), TIMESTAMP, "2026-01-31T12:00:00.5Z"),
        (NOON, TIMESTAMP_NTZ, "2026-01-31T12:00:00.5"),
        (NOON.date(), DATE, "2026-01-31"),
        (b"\x00\xff", BINARY, "AP8="),
        ([1, None], ArrayType(INT), [1, None]),
        ([("b", 1), ("a", 2)], MapType(STRING, INT), [["a", 2], ["b", 1]]),
        ({"x": 1}, StructType((StructField("x", INT),)), {"x": 1}),
        (None, DOUBLE, None),
    ],
)
def test_values_as_scenario_files_write_them(
    value: object, data_type: DataType, text: object
) -> None:
    assert plain(value, data_type) == text


def test_doubles_within_tolerance_and_signed_zeros_apart() -> None:
    assert same(0.1 + 0.2, 0.3)
    assert not same(0.0, -0.0)
    assert not same(1.0, 1)
    assert not same(True, 1)


def batch(**more: object) -> dict[str, object]:
    return {"id": 0, "step": 0, "rows": [["a", 1]], "state": [], **more}


def test_rows_are_multisets_unless_ordered() -> None:
    want = {"batches": [batch(rows=[["a", 1], ["b", 2]])]}
    got = {"batches": [batch(rows=[["b", 2], ["a", 1]])]}
    assert differences(want, got) == []
    assert len(differences(want, got, ordered=True)) == 1


def test_each_difference_is_named() -> None:
    state = {"operator": "dedupe", "rows_total": 1}
    want = {
        "batches": [batch(state=[state], watermark="2026-01-01T00:00:00.000Z"), batch(id=1)],
        "error": {"phase": "batch", "condition": "DIVIDE_BY_ZERO", "message": "any"},
    }
    got = {"batches": [batch(rows=[["a", 2]], state=[{**state, "rows_total": 3}])]}
    assert differences(want, got) == [
        "batch 0 watermark: expected 2026-01-01T00:00:00.000Z, got None",
        'batch 0 row missing:    ["a", 1]',
        'batch 0 row unexpected: ["a", 2]',
        "batch 0 operator 0 (dedupe) rows_total: expected 1, got 3",
        "batch 1: expected, but it did not run",
        'error: expected {"condition": "DIVIDE_BY_ZERO", "message": "any", "phase": "batch"}, '
        "got none",
    ]


def test_an_error_is_compared_by_phase_batch_and_condition() -> None:
    want = {"error": {"phase": "batch", "step": 2, "batch": 2, "condition": "A", "message": "x"}}
    got = {"error": {"phase": "batch", "step": 1, "batch": 2, "condition": "A", "message": "y"}}
    assert differences(want, got) == []
