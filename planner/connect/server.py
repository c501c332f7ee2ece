"""A service on a port, for scripts and for any Spark Connect client."""

from __future__ import annotations

import hmac
import importlib
import logging
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import grpc
from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc

from ..model.errors import DescriptionError, InternalError, StateplanError
from ..model.frozen import dataclass
from .errors import ErrorBook
from .places import Message

_LOG = logging.getLogger(__name__)
LOOPBACK = "127.0.0.1"
# Calls that wait, such as those for the end of a stream, keep a thread each.
_WORKERS = 1000
_CALLS_WITHIN = 20_000
_SERVICE = base_pb2.DESCRIPTOR.services_by_name["SparkConnectService"]


class _Served(base_pb2_grpc.SparkConnectServiceServicer):
    """The service with its errors turned into gRPC's."""

    def __init__(self, service: base_pb2_grpc.SparkConnectServiceServicer) -> None:
        self.book = ErrorBook()
        self._service = service
        for method in _SERVICE.methods:
            if method.name != "FetchErrorDetails":
                turned = self._streaming if method.server_streaming else self._answering
                setattr(self, method.name, turned(getattr(service, method.name)))

    def FetchErrorDetails(self, request: Message, context: Any) -> Message:
        """The whole of an error that was sent in short; a service may know of others."""
        if request.error_id in self.book.errors:
            return self.book.details(request)
        return self._answering(self._service.FetchErrorDetails)(request, context)

    def _answering(self, call: Callable[..., Message]) -> Callable[[Any, Any], Message]:
        def answered(request: Any, context: Any) -> Message:
            try:
                return call(request, context)
            except Exception as error:
                self._abort(error, context)

        return answered

    def _streaming(self, call: Callable[..., Iterator[Message]]) -> Callable[..., Any]:
        def streamed(request: Message, context: Any) -> Iterator[Message]:
            try:
                yield from call(request, context)
            except Exception as error:
                self._abort(error, context)

        return streamed

    def _abort(self, error: Exception, context: Any) -> None:
        """End a call with an error; one of a server behind this one as the service words it."""
        if isinstance(error, grpc.FutureCancelledError):
            # The client has gone, and with it what was asked of that server.
            context.abort(grpc.StatusCode.CANCELLED, str(error))
        if isinstance(error, grpc.RpcError) and isinstance(error, grpc.Call):
            worded: Any = getattr(self._service, "worded", lambda _: None)(error)
            if worded is not None:
                context.abort_with_status(worded)
            context.set_trailing_metadata(error.trailing_metadata() or ())
            context.abort(error.code(), error.details())
        context.abort_with_status(self.book.status(_as_error(error)))


def _as_error(error: Exception) -> StateplanError:
    if isinstance(error, StateplanError):
        return error
    _LOG.error("A call failed", exc_info=error)
    return InternalError(f"{type(error).__name__}: {error}")


@dataclass(frozen=True, kw_only=True)
class Access:
    """Where a server listens, and who may come in.

    Attributes:
        host: an address of this machine.
        port: 0 for any that is free.
        token: what clients must show: `token=` in their connection string.
        certificate: a file with the certificate for TLS, as PEM.
        key: a file with its private key.
    """

    host: str = LOOPBACK
    port: int = 0
    token: str | None = None
    certificate: str | None = None
    key: str | None = None

    def check(self) -> None:
        """Check that no other machine can come in without a token, or be listened to.

        Raises:
            DescriptionError: it could, or one of the two files is missing.
        """
        if (self.certificate is None) != (self.key is None):
            raise DescriptionError.of("STATEPLAN_TLS_INCOMPLETE")
        if self.host in (LOOPBACK, "localhost", "::1"):
            return
        if self.token is None or self.certificate is None:
            raise DescriptionError.of("STATEPLAN_OPEN_PORT", host=self.host)

    def bind(self, server: grpc.Server) -> int:
        """Make a server listen; the port.

        Raises:
            DescriptionError: the port is taken, or a file cannot be read.
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        address = f"{host}:{self.port}"
        try:
            if self.certificate is None or self.key is None:
                return int(server.add_insecure_port(address))
            pair = Path(self.key).read_bytes(), Path(self.certificate).read_bytes()
            return int(server.add_secure_port(address, grpc.ssl_server_credentials([pair])))
        except OSError as error:
            raise DescriptionError.of(
                "STATEPLAN_FILE_UNREADABLE", path=error.filename, reason=error.strerror
            ) from None
        except RuntimeError:
            raise DescriptionError.of(
                "STATEPLAN_PORT_TAKEN", port=self.port, host=self.host
            ) from None


class _Doorkeeper(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Turns away calls without the token."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode()

        def refuse(request: Any, context: Any) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "No token, or not the right one.")

        self._refusal = grpc.unary_unary_rpc_method_handler(refuse)

    def intercept_service(self, continuation: Callable[[Any], Any], details: Any) -> Any:
        """The call, if it shows the token."""
        shown = dict(details.invocation_metadata).get("authorization", "")
        if hmac.compare_digest(shown.encode(), self._expected):
            return continuation(details)
        return self._refusal


def take_deep_plans() -> None:
    """Read and plan relations that are made of hundreds of others, as Spark's server does.

    A script that adds a column in each turn of a loop makes such. Protobuf's limit is 100 messages
    within each other, Python's 1,000 calls; both hold for the whole process, so only a program of
    our own may lift them.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _CALLS_WITHIN))
    take_deep_messages()


def take_deep_messages() -> None:
    """Lift Protobuf's part of these limits: what a pipeline's client sends is read there, too."""
    with suppress(ImportError, AttributeError):
        importlib.import_module("google._upb._message").SetAllowOversizeProtos(True)


@contextmanager
def serving(
    service: base_pb2_grpc.SparkConnectServiceServicer, access: Access
) -> Iterator[tuple[grpc.Server, int]]:
    """A running server and its port; it stops when the block ends.

    Args:
        service: what answers.
        access: where it listens, and to whom.

    Raises:
        DescriptionError: the port is taken, or others could come in.
    """
    access.check()
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=_WORKERS, thread_name_prefix="stateplan"),
        interceptors=[] if access.token is None else [_Doorkeeper(access.token)],
        options=[
            ("grpc.max_receive_message_length", -1),
            ("grpc.so_reuseport", 0),
            # PySpark's client asks now and then whether the server is still there.
            ("grpc.http2.max_ping_strikes", 0),
            ("grpc.keepalive_permit_without_calls", 1),
        ],
    )
    add: Callable[..., None] = base_pb2_grpc.add_SparkConnectServiceServicer_to_server
    add(_Served(service), server)
    bound = access.bind(server)
    server.start()
    try:
        yield server, bound
    finally:
        server.stop(grace=None)
