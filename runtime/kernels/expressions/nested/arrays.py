"""Functions of arrays: their items, searches in them, and arrays made of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.lists import elements_of, places_of, rows_of
from ...columns.ordering import codes, in_order, list_parts, valid
from ...errors import KernelError
from ..programs.program import Step
from ..texts import texts
from ..values import messages
from ..values.lists_and_maps import lists, side_by_side
from ..values.vectors import Value, made, nulled, numbers, of_one_length, plain_type

Positions = npt.NDArray[np.int64]


def size(step: Step, values: Any) -> Any:
    """`size(array)` and `size(map)`: without ANSI that of null is -1, unless it is asked for."""
    lengths = list_parts(values)[2].astype(np.int32)
    if step.mode == "LEGACY" and not step.options:
        return pa.array(np.where(valid(values), lengths, np.int32(-1)))
    return made(lengths, values)


# ----------------------------------------------------------------------------------------- items


def item(step: Step, array: Value, index: Value) -> Any:
    """`array[index]`, from 0, in 32 bits of it: null, or an error, beyond the end."""
    array, index = of_one_length(array, index)
    items, starts, lengths = list_parts(array)
    places = numbers(index).astype(np.int32).astype(np.int64)
    given = valid(array) & valid(index)
    there = given & (places >= 0) & (places < lengths)
    if step.mode == "ANSI" and (given & ~there).any():
        raise _beyond(step, "INVALID_ARRAY_INDEX", given & ~there, places, lengths)
    return items.take(pa.array(np.where(there, starts + places, 0), mask=~there))


def element(step: Step, values: Value, key: Value) -> Any:
    """`element_at(array, index)`, from 1 or from the end, and `element_at(map, key)`."""
    if step.kinds[0][0] == "map":
        return map_value(step, values, key)
    array, index = of_one_length(values, key)
    items, starts, lengths = list_parts(array)
    places, given = numbers(index).astype(np.int64), valid(array) & valid(index)
    there = given & (places != 0) & (np.abs(places) <= lengths)
    if (given & (places == 0)).any():
        raise messages.error(step, "INVALID_INDEX_OF_ZERO")
    if step.mode == "ANSI" and (given & ~there).any():
        condition = "INVALID_ARRAY_INDEX_IN_ELEMENT_AT"
        raise _beyond(step, condition, given & ~there, places, lengths)
    where = np.where(places > 0, starts + places - 1, starts + lengths + places)
    return items.take(pa.array(np.where(there, where, 0), mask=~there))


def _beyond(step: Step, condition: str, bad: Any, places: Any, lengths: Positions) -> KernelError:
    """The error for the first index beyond the end of its array."""
    row = int(np.argmax(bad))
    return messages.error(step, condition, indexValue=int(places[row]), arraySize=int(lengths[row]))


def map_value(step: Step, entries: Value, key: Value) -> Any:
    """`map[key]`: null where the map has no such key."""
    entries, key = of_one_length(entries, key)
    parts, starts, lengths = list_parts(entries)
    found = _first(entries, key, parts.field(0), starts, lengths)
    return parts.field(1).take(pa.array(np.where(found < 0, 0, starts + found), mask=found < 0))


# -------------------------------------------------------------------------------------- searches


def contains(step: Step, array: Value, value: Value) -> Any:
    """`array_contains`: null where it is not found and an element is null."""
    array, value, found = _searched(array, value)
    items, lengths = elements_of(array)
    nulls = _counts(~valid(items), lengths) > 0
    return nulled(pa.array(found >= 0, mask=nulls & (found < 0)), array, value)


def position(step: Step, array: Value, value: Value) -> Any:
    """`array_position`: from 1; 0: it is not there."""
    array, value, found = _searched(array, value)
    return made(found + 1, array, value)


def removed(step: Step, array: Value, value: Value) -> Any:
    """`array_remove`: the elements that are not equal to a value; nulls stay."""
    array, value = of_one_length(array, value)
    items, lengths = elements_of(array)
    stay = ~(_equal(items, value, rows_of(lengths)) & valid(items))
    return nulled(_kept(step, array, items, lengths, stay), value)


def _searched(array: Value, value: Value) -> tuple[Any, Any, Positions]:
    """Where in its row's array a value stands first, from 0; -1: nowhere."""
    array, value = of_one_length(array, value)
    items, starts, lengths = list_parts(array)
    return array, value, _first(array, value, items, starts, lengths)


