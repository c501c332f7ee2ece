"""Schemas that nobody knows: their columns are those that the code uses.

A text such as `?settings.SCHEMA?` stands for a value that is not there. Where it is a schema, it
has the columns that a query over it was refused for so far; each refusal adds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from .types import STRING, TIMESTAMP, DataType, StructField, StructType

_PLACEHOLDER = re.compile(r"\s*\?[^?]+\?\s*")


def is_placeholder(text: str) -> bool:
    """Whether a text stands for a value that is not there."""
    return _PLACEHOLDER.fullmatch(text) is not None


@dataclass
class OpenSchemas:
    """The open schemas of a session by what they are called.

    Attributes:
        columns: each schema's columns so far.
        used: the schemas that were asked for since it was cleared, the latest last.
        durations: placeholders that a duration was needed for.
    """

    columns: dict[str, dict[str, DataType]] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    durations: dict[str, None] = field(default_factory=dict)

    def schema(self, name: str) -> StructType:
        """A schema's columns so far."""
        self.used.pop(name, None)
        self.used[name] = None
        columns = self.columns.setdefault(name, {})
        return StructType(tuple(StructField(n, type_) for n, type_ in columns.items()))

    def add(self, parts: tuple[str, ...]) -> bool:
        """Add a column to the schema used last; False if there is none, or it has the column."""
        if not self.used or not parts:
            return False
        columns = self.columns[list(self.used)[-1]]
        if parts[-1] in columns:
            return False
        columns[parts[-1]] = STRING
        return True

    def make_time(self, column: str) -> bool:
        """Make a column a timestamp; False if no schema has it, or it is one."""
        for name in self.used:
            columns = self.columns[name]
            if columns.get(column) == STRING:
                columns[column] = TIMESTAMP
                return True
        return False


_CURRENT: ContextVar[OpenSchemas | None] = ContextVar("_CURRENT", default=None)


@contextmanager
def open_schemas(schemas: OpenSchemas) -> Iterator[None]:
    """Placeholders for schemas are read meanwhile as these."""
    token = _CURRENT.set(schemas)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def open_schema(text: str) -> StructType | None:
    """The schema that a placeholder stands for; None for any other text."""
    schemas = _CURRENT.get()
    if schemas is None or not is_placeholder(text):
        return None
    return schemas.schema(text.strip())


def is_open_duration(text: str) -> bool:
    """Whether a duration is not known; it counts as a minute."""
    schemas = _CURRENT.get()
    if schemas is None or not is_placeholder(text):
        return False
    schemas.durations.setdefault(text.strip())
    return True


def open_type(text: str) -> DataType | None:
    """The type that a placeholder stands for: a string's. None for any other text."""
    known = _CURRENT.get() is not None and is_placeholder(text)
    return STRING if known else None
