"""histogram_numeric: at most so many points, of which the nearest become one.

Spark takes one value after the other, and chooses at random between gaps of one width: by random
numbers that are always the same, so its result depends on the order of rows alone. This is that
algorithm, so that results are equal.
"""

from __future__ import annotations

import decimal
import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.floats import doubles
from ..columns.lists import elements_of, in_turns, lists_of
from ..columns.ordering import list_parts
from .java_random import JavaRandom

Int64 = npt.NDArray[np.int64]
Points = tuple[list[float], list[float]]
"""Places and weights, by place."""

_SEED = 31183
POINTS = pa.list_(
    pa.field("element", pa.struct([pa.field("x", pa.float64()), pa.field("y", pa.float64())]))
)


def histogram(values: Any, most: int) -> Any:
    """The points of each list of values: numbers, dates, times, durations."""
    items, lengths = elements_of(values)
    numbers = doubles(items)
    made: list[Points] = []
    start = 0
    for length in lengths.tolist():
        made.append(_points(numbers[start : start + length], most))
        start += length
    return _lists(made)


def _points(numbers: npt.NDArray[np.float64], most: int) -> Points:
    search = _place if np.isnan(numbers).any() else bisect_left
    if search is bisect_left:
        _, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        if len(first) <= most:
            return numbers[first].tolist(), counts.astype(np.float64).tolist()
    xs: list[float] = []
    ys: list[float] = []
    random = JavaRandom(_SEED)
    for number in numbers.tolist():
        place = search(xs, number)
        if place < len(xs) and xs[place] == number:
            ys[place] += 1.0
        else:
            xs.insert(place, number)
            ys.insert(place, 1.0)
            _trim(xs, ys, most, random)
    return xs, ys


def _place(xs: list[float], number: float) -> int:
    """Where a number belongs; not a number stops Spark's search wherever it meets one."""
    low, high, place = 0, len(xs), 0
    while low < high:
        place = (low + high) // 2
        if xs[place] > number:
            high = place
        elif xs[place] < number:
            place += 1
            low = place
        else:
            break
    return place


def _trim(xs: list[float], ys: list[float], most: int, random: JavaRandom) -> None:
    """Make one point of the two nearest until there are no more than so many."""
    while len(xs) > most:
        chosen, ties = 0, 1
        least = xs[1] - xs[0]
        for i in range(1, len(xs) - 1):
            gap = xs[i + 1] - xs[i]
            if gap < least:
                least, chosen, ties = gap, i, 1
            elif gap == least:
                ties += 1
                if random.double() <= 1.0 / ties:
                    chosen = i
        after = chosen + 1
        weight = ys[chosen] + ys[after]
        # The order of the operations decides about the last digit.
        xs[chosen] = xs[chosen] * (ys[chosen] / weight) + xs[after] / weight * ys[after]
        ys[chosen] = weight
        del xs[after], ys[after]


def fold_histograms(column: Any, starts: Int64, most: int) -> Any:
    """Runs of histograms, merged one after the other."""
    pairs, begins, lengths = list_parts(column)
    xs, ys = (part.to_pylist() for part in pairs.flatten())
    parts = [
        (xs[begin : begin + length], ys[begin : begin + length])
        for begin, length in zip(begins.tolist(), lengths.tolist(), strict=True)
    ]
    bounds = [*starts.tolist(), len(parts)]
    made = []
    for first, end in pairwise(bounds):
        merged, random = parts[first], JavaRandom(_SEED)
        for part in parts[first + 1 : end]:
            merged = _merged(merged, part, most, random)
        made.append(merged)
    return _lists(made)


def merge_histograms(earlier: list[Any], later: list[Any], most: int) -> list[Any]:
    """`histograms` (list of points): those of both, the nearest made one."""
    return [fold_histograms(*in_turns(earlier[0], later[0]), most)]


def _merged(one: Points, other: Points, most: int, random: JavaRandom) -> Points:
    if not one[0]:
        return other
    # With nothing, too: points that not a number has brought out of order are sorted then.
    xs, ys = _sorted([*one[0], *other[0]], [*one[1], *other[1]])
    _trim(xs, ys, most, random)
    return xs, ys


def _sorted(xs: list[float], ys: list[float]) -> Points:
    """Points by place as Java compares: -0.0 below 0.0, not a number last."""

    def place(i: int) -> tuple[bool, float, float]:
        return math.isnan(xs[i]), xs[i], math.copysign(1.0, xs[i])

    order = sorted(range(len(xs)), key=place)
    return [xs[i] for i in order], [ys[i] for i in order]


def _lists(made: Sequence[Points]) -> Any:
    sizes = [len(xs) for xs, _ in made]
    columns = [pa.array([v for part in made for v in part[i]], pa.float64()) for i in (0, 1)]
    points = pa.StructArray.from_arrays(columns, fields=list(POINTS.value_type))
    return lists_of(points, sizes, POINTS)


def histogram_points(buffers: Sequence[Any], result: Any) -> Any:
    """The points of each histogram, their places of the type of its values; null of none.

    Args:
        buffers: the histograms.
        result: the Arrow type of the lists.
    """
    pairs, lengths = elements_of(buffers[0])
    places, weights = pairs.flatten()
    fields = list(result.value_type)
    columns = [_places(places, fields[0].type), weights]
    points = pa.StructArray.from_arrays(columns, fields=fields)
    return lists_of(points, lengths, result, missing=lengths == 0)


def _places(numbers: Any, kind: Any) -> Any:
    if pa.types.is_floating(kind):
        return numbers.cast(kind)
    if pa.types.is_decimal(kind):
        digits = decimal.Context(prec=kind.precision, rounding=decimal.ROUND_HALF_UP)
        step = decimal.Decimal(1).scaleb(-kind.scale)
        exact = [digits.create_decimal(repr(number)) for number in numbers.to_pylist()]
        rounded = [value.quantize(step, decimal.ROUND_HALF_UP, digits) for value in exact]
        return pa.array(rounded, kind)
    whole = pa.array(np.trunc(numbers.to_numpy(zero_copy_only=False)).astype(np.int64))
    if pa.types.is_date32(kind):
        return whole.cast(pa.int32()).view(kind)
    if pa.types.is_integer(kind):
        return whole.cast(kind)
    return whole.view(kind)
