"""`sin` and `cos`: to the last bit those of java.lang.Math where its JVM runs on an x86-64.

There HotSpot puts the functions of Intel's math library in place of StrictMath's. Their documented
way is taken here: a number is N * pi/32 + r, and sin(M * pi/32) with M = N mod 64 comes from a
table; each sum and product is rounded by itself. On other processors a JVM's last bit is another
for some numbers.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

_STEPS = 64
"""Of pi/32 in a circle."""
_QUARTER = 16
_BY_STEP = float.fromhex("0x1.45f306dc9c883p+3")
_STEP_HIGH, _STEP_MIDDLE, _STEP_LOW = (
    float.fromhex(one) for one in ("0x1.921fb544p-4", "0x1.0b4611a6p-38", "0x1.3198a2e037073p-73")
)
"""pi/32 in three parts: with N the first two have exact products."""
_LARGE = 90_112.0
"""From here on these parts are not enough."""
_EIGHTH_HIGH, _EIGHTH_LOW = (
    float.fromhex(one) for one in ("0x1.921fb4p-1", "0x1.4442d18469899p-25")
)
"""pi/4 in two parts."""
_DIGITS = 420
"""Decimal digits of 4/pi: the largest doubles have 309 before the point."""
_TOP, _NEXT = 30, 64
"""Of a fraction so many bits make its upper part, and so many its lower one."""


def sine(x: Any) -> Any:
    """The sine of each number."""
    return np.where(x == 0, x, _computed(x, 0))


def cosine(x: Any) -> Any:
    """The cosine of each number."""
    return _computed(x, _QUARTER)


def _computed(x: Any, shift: int) -> Any:
    """sin(x + shift * pi/32)."""
    rest, low, steps = x, np.zeros(len(x)), np.full(len(x), shift)
    large = np.flatnonzero((np.abs(x) >= _LARGE) & np.isfinite(x))
    if len(large):
        rest = x.copy()
        for place, number in zip(large.tolist(), x[large].tolist(), strict=True):
            rest[place], low[place], eighths = _reduced(number)
            steps[place] += eighths % 8 * _STEPS // 8
    rest = np.where(np.isfinite(rest), rest, 0.0)
    found = _of_step(rest, low, steps)
    return np.where(np.isfinite(x), found, np.nan)


def _of_step(x: Any, low: Any, shift: Any) -> Any:
    """The sine of x + low, so many steps on."""
    count = np.trunc(x * _BY_STEP + np.copysign(0.5, x))
    rows = _table().take((count.astype(np.int64) + shift) & (_STEPS - 1), axis=0)
    cosines, sines, sines_low, powers = rows.T
    middle = count * _STEP_MIDDLE
    first = x - count * _STEP_HIGH
    rest = first - middle
    missing = (count * _STEP_LOW - ((first - rest) - middle)) - low
    whole = cosines + powers
    square = rest * rest

    def series(one: float, two: float, three: float, four: float) -> Any:
        return (one + two * square) + (three + (four * first) * rest) * (square * square)

    of_sine = series(-1 / 6, 1 / 120, -1 / 5040, 1 / 362880) * ((whole * rest) * square)
    of_cosine = series(-1 / 2, 1 / 24, -1 / 720, 1 / 40320) * (sines * square)
    product, near = powers * rest, cosines * rest
    inner = product + sines
    upper = near + inner
    lower = missing * (sines * rest - whole) + sines_low
    lower = lower + ((sines - inner) + product)
    lower = lower + ((inner - upper) + near)
    return upper + ((lower + of_sine) + of_cosine)


@cache
def _table() -> Any:
    """Of each step: its cosine less a power of two, its sine in two parts, and that power."""
    with localcontext(prec=60):
        step = _pi() / (_STEPS // 2)
        quarter = [_sine_of(number * step) for number in range(_QUARTER + 1)]
        sines = [*quarter, *quarter[-2:0:-1]]
        sines += [-one for one in sines]
        rows = []
        for number, sine_ in enumerate(sines):
            cosine_ = sines[(number + _QUARTER) % _STEPS]
            power = _nearest_power(cosine_)
            high = float(sine_)
            rows.append((float(cosine_ - power), high, float(sine_ - Decimal(high)), float(power)))
    return np.array(rows)


def _nearest_power(number: Decimal) -> Decimal:
    """The power of two that is nearest to a number of at most 1, with its sign; 0 for 0."""
    if not number:
        return number
    powers = (Decimal(2) ** -exponent for exponent in range(5))
    return min(powers, key=lambda one: abs(abs(number) - one)).copy_sign(number)


def _sine_of(x: Decimal) -> Decimal:
    total = term = x
    degree = 1
    while abs(term) > Decimal(10) ** -55:
        term = -term * x * x / ((degree + 1) * (degree + 2))
        degree += 2
        total += term
    return total


@cache
def _pi() -> Decimal:
    """Pi, by Machin's formula."""
    with localcontext(prec=_DIGITS + 10):
        return 4 * (4 * _arc_of_inverse(5) - _arc_of_inverse(239))


def _arc_of_inverse(number: int) -> Decimal:
    """The arc tangent of 1 / number."""
    total = term = Decimal(1) / number
    degree = 1
    while abs(term) > Decimal(10) ** -(_DIGITS + 8):
        term = -term / (number * number)
        degree += 2
        total += term / degree
    return total


@cache
def _eighths_in_one() -> Fraction:
    with localcontext(prec=_DIGITS):
        return Fraction(4 / _pi())


def _reduced(x: float) -> tuple[float, float, int]:
    """A large number less the nearest multiple of pi/4, in two parts, and which multiple it is."""
    turned = abs(Fraction(x)) * _eighths_in_one()
    eighths = round(turned)
    rest = abs(turned - eighths)
    negative = (turned < eighths) != (x < 0)
    scale = _TOP - _exponent_above(rest)
    bits = int(rest * Fraction(2) ** (scale + _NEXT))
    top = math.ldexp(bits >> _NEXT, -scale)
    lower = math.ldexp((bits & ((1 << _NEXT) - 1)) >> 1, 1 - scale - _NEXT)
    if negative:
        top, lower = -top, -lower
    high, low = top * _EIGHTH_HIGH, _EIGHTH_LOW * (top + lower) + lower * _EIGHTH_HIGH
    total = high + low
    return total, low + (high - total), -eighths if x < 0 else eighths


def _exponent_above(number: Fraction) -> int:
    """The power of two above a number: that is at least half as large."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    return exponent + 1 if number >= Fraction(2) ** exponent else exponent
