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

from ...state.rows import Int64
from ..errors import sum_overflow
from ..sketches.bitmaps import fold_bytes
from ..sketches.histograms import fold_histograms
from ..sketches.hll_sketches import fold_sketches
from ..sketches.hll_unions import fold_unions
from .lists import LIST_MERGES, fold_lists
from .moments import MOMENTS

Reduce = Callable[[npt.NDArray[Any], Int64], npt.NDArray[Any]]


def fold_columns(
    operation: str,
    columns: Sequence[Any],
    starts: Int64,
    constants: Sequence[object] = (),
    *,
    of_rows: bool,
) -> Sequence[Any] | None:
    """The buffer columns of an operation folded, a value per key; None if there is no quick way.

    Args:
        operation: a merge operation.
        columns: an Arrow array for each of its buffers.
        starts: where the rows of each key begin, ascending; the first is 0.
        constants: what the operation needs besides.
        of_rows: whether these are the buffers of single rows.

    Raises:
        KernelError: a sum overflows where the session's mode does not let it.
    """
    moments = MOMENTS.get(operation)
    if moments is not None:
        return (moments.of_rows if of_rows else moments.of_buffers)(list(columns), starts)
    fold = _FOLDS.get(operation)
    if fold is None or len(columns) > 1:
        return None
    folded = fold(columns[0], starts, *constants)
    return None if folded is None else [folded]


def _numbers(column: Any, fill: int | float) -> npt.NDArray[Any] | None:
    """The values of a column of numbers, dates or times; None if it is of another type.

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
    else:
        return None
    filled = plain.fill_null(fill) if plain.null_count else plain
    return np.asarray(filled.to_numpy(zero_copy_only=False))


def _unscaled(column: Any, fill: int) -> npt.NDArray[np.int64] | None:
    halves = np.frombuffer(column.buffers()[1] or b"", np.int64)
    own = halves[2 * column.offset : 2 * (column.offset + len(column))].reshape(-1, 2)
    low, high = own[:, 0].copy(), own[:, 1]
    wide = high != low >> 63
    if column.null_count:
        present = column.is_valid().to_numpy(zero_copy_only=False)
        wide &= present
        low[~present] = fill
    return None if wide.any() else low


def _decimals(unscaled: npt.NDArray[np.int64], kind: Any, missing: Any) -> Any:
    data = np.column_stack([unscaled, unscaled >> 63])
    valid = None if missing is None else pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(kind, len(data), [valid, pa.py_buffer(data)])


def _folded(numbers: npt.NDArray[Any], column: Any, starts: Int64) -> Any:
    """The results under the column's type, null where a key has no value at all."""
    missing = None
    if column.null_count:
        present = column.is_valid().to_numpy(zero_copy_only=False)
        missing = ~np.logical_or.reduceat(present, starts)
    if pa.types.is_decimal(column.type):
        return _decimals(numbers, column.type, missing)
    return pa.array(numbers, mask=missing).view(column.type)


def _sum_wrap(column: Any, starts: Int64) -> Any | None:
    numbers = _numbers(column, 0)
    if numbers is None:
        return None
    with np.errstate(all="ignore"):
        if numbers.dtype.kind == "f":
            total = _one_by_one(numbers, starts)
        else:
            total = np.add.reduceat(numbers, starts, dtype=numbers.dtype)
    return _folded(total, column, starts)


def _one_by_one(numbers: npt.NDArray[Any], starts: Int64) -> npt.NDArray[Any]:
    """The sums of floats, each row's added to that of the rows before it, as Spark adds them."""
    lengths = np.diff(np.append(starts, len(numbers)))
    keys = np.repeat(np.arange(len(starts)), lengths)
    return np.bincount(keys, numbers, len(starts)).astype(numbers.dtype, copy=False)


def _product(column: Any, starts: Int64) -> Any | None:
    numbers = _numbers(column, 1)
    if numbers is None:
        return None
    with np.errstate(all="ignore"):
        return _folded(np.multiply.reduceat(numbers, starts), column, starts)


