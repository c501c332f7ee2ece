"""Central moments and co-moments, with the sums of Spark in Spark's order.

Buffers are doubles: how many values (0 where there are none), means, and sums of products of
distances from the means. A task of Spark's takes its rows in one after the other (Welford), and
then merges what tasks have, from a buffer without values on (Chan, Golub, LeVeque; Pebay for the
third and fourth moment). Rounding depends on both, down to the last digit. Long runs of rows are
taken in at once, by which the last digits may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...state.rows import Int64
from .key_runs import CodedRuns, SortedRuns

Columns = list[Any]
Numbers = npt.NDArray[np.float64]
Step = Callable[[Sequence[Numbers], Sequence[Numbers], float], Sequence[Numbers]]
"""Buffers with further ones, or values, taken in; for values, how many there are then."""

Together = Callable[[Sequence[Numbers], CodedRuns, Numbers, int], Sequence[Numbers]]
"""The buffers behind the first one, of rows' values, of how many each key has, and how many
buffers there are."""
Merging = Callable[[Sequence[Numbers], Sequence[Numbers]], Sequence[Numbers]]

_IN_ORDER = 4_096  # rows of one key that are taken in one after the other
_SHARE = 256  # or one in so many of all rows


@dataclass(frozen=True)
class MomentMerge:
    """One kind of moments: how a row's values are taken in, one by one, or many at once.

    Attributes:
        values: which buffers of a row's own are its values.
        update: with a row taken in.
        together: with all rows of keys taken in at once.
        merge: with further buffers taken in.
    """

    values: tuple[int, ...]
    update: Step
    together: Together
    merge: Merging

    def merged(self, earlier: Columns, later: Columns) -> Columns:
        """Pairs of buffers merged."""
        return _arrays(_merged(self.merge, _all_numbers(earlier), _all_numbers(later)))

    def of_rows(self, columns: Columns, runs: SortedRuns) -> Columns:
        """The buffers of runs of rows, which each have their own buffers."""
        at_once = self.at_once(columns, CodedRuns(runs.codes, len(runs.starts)))
        if at_once is not None:
            return at_once
        present = _numbers(columns[0]) != 0
        rows = [_numbers(columns[i])[present] for i in self.values]
        lengths = np.add.reduceat(present, runs.starts, dtype=np.int64)
        some = np.flatnonzero(lengths)
        buffers = _empty(len(columns), len(lengths))
        if len(some):
            lengths = lengths[some]
            starts = np.cumsum(lengths) - lengths
            state = _empty(len(columns), len(some))
            made = _one_by_one(self.update, rows, starts, lengths, state, 0)
            for buffer, values in zip(buffers, made, strict=True):
                buffer[some] = values
        return _arrays(buffers)

    def at_once(self, columns: Columns, runs: CodedRuns) -> Columns | None:
        """The buffers of rows of some keys; None: these have few enough to take one by one."""
        n = _numbers(columns[0])
        counts = runs.reduce(np.add, n, 0.0)
        if _is_short(counts):
            return None
        rows = [_numbers(columns[i]) for i in self.values]
        if not n.all():
            runs = CodedRuns(runs.codes[n != 0], runs.count)
            rows = [values[n != 0] for values in rows]
        with np.errstate(all="ignore"):
            return _arrays([counts, *self.together(rows, runs, counts, len(columns))])

    def of_buffers(self, columns: Columns, runs: SortedRuns) -> Columns | None:
        """Runs of buffers merged one by one; None: runs are too long for it."""
        rows, lengths = _all_numbers(columns), runs.lengths
        if not _is_short(lengths):
            return None

        def merge(one: Sequence[Numbers], other: Sequence[Numbers], _: float) -> Sequence[Numbers]:
            return _merged(self.merge, one, other)

        first = [column[runs.starts] for column in rows]
        return _arrays(_one_by_one(merge, rows, runs.starts, lengths, first, 1))


def _merged(merge: Merging, one: Sequence[Numbers], other: Sequence[Numbers]) -> Sequence[Numbers]:
    """Buffers merged; where one side has no values, the other side's bit by bit."""
    with np.errstate(all="ignore"):
        both = merge(one, other)
    of_other, of_one = one[0] == 0, other[0] == 0
    if not of_one.any() and not of_other.any():
        return both
    sides = zip(both, one, other, strict=True)
    return [np.where(of_other, second, np.where(of_one, first, b)) for b, first, second in sides]


