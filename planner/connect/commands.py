"""The ExecutePlan call: commands that change the session, and queries, which are only planned."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..model.errors import AnalysisError
from . import streams
from .console import Console
from .failures import not_planned, not_started, unsupported
from .places import Message, caller_of, origin_of

if TYPE_CHECKING:
    from .session import PlannerSession
    from .streams import Caller

_ACTIONS = {"show_string": "show()", "html_string": "Showing a DataFrame"}
_UNSUPPORTED = {
    "write_operation": "Writing a table",
    "write_operation_v2": "Writing a table",
    "merge_into_table_command": "MERGE INTO",
    "ml_command": "Machine learning",
    "pipeline_command": "A pipeline",
    "execute_external_command": "An external command",
    "register_data_source": "A Python data source",
}
_CREATE_VIEW = re.compile(
    r"\s*CREATE\s+(?P<replace>OR\s+REPLACE\s+)?TEMP(?:ORARY)?\s+VIEW\s+(?P<name>\S+)\s+AS\s+"
    r"(?P<query>.*?);?\s*",
    re.IGNORECASE | re.DOTALL,
)
_DROP_VIEW = re.compile(
    r"\s*DROP\s+VIEW\s+(?P<tolerant>IF\s+EXISTS\s+)?(?P<name>\S+?);?\s*", re.IGNORECASE
)
_SET = re.compile(r"\s*SET\s+(?P<key>[\w.]+)\s*=\s*(?P<value>.*?);?\s*", re.IGNORECASE | re.DOTALL)


def execute(session: PlannerSession, request: Message, console: Console) -> list[Message]:
    """The answers to an ExecutePlanRequest, without session ids and the closing one.

    Raises:
        StateplanError: rows are asked for, or a command that a planner cannot carry out.
    """
    plan = request.plan
    caller = caller_of(request)
    if plan.WhichOneof("op_type") == "root":
        return _rows(session, plan.root, caller)
    kind = plan.command.WhichOneof("command_type")
    command = _COMMANDS.get(kind)
    if command is None:
        what = _UNSUPPORTED.get(kind, f"The command '{kind}'")
        raise unsupported(what, caller[0] if caller else None)
    return command(session, getattr(plan.command, kind), console, caller)


def _rows(session: PlannerSession, relation: Message, caller: Caller) -> list[Message]:
    """Refuse to compute rows; where the DataFrame itself is wrong, that is told instead."""
    kind = relation.WhichOneof("rel_type")
    what = _ACTIONS.get(kind, "An action such as collect(), count() or toPandas()")
    of_stream = False
    if kind == "catalog":
        what = "spark.catalog"
    else:
        inner = kind in _ACTIONS or kind == "tail"
        asked = getattr(relation, kind).input if inner else relation
        of_stream = session.planned(asked).analyzed.is_streaming
        if caller is not None and caller[1].isidentifier():
            what = f"{caller[1]}()"
    origin = caller[0] if caller else origin_of(relation)
    raise not_planned(what, origin, of_stream=of_stream)


def create_view(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`createOrReplaceTempView` and its kin."""
    frame = session.planned(message.input)
    name = f"global_temp.{message.name}" if message.is_global else message.name
    session.create_view(name, frame, replace_existing=message.replace)
    return []


def sql(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`spark.sql(text)`: a query is handed back as the relation that it is, a command carried out.

    Commands that the planner knows: CREATE TEMPORARY VIEW, DROP VIEW and SET.
    """
    relation = proto.Relation()
    relation.CopyFrom(message.input)
    text = relation.sql.query
    answer = proto.ExecutePlanResponse()
    if _commanded(session, text):
        relation = proto.Relation(local_relation=proto.LocalRelation(schema="value STRING"))
    else:
        session.planned(relation)  # what Spark refuses it refuses here, at this line
    answer.sql_command_result.relation.CopyFrom(relation)
    return [answer]


def _commanded(session: PlannerSession, text: str) -> bool:
    """Carry out the text if it is a command."""
    if made := _CREATE_VIEW.fullmatch(text):
        query = proto.Relation(sql=proto.SQL(query=made["query"]))
        name = made["name"].replace("`", "")
        replaces = made["replace"] is not None
        session.create_view(name, session.planned(query), replace_existing=replaces)
    elif dropped := _DROP_VIEW.fullmatch(text):
        name = dropped["name"].replace("`", "").lower()
        if session.views.pop(name, None) is None and not dropped["tolerant"]:
            raise AnalysisError(
                "TABLE_OR_VIEW_NOT_FOUND",
                f"[TABLE_OR_VIEW_NOT_FOUND] The table or view `{name}` cannot be found."
                " SQLSTATE: 42P01",
                hint="Write DROP VIEW IF EXISTS.",
            )
    elif changed := _SET.fullmatch(text):
        session.settings[changed["key"]] = changed["value"].strip()
    else:
        return False
    return True


def register_function(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`spark.udf.register`: the function is kept under its name, as the client sent it."""
    session.user_functions[message.function_name.lower()] = message
    return []


def resources(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`spark.resources`: there are none."""
    answer = proto.ExecutePlanResponse()
    answer.get_resources_command_result.SetInParent()
    return [answer]


def nothing(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """A command that changes nothing for a planner."""
    return []


Command = Callable[["PlannerSession", Message, Console, "Caller"], list[Message]]


def checkpoint(
    session: PlannerSession, message: Message, console: Console, caller: Caller
) -> list[Message]:
    """`checkpoint()`, `localCheckpoint()`: rows would have to be computed.

    Raises:
        AnalysisError: they are a stream's, or a table's.
    """
    origin = caller[0] if caller else None
    if session.planned(message.relation).analyzed.is_streaming:
        raise not_started(origin)
    raise unsupported("checkpoint()", origin)


_COMMANDS: dict[str | None, Command] = {
    "checkpoint_command": checkpoint,
    "create_dataframe_view": create_view,
    "sql_command": sql,
    "register_function": register_function,
    "register_table_function": register_function,
    "get_resources_command": resources,
    "remove_cached_remote_relation_command": nothing,
    "write_stream_operation_start": streams.start,
    "streaming_query_command": streams.query,
    "streaming_query_manager_command": streams.manager,
    "streaming_query_listener_bus_command": streams.listener_bus,
}
