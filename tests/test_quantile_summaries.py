"""Summaries of many keys at once are those that one key's values make one by one."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from stateplan.runtime.kernels.sketches.quantile_columns import (
    approximate_percentiles,
    fold_quantiles,
    merge_quantiles,
    packed,
    quantile_summaries,
    quantiles,
    unpacked,
)
from stateplan.runtime.kernels.sketches.quantiles import Summaries, summarised

SHARES = (0.5, 0.0, 1.0, 0.3, 0.99, 0.01, 0.25, 0.31)
Samples = list[tuple[float, int, int]]


class One(NamedTuple):
    """A key's summary: its error, how many values it has seen, its samples."""

    error: float
    count: int
    samples: Samples


def made(error: float, values: list[float]) -> One:
    samples: Samples = []
    count = 0
    for start in range(0, len(values), 50_000):
        block = sorted(values[start : start + 50_000], key=as_java)
        left, found = list(samples), Samples()
        for place, value in enumerate(block):
            while left and left[0][0] <= value:
                found.append(left.pop(0))
            count += 1
            outermost = not found or (not left and place == len(block) - 1)
            found.append((value, 1, 0 if outermost else math.floor(2 * error * count)))
        samples = compressed([*found, *left], 2 * error * count)
    return One(error, count, samples)


def as_java(value: float) -> tuple[bool, float, float]:
    if math.isnan(value):
        return True, 0.0, 0.0
    return False, value, math.copysign(1.0, value)


def compressed(samples: Samples, limit: float) -> Samples:
    if len(samples) < 2:
        return samples
    kept: Samples = []
    value, weight, span = samples[-1]
    for other in reversed(samples[1:-1]):
        if other[1] + weight + span < limit:
            weight += other[1]
        else:
            kept.append((value, weight, span))
            value, weight, span = other
    kept.append((value, weight, span))
    if samples[0][0] <= value:
        kept.append(samples[0])
    return kept[::-1]


def both(one: One, other: One) -> One:
    if not one.count or not other.count:
        return one if one.count else other
    first, second = list(one.samples), list(other.samples)
    more = [math.floor(2 * side.error * side.count) for side in (other, one)]
    found: Samples = []
    while first and second:
        if first[0][0] < second[0][0]:
            (value, weight, span), inside = first.pop(0), len(second) < len(other.samples)
            found.append((value, weight, span + more[0] * inside))
        else:
            (value, weight, span), inside = second.pop(0), len(first) < len(one.samples)
            found.append((value, weight, span + more[1] * inside))
    error, count = max(one.error, other.error), one.count + other.count
    return One(error, count, compressed([*found, *first, *second], 2 * error * count))


def asked(one: One, shares: tuple[float, ...]) -> list[float]:
    allowed = max(weight + span for _, weight, span in one.samples) // 2
    at, rank = 0, one.samples[0][1]
    found = [0.0] * len(shares)
    for share, place in sorted((share, place) for place, share in enumerate(shares)):
        if share <= one.error or share >= 1 - one.error:
            found[place] = one.samples[0 if share <= one.error else -1][0]
            continue
        wanted = math.ceil(share * one.count)
        while at < len(one.samples) - 1:
            if rank + one.samples[at][2] - allowed <= wanted <= rank + allowed:
                break
            at += 1
            rank += one.samples[at][1]
        found[place] = one.samples[at][0]
    return found


def each(summaries: Summaries) -> list[One]:
    ends = np.cumsum(summaries.sizes)
    columns = (summaries.values, summaries.weights, summaries.spans)
    return [
        One(error, count, list(zip(*(c[end - size : end].tolist() for c in columns), strict=True)))
        for error, count, size, end in zip(
            summaries.errors.tolist(),
            summaries.counts.tolist(),
            summaries.sizes.tolist(),
            ends.tolist(),
            strict=True,
        )
    ]


def some_values(
    generator: np.random.Generator, count: int, *, odd: bool
) -> npt.NDArray[np.float64]:
    kind = int(generator.integers(0, 3))
    if kind == 0:
        values = generator.integers(0, 20, count).astype(np.float64)
    elif kind == 1:
        values = generator.choice(np.array([0.0, -0.0, 1.5, np.inf, -np.inf]), count)
    else:
        values = generator.normal(size=count)
    if odd:
        values[generator.random(count) < 0.1] = np.nan
    return values


