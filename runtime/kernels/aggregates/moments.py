"""Merging central moments and co-moments (Chan, Golub, LeVeque; Pebay for the third and fourth).

Buffers are doubles; n is null or 0 where there are no values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Columns = list[Any]
Numbers = npt.NDArray[np.float64]


def _numbers(column: Any) -> Numbers:
    filled = column.fill_null(0.0) if column.null_count else column
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.float64)


def _share(part: Numbers, whole: Numbers) -> Numbers:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


def merge_moments(earlier: Columns, later: Columns) -> Columns:
    """`moments` (n, avg, m2[, m3[, m4]]): counts, means and sums of powers of the distances."""
    n1, mean1, *moments1 = map(_numbers, earlier)
    n2, mean2, *moments2 = map(_numbers, later)
    with np.errstate(all="ignore"):
        n = n1 + n2
        delta = mean2 - mean1
        per = _share(delta, n)
        results = [n, mean1 + per * n2, moments1[0] + moments2[0]]
        results[2] = results[2] + delta * per * n1 * n2
        if len(moments1) > 1:
            cross = per * per * delta * n1 * n2 * (n1 - n2)
            skew = 3.0 * per * (n1 * moments2[0] - n2 * moments1[0])
            results.append(moments1[1] + moments2[1] + cross + skew)
        if len(moments1) > 2:
            spread = n1 * n1 - n1 * n2 + n2 * n2
            fourth = moments1[2] + moments2[2] + delta * per * per * per * n1 * n2 * spread
            fourth += 6.0 * per * per * (n1 * n1 * moments2[0] + n2 * n2 * moments1[0])
            results.append(fourth + 4.0 * per * (n1 * moments2[1] - n2 * moments1[1]))
    return _pick(results, n1, n2, earlier, later)


def merge_covariance(earlier: Columns, later: Columns) -> Columns:
    """`covariance` (n, x_avg, y_avg, ck[, x_mk, y_mk]): co-moments of pairs."""
    n1, x1, y1, *rest1 = map(_numbers, earlier)
    n2, x2, y2, *rest2 = map(_numbers, later)
    with np.errstate(all="ignore"):
        n = n1 + n2
        dx, dy = x2 - x1, y2 - y1
        x_per, y_per = _share(dx, n), _share(dy, n)
        weight = n1 * n2
        results = [n, x1 + x_per * n2, y1 + y_per * n2]
        results.append(rest1[0] + rest2[0] + dx * y_per * weight)
        if len(rest1) > 1:
            results.append(rest1[1] + rest2[1] + dx * x_per * weight)
            results.append(rest1[2] + rest2[2] + dy * y_per * weight)
    return _pick(results, n1, n2, earlier, later)


def _pick(
    results: list[Numbers], n1: Numbers, n2: Numbers, earlier: Columns, later: Columns
) -> Columns:
    """The merged numbers; where a side has no values, the other side's bit by bit."""
    columns = []
    for result, one, other in zip(results, earlier, later, strict=True):
        kept = np.where(n1 == 0, _numbers(other), np.where(n2 == 0, _numbers(one), result))
        columns.append(pa.array(kept))
    return columns
