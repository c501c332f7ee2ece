"""Schemas that nobody knows: their columns are those that the code uses.

A text such as `?settings.SCHEMA?` stands for a value that is not there. Where it is a schema, it
has the columns that a query over it was refused for so far; each refusal adds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..scopes import scope
from .types import DOUBLE, STRING, ArrayType, DataType, StructField, StructType

_PLACEHOLDER = re.compile(r"\s*\?[^?]+\?\s*")
ELEMENT = "[]"  # the part of a path that stands for an array's element
_OF_MODELS = {"prediction": DOUBLE}


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
        return self.known(name)

    def known(self, name: str) -> StructType:
        """A schema's columns so far, without saying that it is used."""
        return _struct(self.columns.setdefault(name, {}))


def _struct(columns: Mapping[str, DataType]) -> StructType:
    return StructType(tuple(StructField(name, type_) for name, type_ in columns.items()))


def usual_type(name: str) -> DataType:
    """The type of a column of which only the name is known: a text's, but of what models add."""
    return _OF_MODELS.get(name.lower(), STRING)


def with_field(columns: Mapping[str, DataType], path: Sequence[str]) -> dict[str, DataType] | None:
    """The columns with a field more in a struct; None if that is there, or no struct's field.

    A text becomes a struct, or where the path goes into an `ELEMENT` an array: nobody has said that
    it is a text.
    """
    first, *rest = path
    if not rest:
        return None if first in columns else {**columns, first: usual_type(first)}
    changed = _with_part(columns.get(first, STRING), rest)
    return None if changed is None else {**columns, first: changed}


def _with_part(type_: DataType, path: Sequence[str]) -> DataType | None:
    """A type with what lies at a path below it; None as for `with_field`."""
    if isinstance(type_, ArrayType) or path[0] == ELEMENT:
        below = path[1:] if path[0] == ELEMENT else path
        element = type_.element_type if isinstance(type_, ArrayType) else type_
        if not below:
            return ArrayType(STRING) if type_ == STRING else None
        changed = _with_part(element, below)
        return None if changed is None else ArrayType(changed)
    if type_ != STRING and not isinstance(type_, StructType):
        return None
    known = type_.fields if isinstance(type_, StructType) else ()
    fields = with_field({f.name: f.data_type for f in known}, path)
    return None if fields is None else _struct(fields)


def as_struct(columns: Mapping[str, DataType], path: Sequence[str]) -> dict[str, DataType] | None:
    """The columns with a struct, still without fields, for a text; None if none has that path."""
    first, *rest = path
    known = columns.get(first)
    if not rest and known == STRING:
        return {**columns, first: StructType(())}
    if not (rest and isinstance(known, StructType)):
        return None
    fields = as_struct({f.name: f.data_type for f in known.fields}, rest)
    return None if fields is None else {**columns, first: _struct(fields)}


def retyped(
    columns: Mapping[str, DataType], path: Sequence[str], type_: DataType
) -> dict[str, DataType] | None:
    """The columns with another type of what lies at a path in structs; None if nothing changes."""
    first, *rest = path
    known = columns.get(first)
    if known is None or (not rest and known == type_):
        return None
    if not rest:
        return {**columns, first: type_}
    if not isinstance(known, StructType):
        return None
    fields = retyped({f.name: f.data_type for f in known.fields}, rest, type_)
    return None if fields is None else {**columns, first: _struct(fields)}


def nested_paths(
    columns: Mapping[str, DataType], kind: type[DataType]
) -> Iterator[tuple[str, ...]]:
    """Where there are structs, or arrays, the inner ones first; a path goes through arrays, too."""
    for name, type_ in columns.items():
        element = type_
        while isinstance(element, ArrayType):
            element = element.element_type
        if isinstance(element, StructType):
            inner = nested_paths({f.name: f.data_type for f in element.fields}, kind)
            yield from ((name, *path) for path in inner)
        if isinstance(type_, kind) or isinstance(element, kind):
            yield (name,)


_CURRENT: ContextVar[OpenSchemas | None] = ContextVar("_CURRENT", default=None)


def open_schemas(schemas: OpenSchemas) -> AbstractContextManager[None]:
    """Placeholders for schemas are read meanwhile as these."""
    return scope(_CURRENT, schemas)


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


def is_open_text(text: str) -> bool:
    """Whether a text holds a placeholder: nobody knows what it is a number or a date of."""
    return _CURRENT.get() is not None and _PLACEHOLDER.search(text) is not None
