"""What stored state leaves open: buffers and values that are the same where two plans differ.

A buffer does not say how its function is spelled, what a struct's fields are called, or what only
the last step of an aggregation reads.
"""

from __future__ import annotations

from collections.abc import Hashable

from ..model.registry import find
from .aggregates import aggregate_of, ignored_nulls
from .implied import not_null
from .spelling import Symbol, is_zero


def nameless(value: Symbol) -> Symbol:
    """A stored value without the names of its structs' fields: state has them by position."""
    match value:
        case (
            "buffer",
            place,
            ("aggregate", ("call", name, zone, options, tuple(arguments)), *rest),
        ):
            stored = tuple(map(nameless, arguments))
            return ("buffer", place, ("aggregate", ("call", name, zone, options, stored), *rest))
        case ("call", str(name), zone, options, tuple(parts)) if _constructs(name):
            kept = () if name == "named_struct" else options
            return ("call", name, zone, kept, tuple(map(nameless, parts)))
        case ("one of", tuple(choices)):
            return ("one of", tuple(map(nameless, choices)))
        case _:
            return value


def _constructs(name: str) -> bool:
    """Whether a function's values hold those that it is given, as structs and arrays do."""
    spec = find(name)
    return spec is not None and spec.constructor


_COUNTS = "counts"
"""The state of percentiles: values with how often each came."""


def state_symbol(aggregate: Symbol) -> Symbol:
    """What an aggregate's buffer means, given the symbol of the aggregate."""
    tag, function, distinct, rows = aggregate
    return (tag, _in_state(function), distinct, rows)


def _in_state(function: Hashable) -> Hashable:
    match function:
        case ("call", str(name), zone, options, tuple(arguments)):
            spec = find(name)
            if spec is None:
                return function
            kept = tuple(a for i, a in enumerate(arguments) if i not in spec.used_at_the_end)
            return ("call", spec.state or name, zone, options, kept)
        case _:
            return function


def serves(was: Symbol, now: Symbol) -> bool:
    """Whether one function's buffer holds all that another needs: a list makes a set."""
    old, new = _buffer_parts(was), _buffer_parts(now)
    return old[0] == "collect_list" and new[0] == "collect_set" and old[1:] == new[1:]


def readable(was: Symbol, now: Symbol) -> bool:
    """Whether the bytes that one function stored can be read by another."""
    old, new = _buffer_parts(was)[0], _buffer_parts(now)[0]
    return _object(str(old)) == _object(str(new))


def _object(state: str) -> str | None:
    spec = find(state)
    if spec is None:
        return _COUNTS if state == _COUNTS else None
    return spec.state_object


def overwritten(buffer: Symbol) -> bool:
    """Whether a group's next row fills the buffer anew, whatever it held: last, nulls included."""
    name, options, _, rows = _buffer_parts(buffer)
    return name == "last" and "True" not in str(options) and not rows


def filled(was: Symbol, now: Symbol) -> bool:
    """Whether a group's next row gives what another function's buffer would hold of all its rows.

    Of `sum(coalesce(x, 0))` the buffer is that of `sum(x)`, but for groups in which x was null.
    """
    old, new = _buffer_parts(was), _buffer_parts(now)
    if (old[0], new[0]) != ("sum", "sum") or was[1] != now[1] or old[3] or new[3]:
        return False
    match old[2], new[2]:
        case (value,), (("call", "coalesce", _, _, (present, zero)),):
            return value == present and is_zero(zero)
        case _:
            return False


def within(buffer: Symbol, filters: frozenset[Symbol]) -> Symbol:
    """What a buffer makes of rows that pass filters."""
    match buffer:
        case ("buffer", place, ("aggregate", function, distinct, rows)):
            return (
                "buffer",
                place,
                aggregate_of(function, rows, distinct=distinct, filters=filters),
            )
        case _:
            return buffer


def nulls_ignored(buffer: Symbol) -> frozenset[Symbol]:
    """What leaves a buffer as it is in rows in which it is null."""
    match buffer:
        case ("buffer", _, ("aggregate", function, _, rows)):
            return ignored_nulls(function) | not_null(rows)
        case _:
            return frozenset()


def _buffer_parts(buffer: Symbol) -> tuple[Hashable, Hashable, Hashable, Hashable]:
    """The function's name, its options, its arguments and its filter."""
    match buffer:
        case ("buffer", _, ("aggregate", ("call", name, _, options, arguments), _, rows)):
            return name, options, arguments, rows
        case _:
            return None, None, buffer, None
