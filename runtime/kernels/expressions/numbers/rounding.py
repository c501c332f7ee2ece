"""`round` and `bround` of doubles and floats, to so many digits behind the point.

Spark makes a float a double, and what comes of it a float again. It rounds the decimal that Java
shows a double as (`BigDecimal(double).setScale`). Of a decimal of at most 15 digits a double is
shown as that decimal, so that what lies exactly between two results is known without writing it
down: its double is the double of the decimal between them.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np

from ..programs.program import Step
from ..values.vectors import Value, made, numbers

_SHORT = 1e14
_WHOLE = float(1 << 53)
"""Doubles from here on have nothing behind the point."""


def rounded(step: Step, value: Any, digits: Value) -> Any:
    """The double of the decimal: `round` rounds half away from zero, `bround` to the even digit."""
    given, scale, even = numbers(value), int(digits.as_py()), step.name == "bround"
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


def _written(size: float, scale: int, even: bool) -> float:
    """One by one, what is too long."""
    digits = Context(prec=40, rounding=ROUND_HALF_EVEN if even else ROUND_HALF_UP)
    return float(Decimal(repr(size)).quantize(Decimal(1).scaleb(-scale), context=digits))
