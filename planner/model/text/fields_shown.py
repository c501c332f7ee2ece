"""How many parts of a list plan texts show: `spark.sql.debug.maxToStringFields`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

from ..scopes import scope

MAX_FIELDS = 25
"""Where nothing is set."""
_MOST: ContextVar[int] = ContextVar("_MOST", default=MAX_FIELDS)


def fields_shown(most: int) -> AbstractContextManager[None]:
    """Plan texts made meanwhile show at most so many arguments of a function.

    Column names and messages show all.
    """
    return scope(_MOST, most)


def cut(parts: Sequence[str], max_fields: int, separator: str = ", ") -> str:
    """The parts joined, those beyond `max_fields` only counted: Spark's truncatedString."""
    kept = max(0, max_fields)
    if len(parts) <= kept:
        return separator.join(parts)
    rest = f"... {len(parts) - kept} more fields"
    return separator.join([*parts[:kept], rest])


def cut_arguments(texts: Sequence[str]) -> str:
    """The texts joined and cut where `fields_shown` says."""
    return cut(texts, _MOST.get())
