"""Intervals read and shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.expressions.intervals import (
    IntervalError,
    interval_text,
    parse_interval,
    read_amount,
    read_range,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10 minutes", (0, 0, 600_000_000)),
        ("interval 1 day 2.5 seconds", (0, 1, 2_500_000)),
        ("1 year -2 months", (10, 0, 0)),
        ("  3 WEEKS  ", (0, 21, 0)),
        ("-1 hour 30 minutes", (0, 0, -1_800_000_000)),
        ("7 milliseconds 8 microseconds", (0, 0, 7008)),
    ],
)
def test_parse(text: str, value: tuple[int, int, int]) -> None:
    assert parse_interval(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "ten minutes", "10", "10 minuts", "1.5 minutes", "minutes", "1 day,"],
)
def test_parse_refuses(text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse_interval(text)
    assert caught.value.condition == "CANNOT_PARSE_INTERVAL"
    assert f"Unable to parse '{text}'" in caught.value.message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ((0, 0, 0), "0 seconds"),
        ((14, 0, 0), "1 years 2 months"),
        ((0, 3, 3_600_000_000), "3 days 1 hours"),
        ((0, 0, 10_000), "0.01 seconds"),
        ((0, 0, -90_500_000), "-1 minutes -30.5 seconds"),
    ],
)
def test_text(value: tuple[int, int, int], text: str) -> None:
    assert interval_text(*value) == text


@given(st.integers(-1200, 1200), st.integers(-1000, 1000), st.integers(-(10**15), 10**15))
def test_text_is_read_back(months: int, days: int, micros: int) -> None:
    assert parse_interval(interval_text(months, days, micros)) == (months, days, micros)


def test_ranges() -> None:
    assert read_range("1 02:03:04.5", "day", "second") == 93_784_500_000
    assert read_range("-1-2", "year", "month") == -14
    with pytest.raises(IntervalError, match="minute 70 outside range"):
        read_range("1:70", "hour", "minute")
    with pytest.raises(IntervalError):
        read_range("1 02:03", "hour", "second")


def test_amounts() -> None:
    assert read_amount("1.5", "second") == 1_500_000
    assert read_amount("2", "year") == 24
    assert read_amount("2500", "nanosecond") == 2
    with pytest.raises(IntervalError):
        read_amount("1.5", "hour")
