"""Decimals: their sums and products, quotients and remainders, and what Java rounds of them.

What is longer than its type on the way is computed in 256 bits; numbers of 18 digits in 64.
"""

from __future__ import annotations

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import unscaled_words
from ...errors import BYPASS
from ..programs.accepting_numbers import MOST_DIVIDED, MOST_SIGNED, in_long
from ..programs.program import Kind, Step, decimal_of
from ..values import messages
from ..values.vectors import (
    Value,
    made,
    null_where,
    nulled,
    numbers,
    of_one_length,
    plain_type,
)

Mask = npt.NDArray[np.bool_]

_MOST = 76
"""The digits of 256 bits."""
_EXACT = Context(prec=_MOST + 1)
_SHOWN = Context(prec=39, rounding=ROUND_DOWN)
"""How Spark cuts a product before it rounds it. That changes no digit of a result of 38 digits."""
_JAVA = Context(prec=MOST_SIGNED, rounding=ROUND_HALF_EVEN)
_WHOLE = pa.decimal256(MOST_DIVIDED, 0)
_SUMMAND = pa.decimal256(_MOST - 1, 0)
_HALF_UP = "half_towards_infinity"


def sum_or_product(step: Step, left: Value, right: Value) -> Any:
    """`+`, `-`, `*` of two decimals, rounded half up to the scale of their type.

    Raises:
        KernelError: under ANSI a result has too many digits; else it is null.
    """
    function = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}[step.name]
    sides = (
        side.cast(pa.decimal256(*(decimal_of(kind) or (0, 0))))
        for side, kind in zip(of_one_length(left, right), step.kinds, strict=True)
    )
    exact = function(*sides)
    exact = exact.cast(pa.decimal256(_MOST, exact.type.scale))
    precision, scale = decimal_of(step.kind) or (0, 0)
    rounded = pc.round(exact, ndigits=scale, round_mode=_HALF_UP)
    bad = _too_long(pc.abs(rounded), precision - scale)
    if bad.any():
        if step.mode == "ANSI":
            number = exact[int(np.argmax(bad))].as_py()
            if step.name == "*":
                number = _SHOWN.plus(number)
            raise messages.does_not_fit_decimal(step, number)
        rounded = null_where(rounded, bad)
    return rounded.cast(pa.decimal256(_MOST, scale), safe=False).cast(plain_type(step.kind))


def divided(step: Step, left: Value, right: Value, by_zero: str) -> Any:
    """`/`, `div`, `%` or `pmod` of two decimals; null where the divisor is zero.

    Raises:
        KernelError: under ANSI a divisor is zero, which is the condition `by_zero`, or a result
            has too many digits; else it is null.
    """
    a, b = of_one_length(left, right)
    zero = numbers(pc.equal(b, pa.scalar(Decimal(0), b.type)))
    if zero.any():
        if step.mode == "ANSI" and np.any(zero & numbers(a.is_valid())):
            raise messages.error(step, by_zero, **BYPASS)
        b = pc.if_else(pa.array(zero), pa.scalar(None, b.type), b)
    match step.name, in_long(step.name, step.kinds):
        case "/", True:
            return _short_quotient(step, a, b)
        case "/", _:
            return _quotient(step, a, b)
        case "div", _:
            return _whole_quotient(step, a, b)
        case _, True:
            return _short_remainder(step, a, b)
    return _remainder(step, a, b)


def _short_quotient(step: Step, left: Any, right: Any) -> Any:
    """Long division in 64 bits, then rounded half up."""
    scale = (decimal_of(step.kind) or (0, 0))[1]
    (_, one), (digits, other) = (decimal_of(kind) or (0, 0) for kind in step.kinds)
    a, b = unscaled_words(_filled(left)), unscaled_words(_filled(right))
    negative = (a < 0) != (b < 0)
    divisor = np.abs(b)
    quotient, rest = np.divmod(np.abs(a), divisor)
    fraction, places = np.zeros_like(rest), scale + other - one
    for start in range(0, places, 18 - digits):
        power = 10 ** min(18 - digits, places - start)
        more, rest = np.divmod(rest * power, divisor)
        fraction = fraction * power + more
    fraction += 2 * rest >= divisor
    sign = np.where(negative, -1, 1)
    # 18 digits, not 19: with 18 of the power there is room for the sum.
    whole_part = pa.array(quotient * sign).cast(pa.decimal128(19, 0)).view(pa.decimal128(18, 0))
    power = pa.scalar(Decimal(10**places), pa.decimal128(places + 1, 0))
    total = pc.add(
        pc.multiply(whole_part, power), pa.array(fraction * sign).cast(pa.decimal128(19, 0))
    )
    found = total.cast(pa.decimal128(38, 0)).view(pa.decimal128(38, scale))
    return nulled(found.cast(plain_type(step.kind)), left, right)


def _quotient(step: Step, left: Any, right: Any) -> Any:
    """The same in 256 bits."""
    scale, other = ((decimal_of(kind) or (0, 0))[1] for kind in (step.kind, step.kinds[1]))
    dividend = _unscaled(left, step.kinds[0], scale + other)
    exact = _ratio(dividend, _unscaled(right, step.kinds[1], other))
    rounded = pc.round(exact, ndigits=0, round_mode=_HALF_UP)
    return _fitted(step, rounded.cast(pa.decimal256(_MOST, 0), safe=False))


def _whole_quotient(step: Step, left: Any, right: Any) -> Any:
    """A long: of a longer number the last 64 bits, as of a `BigDecimal`."""
    scale = _common_scale(step)
    sides = (_unscaled(v, k, scale) for v, k in zip((left, right), step.kinds, strict=True))
    found = pc.trunc(_ratio(*sides)).cast(pa.decimal256(_MOST, 0), safe=False)
    words = np.frombuffer(found.buffers()[1] or b"", np.int64).reshape(-1, 4)
    return made(words[found.offset : found.offset + len(found), 0], found)


