"""`asin`, `acos`, `atan`, `atan2`, `cbrt`, `expm1`, `sinh`, `cosh`, `tanh` of java.lang.StrictMath.

Each sum and product is rounded by itself, in the order of fdlibm, whose branches are masks here.
Sines and cosines are not among them (sines.py): Java computes those with what the processor has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..programs.program import Step
from ..values.vectors import Value, made, numbers, repeated, row_count
from .fdlibm import (
    LN2_HIGH,
    LN2_LOW,
    MOST_EXP,
    ONE_BY_LN2,
    high,
    polynomial,
    with_high,
    without_low,
)
from .logarithms import exp

DEGREES = 57.29577951308232
"""In a radian, as java.lang.Math has it."""
RADIANS = 0.017453292519943295
"""In a degree."""
_P = (
    *(1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01),
    *(-4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05),
)
_Q = (
    *(1.0, -2.40339491173441421878e00, 2.02094576023350569471e00),
    *(-6.88283971605453293030e-01, 7.70381505559019352791e-02),
)
_PI, _PI_LOW = 3.14159265358979311600e00, 1.2246467991473531772e-16
_HALF_PI, _HALF_PI_LOW = 1.57079632679489655800e00, 6.12323399573676603587e-17
_QUARTER_PI = 7.85398163397448278999e-01
_ARCS = np.array([4.63647609000806093515e-01, _QUARTER_PI, 9.82793723247329054082e-01, _HALF_PI])
_ARCS_LOW = np.array(
    [
        *(2.26987774529616870924e-17, 3.06161699786838301793e-17),
        *(1.39033110312309984516e-17, _HALF_PI_LOW),
    ]
)
_EVEN = (
    *(3.33333333333329318027e-01, 1.42857142725034663711e-01, 9.09088713343650656196e-02),
    *(6.66107313738753120669e-02, 4.97687799461593236017e-02, 1.62858201153657823623e-02),
)
_ODD = (
    *(-1.99999999998764832476e-01, -1.11111104054623557880e-01, -7.69187620504482999495e-02),
    *(-5.83357013379057348645e-02, -3.65315727442169155270e-02),
)
_OF_EXPM1 = (
    *(1.0, -3.33333333333331316428e-02, 1.58730158725481460165e-03),
    *(-7.93650757867487942473e-05, 4.00821782732936239552e-06, -2.01099218183624371326e-07),
)
_OF_CBRT = (
    *(5.42857142857142815906e-01, -7.05306122448979611050e-01, 1.41428571428571436819e00),
    *(1.60714285714285720630e00, 3.57142857142857150787e-01),
)


def arc_of_two(step: Step, y: Value, x: Value) -> Any:
    """`atan2(y, x)`."""
    count = row_count(y, x)
    y, x = repeated(y, count), repeated(x, count)
    with np.errstate(all="ignore"):
        return made(_atan2(numbers(y) + 0.0, numbers(x) + 0.0), y, x)


def _ratio(t: Any) -> Any:
    return (t * polynomial(t, _P)) / polynomial(t, _Q)


def asin(x: Any) -> Any:
    size = np.abs(x)
    near = np.where(size < 2.0**-27, x, x + x * _ratio(x * x))
    t = (1.0 - size) * 0.5
    s, w = np.sqrt(t), _ratio(t)
    outer = _HALF_PI - (2.0 * (s + s * w) - _HALF_PI_LOW)
    upper = without_low(s)
    c = (t - upper * upper) / (s + upper)
    p = 2.0 * s * w - (_HALF_PI_LOW - 2.0 * c)
    inner = _QUARTER_PI - (p - (_QUARTER_PI - 2.0 * upper))
    far = np.copysign(np.where(high(size) >= 0x3FEF3333, outer, inner), x)
    found = np.where(size < 0.5, near, far)
    return np.where(size == 1, x * _HALF_PI + x * _HALF_PI_LOW, found)


def acos(x: Any) -> Any:
    size = np.abs(x)
    near = _HALF_PI - (x - (_HALF_PI_LOW - x * _ratio(x * x)))
    near = np.where(high(size) <= 0x3C600000, _HALF_PI + _HALF_PI_LOW, near)
    z = (1.0 - size) * 0.5
    s, r = np.sqrt(z), _ratio(z)
    negative = _PI - 2.0 * (s + (r * s - _HALF_PI_LOW))
    upper = without_low(s)
    c = (z - upper * upper) / (s + upper)
    positive = 2.0 * (upper + (r * s + c))
    found = np.where(size < 0.5, near, np.where(x < 0, negative, positive))
    edge = np.where(x > 0, 0.0, _PI + 2.0 * _HALF_PI_LOW)
    return np.where(size == 1, edge, found)


def atan(x: Any) -> Any:
    size = np.abs(x)
    top = high(size)
    bounds = (0x3FE60000, 0x3FF30000, 0x40038000)
    place = np.searchsorted(bounds, top, side="right")
    reduced = np.select(
        [place == 0, place == 1, place == 2],
        [
            (2.0 * size - 1.0) / (2.0 + size),
            (size - 1.0) / (size + 1.0),
            (size - 1.5) / (1.0 + 1.5 * size),
        ],
        -1.0 / size,
    )
    small = top < 0x3FDC0000
    rest = np.where(small, x, reduced)
    z = rest * rest
    w = z * z
    series = rest * (z * polynomial(w, _EVEN) + w * polynomial(w, _ODD))
    turned = np.copysign(_ARCS[place] - ((series - _ARCS_LOW[place]) - rest), x)
    found = np.where(small, np.where(top < 0x3E200000, x, x - series), turned)
    most = np.copysign(_HALF_PI + _HALF_PI_LOW, x)
    return np.where(np.isnan(x), x, np.where(top >= 0x44100000, most, found))


def _atan2(y: Any, x: Any) -> Any:
    apart = (high(np.abs(y)) - high(np.abs(x))) >> 20
    z = atan(np.abs(y / x))
    z = np.where(apart > 60, _HALF_PI + 0.5 * _PI_LOW, z)
    z = np.where((x < 0) & (apart < -60), 0.0, z)
    found = np.where(x < 0, _PI - (z - _PI_LOW), z)
    found = np.where(np.signbit(y), np.where(x < 0, (z - _PI_LOW) - _PI, -z), found)
    back = np.signbit(x)
    both = np.where(back, 3.0 * _QUARTER_PI, _QUARTER_PI)
    found = np.where(np.isinf(x), np.copysign(np.where(back, _PI, 0.0), y), found)
    upright = np.isinf(y) | ((x == 0) & (y != 0))
    found = np.where(upright, np.copysign(_HALF_PI, y), found)
    found = np.where(np.isinf(x) & np.isinf(y), np.copysign(both, y), found)
    found = np.where(y == 0, np.copysign(np.where(back, _PI, 0.0), y), found)
    found = np.where(x == 1, atan(np.ascontiguousarray(y)), found)
    return np.where(np.isnan(x) | np.isnan(y), np.nan, found)


def cbrt(x: Any) -> Any:
    size = np.abs(x)
    small = size < 2.0**-1022
    scaled = size * 2.0**54
    t = with_high(np.zeros(len(x)), high(size) // 3 + 715094163)
    t = np.where(small, with_high(scaled, high(scaled) // 3 + 696219795), t)
    c, d, e, f, g = _OF_CBRT
    r = t * t / size
    s = c + r * t
    t = t * (g + f / (s + e + d / s))
    t = with_high(np.zeros(len(x)), high(np.ascontiguousarray(t)) + 1)
    r = size / (t * t)
    t = t + t * ((r - t) / (t + t + r))
    return np.where((x == 0) | ~np.isfinite(x), x, np.copysign(t, x))


def expm1(x: Any) -> Any:
    top, negative = high(np.abs(x)), np.signbit(x)
    half = np.where(negative, -0.5, 0.5)
    times = np.where(top < 0x3FF0A2B2, np.where(negative, -1, 1), np.trunc(ONE_BY_LN2 * x + half))
    reduced = top > 0x3FD62E42
    times = np.where(reduced & np.isfinite(x), np.clip(times, -2000, 1024), 0)
    upper, lower = x - times * LN2_HIGH, times * LN2_LOW
    rest = np.where(reduced, upper - lower, x)
    c = np.where(reduced, (upper - rest) - lower, 0.0)
    part = 0.5 * rest
    square = rest * part
    r = polynomial(square, _OF_EXPM1)
    t = 3.0 - r * part
    e = square * ((r - t) / (6.0 - rest * t))
    plain = rest - (rest * e - square)
    e = (rest * (e - c) - c) - square
    k = times.astype(np.int64)
    some = np.clip(k, 2, 56)
    below = np.ldexp((1.0 - np.ldexp(1.0, -some)) - (e - rest), some)
    above = np.ldexp(rest - (e + np.ldexp(1.0, -some)) + 1.0, some)
    # Two steps: 2 to the 1024 is no number.
    whole = np.ldexp(np.ldexp(1.0 - (e - rest), k // 2), k - k // 2) - 1.0
    one = np.where(rest < -0.25, -2.0 * (e - (rest + 0.5)), 1.0 + 2.0 * (rest - e))
    found = np.select(
        [k == 0, k == -1, k == 1, (k <= -2) | (k > 56), k < 20],
        [plain, 0.5 * (rest - e) - 0.5, one, whole, below],
        above,
    )
    found = np.where(negative & (top >= 0x4043687A), -1.0, found)
    found = np.where(top < 0x3C900000, x, np.where(x > MOST_EXP, np.inf, found))
    return np.where(np.isnan(x), x, found)


def tanh(x: Any) -> Any:
    size = np.abs(x)
    large = size >= 1
    t = expm1(np.where(large, 2.0, -2.0) * size)
    found = np.where(large, 1.0 - 2.0 / (t + 2.0), -t / (t + 2.0))
    found = np.copysign(np.where(size < 22, found, 1.0), x)
    return np.where(high(size) < 0x3C800000, x * (1.0 + x), np.where(np.isnan(x), x, found))


def sinh(x: Any) -> Any:
    size, half = np.abs(x), np.copysign(0.5, x)
    top, t = high(size), expm1(size)
    near = half * np.where(size < 1, 2.0 * t - t * t / (t + 1.0), t + t / (t + 1.0))
    root = exp(np.ascontiguousarray(0.5 * size))
    far = np.where(top < 0x40862E42, half * exp(size), (half * root) * root)
    found = np.where(size < 22, np.where(top < 0x3E300000, x, near), far)
    return np.where(np.isfinite(x), found, x)


def cosh(x: Any) -> Any:
    size = np.abs(x)
    top, t, e = high(size), expm1(size), exp(size)
    w = 1.0 + t
    near = np.where(top < 0x3C800000, w, 1.0 + (t * t) / (w + w))
    root = exp(np.ascontiguousarray(0.5 * size))
    far = np.where(top < 0x40862E42, 0.5 * e, (0.5 * root) * root)
    found = np.where(size < 22, 0.5 * e + 0.5 / e, far)
    return np.where(np.isfinite(x), np.where(top < 0x3FD62E43, near, found), size)
