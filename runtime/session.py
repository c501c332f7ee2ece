"""Spark sessions: one for a program to start with, and one of our own for each query."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..planner.model.conf import Conf
from ..planner.model.errors import RuntimeFailure
from .failures import innermost
from .lowering.context import default_tasks, session_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Planned for one machine or a small cluster; a user's own settings win.
_STARTING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_MASTER = re.compile(r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|sc)://.+")
# What fails is told once, by our own error: the JVM's log would tell it several times more.
_QUIET_LOG = """status = off
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n
rootLogger.level = off
rootLogger.appenderRef.stdout.ref = console
"""


def start_session(
    master: str | None = None,
    name: str = "stateplan",
    settings: Mapping[str, str] | None = None,
    *,
    quiet: bool = True,
) -> SparkSession:
    """A Spark session for a program that has none, or the one there is.

    Args:
        master: Spark's master URL; None: what the environment says, else `local[*]`. A URL that
            starts with `sc://` is a Spark Connect server.
        name: the application's name.
        settings: more settings.
        quiet: without the JVM's log, if this starts the JVM.

    Raises:
        RuntimeFailure: there is no usable Java, PySpark is not installed, there is no such master.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise _not_started(f"'{master}' is no master URL")
    try:
        from pyspark.sql import SparkSession as Session
    except ImportError:
        raise RuntimeFailure(
            "STATEPLAN_NO_PYSPARK",
            "PySpark is not installed: it is needed to run a query.",
            hint="Install it with: pip install 'stateplan[spark]'",
        ) from None
    # Workers must be the Python that has stateplan, activated or not.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = Session.builder.appName(name)
    if master is not None and master.startswith("sc://"):
        return _get(builder.remote(master))
    if not os.environ.get("SPARK_REMOTE"):
        check_java()
    if master is not None or "MASTER" not in os.environ:
        builder = builder.master(master or "local[*]")
    chosen = {**_STARTING, **(settings or {})}
    if quiet:
        options = chosen.get("spark.driver.extraJavaOptions", "")
        chosen["spark.driver.extraJavaOptions"] = f"{options} {_quiet_option()}".strip()
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return _get(builder)


def _get(builder: Any) -> SparkSession:
    try:
        return cast("SparkSession", builder.getOrCreate())
    except Exception as error:
        condition, message = innermost(error)
        if condition == "JAVA_GATEWAY_EXITED":
            raise _no_java("Java did not start, or is too old") from error
        raise _not_started(message.split("\n")[0]) from error


def _not_started(why: str) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_SPARK_NOT_STARTED",
        f"Spark cannot be started: {why.rstrip('.')}.",
        hint="A master reads local[2], local[*], spark://host:7077, yarn, k8s://https://host or, "
        "for Spark Connect, sc://host.",
    )


def _quiet_option() -> str:
    """Turns the JVM's log off, and PySpark's own log of the errors that it raises."""
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    descriptor, path = tempfile.mkstemp(prefix="stateplan-log4j2-", suffix=".properties")
    with os.fdopen(descriptor, "w") as file:
        file.write(_QUIET_LOG)
    atexit.register(lambda: Path(path).unlink(missing_ok=True))
    return f"-Dlog4j2.configurationFile=file://{path}"


def check_java() -> None:
    """Check that there is a Java to start.

    Raises:
        RuntimeFailure: neither JAVA_HOME nor the PATH leads to one.
    """
    home = os.environ.get("JAVA_HOME")
    if home and os.access(os.path.join(home, "bin", "java"), os.X_OK):
        return
    if shutil.which("java") is None:
        raise _no_java("No Java was found")


def _no_java(what: str) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_NO_JAVA",
        f"{what}: Spark needs a JDK 17 or newer.",
        hint="Install a JDK 17+ (on Debian and Ubuntu: apt-get install openjdk-17-jre-headless), "
        "and have it on the PATH or in JAVA_HOME.",
    )


def own_session(spark: SparkSession) -> SparkSession:
    """A session beside the user's, on the same Spark, with settings and views of its own."""
    clone = getattr(spark, "cloneSession", None)  # Spark Connect's
    return cast("SparkSession", spark.newSession() if clone is None else clone())


def close_session(own: SparkSession) -> None:
    """Let a session of our own go, without touching the Spark behind it."""
    if hasattr(own, "cloneSession"):
        own.stop()


def configure(own: SparkSession, conf: Conf, tasks: int) -> None:
    """Put a query's settings on its session.

    Raises:
        RuntimeFailure: Spark refuses a setting.
    """
    settings = {
        **conf.settings,
        **session_settings(tasks, conf),
        # A batch names its files: Spark need not start a job to find out what they are.
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    }
    for key, value in settings.items():
        try:
            own.conf.set(key, value)
        except Exception as error:
            raise RuntimeFailure(
                "CANNOT_MODIFY_CONFIG",
                f"Spark refuses the setting {key} = {value}: {str(error).splitlines()[0]}",
                hint="Remove the setting from the query, or set it where Spark is started.",
            ) from error


def task_count(spark: SparkSession, conf: Conf) -> int:
    """How many tasks run each stateful operator: as many as there are cores."""
    return default_tasks(conf.shuffle_partitions, cores(spark))


def cores(spark: SparkSession) -> int:
    """Spark's default parallelism."""
    try:
        context: Any = spark.sparkContext
        return int(context.defaultParallelism)
    except Exception:  # Spark Connect has no context: a range has a partition for each core
        from pyspark.sql import functions as F

        parts = spark.range(1000).select(F.spark_partition_id().alias("p")).distinct()
        return max(1, parts.count())
