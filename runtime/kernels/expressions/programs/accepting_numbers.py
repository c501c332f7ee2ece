"""What must hold, beyond their types, of the arguments of operations of numbers.

The module imports neither Arrow nor numpy: the planner's passes ask it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .operation_facts import WHOLE, Arguments
from .program import Kind, decimal_of

MOST_DIVIDED = 71
"""The digits of a dividend: behind them 256 bits have room for a few places, and to round these."""
MOST_SIGNED = 34
"""The digits to which Java rounds what changes its sign."""


def keeps_digits(name: str, kinds: Sequence[Kind]) -> bool:
    """Whether the sum, difference or product of two decimals has 38 digits at most."""
    return _digits(name, kinds) <= 38


def sum_fits(given: Arguments) -> bool:
    """Whether the exact sum of two decimals has 256 bits."""
    return _digits("+", given.kinds) <= 76


def product_fits(given: Arguments) -> bool:
    """Whether the exact product of two decimals has 256 bits."""
    return _digits("*", given.kinds) <= 76


def _digits(name: str, kinds: Sequence[Kind]) -> int:
    sides = [decimal_of(kind) for kind in kinds]
    if None in sides:
        return 0
    (p, s), (q, t) = (side for side in sides if side is not None)
    return p + q + 1 if name == "*" else max(p - s, q - t) + max(s, t) + 1


def decimal_in_long(given: Arguments) -> bool:
    """Whether the decimal that goes in has 18 digits at most."""
    return (decimal_of(given.kinds[0]) or (38, 0))[0] <= 18


def seconds_in_long(given: Arguments) -> bool:
    """Whether a decimal has no more than microseconds of seconds that always have 64 bits."""
    precision, scale = decimal_of(given.kinds[0]) or (0, 0)
    return scale <= 6 and precision - scale <= 12


def few_places(given: Arguments) -> bool:
    """Whether the power of the digits to which a number is rounded is exact.

    Whole numbers are rounded before their point, too: by powers in 64 bits.
    """
    least = -18 if given.kinds[0] in WHOLE else 0
    return isinstance(given.values[1], int) and least <= given.values[1] <= 15


def in_long(name: str, kinds: Sequence[Kind]) -> bool:
    """Whether a quotient or remainder of decimals, of Spark's scale, is found in 64 bits."""
    (p, s), (q, t) = (decimal_of(kind) or (0, 0) for kind in kinds)
    if name == "/":
        scale = max(6, s + q + 1)
        short = p <= 18 and q <= 17 and scale + t - s <= 17
        return short and scale + q < 36 and p - s + t + scale < 38
    # A remainder may have the divisor added to it, for which its type needs room.
    fits = name != "pmod" or q - t <= p - s
    return fits and name != "div" and max(p - s, q - t) + max(s, t) <= 18


def quotient_fits(given: Arguments) -> bool:
    """Whether what decimals are divided in has 256 bits."""
    scale = decimal_of(given.kind)
    (p, s), (_, t) = (decimal_of(kind) or (0, 0) for kind in given.kinds)
    places = scale[1] + t - s if scale is not None else 0
    return 0 <= places <= MOST_DIVIDED - p


def remainder_fits(given: Arguments) -> bool:
    """Whether two decimals, written with as many digits behind the point, have 256 bits.

    And the whole part of their quotient 38 digits: from 39 on Spark fails.
    """
    (p, s), (q, t) = (decimal_of(kind) or (0, 0) for kind in given.kinds)
    longest = max(p - s, q - t) + max(s, t)
    return longest <= MOST_DIVIDED and p - s + t <= 38


def shown_places(given: Arguments) -> bool:
    """Whether numbers are shown with so few digits that none is made up."""
    return given.values[1] is None or (isinstance(given.values[1], int) and given.values[1] <= 15)
