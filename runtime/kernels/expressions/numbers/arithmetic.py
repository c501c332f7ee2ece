"""`+ - * / % div pmod`, signs, bits: Java's arithmetic, or Spark's errors in ANSI mode."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import unscaled_words, with_free_digit
from ...errors import BYPASS
from ..programs.accepting_numbers import keeps_digits
from ..programs.operation_facts import FLOATS
from ..programs.program import Step, decimal_of
from ..values import messages
from ..values.division import java_rest, rest_of
from ..values.saturation import saturated
from ..values.vectors import (
    Value,
    first_where,
    made,
    null_where,
    numbers,
    plain_type,
    row_count,
)
from . import decimals

_SYMBOLS = {
    "+": (pc.add, pc.add_checked, "try_add"),
    "-": (pc.subtract, pc.subtract_checked, "try_subtract"),
    "*": (pc.multiply, pc.multiply_checked, "try_multiply"),
}


def add_like(step: Step, left: Value, right: Value) -> Any:
    """`+`, `-`, `*` of two numbers, or of two intervals."""
    plain, checked, instead = _SYMBOLS[step.name]
    if decimal_of(step.kind):
        if keeps_digits(step.name, step.kinds):
            return plain(left, right).cast(plain_type(step.kind))
        return decimals.sum_or_product(step, left, right)
    if step.mode == "LEGACY" or step.kind in FLOATS:
        return plain(left, right)
    try:
        return checked(left, right)
    except pa.ArrowInvalid:
        pass
    bad = _overflows(step.name, left, right, plain(left, right))
    if step.mode == "TRY":
        return null_where(plain(left, right), bad)
    if step.kind in ("tinyint", "smallint"):
        sides = first_where(left, bad), first_where(right, bad)
        raise messages.small_overflow(step, sides[0], step.name, sides[1], instead)
    raise messages.overflow(step, instead=instead)


def _overflows(name: str, left: Value, right: Value, result: Any) -> Any:
    valid = result.is_valid().to_numpy(zero_copy_only=False)
    a, b, wrapped = numbers(left), numbers(right), numbers(result)
    if name == "*":
        # Exact: in 64 bits for shorter numbers, in Python's own for longs.
        wide: Any = np.int64 if wrapped.dtype.itemsize < 8 else object
        exact = np.asarray(a).astype(wide) * np.asarray(b).astype(wide)
        return valid & (exact != wrapped.astype(wide)).astype(bool)
    second = b if name == "+" else ~b
    return valid & (((a ^ wrapped) & (second ^ wrapped)) < 0)


def divide(step: Step, left: Value, right: Value) -> Any:
    """`/` of two doubles, or of two decimals."""
    if decimal_of(step.kind):
        return decimals.divided(step, left, right, "DIVIDE_BY_ZERO")
    a, b, zero = _divided(step, left, right, "DIVIDE_BY_ZERO")
    with np.errstate(all="ignore"):
        return null_where(made(a / b, left, right), zero)


def integral_divide(step: Step, left: Value, right: Value) -> Any:
    """`div`: of two longs, decimals or day-time intervals."""
    if decimal_of(step.kinds[0]):
        return decimals.divided(step, left, right, "DIVIDE_BY_ZERO")
    if isinstance(right, pa.Scalar) and right.is_valid and right.as_py() not in (0, -1):
        return pc.divide(left, right)
    a, b, zero = _divided(step, left, right, "DIVIDE_BY_ZERO")
    over = (a == np.iinfo(np.int64).min) & (b == -1)
    if step.mode == "ANSI" and np.any(over & ~_nulls(left, right)):
        raise messages.overflow(step, "Overflow in integral divide", instead="try_divide")
    safe = np.where(b == -1, 1, b)
    quotient = numbers(pc.divide(_made_or_scalar(a), _made_or_scalar(safe)))
    with np.errstate(over="ignore"):
        quotient = np.where(b == -1, np.negative(a), quotient)
    result = null_where(made(quotient, left, right), zero)
    return null_where(result, over) if step.mode == "TRY" else result


def _made_or_scalar(data: Any) -> Any:
    """What Arrow computes with: an array of an array, a scalar of a number."""
    return made(data) if np.ndim(data) else pa.scalar(int(data), pa.int64())


def remainder(step: Step, left: Value, right: Value) -> Any:
    """`%` and `mod`: the sign is the dividend's."""
    if decimal_of(step.kind):
        return decimals.divided(step, left, right, "REMAINDER_BY_ZERO")
    size = _one_size(left, right)
    if size is not None:
        return made(java_rest(numbers(left), size), left)
    a, b, zero = _divided(step, left, right, "REMAINDER_BY_ZERO")
    with np.errstate(all="ignore"):
        return null_where(made(np.fmod(a, b), left, right), zero)


def positive_remainder(step: Step, left: Value, right: Value) -> Any:
    """`pmod`: `r = a % n`, and `(r + n) % n` where that is negative."""
    if decimal_of(step.kind):
        return decimals.divided(step, left, right, "REMAINDER_BY_ZERO")
    size = _one_size(left, right)
    if size is not None:
        return made(rest_of(numbers(left), size), left)
    a, b, zero = _divided(step, left, right, "REMAINDER_BY_ZERO")
    with np.errstate(all="ignore"):
        rest = np.fmod(a, b)
        if step.kind in FLOATS:
            moved = np.fmod(rest + b, b)
        else:
            # Java adds in 32 bits at least, so bytes and shorts do not wrap around.
            wide = np.int64 if np.dtype(rest.dtype).itemsize < 4 else rest.dtype
            moved = np.fmod(rest.astype(wide) + b.astype(wide), b.astype(wide))
        result = np.where(rest < 0, moved, rest).astype(rest.dtype)
    return null_where(made(result, left, right), zero)


