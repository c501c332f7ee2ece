"""Spellings of one thing that the optimizer leaves apart: equalities of one value, null checks."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..model.registry import find

if TYPE_CHECKING:
    from .symbols import Symbol


def one_of(parts: Sequence[Symbol]) -> tuple[Symbol, ...] | None:
    """What `x = 1 OR x = 2` compares: x, then the constants; None if it is something else."""
    values: list[Symbol] = []
    subject: Symbol | None = None
    for part in parts:
        if part[:2] != ("call", "=") or len(part) != 5:
            return None
        sides: tuple[Symbol, Symbol] = part[4]  # type: ignore[assignment]
        constants = [side for side in sides if side[0] == "literal"]
        others = [side for side in sides if side[0] != "literal"]
        if len(constants) != 1 or subject not in (None, others[0]):
            return None
        subject = others[0]
        values.append(constants[0])
    return None if subject is None else (subject, *values)


def without_implied(filters: frozenset[Symbol]) -> frozenset[Symbol]:
    """Filters without the null checks that others imply: `v > 1` leaves no null."""
    implied = {part for condition in filters for part in _never_null(condition)}
    return frozenset(
        f
        for f in filters
        if not (f[:2] == ("call", "isnotnull") and f[4][0] in implied)  # type: ignore[index]
    )


def _never_null(condition: Symbol) -> Iterator[Hashable]:
    """What is not null in rows that a comparison lets through."""
    match condition:
        case ("call", "in", _, _, (one, *_)):
            yield from _needed(one)
        case ("call", str(name), _, _, tuple(sides)):
            spec = find(name)
            if spec is not None and spec.mirror is not None and spec.null_intolerant:
                for side in sides:
                    yield from _needed(side)


def _needed(value: Hashable) -> Iterator[Hashable]:
    """A value and the parts that make it null where they are null."""
    yield value
    match value:
        case ("call", str(name), _, _, tuple(parts)):
            spec = find(name)
            if spec is not None and spec.null_intolerant:
                for part in parts:
                    yield from _needed(part)
        case ("cast", _, _, _, inner):
            yield from _needed(inner)
