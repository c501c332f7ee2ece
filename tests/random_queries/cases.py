"""Random cases: a family, a spelling, settings, and the description that they make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .catalog import STREAMS, TABLES
from .choices import Choices
from .piped import PipedQueries
from .settings import SETTINGS

FAMILIES = (
    (14, "agg"),
    (8, "win"),
    (8, "proj"),
    (8, "ssjoin"),
    (7, "dedup"),
    (6, "sess"),
    (6, "static"),
    (5, "chain"),
    (5, "err"),
    (4, "limit"),
    (4, "sub"),
    (3, "union"),
    (3, "wm"),
    (2, "sort"),
    (2, "gsets"),
    (3, "conf"),
    (1, "winfn"),
    (16, "pipe"),
    (8, "func"),
    (12, "multi"),
    (8, "asks"),
    (6, "sets"),
    (6, "casts"),
    (4, "slips"),
    (6, "set"),
    (12, "piped"),
)
"""How often each family comes: the first about as often as among the corpus' topics."""

UNDER_SETTINGS = {
    "conf": ("agg", "win", "proj", "ssjoin", "sess", "dedup", "static", "sort"),
    "set": (
        *("multi", "asks", "sets", "casts", "pipe", "chain", "sub", "union", "limit", "gsets"),
        *("agg", "win", "static", "ssjoin", "func", "wm", "static", "asks"),
    ),
}
"""Families whose queries are another family's, under settings."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A random query.

    Attributes:
        family: what it is made as.
        made: the choices that make it again.
        description: as `stateplan.planner.description` reads it.
    """

    family: str
    made: tuple[int, ...]
    description: dict[str, Any]


def random_case(seed: int) -> Case:
    """The case of a seed."""
    return _case(Choices(seed))


def replayed(made: Sequence[int]) -> Case:
    """The case of a list of choices."""
    return _case(Choices(replay=made))


def _case(choices: Choices) -> Case:
    family = choices.weighted(FAMILIES)
    python = choices.chance(0.4)
    settings = {"spark.sql.shuffle.partitions": "5"}
    if family in UNDER_SETTINGS or choices.chance(0.05):
        for key, values in choices.some(SETTINGS, 1, 2):
            settings[key] = choices.one_of(values)
    grammar = PipedQueries(choices, python=python)
    method = family
    if family in UNDER_SETTINGS:
        method = choices.one_of(UNDER_SETTINGS[family])
    text, mode = getattr(grammar, method)()
    streams = {name: {"schema": schema} for name, schema in STREAMS.items() if _names(text, name)}
    tables = {
        name: {"schema": schema, "static": True}
        for name, schema in TABLES.items()
        if _names(text, name)
    }
    description = {
        "sources": {**streams, **tables},
        ("python" if python else "sql"): text,
        "output_mode": mode,
        "conf": settings,
    }
    return Case(family=family, made=tuple(choices.made), description=description)


def _names(text: str, source: str) -> bool:
    return re.search(rf"\b{source}\b", text) is not None
