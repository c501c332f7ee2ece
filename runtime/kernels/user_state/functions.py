"""A user's function in a task, and what becomes of the errors that it raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import KernelError
from .groups import named


class Failing(Protocol):
    """A task that may have failed though the user's code goes on."""

    failure: KernelError | None


@contextmanager
def users_code(task: Failing | None = None) -> Iterator[None]:
    """What the user's code raises ends the batch as it does natively.

    Raises:
        KernelError: PYTHON_EXCEPTION, or what our own code has raised.
    """
    try:
        yield
    except KernelError:
        raise
    except Exception as error:
        if task is not None and task.failure is not None:
            raise task.failure from error
        condition = "PYTHON_EXCEPTION"
        raise KernelError(
            condition,
            f"[{condition}] An exception was thrown from the Python worker: "
            f"{type(error).__name__}: {error}",
        ) from error
    if task is not None and task.failure is not None:
        raise task.failure


@dataclass(frozen=True, kw_only=True)
class UserFunction:
    """A function of the user's as PySpark's client sends it.

    Attributes:
        command: pickled, with the type that it returns.
        columns: which columns of the input it gets.
        names: how it knows them.
    """

    command: bytes
    columns: tuple[int, ...]
    names: tuple[str, ...]

    def load(self) -> tuple[Any, Any]:
        """The function and its type, both new.

        Raises:
            KernelError: they cannot be unpickled here.
        """
        from pyspark.serializers import CloudPickleSerializer

        with users_code():
            made = CloudPickleSerializer().loads(self.command)  # type: ignore[no-untyped-call]
            function, kind = made
            return function, kind

    def given(self, rows: Any) -> Any:
        """Rows of the input as the function gets them."""
        return named(rows, self.columns, self.names)
