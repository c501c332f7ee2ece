"""Quantile summaries of many keys at once: samples of values that stand for those left out.

Spark's variant of Greenwald and Khanna's algorithm ("Space-Efficient Online Computation of Quantile
Summaries"): a key's values are sorted 50,000 at a time and put among its samples; of neighbours
that together stand for few enough values one stays. Where that happens decides about the answers,
so it happens here where Spark does it: a batch's values of a key make a summary, and this one and
the state's become one.

Samples lie one behind the other, key by key. A key's are in ascending order, unless some value is
not a number: Spark's comparisons leave such ones, and those behind them, where they meet them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..columns.lists import places_of, rows_of
from ..columns.ordering import spread
from .quantile_order import (
    ABOVE,
    BELOW,
    LONG,
    comparable,
    highest_so_far,
    searched,
    sorted_by_key,
)

Int64 = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_AT_ONCE = 50_000
"""How many values are put among a key's samples at a time."""
_NEAR = 1 << 18
"""About how many samples are merged at a time: they stay in the processor's cache."""


@dataclass(frozen=True)
class Summaries:
    """Summaries of some keys.

    Attributes:
        errors: of each key the relative error of its ranks.
        counts: how many values it has seen.
        sizes: how many samples it has.
        values: the samples.
        weights: how many values each sample stands for: itself and some between it and the one
            before it.
        spans: how uncertain its rank is.
    """

    errors: Numbers
    counts: Int64
    sizes: Int64
    values: Numbers
    weights: Int64
    spans: Int64

    @property
    def starts(self) -> Int64:
        """Where each key's samples begin."""
        return np.cumsum(self.sizes) - self.sizes

    def take(self, keys: Int64) -> Summaries:
        """The summaries of some keys, in their order."""
        if len(keys) == len(self.sizes) and (np.diff(keys, prepend=-1) == 1).all():
            return self
        at = spread(self.starts[keys], self.sizes[keys])
        return Summaries(
            self.errors[keys],
            self.counts[keys],
            self.sizes[keys],
            self.values[at],
            self.weights[at],
            self.spans[at],
        )


def concatenated(parts: Sequence[Summaries]) -> Summaries:
    """The keys of all, one behind the other."""
    return Summaries(
        np.concatenate([part.errors for part in parts]),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.spans for part in parts]),
    )


# ------------------------------------------------------------------------------ made of values


def summarised(numbers: Numbers, lengths: Int64, accuracy: int) -> Summaries:
    """The summary of each key's numbers.

    Args:
        numbers: those of all keys, key by key, as they came.
        lengths: how many each key has.
        accuracy: one by the relative error.
    """
    error = 1.0 / accuracy
    many = lengths > _AT_ONCE
    if not many.any():
        return _of_few(numbers, lengths, error)
    starts = np.cumsum(lengths) - lengths
    few, often = np.flatnonzero(~many), np.flatnonzero(many)
    parts = [
        _of_few(numbers[spread(starts[few], lengths[few])], lengths[few], error),
        *(_of_many(numbers[starts[key] : starts[key] + lengths[key]], error) for key in often),
    ]
    places = np.empty(len(lengths), np.int64)
    places[np.append(few, often)] = np.arange(len(lengths))
    return concatenated(parts).take(places)


def _of_few(numbers: Numbers, lengths: Int64, error: float) -> Summaries:
    """Of numbers that are all put among no samples at once."""
    places = places_of(lengths)
    spans = np.floor(2 * error * (places + 1)).astype(np.int64)
    ends = np.cumsum(lengths)[lengths > 0]
    spans[ends - 1] = 0
    spans[places == 0] = 0
    errors = np.full(len(lengths), error)
    values = sorted_by_key(numbers, lengths)
    one = Summaries(errors, lengths, lengths, values, np.ones(len(values), np.int64), spans)
    return _compressed(one, np.ones(len(lengths), np.bool_))


def _of_many(numbers: Numbers, error: float) -> Summaries:
    """Of one key's numbers, of which its samples take so many at a time."""
    made = _of_few(numbers[:_AT_ONCE], np.array([_AT_ONCE]), error)
    for start in range(_AT_ONCE, len(numbers), _AT_ONCE):
        some = numbers[start : start + _AT_ONCE]
        made = _compressed(
            _inserted(made, sorted_by_key(some, np.array([len(some)]))), np.array([True])
        )
    return made


