"""`stateplan run job.py`: the file runs in a process of its own, its Spark is the endpoint."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from ...planner.connect.script.process import ScriptProcess
from ...planner.connect.script.program import Program
from ...planner.connect.server import Access
from ..engines.settings import is_remote
from .backend import open_backend
from .serving import running

_LAUNCH = "stateplan.runtime.connect.launch"
_PATH = "PYTHONPATH"


def run_script(
    program: Program, engine: str, master: str | None, settings: Mapping[str, str]
) -> int:
    """Run a PySpark file; its streams run on our runtime, all else on the engine behind it.

    When the file ends its streams do, as with an application of its own.

    Args:
        program: the file and its arguments.
        engine: `auto`, `embedded` or `spark`.
        master: Spark's master URL.
        settings: Spark's settings to start with.

    Returns:
        The file's exit status.

    Raises:
        StateplanError: the engine does not start.
    """
    # Workers and processes of its functions import the modules beside the file, too.
    path = os.pathsep.join([*program.search_path, os.environ.get(_PATH, "")]).rstrip(os.pathsep)
    os.environ[_PATH] = path
    with ScriptProcess(_LAUNCH, {}) as process:
        # Functions of the file find other files where it does.
        backend, choice = open_backend(engine, master, dict(settings), isolated=False)
        print(f"engine: {choice.engine}. {choice.reason}", file=sys.stderr, flush=True)
        token = secrets.token_urlsafe(32)
        with TemporaryDirectory() as folder, running(backend, Access(token=token)) as (_, port):
            backend.script = Path(folder) / "functions"
            remote = f"sc://localhost:{port}/;token={token}"
            # Ctrl-C goes to both: the file decides what comes of it.
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                asked = {"socket": str(backend.script), "far": is_remote(master)}
                return process.run(remote, program, **asked)
            finally:
                signal.signal(signal.SIGINT, before)
