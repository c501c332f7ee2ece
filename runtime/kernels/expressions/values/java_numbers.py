"""Floating point numbers as strings: Double.toString and Float.toString of Java 17.

Java shows the fewest digits that tell a number from its neighbours, and so does Arrow. They differ
only for subnormal numbers, some powers of two, and numbers so large that whole numbers lie between
them: these are shown one by one, each once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.distinct import each, few
from ...columns.texts import concatenated
from .vectors import nulled, numbers

_BITS = {8: (53, -1074, 21, 49), 4: (24, -149, 8, 19)}
"""By the width of a number: the bits of its digits, the exponent of the smallest number, and the
powers of two (2^-21 to 2^49) of which Java and Arrow show all digits."""
_AS_BITS = {64: pa.int64(), 32: pa.int32()}
_MOST_WHOLE = 62
"""Whole numbers up to 2^63 Java shows by way of a long."""


def shown_floats(value: Any) -> Any:
    """A column of doubles or floats as strings."""
    words = few(value.view(_AS_BITS[value.type.bit_width]))  # by their bits -0.0 is not 0.0
    if words is None:
        return _shown_floats(value)
    return _shown_floats(words.dictionary.view(value.type)).take(words.indices)


def _shown_floats(value: Any) -> Any:
    data = numbers(value)
    bits, smallest, _, _ = _BITS[data.dtype.itemsize]
    size = np.abs(data)
    with np.errstate(invalid="ignore"):  # of a signalling NaN
        text = _laid_out(data, size)
    odd = unlike_arrow(size)
    if odd.any():
        chosen = pa.array(size[odd].astype(np.float64))
        shown = each(chosen, lambda number: _shown(number, bits, smallest), pa.string())
        text = pc.replace_with_mask(text, pa.array(odd), _signed(shown, data[odd]))
    return nulled(text, value)


def unlike_arrow(size: Any) -> Any:
    """Of which doubles or floats without a sign Java may show other digits than Arrow."""
    bits, smallest, low, high = _BITS[size.dtype.itemsize]
    odd = (size >= 2.0**bits) | (size < 2.0 ** (smallest + bits - 1))
    is_power_of_two = size.view(f"i{size.dtype.itemsize}") & ((1 << bits - 1) - 1) == 0
    odd |= is_power_of_two & ((size < 2.0**-low) | (size > 2.0**high))
    return odd & (size > 0) & np.isfinite(size)


def _signed(text: Any, data: Any) -> Any:
    """The texts of numbers without their sign, with it; NaN has none."""
    minus = np.signbit(data) & ~np.isnan(data)
    return concatenated(pc.if_else(pa.array(minus), "-", ""), text) if minus.any() else text


def _laid_out(data: Any, size: Any) -> Any:
    """Numbers in Arrow's digits, with Java's points and exponents; `size`: their magnitudes."""
    text = pa.array(data).cast(pa.string())
    plain = (size == 0) | ((size >= 1e-3) & (size < 1e7))
    whole = plain & (size == np.floor(size))  # Arrow shows no point in them
    if whole.all():
        return concatenated(text, ".0")
    if whole.any():
        mask = pa.array(whole)
        text = pc.replace_with_mask(text, mask, concatenated(text.filter(mask), ".0"))
    others = ~plain
    if not others.any():
        return text
    rest = size[others]
    shown = _with_exponent(pa.array(rest).cast(pa.string()), rest < 1)
    shown = pc.if_else(pa.array(np.isinf(rest)), "Infinity", shown)
    shown = pc.if_else(pa.array(np.isnan(rest)), "NaN", shown)
    return pc.replace_with_mask(text, pa.array(others), _signed(shown, data[others]))


def _with_exponent(text: Any, small: Any) -> Any:
    """`0.00012`, `12345678.5` and `1e+20` as `1.2E-4`, `1.23456785E7` and `1.0E20`."""
    parts = pc.split_pattern(text, "e", max_splits=1)
    mantissa = pc.list_element(parts, 0)
    marked = pc.match_substring(text, "e")
    point = pc.find_substring(mantissa, ".")
    length = pc.utf8_length(mantissa)
    digits = pc.utf8_trim(pc.replace_substring(mantissa, ".", ""), characters="0")
    # Digits before the point, less the first; zeros behind it where there are none.
    before = pc.subtract(pc.if_else(pc.less(point, 0), length, point), 1)
    zeros = pc.utf8_length(pc.utf8_ltrim(mantissa, characters="0."))
    behind = pc.add(pc.subtract(zeros, length), 1)
    own = pc.if_else(pa.array(small), behind, before).cast(pa.string())
    given = pc.list_element(pc.split_pattern(concatenated(text, "e"), "e"), 1)
    exponent = pc.if_else(marked, pc.utf8_ltrim(given, characters="+"), own)
    more = pc.utf8_slice_codeunits(digits, 1)
    more = pc.if_else(pc.equal(more, ""), "0", more)
    first = pc.utf8_slice_codeunits(digits, 0, 1)
    return concatenated(first, ".", more, "E", exponent)


# --------------------------------------------------------------------------------- one by one


def java_double(value: float, *, single: bool = False) -> str:
    """One number as a string."""
    if not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    bits, smallest, _, _ = _BITS[4 if single else 8]
    text = _shown(abs(value), bits, smallest) if value else "0.0"
    return f"-{text}" if math.copysign(1, value) < 0 else text


def _shown(number: float, bits: int, smallest: int) -> str:
    """A positive number."""
    digits, point = _digits(number, bits, smallest)
    if -3 < point <= 7:
        padded = digits.ljust(point, "0") if point > 0 else "0" * (1 - point) + digits
        whole = max(point, 1)
        return f"{padded[:whole]}.{padded[whole:] or '0'}"
    return f"{digits[0]}.{digits[1:] or '0'}E{point - 1}"


def _digits(number: float, bits: int, smallest: int) -> tuple[str, int]:
    """The digits that Java shows, without zeros at the end, and how many stand before the point.

    It takes digits until what is left, or is missing to the next digit, is less than half the
    distance to the next number; for a power of two, a quarter of it; but two at least where it
    shows an exponent.
    """
    mantissa, exponent = math.frexp(number)
    exponent -= 1
    precision = min(bits, exponent - smallest + 1)
    if number.is_integer() and exponent <= _MOST_WHOLE:
        unsure = exponent - precision - 1
        unit = 10 ** math.floor(unsure * math.log10(2)) if unsure > 1 else 1
        text = str((int(number) + unit // 2) // unit * unit)
        return text.rstrip("0"), len(text)
    point = math.floor(
        (2 * mantissa - 1.5) * 0.289529654 + 0.176091259 + exponent * 0.301029995663981
    )
    return _approached(number, exponent, precision, point)


def _approached(number: float, exponent: int, precision: int, point: int) -> tuple[str, int]:
    """The digits of a number for which no rule is known but Java's own way to them.

    Args:
        number: what is shown.
        exponent: that of its highest bit.
        precision: how many bits it has.
        point: the first digit's power of ten, or one more.
    """
    top, bottom = number.as_integer_ratio()
    while top % 2 == 0:
        top //= 2
    odd, fraction = top.bit_length(), bottom.bit_length() - 1
    fives, tens = 5 ** max(0, -point), 5 ** max(0, point)
    # Powers of two: of the number, of ten to the power of `point`, of what may be left.
    of_number = max(0, -point) + fraction + exponent - odd + 1
    of_unit = max(0, point) + fraction
    of_near = max(0, -point) + fraction + exponent - precision - (odd == 1)
    common = min(of_number, of_unit, of_near)
    width = _width(odd + of_number - common + _bits(fives), of_unit - common + 1 + _bits(5 * tens))
    rest, near = top * fives << of_number - common, fives << of_near - common
    unit = tens << of_unit - common
    digits: list[int] = []
    first, down, up = True, False, False
    while not (down or up):
        digit, rest = divmod(rest, unit)
        rest, near = rest * 10, wrapped(near * 10, width)
        # A sum that leaves its type is negative there.
        down, up = rest < near, wrapped(rest + near, width) > 10 * unit
        if near <= 0:
            down = up = True
        if first and digit == 0 and not up:
            point -= 1
        else:
            digits.append(digit)
        if first and not -3 <= point < 8:
            down = up = False
        first = False
    text = "".join(map(str, digits))
    above = 2 * rest - 10 * unit
    if up and (not down or above > 0 or (above == 0 and digits[-1] % 2)):
        text = str(int(text) + 1).rjust(len(text), "0")
    return text.rstrip("0"), point + 1 + len(text) - len(digits)


def _bits(power_of_five: int) -> int:
    return power_of_five.bit_length() if power_of_five > 1 else 0


def _width(*bits: int) -> int | None:
    """Java computes with ints where all fits in 31 bits, with longs where it fits in 63."""
    return next((width for width in (32, 64) if max(bits) < width), None)


def wrapped(number: int, width: int | None) -> int:
    """The lowest bits of a whole number, as a signed one; None: all of them."""
    if width is None:
        return number
    half = 1 << width - 1
    return (number + half) % (2 * half) - half
