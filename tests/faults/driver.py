"""One run of a query in a process of its own: on a JVM that is there, or on the embedded engine.

A process that dies on a JVM leaves its Spark jobs running: the JVM goes on with them for a while,
as a driver that was cut off would; the embedded engine dies with its process. Processes are forked
from a server that has imported everything, so that a run costs its batches and little else.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .cases import Case
from .steps import End, Steps
from .tasks import TaskFault
from .user_state import USER_STATE, clock

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT = 600.0  # seconds: no run takes as long, even on a machine that does other things


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """Where a JVM with a Spark context listens."""

    port: int
    secret: str


On = Gateway | Literal["own", "embedded"]
"""What a run uses: a JVM that is there, one of its own, or the embedded engine."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One start of a query.

    Attributes:
        case: the query.
        folder: of the life: `in`, `checkpoint`, the sink's content.
        start: how many starts there were before.
        portions: how many of the case's portions are there at the end, one number a start that
            follows on the one before in the same process.
        on: the engine.
        at_step, end: the step at which the process ends, and how.
        task_fault: what goes wrong in a task.
        fail_sink: the batch whose rows the sink takes, but then fails.
        stop_engine: after how many seconds the embedded engine stops, under the query.
        locks: whether the disk has locks.
    """

    case: Case
    folder: Path
    start: int = 0
    portions: tuple[int, ...]
    on: On = "own"
    at_step: int | None = None
    end: End = "kill"
    task_fault: TaskFault | None = None
    fail_sink: int | None = None
    stop_engine: float | None = None
    locks: bool = True


def gateway_of(spark: SparkSession) -> Gateway:
    """How other processes reach the JVM of a session."""
    gateway: Any = spark.sparkContext._gateway
    parameters = gateway.gateway_parameters
    return Gateway(port=parameters.port, secret=parameters.auth_token)


_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["faults.preload"])


def launch(run: Run) -> BaseProcess:
    """Start a run."""
    process = _context.Process(target=_main, args=(run,), daemon=True)
    process.start()
    return process


def finish(process: BaseProcess, run: Run, limit: float = LIMIT) -> str:
    """Wait for a run: `done`, `killed`, or the text of what failed it.

    Raises:
        TimeoutError: it neither ends nor fails.
    """
    process.join(limit)
    if process.is_alive():
        assert process.pid is not None
        os.kill(process.pid, signal.SIGUSR1)  # where its threads are goes to the log
        process.join(1)
        process.kill()
        raise TimeoutError(f"a run of {run.case.kind} {run.case.seed} took over {limit} s")
    if process.exitcode == 0:
        return "done"
    if process.exitcode == -9:
        return "killed"
    failure = run.folder / "failure"
    return failure.read_text() if failure.exists() else f"exit {process.exitcode}"


def _main(run: Run) -> None:
    log = os.open(run.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    faulthandler.register(signal.SIGUSR1)
    code = 1
    try:
        spark = connect(run.on)
        _settle(run)
        steps = Steps(run.folder, run.at_step, run.end)
        steps.install()
        made = []
        for number, portions in enumerate(run.portions):
            before = len(steps.names)
            run.case.write_input(run.folder / "in", portions)
            perform(spark, run, run.start + number)
            made.append(steps.names[before:])
        (run.folder / "steps.json").write_text(json.dumps(made))
        code = 0
    except BaseException as error:
        text = f"{getattr(error, 'condition', None) or type(error).__name__}: {error}"
        (run.folder / "failure").write_text(text)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not `exit`: the Spark behind the session is not this process's to stop.
        os._exit(code)


def _settle(run: Run) -> None:
    """What the runtime takes from this process: how much logs keep, and whether there are locks."""
    from stateplan.runtime import compactible_log
    from stateplan.runtime.state.storage_local import Disk

    compactible_log.KEPT_BATCHES = run.case.kept
    compactible_log.CompactibleLog.__init__.__defaults__ = (run.case.compact,)

    def none(*_: object) -> int:
        raise OSError(errno.ENOLCK, "no locks")

    if not run.locks:
        Disk.lock = none  # type: ignore[method-assign]
    if run.stop_engine is not None:
        threading.Timer(run.stop_engine, _stop_engine).start()


def _stop_engine() -> None:
    """The embedded engine goes, without the knowledge of those who use it."""
    from stateplan.runtime.engines import embedded_session

    running: Any = embedded_session._running
    running._server.stop()


def connect(on: On) -> SparkSession:
    """A session on an engine."""
    if on == "embedded":
        from stateplan.runtime.engines import embedded_session

        return embedded_session.session()
    if on == "own":
        from .sparks import local_session

        return local_session()
    return _connect_to(on)


def _connect_to(gateway: Gateway) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["PYSPARK_GATEWAY_PORT"] = str(gateway.port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = gateway.secret
    java = launch_gateway()
    scala = java.jvm.org.apache.spark.SparkContext.getOrCreate()
    context = java.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(scala)
    conf = SparkConf(_jconf=context.getConf())
    return SparkSession(SparkContext(gateway=java, jsc=context, conf=conf))


def perform(spark: SparkSession, run: Run, start: int) -> None:
    """Run the query until there is nothing left to read, with the run's fault."""
    from stateplan.planner.model.schemas.ddl import parse_schema
    from stateplan.runtime.progress import clock_ms
    from stateplan.runtime.sources import FileSource
    from stateplan.runtime.streaming import StartRequest, run_to_completion
    from stateplan.runtime.triggers import AVAILABLE_NOW

    from . import tasks
    from .cases import SCHEMA
    from .sinks import make_sink

    case = run.case
    source = FileSource(
        case.format, str(run.folder / "in"), parse_schema(SCHEMA), {"maxFilesPerTrigger": "1"}
    )
    sink = make_sink(case.sink, run.folder, run.fail_sink)
    commits = run.folder / "checkpoint" / "commits"
    with tasks.installed(run.task_fault, embedded=run.on == "embedded"):
        request = StartRequest(
            execution=case.query().execution,
            sources={"events": source},
            sink=sink,
            trigger=AVAILABLE_NOW,
            checkpoint=run.folder / "checkpoint",
            tasks=case.tasks_of(start),
            now_ms=partial(clock, commits) if case.kind in USER_STATE else clock_ms,
        )
        run_to_completion(spark, request)


def start_server() -> None:
    """Start the server that runs are forked from; Spark's Python workers look for modules there.

    Before any JVM, whose pipes it need not hold.
    """
    from multiprocessing import forkserver

    here = str(Path(__file__).parent.parent)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if here not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, paths)])
    forkserver.ensure_running()
