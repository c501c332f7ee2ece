"""Merging what keeps one of its values: min, max, first, last, max_by, min_by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.ordering import compare, flags, valid

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
