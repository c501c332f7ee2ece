"""`stateplan explain job.py`: the script runs in a process of its own, its Spark is the planner."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from ..incremental_execution import IncrementalExecution
from ..model.catalog import Catalog
from ..model.conf import Conf
from ..model.errors import DescriptionError
from ..model.expressions import Origin
from .console import Console
from .server import serving

_STANDARD_ERROR = 2  # the file descriptor


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
    status = _run(script, arguments, catalog, conf, console)
    if status == 0 and not console.shown:
        print(f"note: {script} started no stream.", file=sys.stderr)
    return status


class _Collecting(Console):
    """Keeps what is started instead of printing it."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[tuple[str | None, IncrementalExecution]] = []

    def show(
        self, execution: IncrementalExecution, name: str | None, sink: str, origin: Origin | None
    ) -> None:
        self.shown += 1
        self.started.append((name, execution))


def started_queries(
    script: str, arguments: Sequence[str], *, catalog: Catalog, conf: Conf
) -> list[tuple[str | None, IncrementalExecution]]:
    """The streams that a script starts, with their names, in order.

    Raises:
        DescriptionError: the script fails.
    """
    console = _Collecting()
    status = _run(script, arguments, catalog, conf, console)
    if status != 0:
        raise DescriptionError(
            "STATEPLAN_SCRIPT_FAILED",
            f"The script '{script}' ended with status {status}.",
            hint="What it printed says why; stateplan explain runs it alone.",
        )
    return console.started


def _run(
    script: str, arguments: Sequence[str], catalog: Catalog, conf: Conf, console: Console
) -> int:
    """Run a script whose Spark is the planner; its exit status."""
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
        # What the script prints stands beside its plans, but not in a report.
        out = _STANDARD_ERROR if isinstance(console, _Collecting) else None
        return subprocess.run(program, env=environment, check=False, stdout=out).returncode
