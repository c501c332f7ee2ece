"""Parameters of SQL text: `:name` and `?`, with the values that the caller gives for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import field

from ..model.errors import AnalysisError
from ..model.expressions.core import Expression
from ..model.frozen import dataclass
from ..model.scopes import scope

# A question mark outside strings and quoted names.
_MARK = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|(\?)""", re.DOTALL)


@dataclass(frozen=True)
class Bound:
    """The values by name, and those of the question marks in their order."""

    named: Mapping[str, Expression] = field(default_factory=dict)
    positional: Sequence[Expression] = ()


_NONE = Bound()
_CURRENT: ContextVar[Bound] = ContextVar("_CURRENT", default=_NONE)


def bound(
    named: Mapping[str, Expression], positional: Sequence[Expression]
) -> AbstractContextManager[None]:
    """Text read meanwhile may name these values."""
    return scope(_CURRENT, Bound(named, positional))


def parameter_value(name: str, text: str, start: int) -> Expression:
    """The value of `:name`, or where the name is empty of the question mark at `start`.

    Raises:
        AnalysisError: UNBOUND_SQL_PARAMETER; a question mark is called by its place.
    """
    given = _CURRENT.get()
    if name and name in given.named:
        return given.named[name]
    if not name:
        index = sum(1 for mark in _MARK.finditer(text, 0, start) if mark[1])
        if index < len(given.positional):
            return given.positional[index]
    raise AnalysisError.of("UNBOUND_SQL_PARAMETER", name=name or f"_{start}")
