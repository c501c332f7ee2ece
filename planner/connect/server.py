"""The service on a loopback port, for scripts and for any Spark Connect client."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from pyspark.sql.connect.proto import base_pb2_grpc

from ..model.errors import DescriptionError, InternalError, StateplanError
from .errors import ErrorBook
from .places import Message
from .service import PlannerService

_HOST = "127.0.0.1"
_CALLS = (
    "Config",
    "AnalyzePlan",
    "ReleaseExecute",
    "Interrupt",
    "ReleaseSession",
    "CloneSession",
    "GetStatus",
    "AddArtifacts",
    "ArtifactStatus",
)
_STREAMED = ("ExecutePlan", "ReattachExecute")


class _Served(base_pb2_grpc.SparkConnectServiceServicer):
    """The service with its errors turned into gRPC's."""

    def __init__(self, service: PlannerService) -> None:
        self.book = ErrorBook()
        for name in _CALLS:
            setattr(self, name, self._answering(getattr(service, name)))
        for name in _STREAMED:
            setattr(self, name, self._streaming(getattr(service, name)))

    def FetchErrorDetails(self, request: Message, context: Any) -> Message:
        """The whole of an error that was told in short."""
        return self.book.details(request)

    def _answering(self, call: Callable[..., Message]) -> Callable[[Any, Any], Message]:
        def answered(request: Any, context: Any) -> Message:
            try:
                return call(request, context)
            except Exception as error:
                context.abort_with_status(self.book.status(_told(error)))

        return answered

    def _streaming(self, call: Callable[..., Iterator[Message]]) -> Callable[..., Any]:
        def streamed(request: Message, context: Any) -> Iterator[Message]:
            try:
                yield from call(request, context)
            except Exception as error:
                context.abort_with_status(self.book.status(_told(error)))

        return streamed


def _told(error: Exception) -> StateplanError:
    if isinstance(error, StateplanError):
        return error
    return InternalError(f"{type(error).__name__}: {error}")


@contextmanager
def serving(service: PlannerService, port: int = 0) -> Iterator[tuple[grpc.Server, int]]:
    """A running server and its port; it stops when the block ends.

    Args:
        service: what answers.
        port: a port of the loopback interface; 0 for any that is free.

    Raises:
        DescriptionError: the port is taken.
    """
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=8, thread_name_prefix="stateplan"),
        options=[("grpc.max_receive_message_length", -1), ("grpc.so_reuseport", 0)],
    )
    add: Callable[..., None] = base_pb2_grpc.add_SparkConnectServiceServicer_to_server
    add(_Served(service), server)
    try:
        bound = server.add_insecure_port(f"{_HOST}:{port}")
    except RuntimeError:
        raise DescriptionError(
            "STATEPLAN_PORT_TAKEN",
            f"The port {port} cannot be used: something else listens there.",
            hint="Give another port, or leave --port out.",
        ) from None
    server.start()
    try:
        yield server, bound
    finally:
        server.stop(grace=None)
