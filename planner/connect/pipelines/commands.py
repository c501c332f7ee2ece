"""PipelineCommand: what PySpark's decorators, `spark-pipelines` and SQL files send."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql.connect import proto

from ...model.expressions.core import Origin
from ...model.schemas.open_schemas import is_placeholder
from ...model.schemas.types import StructType
from ...pipelines.auto_cdc import AutoCdc, column_name
from ...pipelines.model import Dataset, DatasetKind, Flow, Identifier, Pipeline, folded
from ...pipelines.refusals import duplicate_flow, duplicate_output, multipart_flow, refusal
from ...pipelines.statements import SqlFile, Statement, without_databricks
from ..console import Call
from ..expressions import ExpressionReader
from ..failures import unsupported
from ..names import name_parts
from ..places import Message, origin_at
from ..protocol import DATABRICKS, NAME, ONCE
from ..types import from_proto, read_schema
from .resolution import Resolution

if TYPE_CHECKING:
    from ..session import PlannerSession

Answers = list[Message]

_KINDS = {
    proto.OutputType.MATERIALIZED_VIEW: DatasetKind.MATERIALIZED_VIEW,
    proto.OutputType.TABLE: DatasetKind.STREAMING_TABLE,
    proto.OutputType.TEMPORARY_VIEW: DatasetKind.TEMPORARY_VIEW,
    proto.OutputType.SINK: DatasetKind.SINK,
}


def execute(call: Call, message: Message) -> Answers:
    """Answer one command.

    Raises:
        StateplanError: a definition is refused, or the run is.
    """
    kind = message.WhichOneof("command_type")
    command = _COMMANDS.get(kind)
    if command is None:
        raise unsupported(f"The pipeline command '{kind}'")
    return command(call, getattr(message, kind))


def context_of(request: Message) -> Message | None:
    """The pipeline's context of a request, the innermost: the client sends that of a file too."""
    found = None
    for extension in request.user_context.extensions:
        context = proto.PipelineAnalysisContext()
        if extension.Is(context.DESCRIPTOR) and extension.Unpack(context):
            found = context
    return found


def refuse_analysis(session: PlannerSession, request: Message) -> None:
    """Refuse a question about a DataFrame that a flow's function asks.

    Raises:
        AnalysisError: it asks within a function of a graph whose data sets do not exist yet.
    """
    context = context_of(request)
    if context is None or not context.flow_name:
        return
    if not allows_analysis(session, context):
        raise refusal("ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION")


def allows_analysis(session: PlannerSession, context: Message) -> bool:
    """Whether functions of the graph may look into their inputs."""
    pipeline = session.pipelines.get(context.dataflow_graph_id)
    return pipeline is None or pipeline.databricks


# ------------------------------------------------------------------------------------ definitions


def _create(call: Call, message: Message) -> Answers:
    number = str(uuid.uuid4())
    settings = dict(message.sql_conf)
    databricks = settings.pop(DATABRICKS, "") == "true"
    pipeline = Pipeline(name=settings.pop(NAME, ""), databricks=databricks, settings=settings)
    pipeline.catalog = message.default_catalog or pipeline.catalog
    pipeline.database = message.default_database or call.session.database
    call.session.pipelines[number] = pipeline
    if databricks:
        call.session.pipeline = Resolution(call.session, pipeline)
    answer = proto.ExecutePlanResponse()
    result = answer.pipeline_command_result.create_dataflow_graph_result
    result.dataflow_graph_id = number
    return [answer]


def _drop(call: Call, message: Message) -> Answers:
    call.session.pipelines.pop(message.dataflow_graph_id, None)
    return []


def _graph(session: PlannerSession, message: Message) -> Pipeline:
    number = message.dataflow_graph_id
    if number not in session.pipelines:
        raise refusal("DATAFLOW_GRAPH_NOT_FOUND", graphId=number)
    return session.pipelines[number]