def _first(
    owners: Any, wanted: Any, items: Any, starts: Positions, lengths: Positions
) -> Positions:
    lengths = np.where(valid(owners) & valid(wanted), lengths, 0)
    rows = rows_of(lengths)
    places = places_of(lengths)
    own = items.take(pa.array(starts[rows] + places))
    hits = np.flatnonzero(_equal(own, wanted, rows) & valid(own))
    found = np.full(len(lengths), -1)
    found[rows[hits][::-1]] = places[hits][::-1]
    return found


def _equal(items: Any, values: Any, rows: Positions) -> npt.NDArray[np.bool_]:
    """Which elements equal the value of their row."""
    words = codes(pa.concat_arrays([items, values]))
    same: npt.NDArray[np.bool_] = words[: len(items)] == words[len(items) :][rows]
    return same


def extreme(step: Step, array: Any) -> Any:
    """`array_max` and `array_min`, in Spark's order of values of any type; nulls are left out."""
    items, lengths = elements_of(array)
    if items.null_count:
        known = valid(items)
        lengths = np.bincount(rows_of(lengths)[known], minlength=len(lengths))
        items = items.filter(pa.array(known))
    found = np.flatnonzero(lengths)
    if not len(found):
        return pa.nulls(len(array), items.type)
    numbers, own = in_order(items), lengths[found]
    choose = np.minimum if step.name == "array_min" else np.maximum
    best = choose.reduceat(numbers, np.cumsum(own) - own)
    hits = np.flatnonzero(numbers == np.repeat(best, own))
    rows = rows_of(lengths)[hits]
    places = np.full(len(lengths), -1)
    places[rows[::-1]] = hits[::-1]  # of equal ones the first
    return items.take(pa.array(places, mask=places < 0))


# ---------------------------------------------------------------------------------------- arrays


def zipped(step: Step, *arrays: Value) -> Any:
    """`arrays_zip(array, ...)`: structs of the elements of one place; null where one is missing."""
    columns = of_one_length(*arrays)
    known = np.logical_and.reduce([valid(column) for column in columns])
    parts = [list_parts(column) for column in columns]
    longest = np.maximum.reduce([lengths for _, _, lengths in parts])
    sizes = np.where(known, longest, 0)
    rows, places = rows_of(sizes), places_of(sizes)
    fields = []
    for items, starts, lengths in parts:
        there = places < lengths[rows]
        fields.append(items.take(pa.array(np.where(there, starts[rows] + places, 0), mask=~there)))
    kind = plain_type(step.kind).value_type
    names = [kind.field(i).name for i in range(kind.num_fields)]
    return lists(step.kind, pa.StructArray.from_arrays(fields, names), sizes, *columns)


