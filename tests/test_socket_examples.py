"""PySpark's own example that counts the words of a socket runs as it is, on both engines."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import embedded_environment
import pyspark
import pytest

STREAMING = Path(pyspark.__file__).parent / "examples/src/main/python/sql/streaming"
EXAMPLE = str(STREAMING / "structured_network_wordcount.py")


@pytest.fixture
def port() -> Iterator[int]:
    """A port that gives its first client two lines and then nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        clients: list[socket.socket] = []

        def serve() -> None:
            try:
                while True:
                    clients.append(listening.accept()[0])
                    clients[-1].sendall(b"apache spark\napache\n")
            except OSError:
                return

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)  # nobody comes in while the clients are closed
        server.join()
        for client in clients:
            client.close()


@pytest.mark.parametrize("engine", ["embedded", "spark"])
def test_an_example_counts_the_words_of_a_socket(engine: str, port: int) -> None:
    python = str(embedded_environment.python()) if engine == "embedded" else sys.executable
    command = [python, "-m", "stateplan.planner.cli", "run", "--engine", engine]
    running = subprocess.Popen(
        [*command, EXAMPLE, "--", "127.0.0.1", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,  # the example runs in a process of that one's
    )

    def end() -> None:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)

    limit = threading.Timer(150, end)
    limit.start()
    told = ""
    try:
        assert running.stdout is not None
        for line in running.stdout:
            told += line
            if re.search(r"\|apache\|\s*2\|", line):
                return
        raise AssertionError(told)
    finally:
        limit.cancel()
        end()
        running.communicate()
