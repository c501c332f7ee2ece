"""The embedded engine in a process of its own, for one that has Spark.

Parts of cases come as JSON lines, what they emitted goes back so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .cases import Name
from .runs import Emitted, Part, run_part

TESTS = Path(__file__).resolve().parent.parent


class WorkerEnded(Exception):
    """The process ended instead of answering."""


class Worker:
    """A process with the embedded engine, started at the first part.

    Args:
        python: an interpreter that has the engine.
    """

    def __init__(self, python: Path) -> None:
        self._python = python
        self._process: subprocess.Popen[str] | None = None

    def run(self, part: Part) -> Emitted:
        """What `run_part` gives there.

        Raises:
            WorkerEnded: the process ended; the next part starts another one.
        """
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        question = {**asdict(part), "name": str(part.name), "folder": str(part.folder)}
        line = ""
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line:
            code = self.stop()
            raise WorkerEnded(f"{part.name}: the embedded engine's process ended: {code}")
        answer: dict[str, Any] = json.loads(line)
        if "raised" in answer:
            raise RuntimeError(answer["raised"])
        emitted: Emitted = answer["emitted"]
        return emitted

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            pipe = subprocess.PIPE
            environment = {**os.environ, "JAVA_HOME": "", "PYTHONPATH": str(TESTS)}
            self._process = subprocess.Popen(
                [str(self._python), "-m", "stream_comparison.worker"],
                stdin=pipe,
                stdout=pipe,
                text=True,
                env=environment,
            )
        return self._process

    def stop(self) -> int | None:
        """End the process, if there is one; its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()
        try:
            return process.wait(10)  # it ends when there is nothing more to read
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _answer(session: Any, question: dict[str, Any]) -> dict[str, Any]:
    name, folder = Name.parse(question["name"]), Path(question["folder"])
    try:
        part = Part(**{**question, "name": name, "folder": folder})
        return {"emitted": run_part(session, part)}
    except Exception as error:  # a defect, which the one who asks shows
        return {"raised": f"{type(error).__name__}: {error}"}


def main() -> None:
    from stateplan.runtime.engines.embedded_session import session

    # What anything prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        answers.write(json.dumps(_answer(session(), json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
