"""What a program is made of, as the key by which programs are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .....planner.model.expressions.core import AttributeReference, Expression
from .....planner.model.expressions.predicates import split_conjuncts

Seen = tuple[Expression, Sequence[Expression]]
"""What is observed, and which conditions rows have fulfilled by then."""


@dataclass(eq=False)
class Given:
    """What `compile_program` is given, by identity: equal expressions may have zeros of two signs.

    It holds the expressions, so that nothing else gets their ids meanwhile.
    """

    expressions: tuple[Expression, ...]
    columns: tuple[AttributeReference, ...]
    conditions: tuple[Expression, ...]
    observed: Seen | None

    def __post_init__(self) -> None:
        value, before = self.observed or (None, ())
        parts = (self.expressions, self.columns, self.conditions, (value,), before)
        self._ids = tuple(tuple(map(id, part)) for part in parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Given) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)


def conjuncts(conditions: Sequence[Expression]) -> list[Expression]:
    """The parts of conditions that are joined by AND, one after the other."""
    return [part for condition in conditions for part in split_conjuncts(condition)]
