"""Sources and sinks that a program adds under a name."""

from __future__ import annotations

from typing import Any

from ..planner.model.errors import DescriptionError
from ..planner.model.registered import SINKS, SOURCES, register
from .sinks import Sink
from .sources import Source
from .sources.python import is_data_source


def register_class(kind: Any, name: str | None) -> None:
    """Let descriptions and `query.run` name a class as a format; see `stateplan.register`."""
    if isinstance(kind, type) and is_data_source(kind):
        for group in (SOURCES, SINKS):
            register(group, name or kind.name(), kind)  # type: ignore[attr-defined]
        return
    groups = [group for group, base in ((SOURCES, Source), (SINKS, Sink)) if _is(kind, base)]
    if not groups or name is None:
        raise DescriptionError(
            "STATEPLAN_BAD_SOURCE",
            f"{kind!r:.80} cannot be registered{'' if groups else ' as a source or sink'}.",
            hint="Give a subclass of Source or Sink with its name, or of PySpark's DataSource.",
        )
    for group in groups:
        register(group, name, kind)


def _is(kind: Any, base: type) -> bool:
    return isinstance(kind, type) and issubclass(kind, base)
