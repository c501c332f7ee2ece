"""Single bits of whole numbers, and where a number has its bit in Spark's bitmaps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..programs.program import Step
from ..values import messages
from ..values.vectors import Value, first_where, has_nulls, made, numbers, repeated, row_count

_BITS_OF_A_BITMAP = 32768


def count_of_ones(step: Step, value: Any) -> Any:
    """`bit_count`: of a number as a long, whose sign is repeated in front."""
    return made(
        np.bitwise_count(numbers(value).astype(np.int64).view(np.uint64)).astype(np.int32), value
    )


def bit(step: Step, value: Value, position: Value) -> Any:
    """`getbit(x, position)`: 0 or 1, counted from the lowest bit.

    Raises:
        KernelError: there is no such bit.
    """
    data, places = numbers(value), numbers(position)
    width = data.dtype.itemsize * 8
    valid = np.ones(row_count(value, position), np.bool_)
    for one in (value, position):
        if has_nulls(one):
            valid &= repeated(one, len(valid)).is_valid().to_numpy(zero_copy_only=False)
    bad = valid & ((places < 0) | (places >= width))
    if bad.any():
        found = first_where(repeated(position, len(valid)), bad)
        raise messages.no_such_bit(step, found, width)
    moved = np.right_shift(data.astype(np.int64), np.where(valid, places, 0))
    return made((moved & 1).astype(np.int8), value, position)


def bit_position(step: Step, value: Any) -> Any:
    """`bitmap_bit_position(x)`: which bit of its bitmap stands for a number."""
    data = numbers(value)
    with np.errstate(over="ignore"):
        return made(np.fmod(np.where(data > 0, data - 1, -data), _BITS_OF_A_BITMAP), value)


def bucket_number(step: Step, value: Any) -> Any:
    """`bitmap_bucket_number(x)`: which bitmap has a number."""
    data = numbers(value)
    quotient, rest = np.divmod(data, _BITS_OF_A_BITMAP)
    # 32768 is the last number of its bitmap; Java's quotient of a negative number goes up.
    return made(quotient + (rest != 0), value)
