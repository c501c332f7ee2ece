"""The ExecutePlan call: commands that change the session, and queries, which are only planned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ..pipelines.refusals import refusal
from . import batch_writes, catalog_calls, streams
from .console import Call, Console
from .empty_rows import empty_rows, empty_text
from .failures import not_planned, not_started, unsupported
from .pipelines import commands as pipelines
from .places import Message, caller_of, origin_of
from .sql_commands import answer_schema, carry_out, command_name

if TYPE_CHECKING:
    from .session import PlannerSession

_ACTIONS = {"show_string": "show()", "html_string": "Showing a DataFrame"}
_UNSUPPORTED = {
    "merge_into_table_command": "MERGE INTO",
    "ml_command": "Machine learning",
    "register_data_source": "A Python data source",
    "execute_external_command": "An external command",
}


def execute(session: PlannerSession, request: Message, console: Console) -> list[Message]:
    """The answers to an ExecutePlanRequest, without session ids and the closing one.

    Raises:
        StateplanError: rows are asked for, or a command that a planner cannot carry out.
    """
    plan = request.plan
    call = Call(session, console, *caller_of(request))
    if plan.WhichOneof("op_type") == "root":
        pipelines.refuse_analysis(session, request)
        return _rows(call, plan.root)
    kind = plan.command.WhichOneof("command_type")
    if kind == "sql_command" and (context := pipelines.context_of(request)) is not None:
        return _sql_of_pipeline(call, plan.command.sql_command, context)
    command = _COMMANDS.get(kind)
    if command is None:
        what = _UNSUPPORTED.get(kind, f"The command '{kind}'")
        raise unsupported(what, call.origin)
    return command(call, getattr(plan.command, kind))


def _rows(call: Call, relation: Message) -> list[Message]:
    """Refuse to compute rows, but what the catalog knows; an error of the DataFrame comes first.

    A script goes on with no rows of a table at rest.
    """
    kind = relation.WhichOneof("rel_type")
    what = _ACTIONS.get(kind, "An action such as collect(), count() or toPandas()")
    if kind == "catalog":
        return catalog_calls.answer(call.session, relation.catalog)
    inner = kind in _ACTIONS or kind == "tail"
    asked = getattr(relation, kind).input if inner else relation
    frame = call.session.widening.planned_for_rows(asked).analyzed
    if call.method.isidentifier():
        what = f"{call.method}()"
    if call.session.scripted and not streams.is_stream(frame):
        call.note(f"{what} gives no rows: no data is read")
        if kind not in _ACTIONS:
            return empty_rows(frame)
        return empty_text(frame, vertical=bool(getattr(relation, kind).vertical))
    origin = call.origin or origin_of(relation)
    raise not_planned(what, origin, of_stream=frame.is_streaming)


def create_view(call: Call, message: Message) -> list[Message]:
    """`createOrReplaceTempView` and its kin."""
    name = f"global_temp.{message.name}" if message.is_global else message.name
    call.session.create_view(name, message.input, replace_existing=message.replace)
    return []


def sql(call: Call, message: Message) -> list[Message]:
    """`spark.sql(text)`: a query is handed back as the relation that it is, a command carried out.

    What a command leaves behind is an empty DataFrame.
    """
    relation = proto.Relation()
    relation.CopyFrom(message.input)
    answer = proto.ExecutePlanResponse()
    text = relation.sql.query
    if call.session.scripted and (schema := answer_schema(text)) is not None:
        call.note(f"{text.split()[0].upper()} gives no rows: nobody knows them here")
        relation = proto.Relation(local_relation=proto.LocalRelation(schema=schema))
    elif carry_out(call, text):
        relation = proto.Relation(local_relation=proto.LocalRelation(schema="value STRING"))
    else:
        call.session.planned(relation)  # what Spark refuses it refuses here, at this line
    answer.sql_command_result.relation.CopyFrom(relation)
    return [answer]


def _sql_of_pipeline(call: Call, message: Message, context: Message) -> list[Message]:
    """`spark.sql(text)` in a pipeline's file: a query, which a flow's function may not look into.

    Raises:
        AnalysisError: it is no query.
    """
    if pipelines.allows_analysis(call.session, context):
        return sql(call, message)
    if name := command_name(message.input.sql.query):
        raise refusal("UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND", command=name)
    answer = proto.ExecutePlanResponse()
    answer.sql_command_result.relation.CopyFrom(message.input)
    return [answer]


def register_function(call: Call, message: Message) -> list[Message]:
    """`spark.udf.register`: the function is kept under its name, as the client sent it."""
    call.session.user_functions[message.function_name.lower()] = message
    return []


def resources(call: Call, message: Message) -> list[Message]:
    """`spark.resources`: there are none."""
    answer = proto.ExecutePlanResponse()
    answer.get_resources_command_result.SetInParent()
    return [answer]


def nothing(call: Call, message: Message) -> list[Message]:
    """A command that changes nothing for a planner."""
    return []


Command = Callable[[Call, Message], list[Message]]


def checkpoint(call: Call, message: Message) -> list[Message]:
    """`checkpoint()`, `localCheckpoint()`: rows would have to be computed.

    Raises:
        AnalysisError: they are a stream's, or a table's.
    """
    if call.session.planned(message.relation).analyzed.is_streaming:
        raise not_started(call.origin)
    raise unsupported("checkpoint()", call.origin)


_COMMANDS: dict[str | None, Command] = {
    "checkpoint_command": checkpoint,
    "create_dataframe_view": create_view,
    "sql_command": sql,
    "write_operation": batch_writes.write,
    "write_operation_v2": batch_writes.write_to,
    "register_function": register_function,
    "register_table_function": register_function,
    "get_resources_command": resources,
    "remove_cached_remote_relation_command": nothing,
    "write_stream_operation_start": streams.start,
    "streaming_query_command": streams.query,
    "streaming_query_manager_command": streams.manager,
    "streaming_query_listener_bus_command": streams.listener_bus,
    "pipeline_command": pipelines.execute,
}