CASES = [
    (accuracy, keys, most, odd)
    for accuracy in (1, 2, 10, 100, 10_000)
    for keys, most in ((200, 4), (15, 60), (4, 2_000))
    for odd in (False, True)
]


def batch_of(
    generator: np.random.Generator, keys: int, most: int, accuracy: int, *, odd: bool
) -> tuple[Summaries, list[One]]:
    lengths = generator.integers(0, most, keys)
    values = [some_values(generator, int(n), odd=odd) for n in lengths]
    summaries = summarised(np.concatenate(values), lengths, accuracy)
    return summaries, [made(1 / accuracy, v.tolist()) for v in values]


def as_text(found: list[One]) -> list[str]:
    """Texts differ for -0.0 and 0.0, and are one for NaN; without values the error is left out."""
    return [repr(one if one.count else One(0.0, 0, [])) for one in found]


@pytest.mark.parametrize(("accuracy", "keys", "most", "odd"), CASES)
def test_batches_and_their_merges(accuracy: int, keys: int, most: int, odd: bool) -> None:
    generator = np.random.default_rng(accuracy * keys + odd)
    column, expected = None, [One(0.0, 0, []) for _ in range(keys)]
    for _ in range(4):
        summaries, one_by_one = batch_of(generator, keys, most, accuracy, odd=odd)
        assert as_text(each(summaries)) == as_text(one_by_one)
        batch = packed(summaries)
        column = batch if column is None else merge_quantiles([column], [batch])[0]
        expected = [both(*pair) for pair in zip(expected, one_by_one, strict=True)]
        state = unpacked(column)
        assert as_text(each(state)) == as_text(expected)
        used = np.flatnonzero(state.counts)
        found = quantiles(state.take(used), SHARES).tolist()
        assert repr(found) == repr([asked(expected[key], SHARES) for key in used])


@pytest.mark.parametrize(("accuracy", "keys", "most", "odd"), CASES)
def test_runs_become_one_from_left_to_right(accuracy: int, keys: int, most: int, odd: bool) -> None:
    generator = np.random.default_rng(accuracy + keys + odd)
    summaries, one_by_one = batch_of(generator, keys, most, accuracy, odd=odd)
    starts = np.unique(np.append(0, generator.integers(0, keys, 4)))
    expected = []
    for start, end in zip(starts, [*starts[1:], keys], strict=True):
        one = one_by_one[start]
        for other in one_by_one[start + 1 : end]:
            one = both(one, other)
        expected.append(one)
    folded = fold_quantiles(packed(summaries), starts)
    assert as_text(each(unpacked(folded))) == as_text(expected)


@pytest.mark.parametrize("odd", [False, True])
def test_more_values_of_a_key_than_are_taken_at_once(odd: bool) -> None:
    generator = np.random.default_rng(3)
    lengths = np.array([10, 50_000, 120_000, 50_001])
    values = [some_values(generator, int(n), odd=odd) for n in lengths]
    found = each(summarised(np.concatenate(values), lengths, 100))
    assert as_text(found) == as_text([made(0.01, v.tolist()) for v in values])
    assert all(len(one.samples) < 300 for one in found)


def test_a_summary_takes_far_less_room_than_its_values() -> None:
    generator = np.random.default_rng(4)
    column = quantile_summaries(pa.array([generator.normal(size=40_000)]), 1000)
    for _ in range(6):
        more = quantile_summaries(pa.array([generator.normal(size=40_000)]), 1000)
        (column,) = merge_quantiles([column], [more])
    assert len(column[0]) * 8 < 7 * 40_000


def test_results_have_the_type_of_the_values() -> None:
    values = pa.array(
        [[Decimal("1.25"), Decimal("-3.5"), Decimal("99999999.99")], []],
        pa.list_(pa.decimal128(12, 2)),
    )
    column = quantile_summaries(values, 10_000)
    kind = pa.list_(pa.decimal128(12, 2))
    found = approximate_percentiles([column], kind, (0.5, 1.0), True).to_pylist()
    assert [v if v is None else [str(one) for one in v] for v in found] == [
        ["1.25", "99999999.99"],
        None,
    ]
    highest = quantile_summaries(pa.array([[2**63 - 1]]), 10)
    assert approximate_percentiles([highest], pa.int64(), (0.5,), False).to_pylist() == [2**63 - 1]
