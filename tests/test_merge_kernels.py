"""Merge kernels and their order and equality of values, against plain Python."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cmp_to_key
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateplan.runtime.kernels.aggregates.decimal_average import decimal_average
from stateplan.runtime.kernels.aggregates.merge import OPERATIONS, merge_columns
from stateplan.runtime.kernels.columns.ordering import codes, compare
from stateplan.runtime.kernels.errors import KernelError

FLOATS = st.sampled_from([math.nan, -math.inf, -1.5, -0.0, 0.0, 2.0, math.inf])
POINT = pa.struct([("a", pa.int64()), ("b", pa.float64())])
VALUES: list[tuple[Any, Any]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-128, 127)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.float64(), FLOATS),
    (pa.float32(), FLOATS),
    (pa.decimal128(38, 2), st.decimals(-(10**30), 10**30, places=2)),
    (pa.string(), st.text("aé\x00\U0001f600", max_size=3)),
    (pa.binary(), st.binary(max_size=3)),
    (pa.date32(), st.dates()),
    (pa.duration("us"), st.integers(-5, 5)),
    (POINT, st.fixed_dictionaries({"a": st.none() | st.integers(0, 2), "b": st.none() | FLOATS})),
    (pa.list_(pa.float64()), st.lists(st.none() | FLOATS, max_size=3)),
    (pa.list_(pa.list_(pa.string())), st.lists(st.lists(st.sampled_from("ab")), max_size=2)),
]


def order(left: Any, right: Any) -> int:
    """Spark's order of two values; None comes first."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    if isinstance(left, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) - math.isnan(right)
    elif isinstance(left, str):
        left, right = left.encode(), right.encode()
    elif isinstance(left, dict):
        return next((c for k in left if (c := order(left[k], right[k]))), 0)
    elif isinstance(left, list):
        pairs = zip(left, right, strict=False)
        sizes = (len(left) > len(right)) - (len(left) < len(right))
        return next((c for a, b in pairs if (c := order(a, b))), sizes)
    return (left > right) - (left < right)


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[str(kind) for kind, _ in VALUES])
def test_order_and_equality_are_sparks(kind: Any, values: Any) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.none() | values, st.none() | values), min_size=1, max_size=12))
    def check(pairs: list[tuple[Any, Any]]) -> None:
        # The first row is sliced off: kernels get slices of record batches.
        left = pa.array([None, *(a for a, _ in pairs)], kind)[1:]
        right = pa.array([None, *(b for _, b in pairs)], kind)[1:]
        lefts, rights = left.to_pylist(), right.to_pylist()
        expected = [order(a, b) for a, b in zip(lefts, rights, strict=True)]
        assert compare(left, right).tolist() == expected
        numbers = codes(pa.concat_arrays([left, right]))
        same = (numbers[: len(left)] == numbers[len(left) :]).tolist()
        assert same == [sign == 0 for sign in expected]
        for name, sign in (("max", 1), ("min", -1)):
            (merged,) = merge_columns(name, [left], [right])
            key = cmp_to_key(lambda a, b, sign=sign: sign * order(a, b))
            for a, b, found in zip(lefts, rights, merged.to_pylist(), strict=True):
                present = [v for v in (a, b) if v is not None]
                assert order(found, max(present, key=key, default=None)) == 0

    check()


def test_first_and_last_go_by_what_was_set_not_by_what_is_null() -> None:
    earlier = [pa.array([1, None, None]), pa.array([True, True, False])]
    later = [pa.array([9, 9, 9]), pa.array([True, True, True])]
    first, _ = merge_columns("first", earlier, later)
    last, is_set = merge_columns("last", later, [earlier[0], pa.array([True, False, None])])
    assert first.to_pylist() == [1, None, 9]
    assert last.to_pylist() == [1, 9, 9]
    assert is_set.to_pylist() == [True, True, True]


def test_max_by_takes_the_later_of_equal_orderings_and_no_null_one() -> None:
    earlier = [pa.array(["a", "b", "c", None]), pa.array([1.0, math.nan, None, 2.0])]
    later = [pa.array(["x", "y", "z", "w"]), pa.array([1.0, 5.0, 0.0, None])]
    values, orderings = merge_columns("max_by", earlier, later)
    assert values.to_pylist() == ["x", "b", "z", None]
    assert repr(orderings.to_pylist()) == "[1.0, nan, 0.0, 2.0]"


