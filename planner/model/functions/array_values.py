"""Functions of arrays computed when all arguments are constants.

What Spark treats specially (nulls among the items, numbers of several forms such as NaN) is left to
it: ValueError says that the call stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..expressions.core import Call
from ..expressions.packed_arrays import PackedArray
from ..schemas.types import DateType, IntegralType

Items = tuple[Any, ...]

_LONGEST = 100_000  # a longer array need not be computed to plan a query


def sequence_value(call: Call, start: object, stop: object, step: object = None) -> object:
    """`sequence` of whole numbers, and of days one after the other.

    Raises:
        ValueError: of something else; the step leads nowhere, or to too many items.
    """
    kind = call.arguments[0].data_type
    if start is None or stop is None or (step is None and len(call.arguments) > 2):
        return None
    days = isinstance(kind, DateType) and step is None
    if not (days or isinstance(kind, IntegralType)):
        raise ValueError
    assert isinstance(start, int) and isinstance(stop, int)
    by = step if isinstance(step, int) else (1 if start <= stop else -1)
    if by == 0 or (stop - start) * by < 0 or abs(stop - start) // abs(by) >= _LONGEST:
        raise ValueError
    return PackedArray(range(start, stop + (1 if by > 0 else -1), by))


def _plain(items: object) -> Items:
    if not isinstance(items, tuple) or any(i is None or isinstance(i, float) for i in items):
        raise ValueError
    return items


def _unless_null(compute: Callable[..., Iterable[Any]]) -> Callable[..., object]:
    def value(call: Call, *arguments: object) -> object:
        if any(argument is None for argument in arguments):
            return None
        return tuple(compute(*arguments))

    return value


def _sliced(items: Items, start: int, length: int) -> Items:
    """From a position counted from 1, or from the end if it is negative."""
    first = start - 1 if start > 0 else len(items) + start
    if start == 0 or length < 0:
        raise ValueError
    return items[first : first + length] if 0 <= first < len(items) else ()


def repeated_value(call: Call, item: object, times: object) -> object:
    """`array_repeat`."""
    if times is None:
        return None
    if not isinstance(times, int) or times > _LONGEST:
        raise ValueError
    return (item,) * max(0, times)


distinct_value = _unless_null(lambda items: dict.fromkeys(_plain(items)))
removed_value = _unless_null(lambda items, item: [i for i in _plain(items) if i != item])
union_value = _unless_null(lambda one, other: dict.fromkeys((*_plain(one), *_plain(other))))
slice_value = _unless_null(_sliced)
flat_value = _unless_null(lambda arrays: [item for array in _plain(arrays) for item in array])
sorted_value = _unless_null(lambda items, up=True: sorted(_plain(items), reverse=not up))


def _distinct(items: Iterable[object]) -> Items:
    found: list[object] = []
    for item in items:
        if item not in found:
            found.append(item)
    return tuple(found)


def joined_items(
    call: Call, items: Items | None, mark: str | None, *null: str | None
) -> str | None:
    """`array_join`; `null` may have what stands for a null item."""
    if items is None or mark is None or None in null:
        return None
    shown = (null[0] if null and item is None else item for item in items)
    return mark.join(str(item) for item in shown if item is not None)


def extreme_item(choose: Callable[..., object]) -> Callable[..., object]:
    """`array_max` or `array_min`."""

    def value(call: Call, items: Items) -> object:
        known = [item for item in items if item is not None]
        return choose(known, key=lambda item: (item != item, item)) if known else None

    return value


def overlap(call: Call, one: Items, other: Items) -> bool | None:
    """`arrays_overlap`."""
    if any(item is not None and item in other for item in one):
        return True
    return None if one and other and (None in one or None in other) else False


def inserted(call: Call, items: Items | None, place: int | None, item: object) -> Items | None:
    """`array_insert`: nulls fill the gap between the items and a place outside of them."""
    if items is None or place is None:
        return None
    if place == 0:
        raise ValueError(place)
    start = place - 1 if place > 0 else len(items) + place + 1
    if start < 0:
        return (item, *(None,) * -start, *items)
    gap = (None,) * (start - len(items))
    return (*items[:start], *gap, item, *items[start:])


def position(call: Call, items: Items, wanted: object) -> int:
    """`array_position`: from 1, 0 where it is not there."""
    return items.index(wanted) + 1 if wanted in items else 0


def without(call: Call, items: Items, others: Items) -> Items:
    """`array_except`."""
    return _distinct(item for item in items if item not in others)


def common(call: Call, items: Items, others: Items) -> Items:
    """`array_intersect`."""
    return _distinct(item for item in items if item in others)
