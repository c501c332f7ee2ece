"""Sources: streams that can be read again between two offsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ...planner.model.errors import DescriptionError
from ...planner.model.types import StructType
from .base import Source
from .files import FORMATS, FileSource, Format
from .memory import MemorySource
from .rate import RateSource

SOURCE_FORMATS = (*FORMATS, "rate", "memory")

__all__ = [
    "SOURCE_FORMATS",
    "FileSource",
    "MemorySource",
    "RateSource",
    "Source",
    "make_source",
]


def make_source(
    format: str,
    *,
    path: str | None = None,
    schema: StructType | None = None,
    options: Mapping[str, str] | None = None,
) -> Source:
    """The source that a description asks for.

    Raises:
        DescriptionError: there is no such source, or its path or schema is missing.
        RuntimeFailure: the path does not exist.
    """
    chosen = format.lower()
    if chosen == "rate":
        return RateSource(options or {})
    if chosen not in SOURCE_FORMATS:
        raise DescriptionError(
            "STATEPLAN_UNKNOWN_SOURCE",
            f"There is no source format '{format}'.",
            hint=f"Use one of {', '.join(SOURCE_FORMATS)}.",
        )
    if schema is None:
        raise DescriptionError(
            "STATEPLAN_SOURCE_SCHEMA_MISSING",
            f"A source of format '{chosen}' needs a schema.",
            hint="Add 'schema:' with the columns, such as 'user STRING, ts TIMESTAMP'.",
        )
    if chosen == "memory":
        return MemorySource(schema)
    if path is None:
        raise DescriptionError(
            "STATEPLAN_SOURCE_PATH_MISSING",
            f"A source of format '{chosen}' needs a path.",
            hint="Add 'path:' with the directory of its files.",
        )
    return FileSource(cast(Format, chosen), path, schema, options)