def _is_short(lengths: Int64 | Numbers) -> bool:
    return bool(lengths.max(initial=0) <= max(_IN_ORDER, int(lengths.sum()) // _SHARE))


def _one_by_one(
    step: Step,
    rows: Sequence[Numbers],
    starts: Int64,
    lengths: Int64,
    state: Sequence[Numbers],
    done: int,
) -> Sequence[Numbers]:
    """Runs of rows taken in side by side, one row of each at a time.

    Args:
        step: takes one in.
        rows: all of them.
        starts, lengths: of the runs.
        state: the buffers of each run before.
        done: how many rows of each run these have taken in.
    """
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest_first], lengths[longest_first]
    state = [column[longest_first] for column in state]
    open_runs = np.searchsorted(-lengths, -np.arange(done, lengths[0]), "left")
    with np.errstate(all="ignore"):
        for number, still in enumerate(open_runs, done):
            at = starts[:still] + number
            before = [column[:still] for column in state]
            taken = step(before, [column[at] for column in rows], number + 1.0)
            for column, values in zip(before, taken, strict=True):
                column[:] = values
    place = np.empty_like(longest_first)
    place[longest_first] = np.arange(len(place))
    return [column[place] for column in state]


def _empty(width: int, count: int) -> list[Numbers]:
    return [np.zeros(count) for _ in range(width)]


def _arrays(columns: Sequence[Numbers]) -> Columns:
    return [pa.array(column) for column in columns]


def _all_numbers(columns: Columns) -> list[Numbers]:
    return [_numbers(column) for column in columns]


def _numbers(column: Any) -> Numbers:
    filled = column.fill_null(0.0) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.float64)


