"""`pow`: to the last bit that of java.lang.StrictMath, which is fdlibm's.

x to the y is 2 to the y times log2(x), with log2(x) as the sum of two numbers. Each sum and product
is rounded by itself, in fdlibm's order; its branches are masks here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..programs.program import Step
from ..values.vectors import Value, made, numbers, repeated, row_count
from .fdlibm import OF_EXP, ONE_BY_LN2, high, polynomial, with_high, without_low

_OF_LOG2 = (
    *(5.99999999999994648725e-01, 4.28571428578550184252e-01, 3.33333329818377432918e-01),
    *(2.72728123808534006489e-01, 2.30660745775561754067e-01, 2.06975017800338417784e-01),
)
_LOG2_OF_1_5 = 5.84962487220764160156e-01, 1.35003920212974897128e-08
_LN2, _LN2_HIGH, _LN2_LOW = (
    *(6.93147180559945286227e-01, 6.93147182464599609375e-01),
    -1.90465429995776804525e-09,
)
_CP, _CP_HIGH, _CP_LOW = (  # two thirds by ln(2)
    *(9.61796693925975554329e-01, 9.61796700954437255859e-01),
    -7.02846165095275826516e-09,
)
_BY_LN2_HIGH, _BY_LN2_LOW = 1.44269502162933349609e00, 1.92596299112661746887e-08
_OVER = 8.0085662595372944372e-17
_TWO_31, _TWO_64 = 0x41E00000, 0x43F00000


def power(step: Step, base: Value, exponent: Value) -> Any:
    """`pow(base, exponent)`."""
    count = row_count(base, exponent)
    if isinstance(exponent, pa.Scalar) and exponent.as_py() == 2:  # most often
        data = numbers(repeated(base, count))
        return made(data * data, base)
    base, exponent = repeated(base, count), repeated(exponent, count)
    with np.errstate(all="ignore"):
        return made(_pow(numbers(base), numbers(exponent)), base, exponent)


def _pow(x: Any, y: Any) -> Any:
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    size, whole = np.abs(x), np.trunc(y) == y
    odd = whole & (np.abs(y) < 2.0**53) & (np.fmod(y, 2.0) != 0)
    sign = np.where((x < 0) & odd, -1.0, 1.0)
    first, second = _log2(size, y)
    found = sign * _exp2(first, second, y)
    far = (high(np.abs(y)) > _TWO_31) & np.isfinite(y)
    further = high(np.abs(y)) > _TWO_64
    below = high(size) < np.where(further, 0x3FF00000, 0x3FEFFFFF)
    above = high(size) > np.where(further, 0x3FEFFFFF, 0x3FF00000)
    found = np.where(far & below, sign * np.where(y < 0, np.inf, 0.0), found)
    found = np.where(far & above & ~below, sign * np.where(y > 0, np.inf, 0.0), found)
    found = np.where((x < 0) & ~whole, np.nan, found)
    # Zero, one and infinity.
    plain = np.where(y < 0, 1.0 / size, size)
    negative = np.where((size == 1) & ~whole, np.nan, np.where(odd, -plain, plain))
    special = (size == 0) | (size == 1) | np.isinf(x)
    found = np.where(special, np.where(np.signbit(x), negative, plain), found)
    bounded = np.where(size > 1, np.where(y > 0, np.inf, 0.0), np.where(y < 0, np.inf, 0.0))
    found = np.where(np.isinf(y), np.where(size == 1, np.nan, bounded), found)
    found = np.where(y == 2, x * x, found)
    found = np.where((y == 0.5) & (x > -np.inf), np.sqrt(x + 0.0), found)
    found = np.where(y == 1, x, np.where(y == -1, 1.0 / x, found))
    return np.where(y == 0, 1.0, np.where(np.isnan(x) | np.isnan(y), np.nan, found))


def _log2(size: Any, y: Any) -> tuple[Any, Any]:
    """The logarithm of positive numbers, in two parts, for these exponents."""
    small = size < 2.0**-1022
    x = np.where(small, size * 2.0**53, size)
    top = high(x)
    n = (top >> 20) - 0x3FF - np.where(small, 53, 0)
    j = top & 0xFFFFF
    near, middle = j <= 0x3988E, j < 0xBB67A
    k = (~near & middle).astype(np.int64)
    up = ~near & ~middle
    n, top = n + up, (j | 0x3FF00000) - np.where(up, 0x100000, 0)
    x = with_high(x, top)
    bp = np.where(k == 1, 1.5, 1.0)
    u, v = x - bp, 1.0 / (x + bp)
    ss = u * v
    s_h = without_low(ss)
    t_h = with_high(np.zeros(len(x)), ((top >> 1) | 0x20000000) + 0x80000 + (k << 18))
    t_l = x - (t_h - bp)
    s_l = v * ((u - s_h * t_h) - s_h * t_l)
    s2 = ss * ss
    r = s2 * s2 * polynomial(s2, _OF_LOG2)
    r = r + s_l * (s_h + ss)
    s2 = s_h * s_h
    t_h = without_low(3.0 + s2 + r)
    t_l = r - ((t_h - 3.0) - s2)
    u, v = s_h * t_h, s_l * t_h + t_l * ss
    p_h = without_low(u + v)
    p_l = v - (p_h - u)
    dp_h, dp_l = (np.where(k == 1, part, 0.0) for part in _LOG2_OF_1_5)
    z_h, z_l = _CP_HIGH * p_h, _CP_LOW * p_h + p_l * _CP + dp_l
    t = n.astype(np.float64)
    first = without_low(((z_h + z_l) + dp_h) + t)
    second = z_l - (((first - t) - dp_h) - z_h)
    # Close to one, where the exponent is huge.
    t = size - 1.0
    w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    u, v = _BY_LN2_HIGH * t, t * _BY_LN2_LOW - w * ONE_BY_LN2
    close = without_low(u + v)
    huge = high(np.abs(y)) > _TWO_31
    return np.where(huge, close, first), np.where(huge, v - (close - u), second)


def _exp2(first: Any, second: Any, y: Any) -> Any:
    """Two to the y times the sum of two parts."""
    y1 = without_low(y)
    p_l, p_h = (y - y1) * first + y * second, y1 * first
    z = p_l + p_h
    over = (z > 1024) | ((z == 1024) & (p_l + _OVER > z - p_h))
    under = (z < -1075) | ((z == -1075) & (p_l <= z - p_h))
    usual = ~(over | under) & np.isfinite(z)
    z, p_l, p_h = (np.where(usual, part, 0.0) for part in (z, p_l, p_h))
    j = high(z)
    i = j & 0x7FFFFFFF
    large = i > 0x3FE00000
    k = np.where(large, (i >> 20) - 0x3FF, 0)
    n = np.where(large, (j & 0xFFFFFFFF) + (0x100000 >> (k + 1)), 0)
    k = np.where(large, ((n & 0x7FFFFFFF) >> 20) - 0x3FF, 0)
    t = with_high(np.zeros(len(z)), n & ~(0xFFFFF >> k))
    n = np.where(large, ((n & 0xFFFFF) | 0x100000) >> (20 - k), 0)
    n = np.where(j < 0, -n, n)
    p_h = np.where(large, p_h - t, p_h)
    t = without_low(p_l + p_h)
    u, v = t * _LN2_HIGH, (p_l - (t - p_h)) * _LN2 + t * _LN2_LOW
    z = u + v
    w = v - (z - u)
    t = z * z
    t1 = z - t * polynomial(t, OF_EXP)
    r = (z * t1) / (t1 - 2.0) - (w + z * w)
    found = np.ldexp(1.0 - (r - z), n.astype(np.int32))
    return np.where(over, np.inf, np.where(under, 0.0, found))