def _define_output(call: Call, message: Message) -> Answers:
    pipeline = _graph(call.session, message)
    kind = _KINDS.get(message.output_type)
    if kind is None:
        raise unsupported("A pipeline's data set of an unknown type")
    details, sink = message.table_details, message.sink_details
    schema = None
    if details.WhichOneof("schema") == "schema_string":
        # What only a missing module knows declares nothing.
        text = details.schema_string
        if not is_placeholder(text):
            schema = read_schema(without_databricks(text) if pipeline.databricks else text)
    elif details.WhichOneof("schema"):
        found = from_proto(details.schema_data_type)
        schema = found if isinstance(found, StructType) else None
    dataset = Dataset(
        identifier=_identifier(pipeline, name_parts(message.output_name), kind),
        kind=kind,
        schema=schema,
        format=sink.format if kind is DatasetKind.SINK else details.format,
        comment=message.comment,
        partitioning=tuple(details.partition_cols),
        clustering=tuple(details.clustering_columns),
        options=dict(sink.options),
        origin=_origin(message),
    )
    _add_dataset(pipeline, dataset)
    return [proto.ExecutePlanResponse(pipeline_command_result=proto.PipelineCommandResult())]


def _identifier(
    pipeline: Pipeline, parts: Identifier, kind: DatasetKind, database: str | None = None
) -> Identifier:
    if kind is DatasetKind.SINK:
        return parts[-1:]
    if kind is not DatasetKind.TEMPORARY_VIEW:
        return pipeline.identifier(parts, database=database)
    if len(parts) > 1:
        raise refusal(
            "INTERNAL_ERROR",
            message="Cannot find main error class 'MULTIPART_TEMPORARY_VIEW_NAME_NOT_SUPPORTED'",
        )
    return parts


def _add_dataset(pipeline: Pipeline, dataset: Dataset) -> None:
    sink = dataset.kind is DatasetKind.SINK
    for other in pipeline.datasets:
        same = folded(other.identifier) == folded(dataset.identifier)
        if same and sink == (other.kind is DatasetKind.SINK):
            raise duplicate_output(dataset, other)
    pipeline.datasets.append(dataset)


def _define_flow(call: Call, message: Message) -> Answers:
    pipeline = _graph(call.session, message)
    origin = _origin(message)
    if message.once:
        raise refusal(
            "DEFINE_FLOW_ONCE_OPTION_NOT_SUPPORTED", origin=origin, flowName=message.flow_name
        )
    auto_cdc = None
    query = message.relation_flow_details.relation
    if message.WhichOneof("details") == "auto_cdc_flow_details":
        auto_cdc, query = _change_details(call.session, message.auto_cdc_flow_details)
    name, target = name_parts(message.flow_name), name_parts(message.target_dataset_name)
    _add_flow(
        pipeline,
        Flow(
            identifier=_flow_name(name, target, message.flow_name, origin),
            target=target,
            query=query,
            settings={key: value for key, value in message.sql_conf.items() if key != ONCE},
            auto_cdc=auto_cdc,
            database=pipeline.database,
            origin=origin,
            once=ONCE in message.sql_conf,
        ),
    )
    return [proto.ExecutePlanResponse(pipeline_command_result=proto.PipelineCommandResult())]


def _flow_name(
    name: Identifier, target: Identifier, text: str, origin: Origin | None
) -> Identifier:
    """A flow's full name. One that a data set's definition makes is called as the data set is."""
    if len(name) > 1 and name != target:
        raise multipart_flow(text, origin)
    return name


def _add_flow(pipeline: Pipeline, flow: Flow, database: str | None = None) -> None:
    """Take a flow in; the view that it defines is its target where names agree, else a table."""
    own = folded(flow.target)
    views = [d for d in pipeline.datasets if d.kind is DatasetKind.TEMPORARY_VIEW]
    if flow.identifier == flow.target and any(folded(view.identifier) == own for view in views):
        pipeline.flows.append(flow)
        return
    flow.identifier = pipeline.identifier(flow.identifier, database=database)
    flow.target = pipeline.identifier(flow.target, database=database)
    pipeline.flows.append(flow)


