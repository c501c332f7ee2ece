"""Spark sessions: one that a program starts, once per process, and one of our own per query."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from ...planner.model.errors import RuntimeFailure
from ...planner.model.settings.conf import Conf
from ..failures import innermost
from .settings import is_remote, session_settings

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

# Planned for one machine or a small cluster; a user's own settings win.
_STARTING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
# What the JVM writes goes to a file that is read only if it does not start.
_QUIET = {"spark.log.level": "ERROR"}
_LAST_LINES = 5
_MASTER = re.compile(r"local(\[(\d+|\*)(,\s*\d+)?\])?|local-cluster\[.+\]|yarn|(spark|k8s|sc)://.+")
_MASTER_HINT = (
    "A master reads local[2], local[*], spark://host:7077, yarn, k8s://https://host or, for Spark "
    "Connect, sc://host."
)

_SPLITS = re.compile(r"splits=(\d+)")


def start_session(
    master: str | None = None,
    name: str = "stateplan",
    settings: Mapping[str, str] | None = None,
    *,
    quiet: bool = True,
) -> SparkSession:
    """A Spark session for a program that has none, or the one there is.

    A session that this starts is stopped when the process ends.

    Args:
        master: Spark's master URL; None: what the environment says, else `local[*]`. A URL that
            starts with `sc://` is a Spark Connect server.
        name: the application's name.
        settings: more settings.
        quiet: without the JVM's output and log, if this starts the JVM.

    Raises:
        RuntimeFailure: there is no usable Java, PySpark is not installed, there is no such master,
            the JVM does not start: its last lines say why.
    """
    if master is not None and not _MASTER.fullmatch(master):
        raise _not_started(f"'{master}' is no master URL", _MASTER_HINT)
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
    if is_remote(master):
        return _get(builder.remote(master))
    chosen = {**_STARTING, **(settings or {})}
    if not os.environ.get("SPARK_REMOTE"):
        check_java()
        if master is not None or "MASTER" not in os.environ:
            chosen["spark.master"] = master or "local[*]"
    starts_java = not is_remote(os.environ.get("SPARK_REMOTE"))
    if quiet and starts_java and not _needs_no_java():
        chosen = {**_QUIET, **chosen}
        _start_java(chosen)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return _get(builder)


def _get(builder: Any) -> SparkSession:
    """The session that a builder makes; stopped when the process ends, if there was none before.

    Raises:
        RuntimeFailure: Spark does not start.
    """
    there_was_one = _has_session()
    try:
        session = cast("SparkSession", builder.getOrCreate())
    except Exception as error:
        condition, message = innermost(error)
        if condition == "JAVA_GATEWAY_EXITED":
            raise _no_java("Java did not start, or is too old") from error
        raise _not_started(message.split("\n")[0], _MASTER_HINT) from error
    if not there_was_one:
        atexit.register(_stop, session)
    return session


def _has_session() -> bool:
    from pyspark.sql import SparkSession as Session
    from pyspark.util import is_remote_only

    # PySpark's client alone has no classic session, and cannot be asked for it.
    return not is_remote_only() and Session.getActiveSession() is not None


def _stop(session: SparkSession) -> None:
    with contextlib.suppress(Exception):  # its Spark may be gone
        session.stop()


def _needs_no_java() -> bool:
    """Whether this process has a JVM of PySpark's already, or cannot start one."""
    from pyspark.util import is_remote_only

    if is_remote_only():  # PySpark's client alone: it starts none
        return True
    from pyspark import SparkContext

    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def _start_java(settings: Mapping[str, str]) -> None:
    """Start PySpark's JVM with its output in a file of no name, which goes when both have ended.

    Raises:
        RuntimeFailure: it does not start; with its last lines.
    """
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.errors import PySparkRuntimeError

    # PySpark logs the errors that it raises; our own error says what failed, once.
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    conf = SparkConf().setAll(list(settings.items()))
    launch: Any = java_gateway.launch_gateway  # it has no types
    with tempfile.TemporaryFile() as output:
        try:
            gateway = launch(conf, {"stdout": output, "stderr": output})
        except PySparkRuntimeError as error:
            output.seek(0)
            raise _java_failed(output.read().decode(errors="replace")) from error
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


def _java_failed(output: str) -> RuntimeFailure:
    """The error for a JVM that ended before Spark was there."""
    if "UnsupportedClassVersionError" in output:
        return _no_java("The Java that was found is too old")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = "\n".join(lines[-_LAST_LINES:]) or "it says nothing"
    return _not_started(f"Java ended:\n{last}", "Correct what Java complains about.")


def _not_started(why: str, hint: str) -> RuntimeFailure:
    return RuntimeFailure(
        "STATEPLAN_SPARK_NOT_STARTED", f"Spark cannot be started: {why.rstrip('.')}.", hint=hint
    )


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
    if clone is None:
        return spark.newSession()
    _ = spark.version  # the server knows a session from its first request on
    return cast("SparkSession", clone())


def close_session(own: SparkSession) -> None:
    """Let a session of our own go, without touching the Spark behind it."""
    if hasattr(own, "cloneSession"):
        # `stop` would end a server that PySpark has started for the user's session, too.
        client: Any = own.client
        with contextlib.suppress(Exception):
            client.release_session()
        client.close()


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
            raise RuntimeFailure.of(
                "CANNOT_MODIFY_CONFIG",
                key=key,
                hint=f"Spark refuses {value!r}: {str(error).splitlines()[0]} Remove the setting "
                "from the query, or set it where Spark is started.",
            ) from error


def context_of(spark: SparkSession) -> SparkContext | None:
    """The SparkContext behind a session, where it is of this process: a classic session's, or that
    of a Spark Connect server that was started here."""
    context: SparkContext | None = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if context is None:
        from pyspark import SparkContext

        active = SparkContext._active_spark_context
        if active is not None and active.applicationId == spark.conf.get("spark.app.id", None):
            context = active
    return context


def cores(spark: SparkSession) -> int:
    """Spark's default parallelism."""
    context = context_of(spark)
    if context is not None:
        return int(context.defaultParallelism)
    rows: Any = spark.range(1000)  # a range has a partition for each core
    found = _SPLITS.search(rows._explain_string())
    return int(found[1]) if found else 1
