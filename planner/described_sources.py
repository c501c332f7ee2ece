"""Sources as a description, a program or a catalog names them, and as the planner knows them.

The file given with --catalog has the columns of tables and directories that no query declares:

events: user STRING, ts TIMESTAMP
sales.orders: {schema: "id BIGINT, total DECIMAL(10,2)", format: delta}
clicks: {schema: "user STRING", path: /data/clicks, format: json}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .description import SourceDescription, read_file
from .model.catalog import Source
from .model.errors import DescriptionError
from .model.formats import fixed_schema
from .model.schemas.ddl import parse_schema
from .table_size import files_size


def catalog_source(
    name: str, source: SourceDescription, path: str | None, *, either: bool
) -> Source:
    """A described source as the planner knows it; `path` is where its files are.

    Raises:
        DescriptionError: its columns are neither given nor known from its format.
    """
    schema = fixed_schema(source.format.lower(), source.options)
    if source.schema_ is not None:
        schema = parse_schema(source.schema_)
    if schema is None and source.format.lower() == "delta" and path is not None:
        from ..runtime.sources.delta import delta_schema

        schema = delta_schema(path)
    if schema is None:
        raise DescriptionError.of("STATEPLAN_SOURCE_SCHEMA_MISSING", name=name)
    size: int | None = source.size
    if size is None and (source.static or either):
        size = files_size(path)
    return Source(
        name=name,
        schema=schema,
        streaming=not source.static,
        format=source.format,
        location=source.path or "",
        either=either,
        size_in_bytes=size or 0,
        given_name=source.name,
    )


def described_sources(
    sources: Mapping[str, Any] | None, origin: str = "the query"
) -> dict[str, SourceDescription]:
    """Sources as `stateplan.sql` takes them: by name, each a schema text or a mapping of keys.

    `origin` is what errors call the place where they are written.

    Raises:
        DescriptionError: a key is unknown or a value of the wrong kind.
    """
    from .description import parse_description

    written = {
        name: {"schema": source} if isinstance(source, str) else source
        for name, source in (sources or {}).items()
        if not isinstance(source, SourceDescription)
    }
    parsed = parse_description({"sql": "", "sources": written}, origin).sources
    given = {n: s for n, s in (sources or {}).items() if isinstance(s, SourceDescription)}
    return {**parsed, **given}


def load_catalog(path: str | Path | None) -> dict[str, SourceDescription]:
    """The tables of a YAML or JSON file by name: each its schema, or the keys of a source.

    Without a file there are none.

    Raises:
        DescriptionError: the file is missing or broken, or an entry is.
    """
    content = None if path is None else read_file(Path(path))
    if path is None or content is None:  # a file that --write-catalog is to fill
        return {}
    if not isinstance(content, dict):
        raise DescriptionError.of("STATEPLAN_BAD_CATALOG", path=path)
    return described_sources(content, str(path))


def catalog_tables(described: Mapping[str, SourceDescription]) -> dict[str, Source]:
    """Tables as the planner knows them: read as a stream or at rest, unless they are `static`.

    Raises:
        DescriptionError: one has no schema.
    """
    return {
        name: catalog_source(name, source, source.path, either=not source.static)
        for name, source in described.items()
    }
