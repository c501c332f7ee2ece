"""What started streams leave behind: later lines of a script read what earlier ones write.

Nothing is written, but names and columns of what would be are known from here on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.catalog import TempView
from ..model.formats import FILE_FORMATS
from ..model.plans.relations import LocalRelation
from .analyze import schema_of
from .places import Message

if TYPE_CHECKING:
    from .session import Planned, PlannerSession


def remember(session: PlannerSession, message: Message, frame: Planned) -> None:
    """Take in the table, the directory or the in-memory view that a stream writes.

    What the catalog describes already stays as it is described.

    Args:
        session: where later lines look for it.
        message: a WriteStreamOperationStart.
        frame: the DataFrame that is written.
    """
    format_ = message.format.lower() or "parquet"
    if message.WhichOneof("sink_destination") == "table_name":
        _add(session, frame, message.input, name=message.table_name, format_=format_)
    elif format_ == "memory" and message.query_name:
        # Its rows are known only when it runs; those of no batch are none.
        rows = LocalRelation(attributes=frame.analyzed.output)
        session.views[message.query_name.lower()] = TempView(name=message.query_name, plan=rows)
    elif format_ in FILE_FORMATS and (path := written_path(message)):
        _add(session, frame, message.input, name=path, format_=format_, location=path)


def written_path(message: Message) -> str:
    """The directory that `start(path)` or the option `path` names, if one does."""
    options = {key.lower(): value for key, value in message.options.items()}
    return str(message.path or options.get("path", ""))


def _add(
    session: PlannerSession,
    frame: Planned,
    query: Message,
    *,
    name: str,
    format_: str,
    location: str = "",
) -> None:
    if session.knows(name) or (location and session.known_path(location)):
        return
    full = name if location else session.full_name(name)
    session.add_table(full, schema_of(frame.analyzed), format_, location, query)
