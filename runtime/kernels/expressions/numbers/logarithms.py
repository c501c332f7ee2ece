"""`exp` and logarithms: to the last bit those of java.lang.StrictMath, which are fdlibm's.

Each sum and product is rounded by itself, in fdlibm's order; its branches are masks here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..programs.program import Step
from ..values.vectors import Value, made, null_where, numbers, repeated, row_count
from .fdlibm import LN2_HIGH, LN2_LOW, MOST_EXP, OF_EXP, ONE_BY_LN2, high, polynomial, with_high

_OF_LOG = (
    *(6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01),
    *(2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01),
    1.479819860511658591e-01,
)
_LOG10_OF_2 = 3.01029995663611771306e-01, 3.69423907715893078616e-13
_BY_LN10 = 4.34294481903251816668e-01
_LEAST_EXP = -7.45133219101941108420e02


def logarithm(step: Step, *values: Value) -> Any:
    """`ln(number)` and `log(base, number)`: null at zero and below."""
    count = row_count(*values)
    *bases, value = (repeated(v, count) for v in values)
    data = numbers(value)
    with np.errstate(all="ignore"):
        found, none = _log(data), data <= 0
        for base in values[:-1]:
            # Most often one number for all rows, e where none is given: one logarithm.
            of_base = numbers(repeated(base, 1))
            found, none = found / _log(of_base), none | (of_base <= 0)
    return null_where(made(found, value, *bases), none)


def exp(x: Any) -> Any:
    x = np.ascontiguousarray(x)
    size = np.abs(x)
    if (size <= 700.0).all():
        found, times = _exp_and_power(x, size)
        found = (found.view(np.int64) + (times.astype(np.int64) << 52)).view(np.float64)
        return np.where(size < 2.0**-28, 1.0 + x, found)
    found, times = _exp_and_power(np.clip(x, -1400, 1400), size)
    # Below -1021 the result is made of a normal number, rounded once.
    shift = np.where(times >= -1021, times, times + 1000).astype(np.int64)
    scaled = (found.view(np.int64) + (shift << 52)).view(np.float64)
    scaled = np.where(times >= -1021, scaled, scaled * 2.0**-1000)
    found = np.where(size < 2.0**-28, 1.0 + x, scaled)
    found = np.where(x > MOST_EXP, np.inf, np.where(x < _LEAST_EXP, 0.0, found))
    return np.where(np.isnan(x), x, found)


def _exp_and_power(x: Any, size: Any) -> tuple[Any, Any]:
    """`exp` as a number and the power of two that it is multiplied by.

    fdlibm has another formula for what needs no power; both give the same there.
    """
    top = high(size)
    half = np.copysign(0.5, x)
    times = np.where(top < 0x3FF0A2B2, half + half, np.trunc(ONE_BY_LN2 * x + half))
    times = np.where(top > 0x3FD62E42, times, 0.0)
    upper, low = x - times * LN2_HIGH, times * LN2_LOW
    rest = upper - low
    square = rest * rest
    c = rest - square * polynomial(square, OF_EXP)
    return 1.0 - ((low - (rest * c) / (2.0 - c)) - upper), times


def _log(x: Any) -> Any:
    x = np.ascontiguousarray(x)
    normal = (x >= 2.0**-1022) & (x < np.inf)
    if normal.all():
        return _log_of_normal(x, 0)
    small = np.abs(x) < 2.0**-1022
    found = _log_of_normal(np.where(small, x * 2.0**54, x), np.where(small, 54, 0))
    found = np.where(x == 0, -np.inf, np.where(x < 0, np.nan, found))
    return np.where(np.isfinite(x) | (x < 0), found, x)


def _log_of_normal(x: Any, lower: Any) -> Any:
    """The logarithms of positive normal numbers, each divided by 2 to the power of `lower`.

    fdlibm leaves out sums with `k` times ln(2) where `k` is 0; they change no bit.
    """
    bits = x.view(np.int64)
    top = bits >> 32
    power = (top >> 20) - 1023 - lower
    top &= 0xFFFFF
    up = (top + 0x95F64) & 0x100000
    low = bits & 0xFFFFFFFF
    f = (((top | (up ^ 0x3FF00000)) << 32) | low).view(np.float64) - 1.0
    k = (power + (up >> 20)).astype(np.float64)
    whole, part = k * LN2_HIGH, k * LN2_LOW
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * polynomial(w, _OF_LOG[::2]) + w * polynomial(w, _OF_LOG[1::2])
    half = 0.5 * f * f
    middle = ((top - 0x6147A) | (0x6B851 - top)) > 0
    rest = np.where(middle, half - (s * (half + r) + part), s * (f - r) - part)
    close = (0xFFFFF & (2 + top)) < 3  # to one
    if close.any():
        rest = np.where(close, f * f * (0.5 - 0.33333333333333333 * f) - part, rest)
        return np.where(f == 0, whole + part, whole - (rest - f))
    return whole - (rest - f)


def log2(x: Any) -> Any:
    return _log(x) / _log(np.array([2.0]))


def log10(x: Any) -> Any:
    small = np.abs(x) < 2.0**-1022
    scaled = np.ascontiguousarray(np.where(small, x * 2.0**54, x))
    top = high(scaled)
    k = (top >> 20) - 1023 - np.where(small, 54, 0)
    negative = (k < 0).astype(np.int64)
    reduced = with_high(scaled, (top & 0xFFFFF) | ((0x3FF - negative) << 20))
    y = (k + negative).astype(np.float64)
    found = (y * _LOG10_OF_2[1] + _BY_LN10 * _log(reduced)) + y * _LOG10_OF_2[0]
    return np.where(np.isfinite(x), found, x)


def log1p(x: Any) -> Any:
    x = np.ascontiguousarray(x)
    top = high(x)
    size = top & 0x7FFFFFFF
    plain = (top < 0x3FDA827A) & ((top > 0) | ((x < 0) & (size <= 0x3FD2BEC3)))
    large = top >= 0x43400000
    u = np.ascontiguousarray(np.where(large, x, 1.0 + x))
    bits = high(u)
    k = (bits >> 20) - 1023
    c = np.where(large, 0.0, np.where(k > 0, 1.0 - (u - x), x - (u - 1.0)) / u)
    bits &= 0xFFFFF
    lower = bits < 0x6A09E
    u = with_high(u, bits | np.where(lower, 0x3FF00000, 0x3FE00000))
    bits = np.where(lower, bits, (0x100000 - bits) >> 2)
    f = np.where(plain, x, u - 1.0)
    bits = np.where(plain, 1, bits)
    power = np.where(plain, 0, k + ~lower).astype(np.float64)
    c = np.where(plain, 0.0, c)
    half = 0.5 * f * f
    whole, part = power * LN2_HIGH, power * LN2_LOW + c
    r = half * (1.0 - 0.66666666666666666 * f)
    close = np.where(power == 0, f - r, whole - ((r - part) - f))
    close = np.where(f == 0, np.where(power == 0, 0.0, whole + part), close)
    s = f / (2.0 + f)
    z = s * s
    r = z * polynomial(z, _OF_LOG)
    usual = np.where(
        power == 0, f - (half - s * (half + r)), whole - ((half - (s * (half + r) + part)) - f)
    )
    found = np.where(bits == 0, close, usual)
    tiny = np.where(size < 0x3C900000, x, x - x * x * 0.5)
    found = np.where(size < 0x3E200000, tiny, found)
    return np.where(np.isfinite(x), found, x)
