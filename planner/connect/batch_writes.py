"""Tables written at once: their rows are not computed, their columns are remembered."""

from __future__ import annotations

from ..model.errors import AnalysisError
from ..model.text.quoting import to_sql_id
from .console import Call
from .places import Message
from .protocol import SHOW_WRITES
from .streams import is_stream


def write(call: Call, message: Message) -> list[Message]:
    """`df.write...save()`, `saveAsTable()`, `insertInto()`.

    Raises:
        StateplanError: the rows are a stream's, or their plan is refused.
    """
    table = message.table.table_name if message.HasField("table") else ""
    return _written(call, message.input, table, message.source or "parquet", "write")


def write_to(call: Call, message: Message) -> list[Message]:
    """`df.writeTo(table)...create()`, `append()`, `overwrite()`.

    Raises:
        StateplanError: the rows are a stream's, or their plan is refused.
    """
    format_ = message.provider or "parquet"
    return _written(call, message.input, message.table_name, format_, "writeTo")


def _written(call: Call, rows: Message, table: str, format_: str, method: str) -> list[Message]:
    session = call.session
    frame = session.planned(rows)
    if is_stream(frame.analyzed):
        condition = "CALL_ON_STREAMING_DATASET_UNSUPPORTED"
        raise AnalysisError.of(condition, methodName=to_sql_id(method))
    name = session.full_name(table)
    if table and name not in session.tables:
        session.add_table(name, frame.analyzed.schema, format_, query=rows)
    if session.settings.get(SHOW_WRITES) == "true":
        execution = session.execution(frame, supported=False)
        sink = f"table {table}" if table else format_
        call.console.show(execution, None, sink, call.origin, batch=True)
    else:
        call.note("the rows are not written: nothing runs")
    return []
