"""Where a client's foreachBatch function runs, and how it is called there.

Questions are lines of JSON, and so are the answers. The first question names the function, each
further one a batch, by the relation that has its rows.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import IO, Self

Question = dict[str, object]
Answer = dict[str, str]

_WORKER = "stateplan.runtime.connect.batch_worker"
_NAMED = b"stateplan.function:"


class BatchCalls(ABC):
    """A function that is called with batches.

    Args:
        questions, answers: the way there, and back.
    """

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        self._questions = questions
        self._answers = answers

    def ask(self, question: Question) -> Answer:
        """The answer to a question: empty, or an `error` and its `trace`."""
        try:
            self._questions.write(json.dumps(question) + "\n")
            self._questions.flush()
            line = self._answers.readline()
        except (OSError, ValueError) as error:
            return _gone(str(error))
        if not line:
            return _gone(self._ended())
        found: Answer = json.loads(line)
        return found

    def stop(self) -> None:
        """Call it no more."""
        with suppress(OSError):  # what was not read any more
            self._questions.close()
        self._answers.close()

    @abstractmethod
    def _ended(self) -> str:
        """Why there is no answer."""


class CallsOfProcess(BatchCalls):
    """A function in a process of its own, as Spark's server runs that of a Connect client.

    Args:
        process: the process.
        answers: what it answers.
    """

    def __init__(self, process: subprocess.Popen[str], answers: IO[str]) -> None:
        assert process.stdin is not None
        super().__init__(process.stdin, answers)
        self._process = process

    @classmethod
    def start(cls, url: str, session: str, environment: dict[str, str]) -> Self:
        """Start a process that is a client of the endpoint at `url`, on a session."""
        ours, theirs = os.pipe()
        variables = {**os.environ, **environment, "PYTHONUNBUFFERED": "1"}
        variables.pop("SPARK_REMOTE", None)
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", _WORKER, str(theirs), url, session],
                stdin=subprocess.PIPE,
                text=True,
                env=variables,
                pass_fds=[theirs],
            )
        finally:
            os.close(theirs)
        return cls(process, os.fdopen(ours, encoding="utf-8"))

    def load(self, command: bytes, user: str) -> Answer:
        """Have the process load a pickled function."""
        with tempfile.NamedTemporaryFile(suffix=".pickle", delete=False) as function:
            function.write(command)
        try:
            return self.ask({"function": function.name, "user": user})
        finally:
            os.unlink(function.name)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        super().stop()

    def _ended(self) -> str:
        return f"it ended with status {self._process.wait()}"


class CallsOfScript(BatchCalls):
    """A function of the file that `stateplan run` runs, in that file's own process.

    Args:
        connection: to the process.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        super().__init__(connection.makefile("w"), connection.makefile("r"))

    @classmethod
    def connect(cls, path: Path) -> Self:
        """Connect to the socket at which the process listens."""
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(path))
        return cls(connection)

    def load(self, number: int) -> Answer:
        """Choose a function."""
        return self.ask({"function": number})

    def stop(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        super().stop()
        self._connection.close()

    def _ended(self) -> str:
        return "the program has ended"


def name_of_function(number: int) -> bytes:
    """What stands for a function that stays in the file's process."""
    return _NAMED + str(number).encode()


def number_of_function(command: bytes) -> int | None:
    """The number of a function that stays in the file's process; None: it is pickled."""
    return int(command.removeprefix(_NAMED)) if command.startswith(_NAMED) else None


def _gone(why: str) -> Answer:
    return {"error": f"The process of the function is gone: {why}", "trace": ""}
