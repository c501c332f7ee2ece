"""`stateplan serve --run`: the endpoint for any client, until Ctrl-C."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ...planner.connect.server import LOOPBACK, Access, serving
from .backend import Backend, open_backend
from .service import RunService


@contextmanager
def running(backend: Backend, access: Access) -> Iterator[tuple[object, int]]:
    """The endpoint in front of an engine, and its port; streams end with the block.

    Processes of clients' functions come in on the loopback, by a port and a token of their own.

    Args:
        backend: the engine.
        access: where it listens, and to whom.

    Raises:
        DescriptionError: the port is taken, or others could come in.
    """
    service = RunService(backend)
    inner = Access(host=LOOPBACK, token=secrets.token_urlsafe(32))
    with ExitStack() as stack:
        server, port = stack.enter_context(serving(service, access))
        _, inner_port = stack.enter_context(serving(service, inner))
        service.url = f"sc://localhost:{inner_port}/;token={inner.token}"
        stack.callback(service.close)
        yield server, port


def serve_runs(access: Access, engine: str, master: str | None, settings: dict[str, str]) -> None:
    """Serve until Ctrl-C.

    Args:
        access: where, and to whom.
        engine: `auto`, `embedded` or `spark`.
        master: Spark's master URL.
        settings: Spark's settings to start with.

    Raises:
        StateplanError: the engine does not start, the port is taken, others could come in.
    """
    access.check()
    backend, choice = open_backend(engine, master, settings)
    print(f"engine: {choice.engine}. {choice.reason}", file=sys.stderr)
    with running(backend, access) as (server, port):
        scheme = f"sc://{access.host}:{port}"
        print(f"Running streams for {scheme}; Ctrl-C ends it.", file=sys.stderr, flush=True)
        server.wait_for_termination()  # type: ignore[attr-defined]
