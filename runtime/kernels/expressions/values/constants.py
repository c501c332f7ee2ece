"""Literals as Arrow scalars."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ..programs.program import Kind, Step
from .vectors import plain_type


def constant(step: Step) -> Any:
    """The value of a literal step."""
    return pa.scalar(_plain(step.options[0], step.kind), plain_type(step.kind))


def _plain(value: Any, kind: Kind) -> Any:
    """A literal's value as Arrow takes it: structs with the names of their fields."""
    if value is None or not isinstance(kind, tuple):
        return value
    family, names, kinds = kind
    if family == "array":
        return [_plain(item, kinds[0]) for item in value]
    if family == "map":
        return [(_plain(key, kinds[0]), _plain(item, kinds[1])) for key, item in value]
    return {name: _plain(part, of) for name, part, of in zip(names, value, kinds, strict=True)}
