"""Write golden plans from a live Spark: for each description, the plan or the refusal beside it.

    python tests/derive_golden.py [DESCRIPTION.yaml ...]     default: all of tests/golden

A description `x.yaml` gets `x.plan`: Spark's simple explain text after `normalise`, or
`condition`, `phase` and `message` of its refusal. The plan is that of an IncrementalExecution made
as DataFrame.explain makes it, but in the description's output mode. Needs the extra `spark`.
"""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from stateplan.physical.explain.normalise import normalise

GOLDEN = Path(__file__).resolve().parent / "golden"
STREAMING = "org.apache.spark.sql.execution.streaming."
CHECKER = "org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker"


class LivePlanner:
    """One Spark application; every description gets a session of its own."""

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        self.spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
        self.spark.sparkContext.setLogLevel("OFF")
        logging.disable(logging.CRITICAL)  # PySpark logs each error that it raises
        self.jvm: Any = self.spark._jvm

    def scala_object(self, name: str) -> Any:
        loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        companion = self.jvm.java.lang.Class.forName(name + "$", True, loader)
        return companion.getField("MODULE$").get(None)

    def derive(self, description: dict[str, Any]) -> str:
        """The content of the `.plan` file."""
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        session: Any = self.spark.newSession()
        self.jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
        for key, value in (description.get("conf") or {}).items():
            session.conf.set(key, str(value))
        phase = "analysis"
        with tempfile.TemporaryDirectory(prefix="sp-") as folder:
            try:
                for name, source in description["sources"].items():
                    path = Path(folder, name)
                    path.mkdir()
                    reader = session.read if source.get("static") else session.readStream
                    frame = reader.schema(source["schema"]).json(str(path))
                    frame.createOrReplaceTempView(name)
                frame = session.sql(description["sql"].strip())
                executed = frame._jdf.queryExecution()
                mode = self._output_mode(description["output_mode"])
                phase = "streaming-check"
                self.scala_object(CHECKER).checkForStreaming(executed.analyzed(), mode)
                phase = "planning"
                text = self._explain(session, executed, mode)
            except (PySparkException, Py4JJavaError) as error:
                condition, message = _refusal(error)
                text = f"condition: {condition}\nphase: {phase}\nmessage: {message}"
            for name in description["sources"]:
                text = text.replace(f"file:{folder}/{name}", name).replace(f"{folder}/{name}", name)
        return normalise(text) + "\n"

    def _output_mode(self, name: str) -> Any:
        modes = self.jvm.org.apache.spark.sql.streaming.OutputMode
        return getattr(modes, name.capitalize())()

    def _explain(self, session: Any, executed: Any, mode: Any) -> str:
        streaming = self.jvm.org.apache.spark.sql.execution.streaming
        companion = self.scala_object(STREAMING + "runtime.IncrementalExecution")
        offsets = self.scala_object(STREAMING + "checkpointing.OffsetSeqMetadata")
        no_conf = getattr(offsets, "apply$default$3")()

        def default(position: int) -> Any:
            return getattr(companion, f"$lessinit$greater$default${position}")()

        execution = streaming.runtime.IncrementalExecution(
            session._jsparkSession,
            executed.logical(),
            mode,
            "<unknown>",
            self.jvm.java.util.UUID.randomUUID(),
            self.jvm.java.util.UUID.randomUUID(),
            0,
            self.scala_object("scala.None"),
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
        simple = self.jvm.org.apache.spark.sql.execution.ExplainMode.fromString("simple")
        return str(execution.explainString(simple))


def _refusal(error: Any) -> tuple[str | None, str]:
    """Condition and message, without the logical plan that Spark appends to some."""
    origin = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    condition = error.getCondition() if hasattr(error, "getCondition") else None
    if origin is None:
        return condition, str(error)
    simple = getattr(origin, "getSimpleMessage", None)
    try:
        return condition, str(simple() if simple else origin.getMessage())
    except Exception:
        return condition, str(origin.getMessage())


def main(arguments: list[str]) -> None:
    paths = [Path(name) for name in arguments] or sorted(GOLDEN.glob("*.yaml"))
    planner = LivePlanner()
    for path in paths:
        plan = planner.derive(yaml.safe_load(path.read_text(encoding="utf-8")))
        path.with_suffix(".plan").write_text(plan, encoding="utf-8")
        print(path.stem, plan.split("\n", 1)[0])
    planner.spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
