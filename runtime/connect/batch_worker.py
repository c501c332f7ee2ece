"""The process of a client's foreachBatch function.

    python -m stateplan.runtime.connect.batch_worker ANSWERS URL SESSION

Questions come on standard input, a line of JSON each; answers go to the file descriptor ANSWERS.
The first question names the file of the pickled function, each further one a batch.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from typing import IO, Any

from pyspark.serializers import CloudPickleSerializer


def end_with(parent: int) -> None:
    """End this process when its parent is gone: calls of a dead endpoint are tried for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(answers: IO[str], url: str, root: str) -> None:
    """Answer questions until there are no more."""
    from pyspark.sql.connect.session import SparkSession

    function: Any = None
    sessions: dict[str, Any] = {}
    user = ""

    def session(session_id: str) -> Any:
        if session_id not in sessions:
            made = SparkSession.builder.remote(f"{url};session_id={session_id};user_id={user}")
            sessions[session_id] = made.create()
        # What the function finds as the active session is that of the batch.
        SparkSession._default_session = sessions[session_id]
        SparkSession._active_session.session = sessions[session_id]
        return sessions[session_id]

    for line in sys.stdin:
        question = json.loads(line)
        try:
            if function is None:
                user = question["user"]
                session(root)  # a session that the function holds comes back as this one
                with open(question["function"], "rb") as file:
                    function = CloudPickleSerializer().loads(file.read())  # type: ignore[no-untyped-call]
            else:
                frame = session(question["session"])._create_remote_dataframe(question["frame"])
                function(frame, question["batch"])
            answer = {}
        except BaseException as error:
            message = f"{type(error).__name__}: {error}"
            answer = {"error": message, "trace": traceback.format_exc()}
        sys.stdout.flush()
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    threading.Thread(target=end_with, args=[os.getppid()], daemon=True).start()
    with os.fdopen(int(sys.argv[1]), "w", encoding="utf-8") as out:
        main(out, *sys.argv[2:])
