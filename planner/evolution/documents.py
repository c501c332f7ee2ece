"""A query as our runtime keeps it in a checkpoint: plan, output mode, settings, sources.

Version 1: `{"version": 1, "plan": PLAN, "output_mode": ..., "conf": {...}, "sources": [...]}` with
PLAN as the explain mode `json` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...physical.explain.plan_json import from_json, to_json
from ..model.errors import DescriptionError
from ..model.settings.conf import Conf
from .side import Side, SourcePlace

VERSION = 1


def document_of(side: Side) -> dict[str, Any] | None:
    """The query as JSON's objects; None if a part of its plan has no such form."""
    try:
        plan = to_json(side.plan)
    except TypeError:
        return None
    return {
        "version": VERSION,
        "output_mode": side.mode,
        "conf": dict(side.asked.settings),
        "sources": [
            {"view": s.view, "path": s.path, "name": s.name, "format": s.format}
            for s in side.sources
        ],
        "plan": plan,
    }


def side_from(document: Mapping[str, Any], pinned: Mapping[str, str]) -> Side | None:
    """The query of a document; None if it is of another version of ours."""
    if document.get("version") != VERSION:
        return None
    try:
        plan = from_json(document["plan"])
        asked = Conf({str(k): str(v) for k, v in document["conf"].items()})
        sources = tuple(SourcePlace(**source) for source in document["sources"])
        mode = document["output_mode"]
    except (DescriptionError, KeyError, TypeError, AttributeError):
        return None
    return Side(plan=plan, mode=mode, conf=asked.updated(pinned), asked=asked, sources=sources)
