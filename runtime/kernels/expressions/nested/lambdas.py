"""Functions with lambdas: over the elements of all rows at once, or over all rows' next elements.

Each takes its step, its lambdas and its arguments. A lambda is called with the rows to which its
arguments belong, for what it captures, and gives an array. Where Spark stops early (`exists`,
`forall`) and the lambda can fail, and where one call needs the result of the last (`aggregate`),
it is called for the first element of every row, then for the second, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ....state.sorting import stable_order
from ...columns.lists import elements_of, places_of, rows_of
from ...columns.ordering import codes, flags, list_parts, spread, valid
from ..programs.program import Program, Step
from ..values.lists_and_maps import lists, maps
from ..values.vectors import truths
from . import sorting
from .collections import checked_keys

Positions = npt.NDArray[np.int64]


class Lambda(Protocol):
    """A lambda over many sets of arguments at once."""

    @property
    def program(self) -> Program:
        """What it computes."""

    def __call__(self, rows: Positions, *parameters: Any) -> Any:
        """What it gives for arguments that belong to these rows."""


def transformed(step: Step, body: Lambda, array: Any) -> Any:
    """`transform(array, (element, index) -> ...)`."""
    items, lengths = elements_of(array)
    found = body(rows_of(lengths), items, _indexes(body, items, lengths))
    return lists(step.kind, found, lengths, array)


def filtered(step: Step, body: Lambda, array: Any) -> Any:
    """`filter(array, (element, index) -> ...)`."""
    items, lengths = elements_of(array)
    rows = rows_of(lengths)
    kept = truths(body(rows, items, _indexes(body, items, lengths)))
    return lists(step.kind, items.filter(kept), _counts(rows[flags(kept)], lengths), array)


def decided(step: Step, body: Lambda, array: Any) -> Any:
    """`exists` and `forall`: null where no element decides and one of them gives null."""
    items, lengths = elements_of(array)
    wanted = step.name == "exists"
    decides, unknown = (np.zeros(len(lengths), np.bool_) for _ in range(2))

    def ask(rows: Positions, values: Any) -> npt.NDArray[np.bool_]:
        found = body(rows, values)
        hits: npt.NDArray[np.bool_] = flags(truths(found, null=not wanted)) == wanted
        decides[rows[hits]] = True
        unknown[rows[~valid(found)]] = True
        return hits

    if not body.program.raises:
        ask(rows_of(lengths), items)
    else:  # an element behind one that decides may fail where Spark never sees it
        starts, place, rows = np.cumsum(lengths) - lengths, 0, np.flatnonzero(lengths)
        while len(rows):
            hits = ask(rows, items.take(pa.array(starts[rows] + place)))
            place += 1
            rows = rows[~hits & (lengths[rows] > place)]
    return pa.array(decides == wanted, mask=~valid(array) | (unknown & ~decides))


def accumulated(step: Step, merge: Lambda, finish: Lambda, array: Any, zero: Any) -> Any:
    """`aggregate(array, zero, (sum, element) -> ..., sum -> ...)`."""
    items, lengths = elements_of(array)
    rows = np.flatnonzero(valid(array))
    # The longest first: the rows that go on are always the first ones.
    rows = rows[stable_order(-lengths[rows])]
    starts, sizes = (np.cumsum(lengths) - lengths)[rows], lengths[rows]
    total, ended = zero.take(pa.array(rows)), []
    for place in range(int(sizes[0]) if len(rows) else 0):
        going = int(np.searchsorted(-sizes, -place, side="left"))
        ended.append(total[going:])
        elements = items.take(pa.array(starts[:going] + place))
        total = merge(rows[:going], total[:going], elements)
    total = pa.concat_arrays([total, *reversed(ended)])
    found = finish(rows, total)
    places = np.zeros(len(lengths), np.int64)
    places[rows] = np.arange(len(rows))
    return found.take(pa.array(places, mask=~valid(array)))


def zipped(step: Step, body: Lambda, left: Any, right: Any) -> Any:
    """`zip_with(left, right, (one, other) -> ...)`: nulls behind the end of the shorter."""
    both = valid(left) & valid(right)
    parts = [list_parts(side) for side in (left, right)]
    lengths = np.where(both, np.maximum(parts[0][2], parts[1][2]), 0)
    rows, places = rows_of(lengths), places_of(lengths)
    sides = []
    for items, starts, sizes in parts:
        there = places < sizes[rows]
        where = np.where(there, starts[rows] + places, 0)
        sides.append(items.take(pa.array(where, mask=~there)))
    return lists(step.kind, body(rows, *sides), lengths, left, right)


# ------------------------------------------------------------------------------------------ maps


def with_keys(step: Step, body: Lambda, entries: Any) -> Any:
    """`transform_keys(map, (key, value) -> ...)`.

    Raises:
        KernelError: a new key is null, or stands twice (`STATEPLAN_NOT_EXACT`).
    """
    keys, items, lengths = _entries(entries)
    rows = rows_of(lengths)
    found = checked_keys(step, body(rows, keys, items), rows)
    return maps(step.kind, found, items, lengths, entries)


def with_values(step: Step, body: Lambda, entries: Any) -> Any:
    """`transform_values(map, (key, value) -> ...)`."""
    keys, items, lengths = _entries(entries)
    return maps(step.kind, keys, body(rows_of(lengths), keys, items), lengths, entries)


def filtered_map(step: Step, body: Lambda, entries: Any) -> Any:
    """`map_filter(map, (key, value) -> ...)`."""
    keys, items, lengths = _entries(entries)
    rows = rows_of(lengths)
    kept = truths(body(rows, keys, items))
    counts = _counts(rows[flags(kept)], lengths)
    return maps(step.kind, keys.filter(kept), items.filter(kept), counts, entries)


def zipped_maps(step: Step, body: Lambda, left: Any, right: Any) -> Any:
    """`map_zip_with(left, right, (key, one, other) -> ...)`: the left map's keys come first."""
    both = valid(left) & valid(right)
    sides = [_entries(side, both) for side in (left, right)]
    rows = [rows_of(lengths) for _, _, lengths in sides]
    keys = pa.concat_arrays([sides[0][0], sides[1][0]])
    words = codes(keys).astype(np.int64)
    numbers = np.concatenate(rows) * (int(words.max(initial=0)) + 1) + words
    count = len(rows[0])
    order = np.argsort(numbers[:count])
    sorted_ = numbers[:count][order]
    places = np.searchsorted(sorted_, numbers[count:])
    near = np.minimum(places, max(count - 1, 0))
    known = (sorted_[near] == numbers[count:]) if count else np.zeros(len(places), np.bool_)
    partner = np.full(count, -1)
    partner[order[near[known]]] = np.flatnonzero(known)
    fresh = np.flatnonzero(~known)
    owners = np.concatenate([rows[0], rows[1][fresh]])
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    keys = keys.take(pa.array(np.concatenate([np.arange(count), count + fresh])[order]))
    one = np.concatenate([np.arange(count), np.full(len(fresh), -1)])[order]
    other = np.concatenate([partner, fresh])[order]
    values = [
        items.take(pa.array(np.maximum(where, 0), mask=where < 0))
        for (_, items, _), where in zip(sides, (one, other), strict=True)
    ]
    found = body(owners, keys, *values)
    return maps(step.kind, keys, found, np.bincount(owners, minlength=len(both)), left, right)


