"""Versioned state of stateful operators: immutable sorted runs and a manifest per version."""

from .locations import located, register_file_system
from .rows import NEVER, Keys, StateRows, first_rows
from .run import Layout
from .storage import Location, Place
from .store import Found, RunStore, StateStore, schema_text
from .version import RunInfo, StateError, StateVersion, Writes, load_version, save_version

__all__ = [
    "NEVER",
    "Found",
    "Keys",
    "Layout",
    "Location",
    "Place",
    "RunInfo",
    "RunStore",
    "StateError",
    "StateRows",
    "StateStore",
    "StateVersion",
    "Writes",
    "first_rows",
    "load_version",
    "located",
    "register_file_system",
    "save_version",
    "schema_text",
]
