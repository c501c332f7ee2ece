"""How many arguments of a function plan texts show: `spark.sql.debug.maxToStringFields`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_MOST: ContextVar[int] = ContextVar("_MOST", default=25)


@contextmanager
def fields_shown(most: int) -> Iterator[None]:
    """Plan texts made meanwhile show at most so many; column names and messages show all."""
    token = _MOST.set(most)
    try:
        yield
    finally:
        _MOST.reset(token)


def cut_arguments(texts: Sequence[str]) -> str:
    """The texts joined, those beyond the limit only counted."""
    most = max(0, _MOST.get())
    if len(texts) <= most:
        return ", ".join(texts)
    return ", ".join([*texts[:most], f"... {len(texts) - most} more fields"])
