"""No network while a file is explained: what it would ask of others is not there.

An HTTP request is answered by a stand-in, so that code which takes a schema or a setting from a
service goes on with a placeholder. Every other connection is refused, as by a service that is down,
with an error at the user's line: a broker's or a database's client needs answers of its own
protocol. Libraries that open connections without Python's sockets are not reached.

No process is started either (`pip install`, `hdfs dfs -ls`): what one would print is a stand-in,
and it ends well.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from typing import Any

from .later import change_when_imported
from .program import Program
from .stand_ins import OtherwiseStandIn, StandIn

_INTERNET = (socket.AF_INET, socket.AF_INET6)
_GOOD = 200
# Modules of libraries, and their classes that send what `request(method, url)` says.
_CLIENTS = {
    "requests.sessions": ("requests", "Session"),
    "urllib3.poolmanager": ("urllib3", "PoolManager"),
    "httpx._client": ("httpx", "Client"),
}


class Answer(OtherwiseStandIn):
    """A response to a request that was not sent: a good one, of which nothing else is known.

    Args:
        path: how the code got it, such as `requests.get(http://registry)`.
    """

    status_code = status = code = _GOOD
    ok = True

    def __init__(self, path: str) -> None:
        self._path = path

    def raise_for_status(self) -> None:
        """It is a good one."""

    def __bool__(self) -> bool:
        return True


class Network:
    """What is refused and what is answered.

    Args:
        program: the user's file.
        note: prints a note for the user, once for each line of the file.

    Attributes:
        refused: whether a connection was refused.
        asked: the requests that stand-ins answer.
    """

    def __init__(self, program: Program, note: Callable[[str], None]) -> None:
        self.program = program
        self.note = note
        self.refused = False
        self.asked: list[str] = []

    def close(self) -> None:
        """From now on nothing is reached. It happens in the process that explains alone."""
        self._sockets()
        opener: Any = urllib.request.OpenerDirector
        opener.open = self._opened(opener.open)
        change_when_imported({module: self._answer(*kind) for module, kind in _CLIENTS.items()})

    def _sockets(self) -> None:
        kind: Any = socket.socket
        network = self

        def refusing(connect: Callable[..., Any]) -> Callable[..., Any]:
            def connected(self: Any, address: Any) -> Any:
                if self.family not in _INTERNET:
                    return connect(self, address)
                raise network.refusal(address)

            return connected

        for name in ("connect", "connect_ex"):
            setattr(kind, name, refusing(getattr(kind, name)))
        found = socket.getaddrinfo
        local = (None, "", "localhost", "127.0.0.1", "::1", "0.0.0.0")

        def look_up(host: Any, port: Any, *arguments: Any, **named: Any) -> Any:
            if host not in local:
                raise network.refusal((host, port))
            return found(host, port, *arguments, **named)

        socket.getaddrinfo = look_up

    def refusal(self, address: Any) -> OSError:
        """The error of a connection, which says whose it is."""
        self.refused = True
        place = self.program.place()
        host = ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)
        self.note(f"{place}: no connection to {host} is made: nothing runs")
        text = f"stateplan explain makes no network connections, to {host} ({place})"
        return ConnectionRefusedError(errno.ECONNREFUSED, text)

    def answered(self, call: str, url: Any) -> Answer:
        """The answer to a request."""
        self.asked.append(str(url))
        self.note(f"{self.program.place()}: {call}({url}) is not sent: its answer is a stand-in")
        return Answer(f"{call}({url})".replace("?", ""))

    def _opened(self, opened: Callable[..., Any]) -> Callable[..., Any]:
        network = self

        def open_(self: Any, request: Any, *arguments: Any, **named: Any) -> Any:
            url = getattr(request, "full_url", request)
            if not str(url).lower().startswith(("http:", "https:", "?")):
                return opened(self, request, *arguments, **named)
            return network.answered("urlopen", url)

        return open_

    def _answer(self, library: str, kind: str) -> Callable[[Any], None]:
        """A change of a library's module: what it would send is answered."""

        def request(client: Any, method: str, url: Any, *_: Any, **named: Any) -> Answer:
            return self.answered(f"{library}.{str(method).lower()}", url)

        return lambda module: setattr(getattr(module, kind), "request", request)


# ---------------------------------------------------------------------------------- processes


def start_no_process(program: Program, note: Callable[[str], None]) -> None:
    """Answer for processes that the user's own code starts; libraries' own go on."""

    def replace(module: Any, name: str, answer: Callable[[Any, StandIn], Any]) -> None:
        real = getattr(module, name)

        def call(command: Any, *arguments: Any, **named: Any) -> Any:
            frame = program.own_frame(sys._getframe(1))
            if frame is None:
                return real(command, *arguments, **named)
            text = command if isinstance(command, str) else " ".join(map(str, command))
            note(f"{program.place(of=frame)}: no process is started here: {text}")
            return answer(command, StandIn(f"{module.__name__}.{name}({text})"))

        setattr(module, name, call)

    python: Any = subprocess
    made = python.Popen.__new__

    def process(kind: Any, command: Any = (), *arguments: Any, **named: Any) -> Any:
        frame = program.own_frame(sys._getframe(1))
        if frame is None:
            return made(kind)
        note(f"{program.place(of=frame)}: no process is started here: {command}")
        return StandIn("subprocess.Popen()")

    python.Popen.__new__ = process
    replace(python, "run", lambda command, out: subprocess.CompletedProcess(command, 0, out, ""))
    for name in ("call", "check_call"):
        replace(python, name, lambda command, out: 0)
    for name in ("check_output", "getoutput"):
        replace(python, name, lambda command, out: out)
    replace(os, "system", lambda command, out: 0)
    replace(os, "popen", lambda command, out: out)
