"""What a live Spark says of a query: its plan, or its refusal.

The plan is that of an IncrementalExecution made as DataFrame.explain makes it, but in the query's
output mode. Classic PySpark and py4j: this asks the engine itself, past any API.
"""

from __future__ import annotations

import logging
import re
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stateplan.physical.explain.normalise import normalise

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMING = "org.apache.spark.sql.execution.streaming."
_LINE = re.compile(r"\(line (\d+), pos \d+\)")
CHECKER = "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker"


def refusal_text(condition: str | None, phase: str | None, message: str) -> str:
    """How a refusal is written and compared; of a syntax error, its line and not its words.

    Which token Spark's parser names, and what it proposes, depends on how it looks ahead.
    """
    if condition == "PARSE_SYNTAX_ERROR":
        line = _LINE.search(message)
        return f"condition: {condition}\nphase: {phase}\nline: {line[1] if line else 'none'}"
    message = message.strip("\n")
    return f"condition: {condition}\nphase: {phase}\nmessage: {message}"


class LivePlanner:
    """Plans descriptions on a classic Spark session, each in a session of its own.

    Args:
        spark: the application's session; by default one is started, silent and with one core.
    """

    def __init__(self, spark: SparkSession | None = None) -> None:
        from pyspark.sql import SparkSession

        if spark is None:
            builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
            builder = builder.config("spark.driver.memory", "2g")
            spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
            spark.sparkContext.setLogLevel("OFF")
            logging.disable(logging.CRITICAL)  # PySpark logs each error that it raises
        self.spark: Any = spark
        self.jvm: Any = self.spark._jvm

    def stop(self) -> None:
        """End the Spark application."""
        self.spark.stop()

    def derive(self, description: Mapping[str, Any], mode: str = "simple") -> str:
        """The normalised text of the plan, or of the refusal (`refusal_text`)."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        session = self._session()
        phase = "analysis"
        with tempfile.TemporaryDirectory(prefix="sp-") as folder:
            try:
                for key, value in (description.get("conf") or {}).items():
                    session.conf.set(key, str(value))
                frame = frame_of(session, description, _sources(session, description, Path(folder)))
                executed = frame._jdf.queryExecution()
                output_mode = self._output_mode(description.get("output_mode", "append"))
                phase = "streaming-check"
                self._scala_object(CHECKER).checkForStreaming(executed.analyzed(), output_mode)
                phase = "planning"
                text = self._explain(session, executed, output_mode, mode)
            except (PySparkException, Py4JJavaError, AttributeError) as error:
                condition, message = _refusal(error)
                text = refusal_text(condition, phase, message)
            finally:
                self._activate(self.spark)
            for name in description["sources"]:
                text = text.replace(f"file:{folder}/{name}", name).replace(f"{folder}/{name}", name)
        return normalise(text)

    def started(self, frame: Any, output_mode: str) -> str:
        """The normalised plan of a DataFrame as a query in an output mode."""
        executed = frame._jdf.queryExecution()
        mode = self._output_mode(output_mode)
        self._scala_object(CHECKER).checkForStreaming(executed.analyzed(), mode)
        return normalise(self._explain(frame.sparkSession, executed, mode, "simple"))

    def seconds(self, description: Mapping[str, Any], rounds: int) -> list[float]:
        """How long Spark takes, per round, from the text of a query to that of its plan.

        Raises:
            PySparkException: Spark refuses the query.
        """
        session = self._session()
        took = []
        with tempfile.TemporaryDirectory(prefix="sp-") as folder:
            for key, value in (description.get("conf") or {}).items():
                session.conf.set(key, str(value))
            frames = _sources(session, description, Path(folder))
            for _ in range(rounds):
                start = time.perf_counter()
                executed = frame_of(session, description, frames)._jdf.queryExecution()
                mode = self._output_mode(description.get("output_mode", "append"))
                self._scala_object(CHECKER).checkForStreaming(executed.analyzed(), mode)
                self._explain(session, executed, mode, "simple")
                took.append(time.perf_counter() - start)
        self._activate(self.spark)
        return took

    def _session(self) -> Any:
        """A session of its own, in the time zone that descriptions mean."""
        session: Any = self.spark.newSession()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        self._activate(session)
        return session

    def _activate(self, session: Any) -> None:
        classic = self.jvm.org.apache.spark.sql.classic.SparkSession
        classic.setActiveSession(session._jsparkSession)

    def _scala_object(self, name: str) -> Any:
        loader = self.spark.sparkContext._jvm.java.lang.Thread.currentThread()
        companion = self.jvm.java.lang.Class.forName(
            name + "$", True, loader.getContextClassLoader()
        )
        return companion.getField("MODULE$").get(None)

    def _output_mode(self, name: str) -> Any:
        modes = self.jvm.org.apache.spark.sql.streaming.OutputMode
        return getattr(modes, name.capitalize())()

    def _explain(self, session: Any, executed: Any, output_mode: Any, mode: str) -> str:
        streaming = self.jvm.org.apache.spark.sql.execution.streaming
        companion = self._scala_object(STREAMING + "runtime.IncrementalExecution")
        offsets = self._scala_object(STREAMING + "checkpointing.OffsetSeqMetadata")
        no_conf = getattr(offsets, "apply$default$3")()

        def default(position: int) -> Any:
            return getattr(companion, f"$lessinit$greater$default${position}")()

        execution = streaming.runtime.IncrementalExecution(
            session._jsparkSession,
            executed.logical(),
            output_mode,
            "<unknown>",
            self.jvm.java.util.UUID.randomUUID(),
            self.jvm.java.util.UUID.randomUUID(),
            0,
            self._scala_object("scala.None"),
            streaming.checkpointing.OffsetSeqMetadata(0, 0, no_conf),
            streaming.runtime.WatermarkPropagator.noop(),
            False,
            default(12),
            default(13),
            executed.mode(),
            default(15),
            default(16),
        )
        execution.executedPlan()
        chosen = self.jvm.org.apache.spark.sql.execution.ExplainMode.fromString(mode)
        return str(execution.explainString(chosen))


def _sources(session: Any, description: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The description's sources by name, and as views: empty directories of JSON files."""
    frames = {}
    for name, source in description["sources"].items():
        path = folder / name
        path.mkdir()
        reader = session.read if source.get("static") else session.readStream
        frames[name] = reader.schema(source["schema"]).json(str(path))
        if description.get("python") is None:
            frames[name].createOrReplaceTempView(name)
    return frames


def frame_of(session: Any, description: Mapping[str, Any], frames: Mapping[str, Any]) -> Any:
    """The description's DataFrame."""
    if description.get("python") is None:
        return session.sql(description["sql"].strip())
    from pyspark.sql import functions

    return eval(f"({description['python'].strip()}\n)", {**frames, "F": functions})


def _refusal(error: Any) -> tuple[str | None, str]:
    """Condition and message, without the logical plan that Spark appends to some."""
    origin = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    if origin is None:
        return condition, str(error).split("\n\nJVM stacktrace:")[0]
    message = str(origin.getMessage() or "")
    try:
        simple = str(origin.getSimpleMessage())
    except Exception:  # not an AnalysisException
        return condition, message
    return condition, simple if message.startswith(simple) else message
