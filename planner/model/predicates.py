"""Conditions as lists of parts that all must hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from .expressions import Call, Expression


def conjunction(parts: Sequence[Expression]) -> Expression | None:
    """`((a AND b) AND c)` of the parts in their order; None of none."""
    if not parts:
        return None
    return reduce(lambda one, other: Call(name="and", arguments=(one, other)), parts)
