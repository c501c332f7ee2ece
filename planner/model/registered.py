"""Sources and sinks that users' packages add, by entry points or in this process."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import lru_cache
from typing import Any

from .errors import DescriptionError
from .schemas.ddl import parse_schema
from .schemas.schema_json import type_from_json
from .schemas.types import StructType

SOURCES, SINKS = "stateplan.sources", "stateplan.sinks"
"""The groups of the entry points: a format's name, and the class behind it."""

_OPERATORS = {SOURCES: "reading", SINKS: "writing"}
_ADDED: dict[tuple[str, str], Any] = {}


def register(group: str, name: str, kind: Any) -> None:
    """Add a class in this process; it goes before one of an entry point of the same name."""
    _ADDED[group, name.lower()] = kind


def registered_class(group: str, name: str) -> Any:
    """The class that was added under a name, in any case; None: nobody did."""
    return _ADDED.get((group, name.lower())) or _of_entry_point(group, name.lower())


def known_class(group: str, name: str, own: Mapping[str, type], *, others: Container[str]) -> Any:
    """The class behind a name, in any case: one of `own`, else one that was added.

    Args:
        group: of what.
        name: a format's.
        own: classes by name.
        others: formats that there are, but not for this.

    Raises:
        DescriptionError: there is none.
    """
    kind = own.get(name.lower()) or registered_class(group, name)
    if kind is None:
        raise no_such_class(group, name, own, others=others)
    return kind


def no_such_class(
    group: str, name: str, own: Mapping[str, type], *, others: Container[str]
) -> DescriptionError:
    """The error for a format that no stream reads or writes; see `known_class`."""
    added = {name for of, name in _ADDED if of == group}
    added.update(found.name for found in entry_points(group=group))
    hint = f"Use one of {', '.join((*own, *sorted(added)))}."
    if name.lower() in others:
        operator = _OPERATORS[group]
        return DescriptionError.of(
            "_LEGACY_ERROR_TEMP_2049", className=name, operator=operator, hint=hint
        )
    return DescriptionError.of("DATA_SOURCE_NOT_FOUND", provider=name, hint=hint)


@lru_cache(maxsize=256)
def _of_entry_point(group: str, name: str) -> Any:
    for found in entry_points(group=group):
        if found.name.lower() == name:
            return found.load()
    return None


def entry_points(*, group: str) -> Any:
    """The entry points of a group; to import what finds them takes a while, and few need it."""
    from importlib.metadata import entry_points as find

    return find(group=group)


def data_source_schema(source: Any) -> StructType:
    """The columns that a DataSource of PySpark's says it has."""
    written = source.schema()
    if isinstance(written, str):
        return parse_schema(written)
    found = type_from_json(written.jsonValue())
    assert isinstance(found, StructType)
    return found
