"""Numbers and texts in formats: format_string, as java.util.Formatter, and format_number."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import unscaled_words
from ...columns.distinct import each
from ...columns.texts import concatenated, of_bytes
from ..programs.print_formats import Shown, print_parts
from ..programs.program import Kind, Step, decimal_of
from ..values.java_numbers import java_double, shown_floats
from ..values.vectors import Value, nulled, numbers, repeated, row_count

_WIDE = Context(prec=400)


def printed(step: Step, text: Value, *arguments: Value) -> Any:
    """`format_string`: null is shown as `null`."""
    count = row_count(text, *arguments)
    given = zip((repeated(one, count) for one in arguments), step.kinds[1:], strict=True)
    shown = [
        part if isinstance(part, str) else _shown(part, *next(given))
        for part in print_parts(text.as_py() if isinstance(text, pa.Scalar) else text[0].as_py())
    ]
    return repeated(concatenated(*shown), count)


def _shown(how: Shown, value: Any, kind: Kind) -> Any:
    """An argument in its part of a format."""
    match how.conversion:
        case "s":
            text = shown_floats(value) if kind in ("float", "double") else value.cast(pa.string())
        case "d":
            data = numbers(value).astype(np.int64)
            digits = _grouped(data) if "," in how.flags else _digits(data)
            text = _signed(how, digits, data < 0)
        case "f":
            text = _signed(how, *_fixed(value, how))
        case _:
            text = _hexadecimal(how, value)
    text = nulled(text, value).fill_null("NULL" if how.conversion == "X" else "null")
    if how.conversion in "sf" and how.precision >= 0:
        cut = text if how.conversion == "s" else pc.if_else(value.is_null(), text, "")
        short = _by_units(cut, lambda units: units[: how.precision])
        text = short if how.conversion == "s" else pc.if_else(value.is_null(), short, text)
    return _justified(text, how.width, left="-" in how.flags)


def _by_units(text: Any, change: Callable[[list[str]], list[str]]) -> Any:
    """Texts of which the UTF-16 units are changed; half a pair is shown as a question mark."""

    def changed(one: str) -> str:
        raw = one.encode("utf-16-le")
        units = [raw[i : i + 2].decode("latin-1") for i in range(0, len(raw), 2)]
        kept = "".join(change(units)).encode("latin-1")
        return kept.decode("utf-16-le", "replace").replace("\ufffd", "?")

    return each(text, changed, pa.string())


def _justified(text: Any, width: int, *, left: bool) -> Any:
    if not width:
        return text
    beyond = pc.match_substring_regex(text, r"[\x{10000}-\x{10ffff}]")
    found = (pc.utf8_rpad if left else pc.utf8_lpad)(text, width)
    if not beyond.true_count:
        return found

    def padded(one: str) -> str:
        blanks = " " * (width - len(one.encode("utf-16-le")) // 2)
        return one + blanks if left else blanks + one

    return pc.replace_with_mask(found, beyond, each(text.filter(beyond), padded, pa.string()))


def _signed(how: Shown, digits: Any, negative: Any) -> Any:
    """Digits behind their sign; zeros between these up to the width, but not before a name."""
    plus = "+" if "+" in how.flags else " " if " " in how.flags else ""
    named = pc.match_substring_regex(digits, "[NI]")
    sign = pc.if_else(pa.array(negative), "-", pc.if_else(pc.equal(digits, "NaN"), "", plus))
    if "0" in how.flags:
        taken = 0 if not plus else 1
        for size, rows in ((how.width - taken, ~negative), (how.width - 1, negative)):
            chosen = pc.and_(pa.array(rows), pc.invert(named))
            padded = pc.utf8_lpad(digits, max(size, 0), padding="0")
            digits = pc.if_else(chosen, padded, digits)
    return concatenated(sign, digits)


def _hexadecimal(how: Shown, value: Any) -> Any:
    data = numbers(value)
    digits = data.view(f"u{data.dtype.itemsize}")
    raw = np.frombuffer(digits.astype(">u8").tobytes().hex().encode(), np.uint8)
    whole = of_bytes(raw, np.arange(len(digits) + 1) * 16)
    short = pc.utf8_ltrim(whole, characters="0")
    text = pc.if_else(pc.equal(short, ""), "0", short)
    if how.conversion == "X":
        text = pc.ascii_upper(text)
    return pc.utf8_lpad(text, how.width, padding="0") if "0" in how.flags else text


# -------------------------------------------------------------------------------- numbers as texts


def _digits(data: Any) -> Any:
    return pc.utf8_ltrim(pa.array(data).cast(pa.string()), characters="-")


@cache
def _triples() -> Any:
    """The last digits of a number, those behind a comma, and none."""
    return pa.array([*map(str, range(1000)), *(f",{i:03d}" for i in range(1000)), ""])


def _grouped(data: Any) -> Any:
    """The digits of 64-bit numbers, without a sign, in groups of three."""
    rest = data.view(np.uint64)
    rest = np.where(data < 0, ~rest + np.uint64(1), rest)
    text, first = None, True
    while first or rest.any():
        low, rest, before = rest % 1000, rest // 1000, rest
        places = np.where(rest > 0, low + 1000, low) if first else np.where(before, low, 2000)
        places = np.where((rest > 0) & (before > 0), low + 1000, places).astype(np.int64)
        piece = _triples().take(pa.array(places))
        text, first = piece if text is None else concatenated(piece, text), False
    return text


def _fixed(value: Any, how: Shown) -> tuple[Any, Any]:
    """`%f`: the digits, and which numbers have a minus; halves of Java's digits are rounded up."""
    data = numbers(value).astype(np.float64)
    places = 6 if how.precision < 0 else how.precision
    digits = _rounded(np.abs(data), places, grouped="," in how.flags, even=False)
    return digits, np.signbit(data) & ~np.isnan(data)


