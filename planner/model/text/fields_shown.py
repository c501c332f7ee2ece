"""How many arguments of a function plan texts show: `spark.sql.debug.maxToStringFields`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

from ..scopes import scope

_MOST: ContextVar[int] = ContextVar("_MOST", default=25)


def fields_shown(most: int) -> AbstractContextManager[None]:
    """Plan texts made meanwhile show at most so many; column names and messages show all."""
    return scope(_MOST, most)


def cut_arguments(texts: Sequence[str]) -> str:
    """The texts joined, those beyond the limit only counted."""
    most = max(0, _MOST.get())
    if len(texts) <= most:
        return ", ".join(texts)
    return ", ".join([*texts[:most], f"... {len(texts) - most} more fields"])
