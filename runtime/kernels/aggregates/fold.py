"""Folding the buffers of many rows of a key into one, for whole columns at once.

Rows of one key stand together, in the order in which they came. What is not folded here merges
pairwise (`Buffers.fold`), which is right for every operation, but slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.decimals import decimals, halves, is_wide
from ..columns.distinct import few
from ..columns.ordering import ranks
from ..errors import sum_overflow
from ..sketches.bitmaps import fold_bytes
from ..sketches.histograms import fold_histograms
from ..sketches.hll_sketches import fold_sketches
from ..sketches.hll_unions import fold_unions
from ..sketches.quantile_columns import fold_quantiles
from .choices import fold_choice
from .key_runs import CodedRuns, KeyRuns, SortedRuns, present
from .lists import LIST_MERGES, fold_lists
from .moments import MOMENTS

Fold = Callable[[Any, KeyRuns], Any | None]


def fold_columns(
    operation: str,
    columns: Sequence[Any],
    runs: SortedRuns,
    constants: Sequence[object] = (),
    *,
    of_rows: bool,
) -> Sequence[Any] | None:
    """The buffer columns of an operation folded, a value per key; None if there is no quick way.

    Args:
        operation: a merge operation.
        columns: an Arrow array for each of its buffers.
        runs: the rows of each key.
        constants: what the operation needs besides.
        of_rows: whether these are the buffers of single rows.

    Raises:
        KernelError: a sum overflows where the session's mode does not let it.
    """
    moments = MOMENTS.get(operation)
    if moments is not None:
        return (moments.of_rows if of_rows else moments.of_buffers)(list(columns), runs)
    folded = None
    if operation in _OF_NUMBERS:
        folded = _fold_numbers(operation, columns[0], runs)
    elif operation in _FOLDS:
        folded = _FOLDS[operation](columns[0], runs.starts, *constants)
    return fold_choice(operation, list(columns), runs) if folded is None else [folded]


def _fold_numbers(operation: str, column: Any, runs: KeyRuns) -> Any | None:
    """One buffer column of numbers folded, a value per key; None if the rows have to be sorted."""
    with np.errstate(all="ignore"):
        return _OF_NUMBERS[operation](column, runs)


def fold_unsorted(
    operation: str, columns: Sequence[Any], runs: CodedRuns, *, of_rows: bool
) -> Sequence[Any] | None:
    """As `fold_columns`; None if the rows have to be sorted."""
    if operation in MOMENTS and of_rows:
        return MOMENTS[operation].at_once(list(columns), runs)
    folded = None
    if operation in _OF_NUMBERS:
        folded = _fold_numbers(operation, columns[0], runs)
    return fold_choice(operation, list(columns), runs) if folded is None else [folded]


def _numbers(column: Any, fill: int | float) -> npt.NDArray[Any] | None:
    """The values of a column of numbers, dates, times or truths; None if it is of another type.

    Those of a decimal are its unscaled values, if all of them have at most 64 bits.
    """
    kind = column.type
    if pa.types.is_decimal128(kind):
        return _unscaled(column, int(fill))
    if pa.types.is_floating(kind) or (
        pa.types.is_integer(kind) and pa.types.is_signed_integer(kind)
    ):
        plain = column
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        plain = column.view(pa.int64())
    elif pa.types.is_date32(kind):
        plain = column.view(pa.int32())
    elif pa.types.is_boolean(kind):
        plain = column.cast(pa.int8())
    else:
        return None
    filled = plain.fill_null(fill) if plain.null_count else plain
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _unscaled(column: Any, fill: int) -> npt.NDArray[np.int64] | None:
    low, high = halves(column)
    low, wide = low.copy(), is_wide(low, high)
    if column.null_count:
        present = column.is_valid().to_numpy(zero_copy_only=False)
        wide &= present
        low[~present] = fill
    return None if wide.any() else low


def _folded(numbers: npt.NDArray[Any], column: Any, runs: KeyRuns) -> Any:
    """The results under the column's type, null where a key has no value at all."""
    missing = None
    if column.null_count:
        missing = ~present(column.is_valid().to_numpy(zero_copy_only=False), runs)
    if pa.types.is_decimal(column.type):
        return decimals(numbers, column.type, missing)
    if pa.types.is_boolean(column.type):
        return pa.array(numbers != 0, mask=missing)
    return pa.array(numbers, mask=missing).view(column.type)


def _reduced(function: np.ufunc, neutral: int) -> Fold:
    def fold(column: Any, runs: KeyRuns) -> Any | None:
        numbers = _numbers(column, neutral)
        if numbers is None:
            return None
        return _folded(runs.reduce(function, numbers, neutral), column, runs)

    return fold


