"""foreachBatch functions of a file that `stateplan run` runs, called in the file's own process.

As in a classic application: what a function changes is there for the rest of the file, and what it
uses need not be pickled.
"""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

from pyspark.sql.connect.session import SparkSession

from .batch_calls import Question, name_of_function
from .batch_worker import Function, answer_all


class ScriptFunctions:
    """The file's functions, by their numbers.

    Args:
        path: of the socket at which the endpoint asks for them.
    """

    def __init__(self, path: Path) -> None:
        self._functions: list[tuple[Function, Any]] = []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def add(self, function: Function, session: Any) -> bytes:
        """Take in a function that is given in a session; what stands for it."""
        self._functions.append((function, session))
        return name_of_function(len(self._functions) - 1)

    def _accept(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        def load(question: Question) -> tuple[Function, Any]:
            function, session = self._functions[int(str(question["function"]))]
            active: Any = SparkSession
            active._active_session.session = session  # of this thread
            return function, session

        with connection, connection.makefile("r") as questions, connection.makefile("w") as answers:
            answer_all(questions, answers, load)
