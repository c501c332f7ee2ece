"""Sums and products of decimals that have more digits than their type: exact in 256 bits first."""

from __future__ import annotations

from decimal import ROUND_DOWN, Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..programs.program import Step, decimal_of
from ..values import messages
from ..values.vectors import Value, null_where, of_one_length, plain_type

_MOST = 76
"""The digits of 256 bits."""
_EXACT = Context(prec=_MOST + 1)
_SHOWN = Context(prec=39, rounding=ROUND_DOWN)
"""How Spark cuts a product before it rounds it. That changes no digit of a result of 38 digits."""


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
    rounded = pc.round(exact, ndigits=scale, round_mode="half_towards_infinity")
    bad = _too_long(pc.abs(rounded), precision - scale)
    if bad.any():
        if step.mode == "ANSI":
            number = exact[int(np.argmax(bad))].as_py()
            if step.name == "*":
                number = _SHOWN.plus(number)
            raise messages.does_not_fit_decimal(step, number)
        rounded = null_where(rounded, bad)
    return rounded.cast(pa.decimal256(_MOST, scale), safe=False).cast(plain_type(step.kind))


def _too_long(size: Any, digits: int) -> npt.NDArray[np.bool_]:
    """Which numbers have more than so many digits before the point."""
    if digits + size.type.scale >= _MOST:
        return np.zeros(len(size), np.bool_)
    least = pa.scalar(Decimal(1).scaleb(digits, _EXACT), size.type)
    found = pc.greater_equal(size, least).fill_null(False)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.bool_)