def _sum(column: Any, starts: Int64) -> Any | None:
    numbers = _numbers(column, 0)
    if numbers is None:
        return None
    if pa.types.is_decimal(column.type):
        return None if _may_leave(numbers, column.type) else _sum_wrap(column, starts)
    if numbers.dtype == np.int64 and _overflows(numbers, starts):
        raise sum_overflow(of_intervals=pa.types.is_duration(column.type))
    return _sum_wrap(column, starts)


def _may_leave(numbers: npt.NDArray[np.int64], kind: Any) -> bool:
    """Whether sums of unscaled values may leave 64 bits or the digits of a decimal type."""
    largest = max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))
    limit: int = min(1 << 63, 10**kind.precision)
    return largest * len(numbers) >= limit


def _overflows(numbers: npt.NDArray[Any], starts: Int64) -> bool:
    """Whether a sum of 64-bit numbers, row after row, leaves 64 bits at any row."""
    if not len(numbers):
        return False
    longest = int(np.diff(np.append(starts, len(numbers))).max())
    largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
    if largest * longest < 1 << 63:
        return False
    # Halves of 32 bits add up without overflow over 2^31 rows.
    low, high = numbers & 0xFFFFFFFF, numbers >> 32
    low, high = (_running(half, starts) for half in (low, high))
    high += low >> 32
    return bool(((high < -(1 << 31)) | (high >= 1 << 31)).any())


def _running(numbers: npt.NDArray[Any], starts: Int64) -> npt.NDArray[Any]:
    """The sums of each key's rows so far."""
    sums = np.cumsum(numbers)
    before = np.concatenate([[0], sums])[starts]
    lengths = np.diff(np.append(starts, len(numbers)))
    running: npt.NDArray[Any] = sums - np.repeat(before, lengths)
    return running


def _extremum(reduce: Reduce, sign: int) -> Callable[[Any, Int64], Any | None]:
    def fold(column: Any, starts: Int64) -> Any | None:
        if pa.types.is_floating(column.type):
            return _float_extremum(column, starts, sign)
        numbers = _numbers(column, 0)
        if numbers is None:
            return None
        if column.null_count:
            bounds = np.iinfo(numbers.dtype)
            numbers = np.array(numbers)
            absent = ~column.is_valid().to_numpy(zero_copy_only=False)
            numbers[absent] = bounds.min if sign > 0 else bounds.max
        return _folded(reduce(numbers, starts), column, starts)

    return fold


def _float_extremum(column: Any, starts: Int64, sign: int) -> Any | None:
    """The greatest or least float; NaN is greater than any number."""
    numbers = _numbers(column, -np.inf if sign > 0 else np.nan)
    assert numbers is not None
    zeros = numbers[numbers == 0]
    if len(zeros) and np.signbit(zeros).any() and not np.signbit(zeros).all():
        return None  # they are equal, and the first one stays
    reduce = np.maximum.reduceat if sign > 0 else np.fmin.reduceat
    with np.errstate(invalid="ignore"):
        return _folded(reduce(numbers, starts), column, starts)


def _bits(reduce: Reduce, neutral: int) -> Callable[[Any, Int64], Any | None]:
    def fold(column: Any, starts: Int64) -> Any | None:
        numbers = _numbers(column, neutral)
        return None if numbers is None else _folded(reduce(numbers, starts), column, starts)

    return fold


_FOLDS: dict[str, Callable[..., Any | None]] = {
    **{name: fold_lists(name) for name in LIST_MERGES},
    "histograms": fold_histograms,
    "hll_sketches": fold_sketches,
    "hll_unions": fold_unions,
    "bytes_and": fold_bytes("and"),
    "bytes_or": fold_bytes("or"),
    "sum": _sum,
    "sum_wrap": _sum_wrap,
    "product": _product,
    "min": _extremum(np.minimum.reduceat, -1),
    "max": _extremum(np.maximum.reduceat, 1),
    "bit_and": _bits(np.bitwise_and.reduceat, -1),
    "bit_or": _bits(np.bitwise_or.reduceat, 0),
    "bit_xor": _bits(np.bitwise_xor.reduceat, 0),
}
