"""What the functions of java.lang.StrictMath have in common: fdlibm's constants and steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..programs.program import Step
from ..values.vectors import made, null_where, numbers

LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
ONE_BY_LN2 = 1.44269504088896338700
OF_EXP = (
    *(1.66666666666666019037e-01, -2.77777777770155933842e-03, 6.61375632143793436117e-05),
    *(-1.65339022054652515390e-06, 4.13813679705723846039e-08),
)
MOST_EXP = 7.09782712893383973096e02
"""The greatest number whose `exp` is finite."""


def of_number(compute: Callable[[Any], Any], above: float = -math.inf) -> Callable[..., Any]:
    """A function of one number as an operation.

    Args:
        compute: takes and gives an array of doubles.
        above: up to this number the result is null.
    """

    def operation(step: Step, value: Any) -> Any:
        data = np.ascontiguousarray(numbers(value))
        with np.errstate(all="ignore"):
            found = made(compute(data), value)
        return found if above == -math.inf else null_where(found, data <= above)

    return operation


def polynomial(x: Any, factors: Sequence[float]) -> Any:
    """The sum of factors times powers of x, from the power 0 on, by Horner's rule."""
    found: Any = factors[-1]
    for factor in reversed(factors[:-1]):
        found = factor + x * found
    return found


def high(number: Any) -> Any:
    """The upper 32 bits."""
    return (number.view(np.int64) >> 32).astype(np.int64)


def with_high(number: Any, bits: Any) -> Any:
    """The same lower 32 bits under other upper ones."""
    return ((bits << 32) | (number.view(np.int64) & 0xFFFFFFFF)).view(np.float64)


def without_low(number: Any) -> Any:
    """The number whose lower 32 bits are zero."""
    return (np.ascontiguousarray(number).view(np.int64) & ~0xFFFFFFFF).view(np.float64)
