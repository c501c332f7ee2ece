"""Arrays and maps of columns and texts, and parts of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.lists import elements_of, lists_of, places_of, rows_of
from ...columns.ordering import codes, list_parts, spread, valid
from ...errors import not_exact
from ..programs.operation_facts import TIMES
from ..programs.program import Step
from ..values import messages
from ..values.division import towards_zero
from ..values.lists_and_maps import lists, maps
from ..values.vectors import Value, nulled, numbers, of_one_length, plain_type
from ..values.zones import DAY, Zone, zone_of


def map_of(step: Step, *parts: Value) -> Any:
    """`map(key, value, ...)`.

    Raises:
        KernelError: a key is null, or stands twice (`STATEPLAN_NOT_EXACT`).
    """
    kind, size = plain_type(step.kind), len(parts) // 2
    columns = of_one_length(*parts)
    items, count = _in_turns(columns[1::2], kind.item_type)
    keys, _ = _in_turns(columns[::2], kind.key_type)
    lengths = np.full(count, size)
    if step.raises:
        keys = checked_keys(step, keys, rows_of(lengths))
    return maps(step.kind, keys, items, lengths)


_LONGEST = 1_000_000


def counted(step: Step, *bounds: Value) -> Any:
    """`sequence(start, stop, step)` of whole numbers, dates or times, both ends included.

    Raises:
        KernelError: the step leads away from the end, or an array is very long
            (`STATEPLAN_NOT_EXACT`).
    """
    columns = of_one_length(*bounds)
    known = np.logical_and.reduce([valid(column) for column in columns])
    first, last, *steps = (
        np.where(known, numbers(column).astype(np.int64), 0) for column in columns
    )
    unit = DAY if step.kinds[0] in TIMES else 1
    by = steps[0] if steps else np.where(first <= last, unit, -unit)
    if step.kinds[0] == "date" and steps:
        by = by // DAY
    far = (np.maximum(np.abs(first), np.abs(last)) >> 62).any()
    width = last.astype(object) - first if far else last - first
    if (known & ((width * np.sign(by) < 0) | ((by == 0) & (width != 0)))).any():
        raise not_exact("A sequence's step leads away from its end: there Spark fails.")
    lengths = np.where(known, np.abs(width) // np.maximum(np.abs(by), 1) + 1, 0)
    if (lengths > _LONGEST).any():
        raise not_exact(f"A sequence has more than {_LONGEST:,} elements.")
    lengths = lengths.astype(np.int64)
    zone = zone_of(step.zone)
    if step.kinds[0] == "timestamp" and zone.fixed is None and (np.abs(by) >= DAY).any():
        values, lengths = _by_local_days(zone, first, last, by, np.where(known, lengths + 1, 0))
    else:
        rows = rows_of(lengths)
        values = first[rows] + places_of(lengths) * by[rows]
    return lists(step.kind, pa.array(values), lengths, *columns)


def _by_local_days(
    zone: Zone, first: Any, last: Any, by: Any, lengths: npt.NDArray[np.int64]
) -> tuple[Any, npt.NDArray[np.int64]]:
    """Times of which each is so many local days and so much more after the first one.

    Args:
        zone: where days may be longer and shorter.
        first: microseconds since 1970.
        last: the same: no time is beyond it.
        by: microseconds; whole days of them are local ones.
        lengths: how many times there may be for each.
    """
    rows, places = rows_of(lengths), places_of(lengths)
    start, step = first[rows], by[rows]
    days = towards_zero(step, DAY) * DAY
    offsets = zone.offsets(start)
    times = zone.resolved(start + offsets + places * days, offsets) + places * (step - days)
    kept = np.where(step > 0, times <= last[rows], times >= last[rows])
    return times[kept], np.bincount(rows[kept], minlength=len(lengths))


def array_of(step: Step, *parts: Value) -> Any:
    """`array(value, ...)`."""
    kind = plain_type(step.kind)
    items, count = _in_turns(parts, kind.value_type)
    return lists_of(items, np.full(count, len(parts)), kind)


def _in_turns(parts: Sequence[Value], kind: Any) -> tuple[Any, int]:
    """The first value of each part, then the second of each, ...; and how many each has."""
    columns = [column.cast(kind) for column in of_one_length(*parts)]
    size, count = len(columns), len(columns[0])
    places = np.arange(size * count).reshape(size, count).T.ravel()
    return pa.concat_arrays(columns).take(pa.array(places)), count


def map_of_arrays(step: Step, keys: Value, items: Value) -> Any:
    """`map_from_arrays(keys, items)`.

    Raises:
        KernelError: a key is null; two arrays differ in length, or a key stands twice
            (`STATEPLAN_NOT_EXACT`): a setting says what Spark does then.
    """
    keys, items = of_one_length(keys, items)
    names, starts, lengths = list_parts(keys)
    values, item_starts, item_lengths = list_parts(items)
    known = valid(keys) & valid(items)
    lengths = np.where(known, lengths, 0)
    if (lengths != np.where(known, item_lengths, 0)).any():
        raise not_exact("A map is made of arrays of different lengths: there Spark fails.")
    names = names.take(pa.array(spread(starts, lengths)))
    names = checked_keys(step, names, rows_of(lengths))
    values = values.take(pa.array(spread(item_starts, lengths)))
    return maps(step.kind, names, values, lengths, keys, items)


def checked_keys(step: Step, keys: Any, rows: npt.NDArray[np.int64]) -> Any:
    """The keys of maps, which must be neither null nor stand twice in a row.

    Raises:
        KernelError: a key is null, or stands twice (`STATEPLAN_NOT_EXACT`).
    """
    if keys.null_count:
        raise messages.error(step, "NULL_MAP_KEY")
    words = codes(keys).astype(np.int64)
    if len(np.unique(rows * (len(words) + 1) + words)) < len(words):
        raise not_exact(
            "A map is made that has a key twice: what Spark does then is a setting of its own."
        )
    return keys


def part_of(step: Step, array: Value, start: Value, length: Value) -> Any:
    """`slice(array, start, length)`: from 1 on, or from the end.

    Raises:
        KernelError: the start is 0, or the length is negative.
    """
    array, start, length = of_one_length(array, start, length)
    given = valid(array) & valid(start) & valid(length)
    first, most = (numbers(part).astype(np.int64) for part in (start, length))
    if (given & (first == 0)).any():
        condition = "INVALID_PARAMETER_VALUE.START"
        raise messages.error(step, condition, parameter="`start`", functionName="`slice`")
    if (given & (most < 0)).any():
        raise messages.error(
            step,
            "INVALID_PARAMETER_VALUE.LENGTH",
            parameter="`length`",
            functionName="`slice`",
            length=int(most[np.argmax(given & (most < 0))]),
        )
    values, starts, lengths = list_parts(array)
    begin = np.where(first > 0, first - 1, lengths + first)
    inside = given & (begin >= 0) & (begin < lengths)
    size = np.where(inside, np.minimum(lengths - begin, most), 0)
    chosen = values.take(pa.array(spread(starts + np.maximum(begin, 0), size)))
    return lists(step.kind, chosen, size, array, start, length)


def part_of_text(step: Step, text: Any, delimiter: Value, number: Value) -> Any:
    """`split_part(text, delimiter, number)` with constants; empty where there is no such part."""
    by, which = delimiter.as_py(), number.as_py()
    if not by:
        return text if which in (1, -1) else pc.if_else(text.is_valid(), "", text)
    values, starts, lengths = list_parts(pc.split_pattern(text, by))
    place = np.full(len(lengths), which - 1) if which > 0 else lengths + which
    found = (place >= 0) & (place < lengths)
    parts = values.take(pa.array(np.where(found, starts + place, 0), mask=~found))
    return nulled(parts.fill_null(""), text)


def map_of_text(step: Step, text: Any, pairs: Value, parts: Value) -> Any:
    """`str_to_map(text, between pairs, between key and value)` with constants of one letter.

    Raises:
        KernelError: a key stands twice (`STATEPLAN_NOT_EXACT`): a setting says what Spark does.
    """
    entries, lengths = elements_of(pc.split_pattern(text, pairs.as_py()))
    fields, counts = elements_of(pc.split_pattern(entries, parts.as_py(), max_splits=1))
    starts = np.cumsum(counts) - counts
    keys = checked_keys(step, fields.take(pa.array(starts)), rows_of(lengths))
    items = fields.take(pa.array(starts + 1, mask=counts < 2))
    return maps(step.kind, keys, items, lengths, text)
