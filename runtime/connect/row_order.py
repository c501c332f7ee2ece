"""The order of rows that a client collects from the embedded engine: that of their partitions.

Spark gives the rows of one partition after those of the other; the engine gives those that come
first. So what says in which partition a row is, and where in it, becomes what they are sorted by.
"""

from __future__ import annotations

import uuid
from typing import Any

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ...planner.described_sources import files_size
from .messages import parts, replace_relation

_OF_FIRST_ROWS = ("limit", "offset")
_ROW_BY_ROW = ("project", "to_df", "filter", "with_columns", "drop", "subquery_alias", "hint")
"""Relations that leave the rows of their input in their order."""
_WHOLE = ("local_relation", "catalog")
"""Relations whose rows lie in one partition."""
_MOST_BYTES = 1 << 26
"""To find the first rows of larger files, all are not read."""


def put_in_order(relation: Message) -> None:
    """Let the rows of a relation come in the order of their partitions, if it asks for no other.

    Args:
        relation: what the engine is asked for, changed in place; below a limit the order is that of
            the rows of which it takes the first.
    """
    found, at = relation, relation
    while True:
        kind = at.WhichOneof("rel_type")
        if kind == "sort":
            return  # the engine would leave it out below another
        if kind in _OF_FIRST_ROWS:
            found = getattr(at, kind).input
        elif kind not in _ROW_BY_ROW:
            break
        at = getattr(at, kind).input
    whole = at.WhichOneof("rel_type") in _WHOLE
    if not whole and _bytes_read(relation) <= _MOST_BYTES:
        replace_relation(found, _in_order(found))


def _bytes_read(message: Any) -> int:
    """The sizes of the files that are read."""
    if isinstance(message, proto.Read.DataSource):
        return sum(map(files_size, message.paths))
    return sum(map(_bytes_read, parts(message)))


def _in_order(relation: Message) -> Message:
    name = f"order-{uuid.uuid4()}"
    place = proto.Expression(
        unresolved_function=proto.Expression.UnresolvedFunction(
            function_name="monotonically_increasing_id"
        )
    )
    named = proto.Expression(alias=proto.Expression.Alias(expr=place, name=[name]))
    every = proto.Expression(unresolved_star=proto.Expression.UnresolvedStar())
    numbered = proto.Relation(project=proto.Project(input=relation, expressions=[named, every]))
    column = proto.Expression(
        unresolved_attribute=proto.Expression.UnresolvedAttribute(unparsed_identifier=f"`{name}`")
    )
    order = proto.Expression.SortOrder(
        child=column,
        direction=proto.Expression.SortOrder.SORT_DIRECTION_ASCENDING,
        null_ordering=proto.Expression.SortOrder.SORT_NULLS_FIRST,
    )
    ordered = proto.Relation(sort=proto.Sort(input=numbered, order=[order], is_global=True))
    return proto.Relation(drop=proto.Drop(input=ordered, column_names=[name]))
