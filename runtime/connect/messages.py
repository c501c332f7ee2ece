"""Looking through the protocol's messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ..protocol import parts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WRITES = {"write_operation": "write", "write_operation_v2": "writeTo"}
"""The methods of a DataFrame by the commands that they become."""
_TABLE = re.compile(r"(?:(?:\b(?:from|join|table|stream)\b|,)[\s(`]*)+(\w+)")


def may_stream(message: Any) -> bool:
    """Whether a message, or one in it, reads a stream, or is SQL text that may."""
    if isinstance(message, proto.Read) and message.is_streaming:
        return True
    if isinstance(message, proto.SQL) and "stream" in message.query.lower():
        return True
    return any(map(may_stream, parts(message)))


def names_stream(message: Any, views: Container[str]) -> bool:
    """Whether a message, or one in it, reads a stream or one of some views of streams.

    In SQL text those are looked for where the name of a table may stand.
    """
    if isinstance(message, proto.Read):
        return message.is_streaming or message.named_table.unparsed_identifier.lower() in views
    if isinstance(message, proto.SQL):
        return any(name in views for name in _TABLE.findall(message.query.lower()))
    return any(names_stream(part, views) for part in parts(message))


def asked_for(relation: Message) -> Message:
    """The relation whose rows a client asks for, as rows or shown as text."""
    match relation.WhichOneof("rel_type"):
        case "show_string" | "html_string" as kind:
            shown: Message = getattr(relation, kind).input
            return shown
    return relation


def relations(message: Any) -> Iterator[Message]:
    """The outermost relations in a request."""
    for part in parts(message):
        if isinstance(part, proto.Relation):
            yield part
        else:
            yield from relations(part)


def put_rows(message: Any, rows: Mapping[str, Message]) -> None:
    """Put relations in the places of those that the engine is said to keep, by their ids."""
    if isinstance(message, proto.Relation) and message.HasField("cached_remote_relation"):
        found = rows.get(message.cached_remote_relation.relation_id)
        if found is not None:
            replace_relation(message, found)
        return
    for part in parts(message):
        put_rows(part, rows)


def replace_relation(relation: Message, other: Message) -> None:
    """Put a relation in the place of another one, under its id."""
    number = relation.common.plan_id
    relation.CopyFrom(other)
    relation.common.plan_id = number


def relation_of(frame: DataFrame) -> Message:
    """A DataFrame of this process as a relation, whose ids cannot be taken for the client's."""
    sent: Any = frame
    relation = sent._plan.to_proto(sent.sparkSession.client).root
    _without_ids(relation)
    return cast(Message, relation)


def has_metadata(message: Any) -> bool:
    """Whether a message, or one in it, gives a column metadata, which no plan of ours has."""
    if isinstance(message, proto.Expression.Alias) and message.HasField("metadata"):
        return True
    return any(map(has_metadata, parts(message)))


def before_the_last(answers: Iterator[Message], act: Callable[[], None]) -> Iterator[Message]:
    """The answers to a request; `act` is called when all are there, before the last is passed on.

    Not called where one of them could not be had.
    """
    last = None
    for answer in answers:
        if last is not None:
            yield last
        last = answer
    act()
    if last is not None:
        yield last


def _without_ids(message: Any) -> None:
    if isinstance(message, proto.RelationCommon | proto.Expression.UnresolvedAttribute):
        message.ClearField("plan_id")
    for part in parts(message):
        _without_ids(part)


def put_column_names(message: Any, views: Mapping[str, Sequence[str]]) -> None:
    """Give the columns of some views their names where a message names the views.

    Args:
        message: what a client asks for.
        views: the names of the columns, by the name of the view in small letters.
    """
    if isinstance(message, proto.Relation):
        named = message.read.named_table.unparsed_identifier.lower()
        if named in views:
            message.CopyFrom(_named(message, views[named]))
            return
        if message.HasField("sql"):
            words = set(re.findall(r"\w+", message.sql.query.lower()))
            found = [name for name in views if name in words]
            if found:
                message.CopyFrom(_with_views(message, {name: views[name] for name in found}))
            return
    for part in parts(message):
        put_column_names(part, views)


def _with_views(sql: Message, views: Mapping[str, Sequence[str]]) -> Message:
    whole = proto.Relation(common=sql.common)
    whole.with_relations.root.CopyFrom(sql)
    for i, (name, columns) in enumerate(views.items()):
        table = proto.Read.NamedTable(unparsed_identifier=name)
        view = proto.Relation(read=proto.Read(named_table=table))
        reference = whole.with_relations.references.add(common={"plan_id": -1 - i})
        reference.subquery_alias.CopyFrom(
            proto.SubqueryAlias(input=_named(view, columns), alias=name)
        )
    return whole


def _named(view: Message, columns: Sequence[str]) -> Message:
    return proto.Relation(
        common=view.common, to_df=proto.ToDF(input=view, column_names=list(columns))
    )