def _one_size(left: Value, right: Value) -> Any:
    """The positive whole number, of the dividends' own type, by which a column is divided."""
    size = right.as_py() if isinstance(right, pa.Scalar) else None
    if not isinstance(size, int) or size <= 0 or isinstance(left, pa.Scalar):
        return None
    return numbers(right)


def _divided(step: Step, left: Value, right: Value, condition: str) -> tuple[Any, Any, Any]:
    """Dividend, divisor (1 for 0), and where the divisor is 0."""
    a, b = numbers(left), numbers(right)
    zero, count = b == 0, row_count(left, right)
    if np.any(zero):
        if step.mode == "ANSI" and count and np.any(zero & ~_nulls(left, right)):
            raise messages.error(step, condition, **BYPASS)
        b = np.where(zero, b.dtype.type(1), b)
    return a, b, np.broadcast_to(zero, (count,))


def _nulls(*values: Value) -> Any:
    nulls: Any = np.False_
    for value in values:
        if isinstance(value, pa.Scalar):
            nulls = nulls | (not value.is_valid)
        elif value.null_count:
            nulls = nulls | value.is_null().to_numpy(zero_copy_only=False)
    return nulls


def signed(step: Step, value: Any) -> Any:
    """`-x` and `abs(x)`."""
    function = np.negative if step.name == "negative" else np.abs
    if decimal_of(step.kind):
        return decimals.signed(step, value)
    data = numbers(value)
    if step.kind not in FLOATS and step.mode == "ANSI":
        least = np.iinfo(data.dtype).min
        if np.any(data == least):
            raise messages.overflow(step)
    with np.errstate(over="ignore"):
        return made(function(data), value)


def shift(step: Step, value: Value, by: Value) -> Any:
    """Shifts of ints and longs: only as many bits as the type has count."""
    data, places = numbers(value), numbers(by)
    width = data.dtype.itemsize * 8
    places = (places & (width - 1)).astype(data.dtype)
    match step.name:
        case "shiftleft" | "<<":
            result = np.left_shift(data, places)
        case "shiftright" | ">>":
            result = np.right_shift(data, places)
        case _:
            unsigned = np.dtype(f"u{data.dtype.itemsize}")
            moved = np.asarray(data).view(unsigned) >> np.asarray(places).view(unsigned)
            result = moved.view(data.dtype)
    return made(result, value, by)


def square_root(step: Step, value: Any) -> Any:
    """`sqrt(x)`."""
    with np.errstate(all="ignore"):
        return made(np.sqrt(numbers(value)), value)


def signum(step: Step, value: Any) -> Any:
    """`signum(x)`: -1.0, 1.0, or x itself where that is a zero or NaN."""
    data = numbers(value)
    return made(np.where((data == 0) | np.isnan(data), data, np.sign(data)), value)


_FACTORIALS = np.array([math.factorial(number) for number in range(21)])
"""Those that fit a bigint."""


def factorial(step: Step, value: Any) -> Any:
    """`factorial`: null beyond 20."""
    data = numbers(value)
    outside = (data < 0) | (data >= len(_FACTORIALS))
    return null_where(made(_FACTORIALS[np.where(outside, 0, data)], value), outside)


def bucket(step: Step, value: Value, least: Value, greatest: Value, count: Value) -> Any:
    """`width_bucket`: the number of the bucket, of so many equal ones, in which a number lies."""
    x, low, high = (numbers(one) for one in (value, least, greatest))
    buckets = numbers(count).astype(np.int64)
    with np.errstate(all="ignore"):
        up = low < high
        distance = buckets.astype(np.float64) * np.where(up, x - low, low - x)
        place = distance / np.where(up, high - low, low - high)
        inside = saturated(place, np.int64) + 1
        below, above = np.where(up, x < low, x > low), np.where(up, x >= high, x <= high)
        found = np.where(below, 0, np.where(above, buckets + 1, inside))
    bounded = np.isfinite(low) & np.isfinite(high) & (low != high) & ~np.isnan(x)
    none = ~bounded | (buckets <= 0) | (buckets == np.iinfo(np.int64).max)
    return null_where(made(found, value, least, greatest, count), none)


def whole(step: Step, value: Any) -> Any:
    """`floor` and `ceil` of a number as a long; of a decimal as one without a fraction."""
    if decimal_of(step.kinds[0]) is not None:
        wide = with_free_digit(value)  # 9.9 becomes 10
        return (pc.floor if step.name == "floor" else pc.ceil)(wide).cast(plain_type(step.kind))
    if step.kinds[0] == "bigint":
        return value
    data = (np.floor if step.name == "floor" else np.ceil)(numbers(value))
    if step.mode == "ANSI":
        limits = np.iinfo(np.int64)
        if np.any((data >= float(limits.max)) | (data < float(limits.min))):
            raise messages.overflow(step)
    return made(saturated(data, np.int64), value)


def unscaled(step: Step, value: Any) -> Any:
    """`UnscaledValue(m)`: 1.25 as 125."""
    return made(unscaled_words(value), value)


def scaled(step: Step, value: Any) -> Any:
    """`MakeDecimal(whole, precision, scale)`: 125 as 1.25."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    data, limit = numbers(value), 10 ** min(precision, 18)
    # Every long has 19 digits at most.
    bad = np.zeros(len(value), bool) if precision > 18 else (data >= limit) | (data <= -limit)
    if bad.any():
        if step.mode == "ANSI":
            number = Decimal(first_where(value, bad)).scaleb(-scale)
            raise messages.does_not_fit_decimal(step, number)
        value = null_where(value, bad)
    return value.cast(pa.decimal128(19, 0)).view(pa.decimal128(precision, scale))
