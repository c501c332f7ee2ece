"""Rows of a batch come to a Python worker without waiting for the network's timers.

Spark and its Python workers talk over TCP. Spark sends a task's rows in several small writes, each
of which waits for the one before to be acknowledged, and Linux acknowledges up to 40 ms late: for a
small batch that is more than all the work. A worker that acknowledges at once ends the wait.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from typing import Any

_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_DESCRIPTORS = "/proc/self/fd"


def prompt(batches: Iterator[Any]) -> Iterator[Any]:
    """The batches as they are; what Spark sends meanwhile is acknowledged at once.

    Elsewhere than on Linux, and where Spark uses other sockets than TCP's, nothing is different.
    """
    option: int = getattr(socket, "TCP_QUICKACK", 0)
    connections = _connections() if option else []
    with contextlib.ExitStack() as stack:
        for connection in connections:
            stack.callback(connection.close)

        def acknowledge() -> None:
            # The kernel goes back to late acknowledgements by itself: it is asked each time.
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.setsockopt(socket.IPPROTO_TCP, option, 1)

        acknowledge()
        for batch in batches:
            yield batch
            acknowledge()


def _connections() -> list[socket.socket]:
    """Handles of our own on this process's TCP connections."""
    found: list[socket.socket] = []
    try:
        numbers = [int(name) for name in os.listdir(_DESCRIPTORS)]
    except OSError:
        return found
    for number in numbers:
        try:
            if not stat.S_ISSOCK(os.fstat(number).st_mode):
                continue
            connection = socket.socket(fileno=os.dup(number))
        except OSError:
            continue
        if connection.family in _FAMILIES and connection.type == socket.SOCK_STREAM:
            found.append(connection)
        else:
            connection.close()
    return found