def _sum(column: Any, runs: KeyRuns) -> Any | None:
    numbers = _numbers(column, 0)
    if numbers is None:
        return None
    if pa.types.is_decimal(column.type):
        if _may_leave(numbers, column.type):
            return None
    elif numbers.dtype == np.int64 and _largest(numbers) * runs.longest() >= 1 << 63:
        if not isinstance(runs, SortedRuns):
            return None
        if _overflows(numbers, runs):
            raise sum_overflow(of_intervals=pa.types.is_duration(column.type))
    return _folded(runs.reduce(np.add, numbers, 0), column, runs)


def _largest(numbers: npt.NDArray[np.int64]) -> int:
    return max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))


def _may_leave(numbers: npt.NDArray[np.int64], kind: Any) -> bool:
    """Whether sums of unscaled values may leave 64 bits or the digits of a decimal type."""
    limit: int = min(1 << 63, 10**kind.precision)
    return _largest(numbers) * len(numbers) >= limit


def _overflows(numbers: npt.NDArray[Any], runs: SortedRuns) -> bool:
    """Whether a sum of 64-bit numbers, row after row, leaves 64 bits at any row."""
    # Halves of 32 bits add up without overflow over 2^31 rows.
    low, high = numbers & 0xFFFFFFFF, numbers >> 32
    low, high = (_running(half, runs) for half in (low, high))
    high += low >> 32
    return bool(((high < -(1 << 31)) | (high >= 1 << 31)).any())


def _running(numbers: npt.NDArray[Any], runs: SortedRuns) -> npt.NDArray[Any]:
    """The sums of each key's rows so far."""
    sums = np.cumsum(numbers)
    before = np.concatenate([[0], sums])[runs.starts]
    running: npt.NDArray[Any] = sums - np.repeat(before, runs.lengths)
    return running


def _extremum(function: np.ufunc, sign: int) -> Fold:
    def fold(column: Any, runs: KeyRuns) -> Any | None:
        if pa.types.is_floating(column.type):
            return _float_extremum(column, runs, sign)
        if pa.types.is_string(column.type):
            return _word_extremum(column, runs, function, sign)
        numbers = _numbers(column, 0)
        if numbers is None:
            return None
        bounds = np.iinfo(numbers.dtype)
        lowest = bounds.min if sign > 0 else bounds.max
        if column.null_count:
            numbers = np.array(numbers)
            numbers[~column.is_valid().to_numpy(zero_copy_only=False)] = lowest
        return _folded(runs.reduce(function, numbers, lowest), column, runs)

    return fold


def _float_extremum(column: Any, runs: KeyRuns, sign: int) -> Any | None:
    """The greatest or least float; NaN is greater than any number."""
    lowest = -np.inf if sign > 0 else np.nan
    numbers = _numbers(column, lowest)
    assert numbers is not None
    zeros = numbers[numbers == 0]
    if len(zeros) and np.signbit(zeros).any() and not np.signbit(zeros).all():
        return None  # they are equal, and the first one stays
    function = np.maximum if sign > 0 else np.fmin
    return _folded(runs.reduce(function, numbers, lowest), column, runs)


def _word_extremum(column: Any, runs: KeyRuns, function: np.ufunc, sign: int) -> Any | None:
    """The greatest or least string in the order of bytes; None if most strings are different."""
    coded = few(column)
    if coded is None:
        return None
    words = coded.dictionary
    lowest = -1 if sign > 0 else len(words)
    places = np.append(ranks(words), lowest)  # the last one is that of null
    best = runs.reduce(function, places[coded.indices.fill_null(len(words)).to_numpy()], lowest)
    ordered = words.take(pc.array_sort_indices(words))
    return ordered.take(pa.array(best, mask=best == lowest))


_OF_NUMBERS: dict[str, Fold] = {
    "sum": _sum,
    "sum_wrap": _reduced(np.add, 0),
    "product": _reduced(np.multiply, 1),
    "min": _extremum(np.minimum, -1),
    "max": _extremum(np.maximum, 1),
    "bit_and": _reduced(np.bitwise_and, -1),
    "bit_or": _reduced(np.bitwise_or, 0),
    "bit_xor": _reduced(np.bitwise_xor, 0),
}
_FOLDS: dict[str, Callable[..., Any | None]] = {
    **{name: fold_lists(name) for name in LIST_MERGES},
    "histograms": fold_histograms,
    "quantiles": fold_quantiles,
    "hll_sketches": fold_sketches,
    "hll_unions": fold_unions,
    "bytes_and": fold_bytes("and"),
    "bytes_or": fold_bytes("or"),
}
