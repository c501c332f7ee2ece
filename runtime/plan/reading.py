"""What the readers of files are given, and what they give besides the columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...physical.scans import source_filters
from ...planner.model.expressions.core import AttributeReference, Expression
from ...planner.model.formats import metadata_columns
from ...planner.model.options import by_lower_name
from ...planner.model.schemas.types import StructField
from .facts import BatchFacts

_SETTINGS = {
    "json": "spark.sql.json.filterPushdown.enabled",
    "csv": "spark.sql.csv.filterPushdown.enabled",
}
"""The formats whose readers in Spark give the rows alone that such conditions let through."""

_CORRUPT = "spark.sql.columnNameOfCorruptRecord"


def given_to_reader(
    name: str, conditions: Sequence[Expression], facts: BatchFacts
) -> tuple[Expression, ...]:
    """Of the conditions over a source or table those that its reader is given.

    Other formats' readers pass over parts of files at most: no row of another number is read. And
    none is given what is asked of the column that has the text of malformed lines.
    """
    reader = facts.readers.get(name)
    setting = None if reader is None else _SETTINGS.get(reader.format)
    if setting is None or not facts.conf.flag(setting):
        return ()
    assert reader is not None
    options = by_lower_name(reader.options)
    corrupt = options.get(
        "columnnameofcorruptrecord", facts.conf.settings.get(_CORRUPT, "_corrupt_record")
    )
    # Nor what is asked of the file that a row is of.
    others = {corrupt, *(column.name for column in metadata_columns(reader.metadata))}
    return tuple(
        c
        for c in conditions
        if c.references and source_filters([c]) and others.isdisjoint(_columns(c))
    )


def metadata_parts(fields: Iterable[StructField]) -> tuple[AttributeReference, ...]:
    """The fields of `_metadata` as columns that a source gives."""
    return tuple(
        AttributeReference(name=field.name, type_=field.data_type, is_nullable=field.nullable)
        for field in metadata_columns(fields)
    )


def _columns(condition: Expression) -> set[str]:
    return {column.name for column in condition.collect(AttributeReference)}
