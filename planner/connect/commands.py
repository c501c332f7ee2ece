"""The ExecutePlan call: commands that change the session, and queries, which are only planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from .failures import not_planned, unsupported
from .places import Message, origin_of

if TYPE_CHECKING:
    from .session import PlannerSession


class Console:
    """Where the plans of started streams go."""

    def show(self, text: str) -> None:
        """Print one plan."""
        print(text, flush=True)


def execute(session: PlannerSession, request: Message, console: Console) -> list[Message]:
    """The answers to an ExecutePlanRequest, without session ids and the closing one.

    Raises:
        StateplanError: rows are asked for, or a command that a planner cannot carry out.
    """
    plan = request.plan
    if plan.WhichOneof("op_type") == "root":
        session.planned(plan.root)
        raise not_planned("This", origin_of(plan.root))
    kind = plan.command.WhichOneof("command_type")
    command = _COMMANDS.get(kind)
    if command is None:
        raise unsupported(f"The command '{kind}'")
    return command(session, getattr(plan.command, kind), console)


def create_view(session: PlannerSession, message: Message, console: Console) -> list[Message]:
    """`createOrReplaceTempView` and its kin."""
    frame = session.planned(message.input)
    name = f"global_temp.{message.name}" if message.is_global else message.name
    session.create_view(name, frame, replace_=message.replace)
    return []


def sql(session: PlannerSession, message: Message, console: Console) -> list[Message]:
    """`spark.sql(text)`: a query is handed back as the relation that it is."""
    answer = proto.ExecutePlanResponse()
    answer.sql_command_result.relation.CopyFrom(message.input)
    return [answer]


Command = Callable[["PlannerSession", Message, Console], list[Message]]
_COMMANDS: dict[str | None, Command] = {
    "create_dataframe_view": create_view,
    "sql_command": sql,
}
