"""Versioned state of stateful operators: immutable sorted runs and a manifest per version."""

from .errors import StateError
from .locations import located, register_file_system
from .manifests import load_version, save_version
from .rows import NEVER, Keys, StateRows, first_rows
from .run import Layout
from .storage import Location, Place
from .store import Found, RunStore, StateStore, schema_text
from .version import RunInfo, StateVersion, Writes

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
