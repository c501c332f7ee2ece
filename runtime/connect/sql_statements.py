"""SQL statements of a client's that the embedded engine has not: they are carried out here."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ...planner.connect.places import Message
from ...planner.model.schemas.types import STRING, StructField, StructType
from ..frames import rows_table
from .for_each_batch import rows_relation

if TYPE_CHECKING:
    from .client_session import ClientSession

_UNDEFINED = "<undefined>"
_NAME = r"(?P<name>(?:`[^`]+`|[\w.])+)"


def carried_out(session: ClientSession, text: str) -> Message | None:
    """Carry out a statement; its answer as a relation. None: it is the engine's.

    Raises:
        StateplanError: there is no such table.
    """
    for pattern, statement in _STATEMENTS:
        if found := pattern.fullmatch(text.strip().rstrip(";").rstrip()):
            return statement(session, found)
    return None


def _set(session: ClientSession, found: re.Match[str]) -> Message:
    """SET key = value, and SET key."""
    key, value = found["key"], found["value"]
    if value is not None:
        session.spark.conf.set(key, value)
    else:
        value = str(session.spark.conf.get(key, _UNDEFINED))
    return _rows("key value", [(key, value)])


def _describe(session: ClientSession, found: re.Match[str]) -> Message:
    """DESCRIBE table: its columns."""
    table = proto.Read.NamedTable(unparsed_identifier=found["name"])
    frame = session.reading().planned(proto.Relation(read=proto.Read(named_table=table)))
    columns = [(f.name, f.data_type.simple, None) for f in frame.analyzed.schema.fields]
    return _rows("col_name data_type comment", columns)


def _nothing(session: ClientSession, found: re.Match[str]) -> Message:
    """What changes no rows: the engine computes a view whenever it is read."""
    return nothing()


def nothing() -> Message:
    """The answer of a statement that gives no rows."""
    return proto.Relation(local_relation=proto.LocalRelation(schema="value STRING"))


def _rows(names: str, rows: Sequence[Sequence[str | None]]) -> Message:
    schema = StructType(tuple(StructField(name, STRING) for name in names.split()))
    relation: Message = rows_relation(rows_table(schema, rows))
    return relation


_STATEMENTS: list[tuple[re.Pattern[str], Callable[[ClientSession, re.Match[str]], Message]]] = [
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), statement)
    for pattern, statement in (
        (r"SET\s+(?P<key>[\w.]+)(?:\s*=\s*(?P<value>.*))?", _set),
        (rf"DESC(?:RIBE)?\s+(?:TABLE\s+)?(?!FUNCTION\b|QUERY\b|EXTENDED\b){_NAME}", _describe),
        (rf"(?:CACHE|CACHE\s+LAZY|UNCACHE|REFRESH)\s+TABLE\s+(?:IF\s+EXISTS\s+)?{_NAME}", _nothing),
        (r"CLEAR\s+CACHE", _nothing),
    )
]
