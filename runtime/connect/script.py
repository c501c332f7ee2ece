"""`stateplan run job.py`: the file runs in a process of its own, its Spark is the endpoint."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

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
    # Functions of the file find other files where it does.
    backend, choice = open_backend(engine, master, dict(settings), isolated=False)
    print(f"engine: {choice.engine}. {choice.reason}", file=sys.stderr, flush=True)
    token = secrets.token_urlsafe(32)
    with TemporaryDirectory() as folder, running(backend, Access(token=token)) as (_, port):
        backend.script = Path(folder) / "functions"
        variables = {
            **os.environ,
            "SPARK_REMOTE": f"sc://localhost:{port}/;token={token}",
            "SPARK_CONNECT_DEBUG_CLIENT_CALL_STACK": "true",
            "PYTHONUNBUFFERED": "1",
            "GRPC_VERBOSITY": "NONE",
        }
        for name in ("MASTER", "SPARK_API_MODE", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
            variables.pop(name, None)
        asked = [program.to_json(), str(backend.script), *(["far"] if is_remote(master) else [])]
        process = subprocess.Popen([sys.executable, "-m", _LAUNCH, *asked], env=variables)
        # Ctrl-C goes to both: the file decides what comes of it.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            return process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
