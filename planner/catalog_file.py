"""The file given with --catalog: columns of tables and directories that no query tells.

events: user STRING, ts TIMESTAMP
sales.orders: {schema: "id BIGINT, total DECIMAL(10,2)", format: delta}
clicks: {schema: "user STRING", path: /data/clicks, format: json}
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .described_sources import catalog_source, described_sources
from .description import SourceDescription, read_file
from .model.catalog import Source
from .model.errors import DescriptionError


def load_catalog(path: str | Path) -> dict[str, SourceDescription]:
    """The tables of a YAML or JSON file by name: each its schema, or the keys of a source.

    Raises:
        DescriptionError: the file is missing or broken, or an entry is.
    """
    content = read_file(Path(path))
    if content is None:  # a file that --write-catalog is to fill
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
