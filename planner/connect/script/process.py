"""The process that a user's file runs in: it imports PySpark while its Spark gets ready.

    python -m stateplan.planner.connect.script.process MODULE DESCRIPTOR

MODULE has a function `run`, which takes a `Program` and further arguments and returns the exit
status. DESCRIPTOR is that of a pipe with these arguments as JSON; it is empty if there is nothing
to run.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType

from .program import Program

LAUNCH = "stateplan.planner.connect.script.launch"
"""The module that runs a file whose Spark is the planner."""

_REMOTE = "SPARK_REMOTE"
_FIXED = {
    _REMOTE: "local",  # until it is known
    "SPARK_CONNECT_DEBUG_CLIENT_CALL_STACK": "true",
    "PYTHONUNBUFFERED": "1",
    "GRPC_VERBOSITY": "NONE",
}
_OTHER_SPARKS = ("MASTER", "SPARK_API_MODE", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")


class ScriptProcess:
    """A process that starts at once and runs one file later; a `with` block ends it."""

    def __init__(self, module: str, environment: Mapping[str, str], out: int | None = None) -> None:
        """Start it.

        Args:
            module: the one whose `run` runs the file.
            environment: variables that the file finds besides those of this process.
            out: a file descriptor for what the file prints; None: this process' output.
        """
        variables = {**os.environ, **environment, **_FIXED}
        for name in _OTHER_SPARKS:
            variables.pop(name, None)
        theirs, ours = os.pipe()
        self._pipe = os.fdopen(ours, "w", encoding="utf-8")
        command = [sys.executable, "-m", __name__, module, str(theirs)]
        try:
            self._process = subprocess.Popen(command, env=variables, stdout=out, pass_fds=[theirs])
        finally:
            os.close(theirs)

    def run(self, remote: str, program: Program, **more: object) -> int:
        """Run a file whose Spark has the address `remote`; its exit status."""
        # A process that has died reads nothing; its exit status says so.
        with suppress(BrokenPipeError), self._pipe:
            json.dump({"remote": remote, "program": asdict(program), **more}, self._pipe)
        return self._process.wait()

    def __enter__(self) -> ScriptProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.wait()


def _message(descriptor: str) -> str:
    with open(int(descriptor), encoding="utf-8") as pipe:
        return pipe.read()


def _main(name: str, descriptor: str) -> int:
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing of the user's runs yet
    try:
        module = importlib.import_module(name)
    except ImportError:
        if _message(descriptor):
            raise
        return 0  # the parent lacks the same module, and says so
    text = _message(descriptor)
    if not text:
        return 0
    signal.signal(signal.SIGINT, before)
    arguments = json.loads(text)
    os.environ[_REMOTE] = arguments.pop("remote")
    status: int = module.run(Program(**arguments.pop("program")), **arguments)
    return status


if __name__ == "__main__":
    ended = _main(*sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the file, such as one that feeds a topic, would keep the process.
    os._exit(ended)
