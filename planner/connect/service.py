"""Spark Connect's service: every call that a client makes, answered by the planner."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pyspark.sql.connect import proto
from pyspark.sql.connect.proto.base_pb2_grpc import SparkConnectServiceServicer

from ..model.catalog import Catalog
from ..model.schemas.open_schemas import open_schemas
from ..model.settings.conf import Conf
from .analyze import analyze
from .commands import execute
from .console import Console
from .guesses import Guesses
from .pipelines.commands import refuse_analysis
from .places import Message
from .session import PlannerSession
from .settings import config_response, configure


def signed(answers: Iterable[Message], request: Message, server_session: str) -> Iterator[Message]:
    """The answers of an execution and that it is complete, with the ids that a client looks for."""
    operation = request.operation_id or str(uuid.uuid4())
    complete = proto.ExecutePlanResponse.ResultComplete()
    for answer in chain(answers, [proto.ExecutePlanResponse(result_complete=complete)]):
        answer.session_id = request.session_id
        answer.server_side_session_id = server_session
        answer.operation_id = operation
        answer.response_id = str(uuid.uuid4())
        yield answer


@dataclass
class PlannerService(SparkConnectServiceServicer):
    """Sessions by id, each made when its client first calls.

    Attributes:
        catalog: the tables and streams that every session knows.
        conf: the settings that every session starts with.
        console: where the plans of started streams go.
        scripted: for `stateplan explain FILE`, which goes on where a client would be refused.
        guessing: columns that nobody described are guessed from the code.
        guesses: those of each session.
    """

    catalog: Catalog = field(default_factory=dict)
    conf: Conf = field(default_factory=Conf)
    console: Console = field(default_factory=Console)
    scripted: bool = False
    guessing: bool = False
    guesses: list[Guesses] = field(default_factory=list)
    sessions: dict[str, PlannerSession] = field(default_factory=dict)
    server_session: str = field(default_factory=lambda: str(uuid.uuid4()))
    artifacts: set[str] = field(default_factory=set)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def session(self, session_id: str) -> PlannerSession:
        """The session of that id."""
        with self.lock:
            if session_id not in self.sessions:
                session = PlannerSession(self.catalog, self.conf)
                session.scripted = self.scripted
                session.guesses.accepted = self.guessing
                self.guesses.append(session.guesses)
                self.sessions[session_id] = session
            return self.sessions[session_id]

    # --------------------------------------------------------------------------- calls that answer

    def Config(self, request: Message, context: Any) -> Message:
        """Settings read and written."""
        with self.lock:
            pairs = configure(self.session(request.session_id), request.operation)
        return config_response(request, pairs, self.server_session)

    def AnalyzePlan(self, request: Message, context: Any) -> Message:
        """Schema, plan text and the like."""
        with self.lock:
            session = self.session(request.session_id)
            refuse_analysis(session, request)
            answer = analyze(session, request)
        answer.session_id = request.session_id
        answer.server_side_session_id = self.server_session
        return answer

    def ExecutePlan(self, request: Message, context: Any) -> Iterator[Message]:
        """Commands: they change the session or print plans; no query runs."""
        with self.lock:
            session = self.session(request.session_id)
            with open_schemas(session.open) if self.scripted else nullcontext():
                answers = execute(session, request, self.console)
        yield from signed(answers, request, self.server_session)

    def ReattachExecute(self, request: Message, context: Any) -> Iterator[Message]:
        """An execution that was cut off: all answers are sent at once, so none is left."""
        yield from signed((), request, self.server_session)

    def ReleaseExecute(self, request: Message, context: Any) -> Message:
        """The client has all answers of an execution: none is kept."""
        return self._answer(
            proto.ReleaseExecuteResponse, request, operation_id=request.operation_id
        )

    def Interrupt(self, request: Message, context: Any) -> Message:
        """Nothing runs, so nothing is interrupted."""
        return self._answer(proto.InterruptResponse, request)

    def ReleaseSession(self, request: Message, context: Any) -> Message:
        """The client is done."""
        with self.lock:
            self.sessions.pop(request.session_id, None)
        return self._answer(proto.ReleaseSessionResponse, request)

    def CloneSession(self, request: Message, context: Any) -> Message:
        """A session with the settings and views of another."""
        new_id = request.new_session_id or str(uuid.uuid4())
        with self.lock:
            self.sessions[new_id] = self.session(request.session_id).clone()
        return self._answer(
            proto.CloneSessionResponse,
            request,
            new_session_id=new_id,
            new_server_side_session_id=self.server_session,
        )

    def GetStatus(self, request: Message, context: Any) -> Message:
        """No operation is under way."""
        return self._answer(proto.GetStatusResponse, request)

    def FetchErrorDetails(self, request: Message, context: Any) -> Message:
        """More of an error that nobody knows any more."""
        return proto.FetchErrorDetailsResponse(session_id=request.session_id)

    # ---------------------------------------------------------------------------------- artifacts

    def AddArtifacts(self, request_iterator: Iterator[Message], context: Any) -> Message:
        """Files and classes that executors would need: their names are kept, nothing else."""
        response = proto.AddArtifactsResponse(server_side_session_id=self.server_session)
        for request in request_iterator:
            response.session_id = request.session_id
            kind = request.WhichOneof("payload")
            names = [one.name for one in request.batch.artifacts] if kind == "batch" else []
            names += [request.begin_chunk.name] if kind == "begin_chunk" else []
            for name in names:
                self.artifacts.add(name)
                response.artifacts.add(name=name, is_crc_successful=True)
        return response

    def ArtifactStatus(self, request: Message, context: Any) -> Message:
        """Which artifacts are here already."""
        response = self._answer(proto.ArtifactStatusesResponse, request)
        for name in request.names:
            response.statuses[name].exists = name in self.artifacts
        return response

    def _answer(self, kind: Callable[..., Message], request: Message, **fields: str) -> Message:
        return kind(
            session_id=request.session_id, server_side_session_id=self.server_session, **fields
        )
