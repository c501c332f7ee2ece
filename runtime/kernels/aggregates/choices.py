"""Merging and folding what keeps one of its values: min, max, first, last, max_by, min_by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.ordering import compare, flags, in_order, valid
from .key_runs import KeyRuns

Columns = list[Any]
Flags = npt.NDArray[np.bool_]


def choose(mask: Flags, first: Any, second: Any) -> Any:
    """Per row the value of the first column where the mask is set, else that of the second."""
    if mask.all():
        return first
    positions = np.arange(len(mask)) + np.where(mask, 0, len(mask))
    return pa.concat_arrays([first, second]).take(pa.array(positions))


def merge_extremum(sign: int) -> Callable[[Columns, Columns], Columns]:
    """`min` (-1) and `max` (1) of (value): null where both sides are."""

    def merge(earlier: Columns, later: Columns) -> Columns:
        one, other = earlier[0], later[0]
        better = sign * compare(other, one) > 0
        keep = ~valid(other) | (valid(one) & ~better)
        return [choose(keep, one, other)]

    return merge


def merge_first(earlier: Columns, later: Columns) -> Columns:
    """`first` (value, value_set): the earlier value wherever there is one."""
    keep = flags(earlier[1])
    return [choose(keep, earlier[0], later[0]), pa.array(keep | flags(later[1]))]


def merge_last(earlier: Columns, later: Columns) -> Columns:
    """`last` (value, value_set): the later value wherever there is one."""
    replace = flags(later[1])
    return [choose(~replace, earlier[0], later[0]), pa.array(replace | flags(earlier[1]))]


def merge_by(sign: int) -> Callable[[Columns, Columns], Columns]:
    """`min_by` (-1) and `max_by` (1) of (value, ordering): of equal orderings the later counts."""

    def merge(earlier: Columns, later: Columns) -> Columns:
        one, other = earlier[1], later[1]
        keep = ~valid(other) | (valid(one) & (sign * compare(one, other) > 0))
        return [choose(keep, earlier[0], later[0]), choose(keep, one, other)]

    return merge


def fold_choice(operation: str, columns: Columns, runs: KeyRuns) -> Columns | None:
    """What merging leaves of each key's rows, all at once.

    Args:
        operation: a merge operation.
        columns: an Arrow array for each of its buffers.
        runs: the rows of each key.

    Returns:
        None if the operation chooses no row, or if it does by texts, which would have to be sorted
        for that (merging pairwise takes half as long), or by values with parts.
    """
    kind = columns[-1].type
    if operation not in _CHOICES or not (pa.types.is_primitive(kind) or pa.types.is_decimal(kind)):
        return None
    sign, later = _CHOICES[operation]
    number = np.arange(len(columns[0]))
    if sign:
        counts, places = valid(columns[-1]), in_order(columns[-1])
        # The bits of a number turned are numbers in the opposite order.
        places = np.where(counts, places if sign > 0 else ~places, _LEAST)
        best = runs.reduce(np.maximum, places, _LEAST)
        counts &= places == best[runs.codes]
    else:
        counts = flags(columns[1])
    # Of rows that count the first or last; where none does, the first.
    found = runs.reduce(
        np.maximum, np.where(counts, number if later else len(number) - number, -number), _LEAST
    )
    rows = np.where(found <= 0, -found, found if later else len(number) - found)
    return [column.take(pa.array(rows)) for column in columns]


_LEAST = np.iinfo(np.int64).min
# Whether the greatest (1), the least (-1) or any value counts, and of equal ones the later.
_CHOICES = {
    "min": (-1, False),
    "max": (1, False),
    "first": (0, False),
    "last": (0, True),
    "min_by": (-1, True),
    "max_by": (1, True),
}
