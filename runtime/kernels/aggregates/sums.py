"""Merging sums, counts and bits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.decimals import halves
from ..columns.ordering import flags
from ..errors import decimal_sum_overflow, sum_overflow

Columns = list[Any]
Flags = npt.NDArray[np.bool_]


def merge_sum(earlier: Columns, later: Columns) -> Columns:
    """`sum` (s): the checked sum; a null side adds nothing.

    Raises:
        KernelError: the sum does not fit the type.
    """
    total, overflow = _add(earlier[0], later[0])
    if overflow.any():
        kind = earlier[0].type
        if pa.types.is_decimal(kind):
            raise decimal_sum_overflow()
        raise sum_overflow(of_intervals=pa.types.is_duration(kind))
    return [pc.coalesce(total, earlier[0], later[0])]


def merge_sum_wrap(earlier: Columns, later: Columns) -> Columns:
    """`sum_wrap` (s): counts, and sums of bigint that wrap around as they do without ANSI mode."""
    one, other = earlier[0], later[0]
    return [pc.coalesce(pc.add(one, other), one, other)]


def merge_product(earlier: Columns, later: Columns) -> Columns:
    """`product` (p): a null side multiplies nothing."""
    one, other = earlier[0], later[0]
    return [pc.coalesce(pc.multiply(one, other), one, other)]


def merge_try_sum(earlier: Columns, later: Columns) -> Columns:
    """`try_sum` (s, is_empty): a sum that overflowed stays null, unlike one over no values."""
    empty_earlier = earlier[1].fill_null(True)
    empty_later = later[1].fill_null(True)
    total = _lenient(earlier[0], empty_earlier, later[0], empty_later)
    return [total, pc.and_(empty_earlier, empty_later)]


def merge_try_sum_count(earlier: Columns, later: Columns) -> Columns:
    """`try_sum_count` (s, n): the same for an average, where no values means n = 0."""
    counts = [column[1].fill_null(0) for column in (earlier, later)]
    empty_earlier, empty_later = (pc.equal(count, 0) for count in counts)
    total = _lenient(earlier[0], empty_earlier, later[0], empty_later)
    return [total, pc.add(*counts)]


def _lenient(earlier: Any, empty_earlier: Any, later: Any, empty_later: Any) -> Any:
    total, _ = _add(earlier, later)
    return pc.if_else(empty_earlier, later, pc.if_else(empty_later, earlier, total))


def _add(earlier: Any, later: Any) -> tuple[Any, Flags]:
    """The sum, null where a side is null or it overflows, and where it overflows."""
    kind = earlier.type
    if pa.types.is_decimal(kind):
        return _add_decimals(earlier, later)
    if pa.types.is_duration(kind):
        total, overflow = _add_integers(earlier.view(pa.int64()), later.view(pa.int64()))
        return total.view(kind), overflow
    if pa.types.is_integer(kind):
        return _add_integers(earlier, later)
    return pc.add(earlier, later), np.zeros(len(earlier), np.bool_)


def _add_integers(earlier: Any, later: Any) -> tuple[Any, Flags]:
    total = pc.add(earlier, later)
    # Two's complement: the sum overflows where its sign differs from both addends' signs.
    signs = pc.bit_wise_and(pc.bit_wise_xor(earlier, total), pc.bit_wise_xor(later, total))
    overflow = flags(pc.less(signs, 0))
    return _without(total, overflow), overflow


def _add_decimals(earlier: Any, later: Any) -> tuple[Any, Flags]:
    kind = earlier.type
    limit = Decimal((0, (1,), kind.precision - kind.scale))
    none = np.zeros(len(earlier), np.bool_)
    if _is_small(earlier) and _is_small(later):
        total = _add_words(earlier, later)
        if _within(total, limit):
            return total.view(kind), none
    wide = pa.decimal256(kind.precision + 1, kind.scale)
    total = pc.add(earlier.cast(wide), later.cast(wide))
    if _within(total, limit):
        return total.cast(kind), none
    overflow = flags(pc.greater_equal(pc.abs(total), pa.scalar(limit, wide)))
    return _without(total, overflow).cast(kind), overflow


def _within(total: Any, limit: Decimal) -> bool:
    extremes = pc.min_max(total)
    ends = (extremes["min"].as_py(), extremes["max"].as_py())
    return all(end is None or abs(end) < limit for end in ends)


def _is_small(array: Any) -> bool:
    """Whether two such columns add up within 38 digits: all below 2^125."""
    high = halves(array)[1]
    return bool(((high >= -(1 << 61)) & (high < 1 << 61)).all())


def _add_words(earlier: Any, later: Any) -> Any:
    """The sums as decimals of 38 digits; Arrow itself asks for one digit more than it has."""
    (low1, high1), (low2, high2) = halves(earlier), halves(later)
    low = low1 + low2
    high = high1 + high2 + (low.view(np.uint64) < low1.view(np.uint64))
    data = np.column_stack([low, high])
    present = pc.and_(earlier.is_valid(), later.is_valid())
    kind = pa.decimal128(38, earlier.type.scale)
    return pa.Array.from_buffers(kind, len(data), [present.buffers()[1], pa.py_buffer(data)])


def _without(total: Any, overflow: Flags) -> Any:
    if not overflow.any():
        return total
    return pc.if_else(pa.array(overflow), pa.scalar(None, total.type), total)


def merge_bits(combine: Callable[[Any, Any], Any]) -> Callable[[Columns, Columns], Columns]:
    """`bit_and`, `bit_or`, `bit_xor` (b): a null side changes nothing."""

    def merge(earlier: Columns, later: Columns) -> Columns:
        one, other = earlier[0], later[0]
        return [pc.coalesce(combine(one, other), one, other)]

    return merge