def overlap(step: Step, left: Any, right: Any) -> Any:
    """`arrays_overlap`: null where nothing is in both, neither is empty, and one holds a null."""
    sides = [elements_of(side) for side in of_one_length(left, right)]
    count = len(sides[0][1])
    rows = [rows_of(lengths) for _, lengths in sides]
    words = codes(pa.concat_arrays([items for items, _ in sides])).astype(np.int64)
    known = np.concatenate([valid(items) for items, _ in sides])
    owners = np.concatenate(rows)
    pairs = owners * (int(words.max(initial=0)) + 1) + words
    first = np.arange(len(pairs)) < len(rows[0])
    both = np.intersect1d(pairs[first & known], pairs[~first & known])
    hits = np.zeros(count, np.bool_)
    hits[both // (int(words.max(initial=0)) + 1)] = True
    nulls = np.bincount(owners[~known], minlength=count) > 0
    filled = (sides[0][1] > 0) & (sides[1][1] > 0)
    return nulled(pa.array(hits, mask=~hits & nulls & filled), left, right)


def distinct(step: Step, array: Any) -> Any:
    """`array_distinct`: each element where it stands first."""
    items, lengths = elements_of(array)
    rows = rows_of(lengths)
    pairs = np.stack([rows, codes(items)]) if len(rows) else np.zeros((2, 0), np.int64)
    stay = np.zeros(len(rows), np.bool_)
    stay[np.unique(pairs, axis=1, return_index=True)[1]] = True
    return _kept(step, array, items, lengths, stay)


def repeated_value(step: Step, value: Any, times: Value) -> Any:
    """`array_repeat(value, times)`, the number a constant."""
    count, number = len(value), times.as_py()
    if number is None:
        return pa.nulls(count, plain_type(step.kind))
    lengths = np.full(count, max(number, 0))
    return lists(step.kind, value.take(pa.array(rows_of(lengths))), lengths)


def inserted(step: Step, array: Value, place: Value, value: Value) -> Any:
    """`array_insert(array, place, value)`: from 1 or from the end, behind nulls if need be."""
    array, place, value = of_one_length(array, place, value)
    given = valid(array) & valid(place)
    places = np.where(given, numbers(place).astype(np.int64), 1)
    if (places == 0).any():
        raise messages.error(step, "INVALID_INDEX_OF_ZERO")
    items, starts, lengths = list_parts(array)
    lengths = np.where(given, lengths, 0)
    # How many nulls come in front, and where the value is then.
    front = np.maximum(-places - lengths - 1, 0)
    target = np.where(places > 0, places - 1, np.maximum(lengths + places + 1, 0))
    sizes = np.where(given, np.maximum(lengths + front, target) + 1, 0)
    rows = rows_of(sizes)
    columns = places_of(sizes)
    is_new = columns == target[rows]
    old = columns - (columns > target[rows]) - np.where(columns > target[rows], front[rows], 0)
    there = ~is_new & (old >= 0) & (old < lengths[rows])
    source = np.where(is_new, len(items) + rows, np.where(there, starts[rows] + old, 0))
    both = pa.concat_arrays([items, value])
    found = both.take(pa.array(source, mask=~(is_new | there)))
    return lists(step.kind, found, sizes, array, place)


def flat(step: Step, array: Any) -> Any:
    """`flatten`: null where an inner array is."""
    inner, lengths = elements_of(array)
    items, sizes = elements_of(inner)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    found = lists(step.kind, items, np.diff(ends[bounds]), array)
    nulls = _counts(~valid(inner), lengths) > 0
    return pc.if_else(pa.array(~nulls), found, pa.scalar(None, found.type))


def concat(step: Step, *arrays: Any) -> Any:
    """`concat` of arrays, or of strings: null where one is."""
    if step.kind == "string":
        return texts.concat(step, *arrays)
    columns = of_one_length(*arrays)
    items, sizes = side_by_side(columns)
    return lists(step.kind, items, sizes, *columns)


def joined(step: Step, array: Any, separator: Value, instead: Value | None = None) -> Any:
    """`array_join(array, separator, instead of null)` with constants; else nulls are left out."""
    items, lengths = elements_of(array)
    if instead is not None:
        items = items.fill_null(instead.as_py())
    known = valid(items)
    words = lists(
        ("array", ("element",), ("string",)),
        items.filter(pa.array(known)),
        _counts(known, lengths),
    )
    return nulled(pc.binary_join(words, separator.as_py()), array)


def _kept(step: Step, array: Any, items: Any, lengths: Positions, stay: Any) -> Any:
    """An array of the elements that stay."""
    counts = _counts(stay, lengths)
    return lists(step.kind, items.filter(pa.array(stay)), counts, array)


def _counts(chosen: Any, lengths: Positions) -> Positions:
    """How many elements of each row are chosen by a mask."""
    return np.bincount(rows_of(lengths)[chosen], minlength=len(lengths))