def _inserted(one: Summaries, numbers: Numbers) -> Summaries:
    """One key's summary with sorted numbers among its samples."""
    error, count, size = float(one.errors[0]), int(one.counts[0]), len(one.values)
    # A sample comes before the first number that it is not above, and behind those ahead of it.
    reach = np.maximum.accumulate(comparable(one.values, ABOVE))
    before = np.searchsorted(reach, comparable(numbers, ABOVE), side="right")
    ordinary = len(numbers) - int(np.count_nonzero(np.isnan(numbers)))
    before[ordinary:] = before[ordinary - 1] if ordinary else 0
    new = np.arange(len(numbers)) + before
    own = np.floor(2 * error * (count + 1 + np.arange(len(numbers)))).astype(np.int64)
    if before[0] == 0:
        own[0] = 0
    if before[-1] == size:
        own[-1] = 0
    old = np.ones(size + len(numbers), np.bool_)
    old[new] = False
    values = np.empty(len(old))
    values[new], values[old] = numbers, one.values
    weights = np.ones(len(old), np.int64)
    weights[old] = one.weights
    spans = np.empty(len(old), np.int64)
    spans[new], spans[old] = own, one.spans
    sizes = np.array([len(old)])
    return Summaries(one.errors, one.counts + len(numbers), sizes, values, weights, spans)


# ------------------------------------------------------------------------------------- merged


def merged(one: Summaries, other: Summaries) -> Summaries:
    """The summary of each key's two, which `one` and `other` have in the same places."""
    total = np.cumsum(one.sizes + other.sizes)
    if not len(total) or total[-1] <= _NEAR:
        return _merged(one, other)
    bounds = np.searchsorted(total, np.arange(0, int(total[-1]), _NEAR))
    parts = [np.arange(a, b) for a, b in pairwise([0, *bounds[1:], len(total)]) if a < b]
    return concatenated([_merged(one.take(part), other.take(part)) for part in parts])


def _merged(one: Summaries, other: Summaries) -> Summaries:
    first, second = one.starts, other.starts
    sizes = one.sizes + other.sizes
    starts = np.cumsum(sizes) - sizes
    before = _below(one, other)
    rows = rows_of(other.sizes)
    new = before + (starts - second)[rows] + np.arange(len(rows))
    old = np.ones(len(before) + len(one.values), np.bool_)
    old[new] = False
    places = np.flatnonzero(old)
    own_rows = rows_of(one.sizes)
    ahead = places - (starts - first)[own_rows] - np.arange(len(own_rows))
    # Between samples of the other side a rank is as uncertain as theirs are.
    mixed, own_mixed = _inside(before, one.sizes[rows]), _inside(ahead, other.sizes[own_rows])
    values, weights, spans = np.empty(len(old)), *np.empty((2, len(old)), np.int64)
    values[new], values[places] = other.values, one.values
    weights[new], weights[places] = other.weights, one.weights
    spans[new] = other.spans + mixed * _uncertainty(one)[rows]
    spans[places] = one.spans + own_mixed * _uncertainty(other)[own_rows]
    errors = np.maximum(one.errors, other.errors)
    errors = np.where(other.counts == 0, one.errors, errors)
    errors = np.where(one.counts == 0, other.errors, errors)
    both = (one.counts > 0) & (other.counts > 0)
    counts = one.counts + other.counts
    return _compressed(Summaries(errors, counts, sizes, values, weights, spans), both)


def united(parts: Summaries, starts: Int64) -> Summaries:
    """The summaries of runs of summaries, merged one after the other; a run begins at each start.

    What has left out nothing, and would not, is put in order at once.
    """
    lengths = np.diff(np.append(starts, len(parts.sizes)))
    if not len(lengths) or lengths.max() == 1:
        return parts
    runs = rows_of(lengths)
    made, number = _exactly_united(parts, runs, len(starts))
    first = starts + number
    while (open_ := np.flatnonzero(number < lengths)).size:
        if len(open_) == len(starts):
            made = merged(made, parts.take(first))
        else:
            some = merged(made.take(open_), parts.take(first[open_]))
            places = np.arange(len(starts))
            places[open_] = len(starts) + np.arange(len(open_))
            made = concatenated([made, some]).take(places)
        number[open_] += 1
        first = starts + number
    return made


def _exactly_united(parts: Summaries, runs: Int64, count: int) -> tuple[Summaries, Int64]:
    """Of each run the first summaries that make one which has all their values, and how many.

    Args:
        parts: the summaries.
        runs: of which run each is, ascending.
        count: how many runs there are.
    """
    starts = np.searchsorted(runs, np.arange(count))
    seen = np.cumsum(parts.counts)
    seen -= (seen - parts.counts)[starts][runs]
    errors = np.maximum.reduceat(parts.errors, starts)[runs]
    plain = np.ones(len(runs), np.bool_)
    rows = rows_of(parts.sizes)
    odd = (parts.weights != 1) | (parts.spans != 0) | np.isnan(parts.values)
    odd |= (parts.values == 0) & np.signbit(parts.values)
    plain[rows[odd]] = False
    plain &= 2 * errors * seen < 1
    # The first one of all stays as it is, whatever it has left out.
    lost = np.append(0, np.cumsum(~plain))
    taken = lost[1:] == lost[starts][runs]
    number = np.maximum(np.bincount(runs[taken], minlength=count), 1).astype(np.int64)
    taken[starts] = True
    some = parts.take(np.flatnonzero(taken))
    own = runs[taken]
    sizes = np.bincount(own, some.sizes, count).astype(np.int64)
    counts = np.bincount(own, some.counts, count).astype(np.int64)
    several = number[rows_of(sizes)] > 1
    values = some.values.copy()
    lengths = sizes[number > 1]
    values[several] = sorted_by_key(values[several], lengths)
    made = Summaries(
        np.maximum.reduceat(some.errors, np.searchsorted(own, np.arange(count))),
        counts,
        sizes,
        values,
        some.weights,
        some.spans,
    )
    return made, number