def test_lists_join_in_order_and_sets_keep_the_first_of_equals() -> None:
    kind = pa.list_(pa.float64())
    earlier = pa.array([[9.0], [1.0, None], None, [math.nan, 0.0]], kind)[1:]
    later = pa.array([[1.0], [], [-0.0, math.nan, 2.0]], kind)
    (joined,) = merge_columns("concat", [earlier], [later])
    (united,) = merge_columns("union", [earlier], [later])
    assert repr(joined.to_pylist()) == "[[1.0, None, 1.0], [], [nan, 0.0, -0.0, nan, 2.0]]"
    assert repr(united.to_pylist()) == "[[1.0, None], [], [nan, 0.0, 2.0]]"
    assert united.type == kind


@pytest.mark.parametrize(
    ("kind", "one", "other", "condition"),
    [
        (pa.int64(), 2**63 - 1, 1, "ARITHMETIC_OVERFLOW"),
        (pa.int64(), -(2**63), -1, "ARITHMETIC_OVERFLOW"),
        (pa.duration("us"), 2**63 - 1, 1, "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION"),
        (pa.decimal128(38, 0), Decimal(10**38 - 1), Decimal(1), "ARITHMETIC_OVERFLOW"),
        (pa.decimal128(12, 2), Decimal("9999999999.99"), Decimal("0.01"), "ARITHMETIC_OVERFLOW"),
    ],
)
def test_sums_overflow_at_the_ends_of_their_type(
    kind: Any, one: Any, other: Any, condition: str
) -> None:
    earlier, later = pa.array([one, None, 1], kind), pa.array([other, other, None], kind)
    with pytest.raises(KernelError) as caught:
        merge_columns("sum", [earlier], [later])
    assert caught.value.condition == condition
    total, empty = merge_columns(
        "try_sum",
        [earlier, pa.array([False, True, False])],
        [later, pa.array([False, False, None])],
    )
    assert total.is_null().to_pylist() == [True, False, False]
    assert empty.to_pylist() == [False, False, False]
    again, _ = merge_columns("try_sum", [total, empty], [later, pa.array([False, False, True])])
    assert again.is_null().to_pylist() == [True, False, False], "what overflowed stays null"


def test_sums_without_ansi_wrap_around() -> None:
    (total,) = merge_columns("sum_wrap", [pa.array([2**63 - 1, None])], [pa.array([1, None])])
    assert total.to_pylist() == [-(2**63), None]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.floats(-1e3, 1e3), max_size=6), min_size=2, max_size=2))
def test_moments_of_parts_are_those_of_the_whole(parts: list[list[float]]) -> None:
    def moments(values: list[float]) -> list[Any]:
        x = np.array(values)
        if not len(x):
            return [pa.array([0.0]), *(pa.array([None], pa.float64()) for _ in range(4))]
        powers = (((x - x.mean()) ** power).sum() for power in (2, 3, 4))
        return [pa.array([float(v)]) for v in (len(x), x.mean(), *powers)]

    merged = merge_columns("moments", moments(parts[0]), moments(parts[1]))
    whole = moments(parts[0] + parts[1])
    for found, expected, size in zip(merged, whole, (1, 1e3, 1e7, 1e10, 1e13), strict=True):
        assert found[0].as_py() == pytest.approx(
            expected[0].as_py() or 0, rel=1e-6, abs=size * 1e-9
        )


@settings(max_examples=100, deadline=None)
@given(st.integers(-(10**38) + 1, 10**38 - 1), st.integers(0, 10**6))
def test_decimal_averages_round_half_up(unscaled: int, count: int) -> None:
    total = pa.array([None, Decimal(f"{unscaled}E-4")], pa.decimal128(38, 4))[1:]
    (found,) = decimal_average(total, pa.array([count]), 38, 8, True).to_pylist()
    if not count:
        assert found is None
        return
    scaled = (abs(unscaled) * 10**4 * 2 + count) // (2 * count)
    exact = -scaled if unscaled < 0 else scaled
    expected = None if scaled >= 10**38 else exact
    assert (None if found is None else int(f"{found:f}".replace(".", ""))) == expected


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_no_rows_merge_to_no_rows(name: str) -> None:
    empty = [pa.array([], pa.float64())] * 6
    assert all(len(column) == 0 for column in merge_columns(name, empty, empty))