# ----------------------------------------------------------------------------------------- parts


def _indexes(body: Lambda, items: Any, lengths: Positions) -> Any:
    """The place of each element in its row, from 0; any column if the lambda does not ask."""
    if not any(step.name == "parameter" and step.options == (1,) for step in body.program.steps):
        return items
    return pa.array(places_of(lengths).astype(np.int32))


def _counts(rows: Positions, lengths: Positions) -> Positions:
    """How often each row stands there."""
    return np.bincount(rows, minlength=len(lengths))


def _entries(map_: Any, chosen: Any = None) -> tuple[Any, Any, Positions]:
    """The keys and the values of some rows' maps, and how many each has."""
    entries, starts, lengths = list_parts(map_)
    if chosen is not None:
        lengths = np.where(chosen, lengths, 0)
    if len(entries) != lengths.sum():
        entries = entries.take(pa.array(spread(starts, lengths)))
    return entries.field(0), entries.field(1), lengths


HIGHER_ORDER: dict[str, Callable[..., Any]] = {
    "transform": transformed,
    "filter": filtered,
    **dict.fromkeys(("exists", "forall"), decided),
    **dict.fromkeys(("aggregate", "reduce"), accumulated),
    "zip_with": zipped,
    "transform_keys": with_keys,
    "transform_values": with_values,
    "map_filter": filtered_map,
    "map_zip_with": zipped_maps,
    "array_sort": sorting.by_comparator,
}
