"""Values that hold for as long as some code runs, and what it calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def scope(variable: ContextVar[T], value: T) -> Iterator[None]:
    """The variable has this value meanwhile."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
