"""Whole numbers divided by one positive number, which numpy does far faster than it finds rests."""

from __future__ import annotations

from typing import Any

import numpy as np


def towards_zero(numbers: Any, size: int) -> Any:
    """Quotients as Java has them: what is left over is cut off."""
    if np.min(numbers, initial=0) >= 0:
        return numbers // size
    return np.where(numbers < 0, -(-numbers // size), numbers // size)


def parted(numbers: Any, size: int) -> tuple[Any, Any]:
    """Quotients, rounded down, and what is left over."""
    whole = numbers // size
    with np.errstate(over="ignore"):  # wraps around twice
        return whole, numbers - whole * size


def rest_of(numbers: Any, size: int) -> Any:
    """What is left over of quotients that are rounded down."""
    return parted(numbers, size)[1]


def java_rest(numbers: Any, size: int) -> Any:
    """What is left over in Java: with the sign of the number."""
    rest = rest_of(numbers, size)
    if np.min(numbers, initial=0) >= 0:
        return rest
    return np.where((numbers < 0) & (rest > 0), rest - size, rest)
