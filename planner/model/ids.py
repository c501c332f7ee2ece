"""Expression ids: fresh within one planning, the same for the same query every time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar

from .scopes import scope

_COUNTER: ContextVar[Iterator[int] | None] = ContextVar("stateplan_expr_ids", default=None)
_OUTSIDE = itertools.count()


def fresh_id() -> int:
    """The next expression id of the planning under way."""
    counter = _COUNTER.get()
    return next(_OUTSIDE if counter is None else counter)


def id_scope(counter: Iterator[int]) -> AbstractContextManager[None]:
    """Draw ids from this counter: one counter per query makes its plan texts deterministic."""
    return scope(_COUNTER, counter)
