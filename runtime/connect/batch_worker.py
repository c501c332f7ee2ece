"""Runs foreachBatch functions of a client; as a program, one in a process of its own.

    python -m stateplan.runtime.connect.batch_worker ANSWERS URL SESSION

Questions (`batch_calls.py`) come on standard input, answers go to the file descriptor ANSWERS.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from typing import IO, Any

from pyspark.serializers import CloudPickleSerializer

from .batch_calls import Question

Function = Callable[[Any, int], object]


def end_with(parent: int) -> None:
    """End this process when its parent is gone: calls of a dead endpoint are tried for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def answer_all(
    questions: Iterable[str],
    answers: IO[str],
    load: Callable[[Question], tuple[Function, Any]],
) -> None:
    """Answer questions until there are no more.

    Args:
        questions: of one function.
        answers: where answers go.
        load: the function that the first question names, and the session of its batches.
    """
    loaded: tuple[Function, Any] | None = None
    for line in questions:
        question = json.loads(line)
        try:
            if loaded is None:
                loaded = load(question)
            else:
                function, session = loaded
                function(session._create_remote_dataframe(question["frame"]), question["batch"])
            answer = {}
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
            answer = {"error": message, "trace": traceback.format_exc()}
        sys.stdout.flush()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def main(answers: IO[str], url: str, root: str) -> None:
    """Answer the questions on standard input."""
    from pyspark.sql.connect.session import SparkSession

    def load(question: Question) -> tuple[Function, Any]:
        builder = SparkSession.builder.remote(f"{url};session_id={root};user_id={question['user']}")
        # The session that the function finds as the active one, and that it holds, is this one.
        session: Any = builder.create()
        with open(str(question["function"]), "rb") as file:
            function: Function = CloudPickleSerializer().loads(file.read())  # type: ignore[no-untyped-call]
        return function, session

    answer_all(sys.stdin, answers, load)


if __name__ == "__main__":
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as out:
        main(out, *sys.argv[2:])