def _change_details(session: PlannerSession, details: Message) -> tuple[AutoCdc, Message]:
    reader = ExpressionReader(session)

    def names(columns: Message) -> tuple[str, ...]:
        return tuple(column_name(reader.read(column)) for column in columns)

    for given, text in (
        (details.apply_as_truncates, "apply_as_truncates"),
        (details.ignore_null_updates_column_list, "ignore_null_updates"),
        (details.ignore_null_updates_except_column_list, "ignore_null_updates"),
    ):
        if given and (not hasattr(given, "ByteSize") or given.ByteSize()):
            raise unsupported(f"{text} of an AUTO CDC flow, which Spark 4.3 does not run,")
    keys = names(details.keys)
    if not keys:
        raise refusal("AUTOCDC_EMPTY_KEYS")
    auto_cdc = AutoCdc(
        keys=keys,
        sequence_by=reader.read(details.sequence_by),
        deletes=reader.read(details.apply_as_deletes)
        if details.HasField("apply_as_deletes")
        else None,
        columns=names(details.column_list),
        except_columns=names(details.except_column_list),
        scd_type=max(1, details.stored_as_scd_type),
        tracked=names(details.track_history_column_list),
        untracked=names(details.track_history_except_column_list),
    )
    read = proto.Read(
        named_table=proto.Read.NamedTable(unparsed_identifier=details.source), is_streaming=True
    )
    return auto_cdc, proto.Relation(read=read)


def _define_sql(call: Call, message: Message) -> Answers:
    pipeline = _graph(call.session, message)
    file = SqlFile(
        text=message.sql_text,
        name=os.path.basename(message.sql_file_path),
        conf=call.session.settings,
        settings=dict(pipeline.settings),
        database=pipeline.database,
        databricks=pipeline.databricks,
    )

    file.statements(lambda statement: _take(pipeline, file, statement))
    return []


def _take(pipeline: Pipeline, file: SqlFile, statement: Statement) -> None:
    """Take a statement's data set and its flow in, under their full names."""
    dataset, flow = statement.dataset, statement.flow
    if dataset is not None:
        full = dataset.identifier
        if file.catalog is not None and len(full) < 3:
            full = Pipeline(catalog=file.catalog, database=file.database).identifier(full)
        dataset.identifier = _identifier(pipeline, full, dataset.kind, file.database)
        _add_dataset(pipeline, dataset)
    if flow is None:
        return
    if dataset is not None:
        flow.identifier = flow.target = dataset.identifier
    elif len(flow.identifier) > 1:
        raise multipart_flow(".".join(flow.identifier), flow.origin)
    flow.query = proto.Relation(sql=proto.SQL(query=str(flow.query)))
    _add_flow(pipeline, flow, file.database)


def _origin(message: Message) -> Origin | None:
    place = message.source_code_location
    return origin_at(f"{place.file_name}:{place.line_number}") if place.file_name else None


# -------------------------------------------------------------------------------------------- run


def _start(call: Call, message: Message) -> Answers:
    pipeline = _graph(call.session, message)
    named: dict[Identifier, Flow] = {}
    for flow in pipeline.flows:
        other = named.setdefault(folded(flow.identifier), flow)
        if other is not flow:
            raise duplicate_flow(flow, other)
    call.session.pipeline = call.session.pipeline or Resolution(call.session, pipeline)
    try:
        call.session.pipeline.run(call.console)
    finally:
        call.session.pipeline = None
    return [proto.ExecutePlanResponse(pipeline_command_result=proto.PipelineCommandResult())]


_COMMANDS: dict[str | None, Callable[[Call, Message], Answers]] = {
    "create_dataflow_graph": _create,
    "drop_dataflow_graph": _drop,
    "define_output": _define_output,
    "define_flow": _define_flow,
    "define_sql_graph_elements": _define_sql,
    "start_run": _start,
}
