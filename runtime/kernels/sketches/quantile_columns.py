"""Columns of quantile summaries: made of values, merged, asked for percentiles.

A summary is kept as a list of 64-bit words; one of no values has none. First its relative error,
then how many values it has seen and how many bytes (0, 1, 2, 4, 8) each weight and span takes; with
0 bytes all weights are 1 and all spans 0, and there is a sample for each value. Else the number of
samples follows. Then come the samples' values, then their weights, then their spans.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.decimals import decimals
from ..columns.floats import doubles
from ..columns.lists import elements_of, lists_of
from ..columns.ordering import spread
from .quantiles import Summaries, merged, summarised, united

Int64 = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

_SIZED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_WORDS = pa.list_(pa.field("element", pa.int64()))
_CERTAIN_DIGITS = 10**15
"""Up to which unscaled value a decimal's double says all its digits."""


def quantile_summaries(values: Any, accuracy: int) -> Any:
    """The summary of each list of values: numbers, dates, times, durations."""
    items, lengths = elements_of(values)
    return packed(summarised(doubles(items), lengths, accuracy))


def merge_quantiles(earlier: list[Any], later: list[Any]) -> list[Any]:
    """`quantiles` (summaries): the one of the values of both."""
    return [packed(merged(unpacked(earlier[0]), unpacked(later[0])))]


def fold_quantiles(column: Any, starts: Int64) -> Any:
    """Runs of summaries, merged one after the other."""
    return packed(united(unpacked(column), starts))


# ------------------------------------------------------------------------------ as they are kept


