"""A port that answers this process alone, tried with plain sockets and no engine behind it."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from stateplan.runtime.engines.private_port import (
    OtherProcessConnected,
    PortFilterError,
    PrivatePort,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="socket filters are Linux's")

# Another process: it connects, says hello, and prints what it hears within a second.
_STRANGER = """
import socket, sys
try:
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=1) as stranger:
        print("connected", flush=True)
        stranger.sendall(b"hello")
        print("heard", stranger.recv(100), flush=True)
        sys.stdin.readline()
except TimeoutError:
    print("timeout", flush=True)
"""


class Server:
    """A listening socket that answers whatever it hears."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(1)
        self.address = self.socket.getsockname()
        self.accepted: list[socket.socket] = []

    def answer(self) -> bytes:
        """What one who connects says."""
        connection, _ = self.socket.accept()
        self.accepted.append(connection)
        connection.settimeout(0.5)
        said = connection.recv(100)
        connection.sendall(b"answer")
        return said

    def close(self) -> None:
        for each in (self.socket, *self.accepted):
            each.close()


class Channel:
    """As much of a gRPC channel as a private port watches."""

    def subscribe(self, callback: Callable[[object], None], try_to_connect: bool) -> None:
        assert try_to_connect
        self.changed = callback


@pytest.fixture
def server() -> Iterator[Server]:
    served = Server()
    yield served
    served.close()


@pytest.fixture
def stranger(server: Server) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", _STRANGER, str(server.address[1])]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_without_a_filter_anybody_is_answered(
    server: Server, stranger: subprocess.Popen[str]
) -> None:
    server.socket.settimeout(10)
    assert server.answer() == b"hello"
    assert line(stranger) == "connected"
    assert line(stranger) == "heard b'answer'"


def test_what_a_stranger_says_does_not_get_through(
    server: Server, stranger: subprocess.Popen[str]
) -> None:
    PrivatePort(server.address)
    assert line(stranger) == "connected"
    with pytest.raises(TimeoutError):
        server.answer()


def test_our_own_connection_is_let_in_and_strangers_are_ended(
    server: Server, request: pytest.FixtureRequest
) -> None:
    grpc = pytest.importorskip("grpc")
    private, channel = PrivatePort(server.address), Channel()
    private.watch(channel)  # type: ignore[arg-type]
    process = request.getfixturevalue("stranger")
    assert line(process) == "connected"
    with pytest.raises(TimeoutError):
        server.answer()
    with socket.create_connection(server.address, timeout=2) as own:
        assert not private.wait(0)
        connection, _ = server.socket.accept()
        channel.changed(grpc.ChannelConnectivity.READY)
        assert private.wait(0)
        own.sendall(b"ours")
        assert connection.recv(100) == b"ours"
        connection.close()
    assert line(process) == "heard b''"


def test_a_shut_door_lets_nobody_connect(server: Server, request: pytest.FixtureRequest) -> None:
    grpc = pytest.importorskip("grpc")
    channel = Channel()
    PrivatePort(server.address).watch(channel)  # type: ignore[arg-type]
    with socket.create_connection(server.address, timeout=2):
        server.socket.accept()[0].close()
        channel.changed(grpc.ChannelConnectivity.READY)
    process = request.getfixturevalue("stranger")
    assert line(process) == "timeout"
    # Our channel has to connect again, and can.
    channel.changed(grpc.ChannelConnectivity.CONNECTING)
    socket.create_connection(server.address, timeout=2).close()


def test_who_came_before_the_door_is_noticed(server: Server) -> None:
    with socket.create_connection(server.address), pytest.raises(OtherProcessConnected):
        PrivatePort(server.address)


def test_no_door_without_a_port(server: Server) -> None:
    server.close()
    with pytest.raises(PortFilterError, match="no socket of this process listens"):
        PrivatePort(server.address)
