"""The endpoint: every call of a client goes on to the engine, but what is about its streams."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import grpc
from pyspark.errors import PySparkException
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.connect import proto
from pyspark.sql.connect.proto.base_pb2_grpc import (
    SparkConnectServiceServicer,
    SparkConnectServiceStub,
)

from ...planner.connect.analyze import analyze
from ...planner.connect.failures import not_started
from ...planner.connect.places import Message
from ...planner.connect.service import signed
from ...planner.connect.sql_commands import created_view
from ...planner.model.errors import AnalysisError
from .backend import Backend
from .batch_queries import is_query, known_without_rows, put_rows_at_rest, shown_as_spark
from .client_session import ClientSession
from .commands import listener_bus, manager_command, query_command
from .engine_errors import setting_not_found, with_way_out
from .messages import WRITES, asked_for, before_the_last, put_column_names, put_rows, relations
from .observed_metrics import Observed, with_metrics
from .row_order import asks_for_order
from .sql_statements import carried_out, nothing
from .starting import start
from .stream_views import catalog_answer, check_new, drop_view, dropped_view, keep_view
from .writes import written_here

# The client asks for it and compresses large plans by it; they are to be read here.
_COMPRESSION = "spark.connect.session.planCompression.threshold"
_OURS = (
    "write_stream_operation_start",
    "streaming_query_command",
    "streaming_query_manager_command",
    "streaming_query_listener_bus_command",
)
_NOT_PASSED_ON = ("authorization", "user-agent", "te", "content-type", "grpc-")


def _passed_on(method: str) -> Callable[[RunService, Any, Any], Any]:
    """A call that goes on to the engine as it is, and its answer back."""

    def call(service: RunService, request: Any, context: Any) -> Any:
        return service._forwarded(method, request, context)

    return call


class RunService(SparkConnectServiceServicer):
    """The sessions of all clients, over one engine.

    Args:
        backend: the engine.

    Attributes:
        url: where processes of this machine reach the endpoint, once it listens.
    """

    def __init__(self, backend: Backend) -> None:
        self.url = ""
        self._backend = backend
        stub: Any = SparkConnectServiceStub
        self._engine: Any = stub(backend.channel)
        self._sessions: dict[tuple[str, str], ClientSession] = {}
        self._lock = threading.Lock()

    def session(self, request: Message) -> ClientSession:
        """The session of a request."""
        key = request.user_context.user_id, request.session_id
        with self._lock:
            if key not in self._sessions:
                made = ClientSession(self._backend, *key)
                made.configure(self._backend.settings)
                self._sessions[key] = made
            return self._sessions[key]

    # ------------------------------------------------------------------------- plans and commands

    def ExecutePlan(self, request: Message, context: Any) -> Iterator[Message]:
        """Commands about streams are carried out here."""
        self.session(request)  # with the settings that it starts with
        kind = request.plan.command.WhichOneof("command_type")
        if kind in _OURS:
            return self._answers(request, context, str(kind))
        if self._backend.embedded:
            if (answer := self._answered(request, kind)) is not None:
                return signed([answer], request, self.session(request).server_id)
            if kind is None and self.session(request).reads_stream(asked_for(request.plan.root)):
                raise not_started()
            if kind in WRITES and self._writes_stream(request, str(kind)):
                raise AnalysisError.of(
                    "CALL_ON_STREAMING_DATASET_UNSUPPORTED", methodName=f"`{WRITES[str(kind)]}`"
                )
        return self._executed(request, context, kind)

    def _writes_stream(self, request: Message, kind: str) -> bool:
        written = getattr(request.plan.command, kind).input
        return self.session(request).reads_stream(written)

    def _answered(self, request: Message, kind: str | None) -> Message | None:
        """The answer to a command, or a call of the catalog, that the embedded engine need not see.

        It has no streams, and queries in SQL that the planner can read need no engine yet. None:
        the engine is to answer.
        """
        session, command = self.session(request), request.plan.command
        answer = proto.ExecutePlanResponse()
        if kind is None:
            return catalog_answer(session, request.plan)
        if kind == "create_dataframe_view":
            view = command.create_dataframe_view
            if not session.reads_stream(view.input):
                if not view.replace:
                    check_new(session, view_name(view))
                return None
            keep_view(session, view_name(view), view.input, replace=view.replace)
            return answer
        if kind != "sql_command":
            return None
        relation = command.sql_command.input
        created = created_view(relation.sql.query)
        if created is not None:
            if not session.reads_stream(created[1]):
                return None
            keep_view(session, created[0], created[1], replace=True)
            relation = nothing()
        elif (dropped := dropped_view(request.plan)) is not None and drop_view(session, dropped):
            relation = nothing()
        elif (carried := carried_out(session, relation.sql.query)) is not None:
            relation = carried
        elif not session.reads_stream(relation) and not is_query(session, relation):
            return None
        answer.sql_command_result.relation.CopyFrom(relation)
        return answer

    def _answers(self, request: Message, context: Any, kind: str) -> Iterator[Message]:
        session = self.session(request)
        message = getattr(request.plan.command, kind)
        waiting: Callable[[], bool] = context.is_active
        answers: Iterator[Message]
        match kind:
            case "write_stream_operation_start":
                answers = iter([start(session, message, self.url)])
            case "streaming_query_command":
                answers = iter([query_command(session, message, waiting)])
            case "streaming_query_manager_command":
                answers = iter([manager_command(session, message, waiting)])
            case _:
                answers = listener_bus(session, message, waiting)
        yield from signed(answers, request, session.server_id)

    def _executed(self, request: Message, context: Any, kind: str | None) -> Iterator[Message]:
        self._put_names(request)
        session = self.session(request)
        with self._rows_put(request, kind) as observed:
            if kind == "write_operation" and self._written(request):
                answers = signed([], request, session.server_id)
            else:
                answers = self._forwarded("ExecutePlan", request, context)
            if observed is not None:
                answers = with_metrics(session, request, answers, observed)
            if self._backend.embedded and request.plan.root.HasField("show_string"):
                answers = map(shown_as_spark, answers)
            # A client goes on once it has the last answer.
            yield from before_the_last(answers, lambda: self._remember(request, kind))

    def _remember(self, request: Message, kind: str | None) -> None:
        """Keep what a command that has ended says of views, functions and data sources."""
        command = request.plan.command
        session = self.session(request)
        if (dropped := dropped_view(request.plan)) is not None:
            session.views.pop(dropped.lower(), None)
        match kind:
            case "create_dataframe_view":
                view = command.create_dataframe_view
                self._remember_view(request, view_name(view), view.input)
            case "sql_command":
                created = created_view(command.sql_command.input.sql.query)
                if created is not None:
                    self._remember_view(request, *created)
            case "register_function":
                function = command.register_function
                session.functions[function.function_name.lower()] = function
            case "register_data_source":
                source = command.register_data_source
                pickled = source.python_data_source.command
                made: Any = CloudPickleSerializer().loads(pickled)  # type: ignore[no-untyped-call]
                session.data_sources[source.name.lower()] = made

    def _written(self, request: Message) -> bool:
        """Whether what a client writes as files of the embedded engine's is written here."""
        session = self.session(request)
        return self._backend.embedded and written_here(
            session.spark, session.conf, request.plan.command.write_operation
        )

    def _remember_view(self, request: Message, name: str, relation: Message) -> None:
        """A temporary view that is a stream is read here; any other the engine has."""
        session = self.session(request)
        session.views.pop(name.lower(), None)
        session.view_columns.pop(name.lower(), None)
        if self._backend.embedded:
            ordered = asks_for_order(relation, session.ordered_views)
            session.ordered_views -= {name.lower()}
            session.ordered_views |= {name.lower()} if ordered else set()
            return
        read = proto.Read(named_table=proto.Read.NamedTable(unparsed_identifier=name))
        asked = proto.AnalyzePlanRequest.IsStreaming(
            plan=proto.Plan(root=proto.Relation(read=read))
        )
        client: Any = session.spark.client
        try:
            streaming = client._analyze(method="is_streaming", plan=asked.plan).is_streaming
        except PySparkException:
            streaming = False
        if streaming:
            session.views[name.lower()] = relation

    def AnalyzePlan(self, request: Message, context: Any) -> Message:
        """The engine knows what there is to know of a DataFrame; the embedded one, of no stream."""
        session = self.session(request)
        if self._backend.embedded and any(map(session.reads_stream, relations(request))):
            return self._own(analyze(session.reading(), request), request)
        self._put_names(request)

        def ask() -> Message:
            return cast(Message, self._forwarded("AnalyzePlan", request, context))

        if not self._backend.embedded:
            return ask()
        return self._own(known_without_rows(session, request, ask), request)

    def _own(self, answer: Message, request: Message) -> Message:
        """An answer of ours to a question, as one of the client's session."""
        answer.session_id = request.session_id
        answer.server_side_session_id = self.session(request).server_id
        return answer

    def _put_names(self, request: Message) -> None:
        """Put in what a request names and the engine has not, or not as Spark has it.

        Those are the rows of batches in foreachBatch functions, and the names of a view's columns
        (memory_view.py).
        """
        if self._backend.rows:
            put_rows(request, self._backend.rows)
        if columns := self.session(request).view_columns:
            put_column_names(request, columns)

    def _rows_put(
        self, request: Message, kind: str | None
    ) -> AbstractContextManager[Observed | None]:
        """Have in a request what is computed or read here while the engine executes it."""
        if not self._backend.embedded:
            return nullcontext()
        return put_rows_at_rest(self.session(request), request, kind)

    def Config(self, request: Message, context: Any) -> Message:
        """Settings are the engine's; plans come as they are, without compression."""
        self.session(request)  # with the settings that it starts with
        try:
            answer = self._forwarded("Config", request, context)
        except grpc.RpcError as error:
            if (missing := setting_not_found(error)) is None:
                raise
            raise missing from error
        for pair in answer.pairs:
            if pair.key == _COMPRESSION:
                pair.value = "-1"
        return answer

    def Interrupt(self, request: Message, context: Any) -> Message:
        """Interrupting everything ends a session's streams, too."""
        if request.interrupt_type == proto.InterruptRequest.INTERRUPT_TYPE_ALL:
            self.session(request).stop_queries()
        return self._forwarded("Interrupt", request, context)

    def ReleaseSession(self, request: Message, context: Any) -> Message:
        """The client is done: its streams end before its session does."""
        with self._lock:
            key = request.user_context.user_id, request.session_id
            session = self._sessions.pop(key, None)
        if session is not None:
            session.close()
        return self._forwarded("ReleaseSession", request, context)

    def CloneSession(self, request: Message, context: Any) -> Message:
        """A session with what the other one has, here too."""
        answer = self._forwarded("CloneSession", request, context)
        old = self.session(request)
        made = ClientSession(self._backend, old.user, answer.new_session_id)
        made.views.update(old.views)
        made.view_columns.update(old.view_columns)
        made.functions.update(old.functions)
        made.data_sources.update(old.data_sources)
        with self._lock:
            self._sessions[old.user, made.id] = made
        return answer

    def _forwarded(self, method: str, request: Any, context: Any) -> Any:
        """The engine's answer, or answers; the call ends when the client's does."""
        metadata = [
            pair for pair in context.invocation_metadata() if not pair[0].startswith(_NOT_PASSED_ON)
        ]
        call = getattr(self._engine, method)
        if method in ("ExecutePlan", "ReattachExecute"):
            answers = call(request, metadata=metadata)
            context.add_callback(answers.cancel)
            return answers
        future = call.future(request, metadata=metadata)
        context.add_callback(future.cancel)
        return future.result()

    GetStatus = _passed_on("GetStatus")
    ReattachExecute = _passed_on("ReattachExecute")
    ReleaseExecute = _passed_on("ReleaseExecute")
    ArtifactStatus = _passed_on("ArtifactStatus")
    AddArtifacts = _passed_on("AddArtifacts")
    FetchErrorDetails = _passed_on("FetchErrorDetails")

    def worded(self, error: grpc.Call) -> grpc.Status | None:
        """An error of the embedded engine's own with the way out; None: it goes on as it is."""
        return with_way_out(error) if self._backend.embedded else None

    def close(self) -> None:
        """Stop the streams of all clients."""
        with self._lock:
            sessions = list(self._sessions.values())
            self._sessions.clear()
        for session in sessions:
            session.close()


def view_name(message: Message) -> str:
    """The name of the view that a CreateDataFrameViewCommand makes."""
    return f"global_temp.{message.name}" if message.is_global else str(message.name)
