"""Sorted arrays: in Spark's order of values, or in the order of a comparator.

Spark sorts by Java's `Arrays.sort(T[], Comparator)`. Of a comparator that contradicts itself the
result depends on which pairs it is called with: below 32 elements these are the same ones here, in
Java's order, for all rows at once. Longer arrays are sorted by comparators that do not contradict
themselves: there every stable sort gives the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ....state.sorting import order_by
from ...columns.lists import elements_of, places_of, rows_of
from ...columns.ordering import ranks, valid
from ...errors import KernelError, not_exact
from ..programs.program import Step
from ..values import messages
from ..values.lists_and_maps import lists
from ..values.vectors import Value

Positions = npt.NDArray[np.int64]

_INSERTED = 32
"""Arrays shorter than this Java sorts by insertion alone (TimSort's MIN_MERGE)."""
_PAIRS = 1 << 22
"""So many pairs of elements are compared at a time."""
_LONGEST = 4096


def sorted_array(step: Step, array: Any, ascending: Value) -> Any:
    """`sort_array(array, ascending)`: nulls are the least."""
    places = ranks(elements_of(array)[0])
    return _sorted(step, array, places if ascending.as_py() else -places)


def sorted_nulls_last(step: Step, array: Any) -> Any:
    """`array_sort(array)`: nulls are the greatest."""
    places = ranks(elements_of(array)[0])
    return _sorted(step, array, np.where(places < 0, len(places), places))


def _sorted(step: Step, array: Any, places: Positions) -> Any:
    items, lengths = elements_of(array)
    order = order_by(rows_of(lengths), places)
    return lists(step.kind, items.take(pa.array(order)), lengths, array)


def by_comparator(step: Step, body: Any, array: Any) -> Any:
    """`array_sort(array, (left, right) -> ...)`.

    Args:
        step: the operation.
        body: the comparator: takes rows and two columns, gives a number for each pair.
        array: the arrays.

    Raises:
        KernelError: the comparator fails or gives null; or it contradicts itself, fails or gives
            null for elements of an array of 32 or more (`STATEPLAN_NOT_EXACT`).
    """
    items, lengths = elements_of(array)
    starts = np.cumsum(lengths) - lengths

    def signs(rows: Positions, left: Positions, right: Positions) -> Positions:
        one, other = items.take(pa.array(left)), items.take(pa.array(right))
        found = body(rows, one, other)
        if found.null_count:
            place = int(np.argmin(valid(found)))
            raise messages.comparator_null(step, one[place].as_py(), other[place].as_py())
        return np.asarray(np.sign(found.to_numpy()), np.int64)

    order = np.arange(len(items))
    short = np.flatnonzero((lengths > 1) & (lengths < _INSERTED))
    if len(short):
        found = _Insertion(short, starts[short], lengths[short], signs).order()
        there = found >= 0
        rows, columns = np.nonzero(there)
        order[starts[short][rows] + columns] = found[there]
    for rows in _groups(lengths):
        _sort_all_pairs(rows, starts[rows], lengths[rows], signs, order)
    return lists(step.kind, items.take(pa.array(order)), lengths, array)


class _Insertion:
    """Java's sort of short arrays, step by step: each step for all rows that are not done."""

    def __init__(self, rows: Positions, starts: Positions, lengths: Positions, signs: Any) -> None:
        self._rows = rows
        self._lengths = lengths
        self._signs = signs
        columns = np.arange(int(lengths.max()))
        self._order = np.where(columns < lengths[:, None], starts[:, None] + columns, -1)

    def order(self) -> Positions:
        """The places of the elements of each row in their new order; -1 behind its end."""
        begun = self._runs()
        columns = np.arange(self._order.shape[1])
        active = np.flatnonzero(begun < self._lengths)
        while len(active):
            place = begun[active]
            pivot = self._order[active, place]
            left = self._found(active, pivot, place)
            old = self._order[active]
            moved = np.concatenate([old[:, :1], old[:, :-1]], axis=1)
            between = (columns > left[:, None]) & (columns <= place[:, None])
            new = np.where(between, moved, old)
            new[np.arange(len(active)), left] = pivot
            self._order[active] = new
            begun[active] += 1
            active = active[begun[active] < self._lengths[active]]
        return self._order

    def _runs(self) -> Positions:
        """How many elements in front are in order already; falling ones are turned round."""
        every = np.arange(len(self._rows))
        falls = self._compare(every, self._order[:, 1], self._order[:, 0]) < 0
        run, place = np.full(len(every), 2), 2
        active = every[self._lengths > 2]
        while len(active):
            signs = self._compare(
                active, self._order[active, place], self._order[active, place - 1]
            )
            goes_on = np.where(falls[active], signs < 0, signs >= 0)
            place += 1
            run[active[goes_on]] = place
            active = active[goes_on & (self._lengths[active] > place)]
        columns = np.arange(self._order.shape[1])
        turned = falls[:, None] & (columns < run[:, None])
        places = np.where(turned, run[:, None] - 1 - columns, columns)
        self._order = np.take_along_axis(self._order, places, axis=1)
        return run

    def _found(self, active: Positions, pivot: Positions, place: Positions) -> Positions:
        """Where an element belongs among the sorted ones before it, by binary search."""
        left, right = np.zeros(len(active), np.int64), place.copy()
        looking = np.arange(len(active))
        while len(looking):
            middle = (left[looking] + right[looking]) // 2
            rows = active[looking]
            less = self._compare(rows, pivot[looking], self._order[rows, middle]) < 0
            right[looking[less]] = middle[less]
            left[looking[~less]] = middle[~less] + 1
            looking = looking[left[looking] < right[looking]]
        return left

    def _compare(self, rows: Positions, left: Positions, right: Positions) -> Positions:
        found: Positions = self._signs(self._rows[rows], left, right)
        return found


def _groups(lengths: Positions) -> Iterator[Positions]:
    """The rows of long arrays, in groups of not too many pairs.

    Raises:
        KernelError: an array is too long.
    """
    long = np.flatnonzero(lengths >= _INSERTED)
    if (lengths[long] > _LONGEST).any():
        raise not_exact(f"array_sort with a comparator of more than {_LONGEST} elements is slow.")
    ends = np.cumsum(lengths[long] ** 2) // _PAIRS
    for group in np.unique(ends):
        yield long[ends == group]


def _sort_all_pairs(
    rows: Positions, starts: Positions, lengths: Positions, signs: Any, order: Positions
) -> None:
    """Sort some rows by how many elements lie below each, and write the new places."""
    squares = lengths**2
    owner, place = rows_of(squares), places_of(squares)
    one, other = starts[owner] + place // lengths[owner], starts[owner] + place % lengths[owner]
    found = np.zeros(len(owner), np.int64)
    pairs = np.flatnonzero(one != other)
    try:
        found[pairs] = signs(rows[owner[pairs]], one[pairs], other[pairs])
    except KernelError:
        raise _refused() from None
    below = np.bincount(one, weights=found > 0, minlength=len(order)).astype(np.int64)
    if (np.sign(below[one] - below[other]) != found).any():
        raise _refused()
    elements = np.repeat(starts, lengths) + places_of(lengths)
    order[elements] = elements[order_by(rows_of(lengths), below[elements])]


def _refused() -> KernelError:
    return not_exact(
        "A comparator of array_sort contradicts itself, fails or gives null for an array of "
        f"{_INSERTED} elements or more: the result depends on which of them Spark compares."
    )
