"""The average of decimals: a sum divided by a count, rounded half up once.

SQL's division would first cut the result to 38 digits.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import no_decimal

_COUNT = pa.decimal256(19, 0)


def decimal_average(total: Any, count: Any, precision: int, scale: int, lenient: bool) -> Any:
    """The averages, as decimals of that precision and scale; null where the count is 0.

    Args:
        total: the sums, decimals; null where one overflowed.
        count: how many values each has, bigint.
        precision: digits of the result; the scale is at least that of the sums.
        scale: digits behind the point.
        lenient: null for an average that has too many digits.

    Raises:
        KernelError: NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION, unless lenient.
    """
    kind = total.type
    counted = pc.if_else(pc.greater(count, 0), count, pa.scalar(None, pa.int64())).cast(_COUNT)
    unscaled = _with_scale(total.cast(pa.decimal256(kind.precision, kind.scale)), 0)
    # Rounding half up: (2x ± n) / 2n without its fraction.
    doubled = pc.multiply(unscaled, _integer(2 * 10 ** (scale - kind.scale)))
    half = pc.if_else(pc.less(doubled, _integer(0)), pc.negate(counted), counted)
    quotient = pc.divide(pc.add(doubled, half), pc.multiply(counted, _integer(2)))
    whole = pc.round(quotient, 0, "towards_zero").cast(pa.decimal256(45, 0))
    average = _with_scale(whole, scale)
    limit = pa.scalar(10**precision, pa.decimal256(precision + 1, 0))
    fits = pc.less(pc.abs(whole), limit)
    if pc.any(pc.invert(fits)).as_py():
        if not lenient:
            worst = pc.indices_nonzero(pc.invert(fits).fill_null(False))[0].as_py()
            raise _out_of_range(total[worst], count[worst], precision, scale)
        average = pc.if_else(fits, average, pa.scalar(None, average.type))
    return average.cast(pa.decimal128(precision, scale))


def _integer(value: int) -> Any:
    return pa.scalar(value, pa.decimal256(len(str(value)), 0))


def _with_scale(array: Any, scale: int) -> Any:
    """The same digits with the point elsewhere."""
    kind = pa.decimal256(array.type.precision, scale)
    return pa.Array.from_buffers(kind, len(array), array.buffers(), offset=array.offset)


def _out_of_range(total: Any, count: Any, precision: int, scale: int) -> Exception:
    exact = Context(prec=80, rounding=ROUND_HALF_UP)
    value = exact.divide(total.as_py(), count.as_py())
    shown = value.quantize(exact.create_decimal((0, (1,), -39)), context=exact)
    return no_decimal(format(shown, "f"), precision, scale)
