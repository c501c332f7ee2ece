"""The conditions of a query that the readers of files are given."""

from __future__ import annotations

from collections.abc import Sequence

from ...physical.scans import source_filters
from ...planner.model.expressions.core import Expression
from .facts import BatchFacts

_SETTINGS = {
    "json": "spark.sql.json.filterPushdown.enabled",
    "csv": "spark.sql.csv.filterPushdown.enabled",
}
"""The formats whose readers in Spark give the rows alone that such conditions let through."""


def given_to_reader(
    name: str, conditions: Sequence[Expression], facts: BatchFacts
) -> tuple[Expression, ...]:
    """Of the conditions over a source or table those that its reader is given.

    Other formats' readers pass over parts of files at most: no row of another number is read.
    """
    reader = facts.readers.get(name)
    setting = None if reader is None else _SETTINGS.get(reader.format)
    if setting is None or not facts.conf.flag(setting):
        return ()
    return tuple(c for c in conditions if c.references and source_filters([c]))
