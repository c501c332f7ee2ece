"""Decimals as whole numbers, of 64 bits where they have no more, and as doubles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64 = NDArray[np.int64]
Mask = NDArray[np.bool_]

_EXACT = 1 << 53
"""Whole numbers up to this one are doubles."""
_EXACT_POWER = 22
"""Powers of ten up to this one are doubles."""


def halves(column: Any) -> tuple[Int64, Int64]:
    """The low and the high words of unscaled 128-bit decimals; nulls hold anything."""
    words = np.frombuffer(column.buffers()[1] or b"", np.int64).reshape(-1, 2)
    rows = words[column.offset : column.offset + len(column)]
    return rows[:, 0], rows[:, 1]


def unscaled_words(column: Any) -> Int64:
    """Decimals of at most 18 digits as whole numbers: the lower of their two words."""
    return halves(column)[0]


def is_wide(low: Int64, high: Int64) -> Mask:
    """Which unscaled decimals have more than 64 bits."""
    found: Mask = high != low >> 63
    return found


def with_free_digit(column: Any) -> Any:
    """Decimals in a type with one digit more, which rounding may give them."""
    wide = pa.decimal128 if column.type.precision < 38 else pa.decimal256
    return column.cast(wide(column.type.precision + 1, column.type.scale))


def decimals(unscaled: Int64, kind: Any, missing: Mask | None = None) -> Any:
    """Whole numbers as decimals of an Arrow type, null where they are `missing`."""
    data = np.column_stack([unscaled, unscaled >> 63])
    valid = None if missing is None else pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(kind, len(data), [valid, pa.py_buffer(data)])


def nearest_doubles(column: Any) -> NDArray[np.float64]:
    """The double nearest to each decimal, which Arrow's own cast does not give; any of null."""
    scale = column.type.scale
    low, high = halves(column)
    exact = (low <= _EXACT) & (low >= -_EXACT) & ~is_wide(low, high)
    if not 0 <= scale <= _EXACT_POWER:
        exact &= low == 0
    found: NDArray[np.float64] = low / 10.0 ** max(scale, 0)  # of two exact doubles: rounded once
    if column.null_count:
        exact |= column.is_null().to_numpy(zero_copy_only=False)
    if not exact.all():
        rest = column.filter(pa.array(~exact)).cast(pa.string()).cast(pa.float64())
        found[~exact] = rest.to_numpy(zero_copy_only=False)
    return found
