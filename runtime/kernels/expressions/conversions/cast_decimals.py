"""`CAST` to decimals and from them, but for strings: as whole columns, all that can be."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.decimals import decimals, halves, is_wide, nearest_doubles, with_free_digit
from ...columns.distinct import each
from ...errors import not_exact
from ..programs.program import Step, decimal_of
from ..programs.supported import by_way_of_double
from ..values import messages
from ..values.java_numbers import java_double, unlike_arrow
from ..values.vectors import first_where, made, null_where, numbers, plain_type

WHOLE_TYPES: dict[str, Any] = {
    "tinyint": np.int8,
    "smallint": np.int16,
    "int": np.int32,
    "bigint": np.int64,
}
_WIDE = Context(prec=2200)
_CERTAIN = 2.0**50
"""Below it a double's product with a power of ten is off by much less than one."""
_DIGITS, _PLACES = 10**15, 6
"""Decimals of up to 15 digits are different doubles; of those, with up to six decimal places."""
_SMALLEST, _LARGEST = 1e-20, 1e37
"""Doubles between them have all their digits in a `LONG` decimal."""
LONG = pa.decimal256(76, 38)


def checked(step: Step, value: Any, result: Any, bad: Any) -> Any:
    """A result, null where it is bad; an error in ANSI mode."""
    if not bad.any():
        return result
    if step.mode == "ANSI":
        raise messages.cast_overflow(step, first_where(value, bad))
    return null_where(result, bad)


def rounding(step: Step) -> Callable[[Decimal], Decimal | None]:
    """What rounds a number half up to the scale; what then has too many digits does not fit."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    unit = Decimal(1).scaleb(-scale)
    limit = Decimal(10) ** (precision - scale)

    def rounded(number: Decimal) -> Decimal | None:
        # `abs` would round to 28 digits.
        fits = number.copy_abs() < limit
        found = number.quantize(unit, ROUND_HALF_UP, _WIDE) if fits else number
        if found.copy_abs() < limit:
            return found
        if step.mode == "ANSI":
            raise messages.does_not_fit_decimal(step, number)
        return None

    return rounded


def from_whole(step: Step, value: Any) -> Any:
    """Booleans and whole numbers as decimals."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    wanted = plain_type(step.kind)
    if step.kinds[0] == "boolean":
        value = value.cast(pa.int8())
    limit = 10 ** (precision - scale)
    data = numbers(value)
    bad = np.zeros(len(data), bool)
    if limit <= np.iinfo(data.dtype).max:
        bad = (data >= limit) | (data <= -limit)
    if bad.any():
        if step.mode == "ANSI":
            number = first_where(value, bad)
            raise messages.does_not_fit_decimal(step, Decimal(number))
        value = null_where(value, bad)
    return (
        value.cast(pa.int64()).cast(pa.decimal128(19, 0)).cast(wanted, safe=False)
        if (precision - scale < 19)
        else value.cast(pa.int64()).cast(wanted)
    )


# --------------------------------------------------------------------------------------- floats


def from_float(step: Step, value: Any) -> Any:
    """The shortest digits that tell a double from others, rounded; null of what is no number."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    wanted = plain_type(step.kind)
    value = value.cast(pa.float64())
    data = numbers(value)
    size = np.abs(data)
    with np.errstate(all="ignore"):
        scaled = size * 10.0**scale
        whole = np.floor(scaled + 0.5)
        # The digits differ from the double, and the product from theirs, by less than this.
        unsure = scaled / _CERTAIN
        sure = np.abs(scaled - np.floor(scaled) - 0.5) > unsure
        sure &= (scaled < _CERTAIN) & (whole < 10.0**precision)
        unscaled = np.where(sure, np.copysign(whole, data), 0).astype(np.int64)
        nothing = ~np.isfinite(data)
        if step.mode != "ANSI":
            nothing |= (scaled - unsure >= 10.0**precision) & (size < np.inf)
        sure |= nothing
    if value.null_count:
        nothing |= value.is_null().to_numpy(zero_copy_only=False)
    found = decimals(unscaled, wanted, nothing)
    for way in (_of_few_digits, _of_digits):
        if not sure.all():
            rest = pa.array(~sure)
            some, known = way(data[~sure], precision, scale)
            found = pc.replace_with_mask(found, rest, some.cast(wanted))
            sure[~sure] = known
    if sure.all():
        return found
    rest = pa.array(~sure)
    return pc.replace_with_mask(found, rest, each(value.filter(rest), _of_one(step), wanted))


def _of_few_digits(data: Any, precision: int, scale: int) -> tuple[Any, Any]:
    """Numbers of at most 15 digits with few decimal places as decimals, and which these are."""
    places = min(scale, _PLACES)
    with np.errstate(all="ignore"):
        whole = np.rint(data * 10.0**places)
        known = (np.abs(whole) < _DIGITS) & (whole / 10.0**places == data)
        known &= np.abs(data) < 10.0 ** (precision - scale)
        unscaled = np.where(known, whole, 0).astype(np.int64)
    return decimals(unscaled, pa.decimal128(19, places)), known


def _of_digits(data: Any, precision: int, scale: int) -> tuple[Any, Any]:
    """Numbers by the digits that Arrow shows, rounded half up, and for which these are Java's."""
    size = np.abs(data)
    known = (size > _SMALLEST) & (size < _LARGEST) & ~unlike_arrow(size)
    text = pa.array(np.where(known, data, 0)).cast(pa.string())
    found, fits = rounded_decimals(text.cast(LONG), precision, scale)
    return found, known & fits