def _uncertainty(summaries: Summaries) -> Int64:
    return np.floor(2 * summaries.errors * summaries.counts).astype(np.int64)


def _inside(ahead: Int64, sizes: Int64) -> Mask:
    """Whether so many samples ahead of one are some of the other side's, and not all."""
    inside: Mask = (ahead > 0) & (ahead < sizes)
    return inside


def _below(one: Summaries, other: Summaries) -> Int64:
    """For each sample of `other` how many of its key's in `one` come before it: those below it."""
    # Spark asks one head after the other: a sample stands behind those ahead of it.
    left = highest_so_far(comparable(one.values, ABOVE), one.sizes)
    right = highest_so_far(comparable(other.values, BELOW), other.sizes)
    if len(one.sizes) * LONG <= len(right):
        bounds = zip(
            pairwise([0, *np.cumsum(one.sizes).tolist()]),
            pairwise([0, *np.cumsum(other.sizes).tolist()]),
            strict=True,
        )
        by_key = [np.searchsorted(left[a:b], right[c:d]) for (a, b), (c, d) in bounds]
        return np.concatenate([*by_key, np.zeros(0, np.int64)])
    rows = rows_of(other.sizes)
    return searched(left, one.starts[rows], one.sizes[rows], right)


# --------------------------------------------------------------------------------- compressed


def _compressed(given: Summaries, wanted: Mask) -> Summaries:
    """Summaries of which the wanted ones leave out what others may stand for."""
    limits = 2 * given.errors * given.counts
    first = given.starts
    longer = wanted & (given.sizes > 1)
    ascends = np.ones(len(longer), np.bool_)
    some = first[longer]
    ascends[longer] = given.values[some] <= given.values[some + 1]
    keys = np.flatnonzero(longer & ~((limits <= 2) & ascends))
    if not len(keys):
        return given
    if len(keys) == len(longer):
        return _all_compressed(given, limits)
    left = np.ones(len(longer), np.bool_)
    left[keys] = False
    others = np.flatnonzero(left)
    made = _all_compressed(given.take(keys), limits[keys])
    places = np.empty(len(longer), np.int64)
    places[np.append(keys, others)] = np.arange(len(longer))
    return concatenated([made, given.take(others)]).take(places)


def _all_compressed(given: Summaries, limits: Numbers) -> Summaries:
    """From the last sample of each key downwards: one stands for those before it as long as all
    together are fewer than the limit. The first one stays beside them."""
    rows, starts = rows_of(given.sizes), given.starts
    total = np.append(0, np.cumsum(given.weights))
    places = np.arange(len(rows))
    start = starts[rows]
    # The first sample that one stands for if it stays; never the first of all.
    least = total[1:] + given.spans - np.ceil(limits).astype(np.int64)[rows] + 1
    if total[-1] == len(rows):
        reached = least
    else:
        reached = np.searchsorted(total[:-1], least)
    reached = np.minimum(np.maximum(reached, start + 1), places)
    next_ = np.maximum(reached - 1, start)
    kept = _chain(next_, start, starts + given.sizes - 1)
    weights = given.weights.copy()
    chosen = np.flatnonzero(kept & (places > start))
    weights[chosen] = total[chosen + 1] - total[reached[chosen]]
    kept[starts] = True
    # The first one stays if it is not above the next one; one that is not a number is not.
    after = np.searchsorted(chosen, starts)
    longer = given.sizes > 1
    lowest = chosen[after[longer]]
    kept[starts[longer]] = given.values[starts[longer]] <= given.values[lowest]
    at = np.flatnonzero(kept)
    sizes = np.add.reduceat(kept, starts, dtype=np.int64)
    return Summaries(
        given.errors, given.counts, sizes, given.values[at], weights[at], given.spans[at]
    )


def _chain(next_: Int64, ends: Int64, begins: Int64) -> Mask:
    """Which places are met from some on by going from each to its next one.

    Args:
        next_: the next place of each; the end of a chain is its own.
        ends: at which place the chain of each ends.
        begins: where the chains begin.
    """
    met = np.zeros(len(next_), np.bool_)
    met[begins] = True
    found = begins
    jump = next_
    while True:
        # All that are met within so many steps, then those met within twice as many.
        new = jump[found]
        new = new[new != ends[new]]
        if not len(new):
            return met
        met[new] = True
        found = np.append(found, new)
        jump = jump[jump]