def _share(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


def _distances(values: Numbers, runs: CodedRuns, counts: Numbers) -> tuple[Numbers, Numbers]:
    """The means of keys, and how far each value is from its key's."""
    means = _share(runs.reduce(np.add, values, 0.0), counts)
    return means, values - means[runs.codes]


def _sums(columns: Iterable[Numbers], runs: CodedRuns) -> list[Numbers]:
    return [runs.reduce(np.add, column, 0.0) for column in columns]


# ------------------------------------------------------------------- of one column: n, avg, m2, ...


def _take_in(state: Sequence[Numbers], row: Sequence[Numbers], n: float) -> Sequence[Numbers]:
    _, mean, m2, *higher = state
    delta = row[0] - mean
    per = delta / n
    new_m2 = m2 + delta * (delta - per)
    results = [np.full_like(mean, n), mean + per, new_m2]
    if higher:
        squares = delta * delta, per * per
        new_m3 = higher[0] - 3.0 * per * new_m2 + delta * (squares[0] - squares[1])
        results.append(new_m3)
    if len(higher) > 1:
        fourth = higher[1] - 4.0 * per * new_m3 - 6.0 * squares[1] * new_m2
        results.append(fourth + delta * (delta * squares[0] - per * squares[1]))
    return results


def _moments_together(
    rows: Sequence[Numbers], runs: CodedRuns, counts: Numbers, width: int
) -> Sequence[Numbers]:
    means, distances = _distances(rows[0], runs, counts)
    powers = [distances]
    for _ in range(2, width):
        powers.append(powers[-1] * distances)
    return [means, *_sums(powers[1:], runs)]


def _merge_moments(one: Sequence[Numbers], other: Sequence[Numbers]) -> Sequence[Numbers]:
    n1, mean1, *moments1 = one
    n2, mean2, *moments2 = other
    n = n1 + n2
    delta = mean2 - mean1
    per = _share(delta, n)
    results = [n, mean1 + per * n2, moments1[0] + moments2[0] + delta * per * n1 * n2]
    if len(moments1) > 1:
        cross = per * per * delta * n1 * n2 * (n1 - n2)
        skew = 3.0 * per * (n1 * moments2[0] - n2 * moments1[0])
        results.append(moments1[1] + moments2[1] + cross + skew)
    if len(moments1) > 2:
        spread = n1 * n1 - n1 * n2 + n2 * n2
        fourth = moments1[2] + moments2[2] + per * per * per * delta * n1 * n2 * spread
        fourth += 6.0 * per * per * (n1 * n1 * moments2[0] + n2 * n2 * moments1[0])
        results.append(fourth + 4.0 * per * (n1 * moments2[1] - n2 * moments1[1]))
    return results


# ---------------------------------------------------- of pairs: n, xAvg, yAvg, ck, perhaps xMk, yMk


def _take_in_pairs(state: Sequence[Numbers], row: Sequence[Numbers], n: float) -> Sequence[Numbers]:
    _, x_mean, y_mean, ck, *spreads = state
    x, y = row
    dx, dy = x - x_mean, y - y_mean
    new_x, new_y = x_mean + dx / n, y_mean + dy / n
    results = [np.full_like(x_mean, n), new_x, new_y, ck + dx * (y - new_y)]
    if spreads:
        results += [spreads[0] + dx * (x - new_x), spreads[1] + dy * (y - new_y)]
    return results


def _pairs_together(
    rows: Sequence[Numbers], runs: CodedRuns, counts: Numbers, width: int
) -> Sequence[Numbers]:
    x_means, dx = _distances(rows[0], runs, counts)
    y_means, dy = _distances(rows[1], runs, counts)
    return [x_means, y_means, *_sums([dx * dy, dx * dx, dy * dy][: width - 3], runs)]


def _merge_pairs(one: Sequence[Numbers], other: Sequence[Numbers]) -> Sequence[Numbers]:
    n1, x1, y1, *rest1 = one
    n2, x2, y2, *rest2 = other
    n = n1 + n2
    dx, dy = x2 - x1, y2 - y1
    x_per, y_per = _share(dx, n), _share(dy, n)
    results = [n, x1 + x_per * n2, y1 + y_per * n2]
    results.append(rest1[0] + rest2[0] + dx * y_per * n1 * n2)
    if len(rest1) > 1:
        results.append(rest1[1] + rest2[1] + dx * x_per * n1 * n2)
        results.append(rest1[2] + rest2[2] + dy * y_per * n1 * n2)
    return results


# --------------- of a regression: the same, where Spark has a covariance (x, y) and x's own moments


def _take_in_regression(
    state: Sequence[Numbers], row: Sequence[Numbers], n: float
) -> Sequence[Numbers]:
    _, y_mean, x_mean, ck, y_spread, m2 = state
    y, x = row
    dx, dy = x - x_mean, y - y_mean
    new_y = y_mean + dy / n
    per = dx / n
    new_spread = y_spread + dy * (y - new_y)
    new_ck = ck + dx * (y - new_y)
    return [np.full_like(x, n), new_y, x_mean + per, new_ck, new_spread, m2 + dx * (dx - per)]


def _merge_regressions(one: Sequence[Numbers], other: Sequence[Numbers]) -> Sequence[Numbers]:
    swapped = [0, 2, 1, 3, 5, 4]
    merged = _merge_pairs([one[i] for i in swapped], [other[i] for i in swapped])
    return [merged[i] for i in swapped]


MOMENTS = {
    "moments": MomentMerge((1,), _take_in, _moments_together, _merge_moments),
    "covariance": MomentMerge((1, 2), _take_in_pairs, _pairs_together, _merge_pairs),
    "regression": MomentMerge((1, 2), _take_in_regression, _pairs_together, _merge_regressions),
}
"""By the names of their merge operations."""