def _of_one(step: Step) -> Callable[[float], Decimal | None]:
    rounded = rounding(step)

    def found(number: float) -> Decimal | None:
        if not isfinite(number):
            return None
        # Java shows whole numbers from 10 millions on without a zero behind the point.
        mantissa, mark, exponent = java_double(number).partition("E")
        return rounded(Decimal(mantissa.removesuffix(".0" if mark else "") + mark + exponent))

    return found


# ------------------------------------------------------------------------------------- decimals


def from_decimal(step: Step, value: Any) -> Any:
    """Decimals as numbers, booleans and other decimals."""
    target = step.kind
    if target == "boolean":
        return pc.not_equal(value, pa.scalar(Decimal(0), value.type))
    if decimal_of(target):
        return _to_decimal(step, value)
    if target == "double":
        return made(nearest_doubles(value), value)
    kind = WHOLE_TYPES[str(target)]
    limits = np.iinfo(kind)
    whole = pc.round(with_free_digit(value), ndigits=0, round_mode="towards_zero")
    whole = whole.cast(pa.decimal128(38, 0))
    low, high = halves(whole)
    result = made(low.astype(kind), value)
    if step.mode == "LEGACY":  # the lowest bits
        return result
    bad = (low < limits.min) | (low > limits.max) | is_wide(low, high)
    valid = value.is_valid().to_numpy(zero_copy_only=False)
    if by_way_of_double(step.kinds[0], target, step.mode):
        other = ~bad & valid & (np.trunc(nearest_doubles(value)) != low)
        if other.any():
            number = first_where(value, other)
            what = (
                f"Spark casts {number:f} to {target} by way of a double, which is another number."
            )
            raise not_exact(what, of_rows=True)
    return checked(step, value, result, bad & valid)


def _to_decimal(step: Step, value: Any) -> Any:
    """Rounded half up to the scale; what then has too many digits does not fit."""
    precision, scale = decimal_of(step.kind) or (0, 0)
    source_precision, source_scale = decimal_of(step.kinds[0]) or (0, 0)
    wanted = plain_type(step.kind)
    if scale >= source_scale and precision - scale >= source_precision - source_scale:
        return value.cast(wanted)
    found, fits = rounded_decimals(with_free_digit(value), precision, scale)
    if not fits.all() and step.mode == "ANSI":
        rounding(step)(first_where(value, ~fits))
    return found.cast(wanted)


def rounded_decimals(value: Any, precision: int, scale: int) -> tuple[Any, Any]:
    """Decimals with a free digit (`with_free_digit`) rounded half up, and which of them fit.

    Those that do not fit become null; nulls fit.
    """
    if scale < value.type.scale:
        value = pc.round(value, ndigits=scale, round_mode="half_towards_infinity")
    limit = Decimal(10) ** (precision - scale)
    if value.type.precision - value.type.scale <= precision - scale:
        return value, np.ones(len(value), np.bool_)
    bad = pc.greater_equal(pc.abs(value), pa.scalar(limit, value.type)).fill_null(False)
    mask = bad.to_numpy(zero_copy_only=False)
    return null_where(value, mask), ~mask
