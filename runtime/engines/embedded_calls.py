"""Functions that the embedded engine calls in this process, and what they find here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..kernels.errors import KernelError
from .embedded_errors import spark_error

HELD: dict[str, Any] = {}
"""What functions of batches under way find here by key: they are pickled on their way, and come
back to life in this process."""


@dataclass(frozen=True)
class Calling:
    """Calls a function with the rows."""

    key: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        found: Iterator[Any] = HELD[self.key](batches)
        return found


@dataclass(frozen=True)
class Giving:
    """Gives the batches of the parts whose numbers it gets."""

    key: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        parts = HELD[self.key]
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from parts[number]


class ArrivingRows:
    """Batches of the engine's, which says when it fails in words that are not known to be Spark's.

    Raises:
        KernelError: it fails to compute them as Spark does.
    """

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches
        self.failed = False

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._batches
        except Exception as error:
            found = spark_error(str(error))
            if found is not None:
                raise KernelError(found.condition, found.text) from error
            self.failed = True
            raise
