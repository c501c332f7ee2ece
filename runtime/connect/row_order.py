"""The order of rows that a client collects from the embedded engine: that of their partitions.

Spark gives the rows of one partition after those of the other; the engine gives those that come
first. So what says in which partition a row is, and where in it, becomes what they are sorted by.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection
from typing import Any

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ...planner.described_sources import files_size
from ..protocol import parts
from .messages import replace_relation

_OF_FIRST_ROWS = ("limit", "offset")
_ROW_BY_ROW = ("project", "to_df", "filter", "with_columns", "drop", "subquery_alias", "hint")
"""Relations that leave the rows of their input in their order."""
_WHOLE = ("local_relation", "catalog")
"""Relations whose rows lie in one partition."""
_MOST_BYTES = 1 << 26
"""Of larger files not all rows are read for the first ones."""
_ORDERED = re.compile(r"\b(order|sort)\s+by\b", re.IGNORECASE)


def lies_anyhow(relation: Message, ordered_views: Collection[str]) -> bool:
    """Whether rows that a client asks for may come in any order, and are few enough to be sorted.

    Args:
        relation: what the client asks for, as it asks.
        ordered_views: the views that ask for an order, in lower case.
    """
    return not asks_for_order(relation, ordered_views) and _bytes_read(relation) <= _MOST_BYTES


def put_in_order(relation: Message) -> None:
    """Let the rows of a relation come in the order of their partitions.

    Args:
        relation: what the engine is asked for, changed in place; below a limit the order is that of
            the rows of which it takes the first. It sorts nothing: the engine leaves out an order
            that stands below another.
    """
    found, at = relation, relation
    while (kind := at.WhichOneof("rel_type")) in (*_OF_FIRST_ROWS, *_ROW_BY_ROW):
        at = getattr(at, kind).input
        if kind in _OF_FIRST_ROWS:
            found = at
    if kind not in _WHOLE:
        replace_relation(found, _in_order(found))


def asks_for_order(message: Any, ordered_views: Collection[str]) -> bool:
    """Whether something in a relation sorts rows, or a view that it names does."""
    match message:
        case proto.Sort():
            return True
        case proto.SQL(query=text):
            named = (name for name in ordered_views if name in text.lower())
            return bool(_ORDERED.search(text)) or any(named)
        case proto.Read.NamedTable(unparsed_identifier=name):
            return name.replace("`", "").lower() in ordered_views
    return any(asks_for_order(part, ordered_views) for part in parts(message))


def _bytes_read(message: Any) -> int:
    """The sizes of the files that are read."""
    if isinstance(message, proto.Read.DataSource):
        return sum(map(files_size, message.paths or [message.options.get("path", "")]))
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
