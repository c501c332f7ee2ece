"""Options of readers, writers and functions."""

from __future__ import annotations

from collections.abc import Mapping


def by_lower_name(options: Mapping[str, str]) -> dict[str, str]:
    """Options by their names in lower case: Spark takes a name in any case."""
    return {name.lower(): value for name, value in options.items()}