def _short_remainder(step: Step, left: Any, right: Any) -> Any:
    """Of two decimals that fit in longs under one scale."""
    scale = _common_scale(step)
    sides = (_filled(side).cast(pa.decimal128(37, scale)) for side in (left, right))
    a, b = map(unscaled_words, sides)
    rest = np.fmod(a, b)
    if step.name == "pmod":
        rest = np.where(rest < 0, np.fmod(rest + b, b), rest)
    found = pa.array(rest).cast(pa.decimal128(19, 0)).view(pa.decimal128(19, scale))
    return nulled(found.cast(plain_type(step.kind)), left, right)


def _remainder(step: Step, left: Any, right: Any) -> Any:
    """The same in 256 bits. A remainder fits its type; a divisor that is added to it may not."""
    scale = _common_scale(step)
    a, b = (_unscaled(v, k, scale) for v, k in zip((left, right), step.kinds, strict=True))
    rest = _rest(a, b)
    if step.name == "pmod":
        negative = pc.less(rest, pa.scalar(Decimal(0), rest.type))
        moved = pc.add(rest.view(_SUMMAND), b.view(_SUMMAND))
        rest = pc.if_else(negative, _rest(moved, b), rest)
    return _fitted(step, rest)


def signed(step: Step, value: Any) -> Any:
    """`-x`, and `abs(x)` of negative numbers: Java rounds them to 34 digits, half to even.

    Raises:
        KernelError: what is rounded has too many digits.
    """
    if (decimal_of(step.kind) or (0, 0))[0] <= MOST_SIGNED:
        return (pc.negate if step.name == "negative" else pc.abs)(value)
    precision, scale = decimal_of(step.kind) or (0, 0)
    exact = _unscaled(value, step.kind, scale)
    rounded, size = exact, pc.abs(exact)
    for more in range(1, precision - MOST_SIGNED + 1):
        long = pc.greater_equal(size, pa.scalar(Decimal(10 ** (MOST_SIGNED + more - 1)), _WHOLE))
        shorter = pc.round(exact, ndigits=-more, round_mode="half_to_even")
        rounded = pc.if_else(long, shorter, rounded)
    found = pc.negate(rounded)
    if step.name == "abs":
        found = pc.if_else(pc.less(exact, pa.scalar(Decimal(0), _WHOLE)), found, exact)
    bad = _too_long(pc.abs(found), precision)
    if bad.any():
        number = found[int(np.argmax(bad))].as_py().scaleb(-scale, _EXACT)
        raise messages.rounded_out_of_range(step, number, _JAVA.plus(number))
    return _scaled(found, scale).cast(plain_type(step.kind))


def _common_scale(step: Step) -> int:
    return max((decimal_of(kind) or (0, 0))[1] for kind in step.kinds)


def _filled(column: Any) -> Any:
    """A column with the least number that its type has above zero in the place of nulls."""
    least = Decimal(1).scaleb(-column.type.scale)
    return column.fill_null(least) if column.null_count else column


def _unscaled(column: Any, kind: Kind, scale: int) -> Any:
    """Decimals of a type as whole numbers: how often they hold the last digit of a scale."""
    precision, own = decimal_of(kind) or (0, 0)
    whole = column.cast(pa.decimal256(precision, own)).view(pa.decimal256(precision, 0))
    if scale != own:
        power = pa.scalar(Decimal(10 ** (scale - own)), pa.decimal256(scale - own + 1, 0))
        whole = pc.multiply(whole, power)
    return whole.view(_WHOLE)


def _ratio(dividend: Any, divisor: Any) -> Any:
    """One whole number by another, cut after four places behind the point.

    Arrow gives as many places as the divisor's type has digits, four at least, and wants room for
    them; it trusts the type. So the divisor says that it has one digit.
    """
    return pc.divide(dividend.view(_WHOLE), divisor.view(pa.decimal256(1, 0)))


def _rest(dividend: Any, divisor: Any) -> Any:
    """What a division of whole numbers leaves; the sign is the dividend's."""
    whole = pc.trunc(_ratio(dividend, divisor)).cast(pa.decimal256(_MOST, 0), safe=False)
    # The product is as long as the dividend: types of half as many digits leave room for that.
    product = pc.multiply(whole.view(pa.decimal256(37, 0)), divisor.view(pa.decimal256(38, 0)))
    return pc.subtract(dividend.view(_SUMMAND), product.view(_SUMMAND))


def _fitted(step: Step, unscaled: Any) -> Any:
    """Whole numbers as decimals of the type of a step, null or an error if they are too long."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    bad = _too_long(pc.abs(unscaled), precision)
    if bad.any():
        if step.mode == "ANSI":
            number = unscaled[int(np.argmax(bad))].as_py()
            raise messages.does_not_fit_decimal(step, number.scaleb(-scale, _EXACT))
        unscaled = null_where(unscaled, bad)
    return _scaled(unscaled, scale).cast(plain_type(step.kind))


def _scaled(unscaled: Any, scale: int) -> Any:
    """Whole numbers of 38 digits at most as decimals with a scale."""
    return unscaled.cast(pa.decimal128(38, 0)).view(pa.decimal128(38, scale))


def _too_long(size: Any, digits: int) -> Mask:
    """Which numbers have more than so many digits before the point."""
    if digits + size.type.scale >= _MOST:
        return np.zeros(len(size), np.bool_)
    least = pa.scalar(Decimal(1).scaleb(digits, _EXACT), size.type)
    found: Mask = numbers(pc.greater_equal(size, least))
    return found
