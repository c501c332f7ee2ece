"""Runs a user's script as it is, in a process whose Spark is the planner.

    python -m stateplan.planner.connect.launch job.py [ARGUMENTS]

SPARK_REMOTE names the planner's port. What only a script for a classic session says (a master, a
log level, Hive) is taken and does nothing. Exit status: 0; 2 where the planner refused
something and the script did not catch it, 1 where the script itself fails, or what it exits with.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
import warnings
from typing import Any, NoReturn

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from .call_sites import record
from .classic import adopt_habits

FAILED, BAD_INPUT = 1, 2


class PlannedContext:
    """What `spark.sparkContext` is here: settings of the log and of jobs do nothing."""

    applicationId = "stateplan"
    appName = "stateplan"
    version = "4.3.0"
    defaultParallelism = 2

    def setLogLevel(self, level: str) -> None:
        """There is no log."""

    def setJobGroup(self, *arguments: Any, **named: Any) -> None:
        """There are no jobs."""

    setJobDescription = setLocalProperty = setCheckpointDir = addPyFile = addFile = setJobGroup

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"sparkContext.{name} is not there: this is a planner, and it plans DataFrames only."
        )


def prepare() -> None:
    """Let scripts for a classic session run over the planner's client."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    os.environ.pop("MASTER", None)
    # `spark.stop()` ends the connection before PySpark takes its listeners back.
    warnings.filterwarnings("ignore", "Failed to remove the listener", UserWarning)
    validated = SparkSession.Builder._validate_startup_urls

    def validate(self: Any) -> None:
        self._options.pop("spark.master", None)
        self._options.pop("spark.remote", None)
        validated(self)

    looked_up = ConnectSession.__getattribute__

    def look_up(self: Any, name: str) -> Any:
        return context if name == "sparkContext" else looked_up(self, name)

    context = PlannedContext()
    builder: Any = SparkSession.Builder
    builder._validate_startup_urls = validate
    builder.enableHiveSupport = lambda self: self
    session: Any = ConnectSession
    session.__getattribute__ = look_up


def run(script: str, arguments: list[str]) -> int:
    """Run the script as `python script arguments` would; gives the exit status."""
    prepare()
    record()
    adopt_habits()
    # Functions may be declared before the script asks for its session: `@pandas_udf("double")`.
    SparkSession.builder.getOrCreate()
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    try:
        runpy.run_path(script, run_name="__main__")
    except PySparkException as error:
        tell(error, script)
        return BAD_INPUT
    except Exception as error:
        tell_own(error, script)
        return FAILED
    return 0


def tell(error: PySparkException, script: str) -> None:
    """The error on standard error, with the line of the script, without PySpark's own frames."""
    parameters = error.getMessageParameters() or {}
    line = place_in(error, script)
    message = error.getMessage()
    condition = error.getCondition()
    if condition and not message.startswith("["):
        message = f"[{condition}] {message}"
    print(f"error: {message}", file=sys.stderr)
    origin = parameters.get("place")
    if origin and origin != line:
        print(f"made at: {origin}", file=sys.stderr)
    if line:
        print(f"at: {line}", file=sys.stderr)
    if hint := parameters.get("hint"):
        print(f"hint: {hint}", file=sys.stderr)


def tell_own(error: Exception, script: str) -> None:
    """An error of the script itself as Python shows it, from the script's own frame on."""
    own = os.path.abspath(script)
    trace = error.__traceback__
    while trace is not None and os.path.abspath(trace.tb_frame.f_code.co_filename) != own:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace or error.__traceback__)


def place_in(error: BaseException, script: str) -> str | None:
    """`job.py:12: text of the line`: the innermost frame of the script itself."""
    own = os.path.abspath(script)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if os.path.abspath(frame.filename) == own
    ]
    if not frames:
        return None
    return f"{os.path.basename(own)}:{frames[-1].lineno}"


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