def packed(summaries: Summaries) -> Any:
    """Summaries as lists of words."""
    sizes = summaries.sizes
    used = np.flatnonzero(sizes)
    bytes_each = np.zeros(len(sizes), np.int64)
    bytes_each[used] = _bytes_each(summaries, used)
    each = -(-sizes * bytes_each // 8)
    heads = np.where(sizes > 0, 2 + (bytes_each > 0), 0)
    lengths = heads + sizes + 2 * each
    starts = np.cumsum(lengths) - lengths
    words = np.zeros(int(lengths.sum()), np.int64)
    first = starts[used]
    words[first] = summaries.errors[used].view(np.int64)
    words[first + 1] = summaries.counts[used] << 8 | bytes_each[used]
    lossy = np.flatnonzero(bytes_each)
    words[starts[lossy] + 2] = sizes[lossy]
    words[spread(starts + heads, sizes)] = summaries.values.view(np.int64)
    for width, kind in _SIZED.items():
        keys = np.flatnonzero(bytes_each == width)
        if not len(keys):
            continue
        own, parts = sizes[keys], words.view(kind)
        at = spread(summaries.starts[keys], own)
        begin = (starts + heads + sizes)[keys]
        parts[spread(begin * (8 // width), own)] = summaries.weights[at]
        parts[spread((begin + each[keys]) * (8 // width), own)] = summaries.spans[at]
    return lists_of(pa.array(words), lengths, _WORDS)


def _bytes_each(summaries: Summaries, used: Int64) -> Int64:
    """How many bytes the weights and spans of keys with samples take."""
    starts = summaries.starts[used]
    highest = np.maximum.reduceat(np.maximum(summaries.weights - 1, summaries.spans), starts)
    width = np.ones(len(used), np.int64)
    for more in (1, 2, 4):
        width[highest + 1 >= 1 << 8 * more] = 2 * more
    width[(highest == 0) & (summaries.counts[used] == summaries.sizes[used])] = 0
    return width


def unpacked(column: Any) -> Summaries:
    """The reverse of `packed`; null is a summary of no values."""
    elements, lengths = elements_of(column)
    words = np.asarray(elements.to_numpy(zero_copy_only=False), np.int64)
    starts = np.cumsum(lengths) - lengths
    used = np.flatnonzero(lengths)
    first = starts[used]
    errors, counts, bytes_each = np.zeros(len(lengths)), *np.zeros((2, len(lengths)), np.int64)
    errors[used] = words[first].view(np.float64)
    counts[used], bytes_each[used] = words[first + 1] >> 8, words[first + 1] & 0xFF
    sizes, heads = counts.copy(), np.where(lengths > 0, 2, 0)
    lossy = np.flatnonzero(bytes_each)
    sizes[lossy], heads[lossy] = words[starts[lossy] + 2], 3
    values = words[spread(starts + heads, sizes)].view(np.float64)
    weights, spans = np.ones(len(values), np.int64), np.zeros(len(values), np.int64)
    each, ends = -(-sizes * bytes_each // 8), np.cumsum(sizes)
    for width, kind in _SIZED.items():
        keys = np.flatnonzero(bytes_each == width)
        if not len(keys):
            continue
        own, parts = sizes[keys], words.view(kind)
        at = spread((ends - sizes)[keys], own)
        begin = (starts + heads + sizes)[keys]
        weights[at] = parts[spread(begin * (8 // width), own)]
        spans[at] = parts[spread((begin + each[keys]) * (8 // width), own)]
    return Summaries(errors, counts, sizes, values, weights, spans)


# ------------------------------------------------------------------------------------ percentiles


def approximate_percentiles(
    buffers: Sequence[Any], result: Any, shares: Sequence[float], several: bool
) -> Any:
    """`percentile_approx`: the value at each share, or a list of them; null of no values.

    Args:
        buffers: the summaries.
        result: the Arrow type of the column.
        shares: between 0 and 1.
        several: whether each result is a list.
    """
    summaries = unpacked(buffers[0])
    used = summaries.counts > 0
    if not shares:
        return pa.nulls(len(used), result)
    found = quantiles(summaries.take(np.flatnonzero(used)), shares).ravel()
    values = _typed(found, result.value_type if several else result)
    if several:
        return lists_of(values, np.where(used, len(shares), 0), result, missing=~used)
    return values.take(pa.array(np.cumsum(used) - 1, mask=~used))


def _typed(numbers: Numbers, kind: Any) -> Any:
    """Doubles as values of the type that they came from."""
    if pa.types.is_floating(kind):
        return pa.array(numbers).cast(kind)
    if pa.types.is_decimal(kind):
        return _decimals(numbers, kind)
    bounds = np.iinfo(np.int64)
    above = numbers >= 2.0**63  # a double as near as there is to the highest whole number
    whole = np.where(above, 0, numbers).astype(np.int64)
    whole[above] = bounds.max
    if pa.types.is_date32(kind):
        return pa.array(whole).cast(pa.int32()).view(kind)
    if pa.types.is_integer(kind):
        return pa.array(whole).cast(kind)
    return pa.array(whole).view(kind)


def _decimals(numbers: Numbers, kind: Any) -> Any:
    """The decimals that doubles show, null where there are too many digits for the type."""
    unscaled = numbers * 10.0**kind.scale
    if (np.abs(unscaled) < min(_CERTAIN_DIGITS, 10**kind.precision)).all():
        return decimals(np.rint(unscaled).astype(np.int64), kind)
    digits = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_UP)
    step, most = decimal.Decimal(1).scaleb(-kind.scale), 10 ** (kind.precision - kind.scale)
    exact = [decimal.Decimal(repr(n)).quantize(step, context=digits) for n in numbers.tolist()]
    return pa.array([value if abs(value) < most else None for value in exact], kind)


def quantiles(summaries: Summaries, shares: Sequence[float]) -> Numbers:
    """The values at some shares: a row for each key, all of which have samples, and a column each.

    Args:
        summaries: the summaries.
        shares: between 0 and 1.
    """
    first, last = summaries.starts, np.cumsum(summaries.sizes) - 1
    total = np.cumsum(summaries.weights)
    before = total[first] - summaries.weights[first]
    least = total - np.repeat(before, summaries.sizes)
    error = np.maximum.reduceat(summaries.weights + summaries.spans, first) // 2
    place = first.copy()
    found = np.empty((len(first), len(shares)))
    for column in sorted(range(len(shares)), key=lambda i: shares[i]):
        share = shares[column]
        rank = np.ceil(share * summaries.counts).astype(np.int64)
        at = np.searchsorted(total, rank - error + before)
        at = np.minimum(np.maximum(at, place), last)
        while True:
            # The first sample, from where the last one stood, whose rank is as near as may be.
            far = (at < last) & (least[at] + summaries.spans[at] - error > rank)
            if not far.any():
                break
            at += far
        low, high = share <= summaries.errors, share >= 1 - summaries.errors
        place = np.where(low | high, place, at)
        found[:, column] = summaries.values[np.where(low, first, np.where(high, last, at))]
    return found
