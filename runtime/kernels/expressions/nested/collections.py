"""Arrays and maps of columns and texts, and parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...columns.lists import lists_of
from ...columns.ordering import codes, list_parts, spread, valid
from ...errors import not_exact
from ..programs.program import Step
from ..texts.texts import each
from ..values import messages
from ..values.lists_and_maps import lists, maps
from ..values.vectors import Value, nulled, numbers, plain_type, repeated, row_count


def map_of(step: Step, *parts: Value) -> Any:
    """`map(key, value, ...)` of constant keys, each another one."""
    count = row_count(*parts)
    kind, size = plain_type(step.kind), len(parts) // 2
    keys = pa.array([key.as_py() for key in parts[::2]], kind.key_type)
    rows = np.arange(count * size)
    items = pa.concat_arrays([repeated(v, count).cast(kind.item_type) for v in parts[1::2]])
    # The columns stand one behind the other; a row has a value of each.
    items = items.take(pa.array(rows % size * count + rows // size))
    offsets = pa.array(np.arange(count + 1) * size, pa.int32())
    return pa.MapArray.from_arrays(offsets, keys.take(pa.array(rows % size)), items, type=kind)


def array_of(step: Step, *parts: Value) -> Any:
    """`array(value, ...)`."""
    count = row_count(*parts)
    kind, size, rows = plain_type(step.kind), len(parts), np.arange(count * len(parts))
    items = pa.concat_arrays([repeated(v, count).cast(kind.value_type) for v in parts])
    items = items.take(pa.array(rows % size * count + rows // size))
    return lists_of(items, np.full(count, size), kind)


def map_of_arrays(step: Step, keys: Value, items: Value) -> Any:
    """`map_from_arrays(keys, items)`.

    Raises:
        KernelError: a key is null; two arrays differ in length, or a key stands twice
            (`STATEPLAN_NOT_EXACT`): a setting says what Spark does then.
    """
    count = row_count(keys, items)
    keys, items = repeated(keys, count), repeated(items, count)
    names, starts, lengths = list_parts(keys)
    values, item_starts, item_lengths = list_parts(items)
    known = valid(keys) & valid(items)
    lengths = np.where(known, lengths, 0)
    if (lengths != np.where(known, item_lengths, 0)).any():
        raise not_exact("A map is made of arrays of different lengths: there Spark fails.")
    names = names.take(pa.array(spread(starts, lengths)))
    names = checked_keys(step, names, np.repeat(np.arange(count), lengths))
    values = values.take(pa.array(spread(item_starts, lengths)))
    return maps(step.kind, names, values, lengths, keys, items)


def checked_keys(step: Step, keys: Any, rows: npt.NDArray[np.int64]) -> Any:
    """The keys of maps, which must be neither null nor stand twice in a row.

    Raises:
        KernelError: a key is null, or stands twice (`STATEPLAN_NOT_EXACT`).
    """
    if keys.null_count:
        raise messages.null_key(step)
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
    count = row_count(array, start, length)
    array, start, length = (repeated(part, count) for part in (array, start, length))
    given = valid(array) & valid(start) & valid(length)
    first, most = (numbers(part).astype(np.int64) for part in (start, length))
    if (given & (first == 0)).any():
        raise messages.slice_start(step)
    if (given & (most < 0)).any():
        raise messages.slice_length(step, int(most[np.argmax(given & (most < 0))]))
    values, starts, lengths = list_parts(array)
    begin = np.where(first > 0, first - 1, lengths + first)
    inside = given & (begin >= 0) & (begin < lengths)
    size = np.where(inside, np.minimum(lengths - begin, most), 0)
    chosen = values.take(pa.array(spread(starts + np.maximum(begin, 0), size)))
    return lists(step.kind, chosen, size, array, start, length)


def part_of_text(step: Step, text: Any, delimiter: Value, number: Value) -> Any:
    """`split_part(text, delimiter, number)` with constants; empty where there is no such part."""
    by, which = delimiter.as_py(), number.as_py()
    if by is None or which is None:
        return pa.nulls(len(text), pa.string())
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
    between, behind = pairs.as_py(), parts.as_py()

    def found(one: str) -> list[tuple[str, str | None]]:
        fields = [pair.split(behind, 1) for pair in one.split(between)]
        entries = [(field[0], field[1] if len(field) > 1 else None) for field in fields]
        if len(dict(entries)) < len(entries):
            raise not_exact(
                "A text that str_to_map takes has a key twice: what Spark does then is a setting "
                "of its own."
            )
        return entries

    return each(text, found, plain_type(step.kind))
