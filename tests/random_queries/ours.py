"""What is said here of a query: its plan, or its refusal; as `live.LivePlanner` writes Spark's."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Any

import stateplan
from stateplan.physical.explain.normalise import normalise
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

from .live import refusal_text


def planned(description: Mapping[str, Any], mode: str = "simple") -> str:
    """The normalised text of the plan, or of the refusal.

    Only what is no StateplanError is raised: our own bugs.
    """
    try:
        return normalise(Query.of(parse_description(description)).explain(mode))
    except stateplan.StateplanError as error:
        return normalise(refusal_text(error.condition, error.phase, error.message))


def planned_or_crash(description: Mapping[str, Any], mode: str = "simple") -> str:
    """As `planned`; a bug of ours is told by its last line and place."""
    try:
        return planned(description, mode)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        file = "/".join(place.filename.split("/")[-3:])
        return f"crash: {type(error).__name__}: {error}\nat {file}:{place.lineno} {place.name}"
