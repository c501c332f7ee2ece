"""`round` and `bround` to so many digits behind the point.

Spark makes a float a double, and what comes of it a float again. It rounds the decimal that Java
shows a double as (`BigDecimal(double).setScale`). Of a decimal of at most 15 digits a double is
shown as that decimal, so that what lies exactly between two results is known without writing it
down: its double is the double of the decimal between them.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ...columns.decimals import with_free_digit
from ..programs.program import Step, decimal_of
from ..values import messages
from ..values.vectors import Value, made, numbers, plain_type

_SHORT = 1e14
_WHOLE = float(1 << 53)
"""Doubles from here on have nothing behind the point."""


def rounded(step: Step, value: Any, digits: Value) -> Any:
    """`round` rounds half away from zero, `bround` to the even digit."""
    if decimal_of(step.kinds[0]) is not None:
        return _decimal(step, with_free_digit(value), digits.as_py())
    given, scale, even = numbers(value), int(digits.as_py()), step.name == "bround"
    if given.dtype.kind == "i":
        return _whole(step, value, -scale) if scale < 0 else value
    data = given.astype(np.float64)
    size, power = np.abs(data), float(10**scale)
    with np.errstate(all="ignore"):
        scaled = size * power
        short = scaled < _SHORT  # false for NaN
        below = np.floor(np.where(short, scaled, 0))
        between = (10 * below + 5) / (10 * power)
        up = (size > between) | ((size == between) & ((below % 2 == 1) | (not even)))
        found = np.where(short, (below + up) / power, size)
        long = ~short & (size < _WHOLE)
        found[long] = [_written(float(x), scale, even) for x in size[long]]
        # A decimal has no negative zero.
        found = np.where(found == 0, 0.0, np.copysign(found, data))
        return made(found.astype(given.dtype), value)


def _whole(step: Step, value: Any, zeros: int) -> Any:
    """Whole numbers that end in so many zeros.

    Raises:
        KernelError: under ANSI one leaves its type; else it wraps around.
    """
    data, unit = numbers(value), np.uint64(10**zeros)
    negative, wide = data < 0, data.astype(np.int64).view(np.uint64)
    size, rest = np.divmod(np.where(negative, ~wide + np.uint64(1), wide), unit)
    half = np.uint64(2) * rest == unit
    up = half & (size % np.uint64(2) == 1) if step.name == "bround" else half
    size = (size + (up | (np.uint64(2) * rest > unit))) * unit
    if step.mode == "ANSI" and np.any(size > np.iinfo(data.dtype).max + negative.astype(np.uint64)):
        raise messages.overflow(step, "Overflow")
    found = np.where(negative, ~size + np.uint64(1), size).view(np.int64)
    return made(found.astype(data.dtype), value)


def _decimal(step: Step, value: Any, digits: int) -> Any:
    """The same of a decimal, for whose result there is room."""
    if digits < value.type.scale:
        mode = "half_to_even" if step.name == "bround" else "half_towards_infinity"
        value = pc.round(value, ndigits=digits, round_mode=mode)
    return value.cast(plain_type(step.kind))


def _written(size: float, scale: int, even: bool) -> float:
    """One by one, what is too long."""
    digits = Context(prec=40, rounding=ROUND_HALF_EVEN if even else ROUND_HALF_UP)
    return float(Decimal(repr(size)).quantize(Decimal(1).scaleb(-scale), context=digits))
