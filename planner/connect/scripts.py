"""`stateplan explain job.py`: the script runs in a process of its own, its Spark is the planner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from ..model.catalog import Catalog
from ..model.conf import Conf
from .console import Console
from .server import serving


def explain_script(
    script: str, arguments: Sequence[str], *, catalog: Catalog, conf: Conf, mode: str
) -> int:
    """Run a PySpark script; every stream that it starts is printed as its plan.

    Args:
        script: the file.
        arguments: those of the script.
        catalog: the tables and streams that it may name.
        conf: settings to start with; the script's own win.
        mode: the explain mode of started streams.

    Returns:
        The exit status: the script's own, or 2 where the planner refused something.
    """
    console = Console(mode)
    with serving(catalog=catalog, conf=conf, console=console) as (_, port):
        environment = {
            **os.environ,
            "SPARK_REMOTE": f"sc://127.0.0.1:{port}",
            "SPARK_CONNECT_DEBUG_CLIENT_CALL_STACK": "true",
            "PYTHONUNBUFFERED": "1",
            "GRPC_VERBOSITY": "NONE",
        }
        environment.pop("MASTER", None)
        environment.pop("SPARK_API_MODE", None)
        program = [sys.executable, "-m", "stateplan.planner.connect.launch", script, *arguments]
        status = subprocess.run(program, env=environment, check=False).returncode
    if status == 0 and not console.shown:
        print(f"note: {script} started no stream.", file=sys.stderr)
    return status
