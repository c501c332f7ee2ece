"""Tables written at once: their rows are not computed, their columns are remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.errors import AnalysisError
from ..model.text.quoting import to_sql_id
from .analyze import schema_of
from .console import Console
from .places import Message
from .streams import is_stream

if TYPE_CHECKING:
    from .session import PlannerSession
    from .streams import Caller


# Set while the functions of foreachBatch are called: what they write is planned and printed.
SHOW_WRITES = "stateplan.explain.batchWrites"


def write(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`df.write...save()`, `saveAsTable()`, `insertInto()`.

    Raises:
        StateplanError: the rows are a stream's, or their plan is refused.
    """
    table = message.table.table_name if message.HasField("table") else ""
    return _written(session, message, table, message.source, "write", console, caller)


def write_to(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`df.writeTo(table)...create()`, `append()`, `overwrite()`.

    Raises:
        StateplanError: the rows are a stream's, or their plan is refused.
    """
    table = message.table_name
    return _written(session, message, table, message.provider, "writeTo", console, caller)


def _written(
    session: PlannerSession,
    message: Message,
    table: str,
    format_: str,
    method: str,
    console: Console,
    caller: Caller,
) -> list[Message]:
    frame = session.planned(message.input)
    if is_stream(frame.analyzed):
        condition = "CALL_ON_STREAMING_DATASET_UNSUPPORTED"
        raise AnalysisError.of(condition, methodName=to_sql_id(method))
    if table and session.full_name(table) not in session.tables:
        schema = schema_of(frame.analyzed)
        session.add_table(
            session.full_name(table), schema, format_ or "parquet", query=message.input
        )
    if session.settings.get(SHOW_WRITES) == "true":
        origin = caller[0] if caller else None
        sink = f"table {table}" if table else f"{format_ or 'parquet'}"
        console.show(session.execution(frame, supported=False), None, sink, origin, batch=True)
        return []
    console.note("the rows are not written: nothing runs", caller)
    return []