def _rounded(size: Any, places: int, *, grouped: bool, even: bool) -> Any:
    """Positive doubles with so many digits behind the point, of the digits that Java shows.

    Args:
        size: the numbers.
        places: how many digits.
        grouped: whether commas stand between groups of three.
        even: whether a number in the middle between two goes to the even one; else to the upper.
    """
    text = shown_floats(pa.array(size))
    parts = pc.extract_regex(text, r"(?P<w>[0-9]+)\.(?P<f>[0-9]+)(?P<e>E-?[0-9]+)?")
    whole, behind, exponent = (pc.struct_field(parts, name) for name in "wfe")
    exponents = pc.utf8_ltrim(exponent.fill_null(""), characters="E")
    exponents = numbers(pc.if_else(pc.equal(exponents, ""), "0", exponents).cast(pa.int64()))
    digits = numbers(concatenated(whole, behind).fill_null("0").cast(pa.int64()))
    drop = numbers(pc.utf8_length(behind).cast(pa.int64())) - exponents - places
    more = 10 ** np.clip(-drop, 0, 18)
    less = 10 ** np.clip(drop, 0, 18)
    down, rest = digits // less, digits % less
    scaled = np.where(drop > 0, down + (2 * rest >= less), digits * more)
    scaled = np.where(drop > 18, 0, scaled)
    odd = ~np.isfinite(size) | (drop < -18) | ((drop <= 0) & (digits > 2**62 // more))
    if even:
        odd |= (drop > 0) & (drop <= 18) & (2 * rest == less)
    unit = 10**places
    scaled = np.where(odd, 0, scaled)
    found = (_grouped if grouped else _digits)(scaled // unit)
    if places:
        fraction = pc.utf8_slice_codeunits(pa.array(scaled % unit + unit).cast(pa.string()), 1)
        found = concatenated(found, ".", fraction)
    if not odd.any():
        return found
    mode = ROUND_HALF_EVEN if even else ROUND_HALF_UP
    own = each(pa.array(size[odd]), lambda n: _one(n, places, mode, grouped), pa.string())
    return pc.replace_with_mask(found, pa.array(odd), own)


def _one(number: float, places: int, mode: str, grouped: bool) -> str:
    """One number: by its exact value where Java's digits do not say to which side it goes."""
    text = java_double(number)
    if text in ("NaN", "Infinity"):
        return text
    shown = Decimal(text)
    exact = Decimal(number) if mode == ROUND_HALF_EVEN else shown
    small = -int(shown.as_tuple().exponent) <= places
    rounded = (shown if small else exact).quantize(Decimal(1).scaleb(-places), mode, _WIDE)
    return f"{rounded:,f}" if grouped else f"{rounded:f}"


def _shown_decimals(value: Any, scale: int, places: int) -> Any:
    """Decimals of at most 18 digits in groups of three, halves to the even digit."""
    data = unscaled_words(value)
    size, kept = np.abs(data), min(scale, places)
    if scale > places:
        unit = 10 ** (scale - places)
        size, rest = np.divmod(size, unit)
        size = size + ((2 * rest > unit) | ((2 * rest == unit) & (size % 2 == 1)))
    digits = _grouped(size // 10**kept)
    if places:
        behind = pc.utf8_slice_codeunits(pa.array(size % 10**kept + 10**kept).cast(pa.string()), 1)
        digits = concatenated(digits, ".", behind, "0" * (places - kept))
    sign = pc.if_else(pa.array(data < 0), "-", "")
    return nulled(concatenated(sign, digits), value)


def number_text(step: Step, value: Any, places: Value) -> Any:
    """`format_number(number, places)`: groups of three, halves to the even digit."""
    count = places.as_py()
    if count < 0:
        return pa.nulls(len(value), pa.string())
    kind = decimal_of(step.kinds[0])
    if kind is not None and kind[0] <= 18 and count <= 18:
        return _shown_decimals(value, kind[1], count)
    if kind is not None:
        unit = Decimal(1).scaleb(-count)
        return each(
            value, lambda one: f"{one.quantize(unit, ROUND_HALF_EVEN, _WIDE):,f}", pa.string()
        )
    data = numbers(value)
    if data.dtype.kind == "i":
        data = data.astype(np.int64)
        digits, negative = _grouped(data), data < 0
        if count:
            digits = concatenated(digits, ".", "0" * count)
    else:
        data = data.astype(np.float64)
        digits = _rounded(np.abs(data), count, grouped=True, even=True)
        digits = pc.if_else(pc.equal(digits, "Infinity"), "∞", digits)
        negative = np.signbit(data) & ~np.isnan(data)
    sign = pc.if_else(pa.array(negative), "-", "")
    return nulled(concatenated(sign, digits), value)
