"""Conditions and their parts: conjunctions, disjunctions, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from .core import Call, Expression


def conjunction(parts: Sequence[Expression]) -> Expression:
    """`((a AND b) AND c)` of the parts, at least one, in their order."""
    return _joined("and", parts)


def disjunction(parts: Sequence[Expression]) -> Expression:
    """`((a OR b) OR c)` of the parts, at least one, in their order."""
    return _joined("or", parts)


def conjunction_or_none(parts: Sequence[Expression]) -> Expression | None:
    """As `conjunction`; None of no parts: nothing must hold."""
    return conjunction(parts) if parts else None


def _joined(name: str, parts: Sequence[Expression]) -> Expression:
    return reduce(lambda one, other: Call(name=name, arguments=(one, other)), parts)


def balanced(name: str, parts: Sequence[Expression]) -> Expression:
    """The parts joined pairwise by a function, as a tree of the least depth."""
    while len(parts) > 1:
        pairs = [tuple(parts[i : i + 2]) for i in range(0, len(parts), 2)]
        parts = [Call(name=name, arguments=p) if len(p) == 2 else p[0] for p in pairs]
    return parts[0]


def split(expression: Expression, name: str) -> list[Expression]:
    """The operands of a tree of calls of one function, `and` say, left to right."""
    if isinstance(expression, Call) and expression.name == name:
        return [part for side in expression.arguments for part in split(side, name)]
    return [expression]


def parted(
    conditions: Iterable[Expression], holds: Callable[[Expression], bool]
) -> tuple[list[Expression], list[Expression]]:
    """Those of which something holds, and the others."""
    found: tuple[list[Expression], list[Expression]] = ([], [])
    for condition in conditions:
        found[not holds(condition)].append(condition)
    return found


def split_conjuncts(condition: Expression | None) -> list[Expression]:
    """The parts of a condition that all must hold, left to right; of None none."""
    return [] if condition is None else split(condition, "and")
