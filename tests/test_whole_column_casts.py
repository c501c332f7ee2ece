"""Casts of whole columns against the same casts value by value, over many random values.

That the latter are Spark's is seen in test_arrow_expressions, over fewer values.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stateplan.runtime.kernels.columns.decimals import nearest_doubles
from stateplan.runtime.kernels.expressions.conversions.cast_decimals import rounding
from stateplan.runtime.kernels.expressions.conversions.casts import cast
from stateplan.runtime.kernels.expressions.programs.program import Kind, Mode, Step
from stateplan.runtime.kernels.expressions.values.java_numbers import java_double

DECIMALS = [(10, 2), (3, 1), (18, 6), (38, 18), (38, 38), (38, 0), (5, 5), (19, 9)]


def step(source: Kind, target: Kind, mode: Mode = "TRY") -> Step:
    return Step("cast", (0,), target, kinds=(source,), mode=mode)


def doubles(draw: np.random.Generator, count: int) -> Any:
    """Prices, halves, numbers beside what is rounded, powers of two, and any bits at all."""
    parts = [
        draw.random(count) * 10.0 ** draw.integers(-8, 12, count),
        np.round(draw.random(count) * 1e5, 2),
        (draw.integers(0, 10**7, count) * 10 + 5) / 10.0 ** draw.integers(1, 6, count),
        draw.integers(-(10**9), 10**9, count) / 2.0 ** draw.integers(0, 20, count),
        draw.integers(-(2**63), 2**63 - 1, count).view(np.float64),
        2.0 ** draw.integers(-60, 80, count),
        np.nextafter(np.round(draw.random(count) * 100, 1) + 0.05, draw.choice([-1, 1000], count)),
    ]
    found = np.concatenate(parts)
    return np.where(draw.random(len(found)) < 0.3, -found, found)


@pytest.mark.parametrize(("precision", "scale"), DECIMALS)
def test_doubles_become_decimals_by_their_shortest_digits(precision: int, scale: int) -> None:
    given = doubles(np.random.default_rng(precision), 1000)
    to_decimal = step("double", f"decimal({precision},{scale})")
    rounded = rounding(to_decimal)
    expected = [rounded(Decimal(java_double(x))) if np.isfinite(x) else None for x in given]
    found = cast(to_decimal, pa.array([None, *given]).slice(1))
    assert found.to_pylist() == expected


def test_decimals_become_doubles_whole_numbers_and_shorter_decimals() -> None:
    draw = random.Random(7)
    for precision, scale in DECIMALS:
        drawn = [draw.randrange(10 ** draw.randrange(1, precision + 1)) for _ in range(2000)]
        texts = pa.array([str(draw.choice((n, -n))) + f"e{-scale}" for n in drawn])
        column = pa.concat_arrays([texts, pa.nulls(1, pa.string())])
        column = column.cast(pa.decimal128(precision, scale)).slice(3)
        values = column.to_pylist()
        kind = f"decimal({precision},{scale})"
        expected = [float(value) for value in values[:-1]]
        assert nearest_doubles(column)[:-1].tolist() == expected
        assert cast(step(kind, "double"), column).to_pylist() == [*expected, None]
        for target in DECIMALS:
            shorter = step(kind, "decimal({},{})".format(*target))
            rounded = rounding(shorter)
            answers = [None if value is None else rounded(value) for value in values]
            assert cast(shorter, column).to_pylist() == answers
        for target_kind, bits in (("tinyint", 8), ("bigint", 64)):
            half = 1 << bits - 1
            whole = [value is not None and -half <= int(value) < half for value in values]
            answers = [int(v) if fits else None for v, fits in zip(values, whole, strict=True)]
            assert cast(step(kind, target_kind), column).to_pylist() == answers


@pytest.mark.parametrize(
    ("kind", "texts", "values"),
    [
        ("int", [" 42", "+7\t", "+-7", "Berlin", "12.", "", None], [42, 7, *[None] * 5]),
        ("double", ["+1e3 ", "0x1p3", "-Inf", "1d", "x"], [1000.0, 8.0, -np.inf, 1.0, None]),
        ("boolean", ["Yes ", "F", "10", "tru", None], [True, False, None, None, None]),
        ("date", ["9999999-01-01", "5881580-07-11", " 1970-01-02"], [None, 2**31 - 1, 1]),
        ("decimal(4,1)", ["1.25", " +3", "1e2", "99999", "1-2", ".06"],
         [*map(Decimal, ("1.3", "3.0", "100.0")), None, None, Decimal("0.1")]),
    ],
)  # fmt: skip
def test_strings_that_are_not_plain(kind: str, texts: list[Any], values: list[Any]) -> None:
    found = cast(step("string", kind), pa.array(texts, pa.string()))
    found = found.view(pa.int32()) if kind == "date" else found
    assert found.to_pylist() == values


def test_texts_of_integers_may_have_a_fraction_without_ansi() -> None:
    texts = pa.array(["12.9", "-3.", "+ 5", "999.9", ".5", "x"])
    found = cast(step("string", "tinyint", "LEGACY"), texts)
    assert found.to_pylist() == [12, -3, None, None, 0, None]
