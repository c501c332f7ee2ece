"""Write what Structured Streaming itself emits into scenario files: their `expect`.

    python tests/derive_scenarios.py [SCENARIO.yaml ...]     default: all of tests/scenarios

Each stream is a directory of JSON files, one file a step, read one file a micro-batch; rows are
caught by foreachBatch, state figures come from the progress. Needs the extra `spark`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from random_queries.live import frame_of

from stateplan.planner.model.schemas.ddl import parse_type
from stateplan.runtime.comparison import as_text, plain
from stateplan.runtime.frames import for_arrow
from stateplan.runtime.scenario_run import scenario_folder
from stateplan.runtime.testing.update import write_expectation

SCENARIOS = Path(__file__).resolve().parent / "scenarios"
METRICS = {
    "operator": "operatorName",
    "rows_total": "numRowsTotal",
    "rows_updated": "numRowsUpdated",
    "rows_removed": "numRowsRemoved",
    "rows_dropped_by_watermark": "numRowsDroppedByWatermark",
}


class SinkFailure(Exception):
    """The failure that a step with `crash: true` asks for."""


class LiveRun:
    """One scenario on a real streaming query."""

    def __init__(self, spark: Any, scenario: dict[str, Any], folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        self.rows: dict[int, list[Any]] = {}
        self.progress: dict[int, dict[str, Any]] = {}
        self.batches: list[dict[str, Any]] = []
        self.crash = False
        self.failed: int | None = None
        self.failure: Exception | None = None
        for name, source in scenario["sources"].items():
            (folder / name).mkdir()
            reader = spark.read if source.get("static") else spark.readStream
            reader = reader.schema(source["schema"]).option("mode", "FAILFAST")
            if source.get("static"):
                self._write(name, 0, source["rows"])
            else:
                reader = reader.option("maxFilesPerTrigger", 1)
            self.read(reader, name).createOrReplaceTempView(name)
        native = scenario.get("native")  # a query in PySpark, from the tests' own programs
        frames = {name: spark.table(name) for name in scenario["sources"]}
        self.frame = native(spark.table) if native else frame_of(spark, scenario, frames)
        self.types = [parse_type(f.dataType.simpleString()) for f in self.frame.schema.fields]
        self.columns = [[f.name, f.dataType.simpleString()] for f in self.frame.schema.fields]
        self.query: Any = None

    def read(self, reader: Any, name: str) -> Any:
        """The frame of a source."""
        return reader.json(str(self.folder / name))

    def _write(self, name: str, step: int, rows: list[Any]) -> None:
        hidden = self.folder / f".{name}-{step}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        os.utime(hidden, (1_700_000_000 + step, 1_700_000_000 + step))
        hidden.rename(self.folder / name / f"step-{step:04d}.json")

    def _sink(self, frame: Any, batch: int) -> None:
        self.failed = batch
        try:
            numbered = frame.toDF(*(str(i) for i in range(len(self.types))))
            arrow = for_arrow(numbered).toArrow()
        except Exception as error:
            self.failure = error
            raise
        columns = [
            [plain(value, data_type) for value in column.to_pylist()]
            for column, data_type in zip(arrow.columns, self.types, strict=True)
        ]
        rows = [list(row) for row in zip(*columns, strict=True)]
        self.rows[batch] = self.kept(rows)
        if self.crash:
            self.crash = False
            raise SinkFailure
        self.failed = None

    def kept(self, rows: list[Any]) -> list[Any]:
        """The rows of a batch, as they are recorded."""
        return rows if self.scenario.get("ordered") else sorted(rows, key=as_text)

    def start(self) -> None:
        writer = self.frame.writeStream.outputMode(self.scenario["output_mode"])
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        self.query = writer.foreachBatch(self._sink).start()

    def settle(self) -> None:
        try:
            self.query.processAllAvailable()
        finally:
            for event in self.query.recentProgress:
                if "addBatch" in event.durationMs:
                    self.progress[event.batchId] = json.loads(event.json)

    def step(self, number: int, what: dict[str, Any]) -> None:
        """Run one step of the scenario and record the batches that it made."""
        from pyspark.errors import StreamingQueryException

        if what.get("restart"):
            self.query.stop()
            self.start()
            self.settle()
            return self.record(number, data=False)
        self.crash = bool(what.get("crash"))
        lock = self.query._jsq.streamingQuery().awaitProgressLock()
        lock.lock()  # no batch is planned while the files come in
        try:
            for name, source in self.scenario["sources"].items():
                if not source.get("static"):
                    self._write(name, number, (what["batch"] or {}).get(name) or [])
        finally:
            lock.unlock()
        try:
            self.settle()
        except StreamingQueryException:
            if not what.get("crash"):
                raise
            self.start()
            self.settle()
        return self.record(number, data=True)

    def record(self, step: int, *, data: bool) -> None:
        for number in sorted(self.rows)[len(self.batches) :]:
            if number == self.failed:
                return
            event = self.progress[number]
            batch: dict[str, Any] = {"id": number, "step": step}
            if not data:
                batch["no_data"] = True
            data = False
            if "watermark" in event.get("eventTime", {}):
                batch["watermark"] = event["eventTime"]["watermark"]
            batch["rows"] = self.rows[number]
            state = event.get("stateOperators") or []
            if state:
                batch["state"] = [{k: op[v] for k, v in METRICS.items()} for op in state]
            self.batches.append(batch)


def derive(spark: Any, scenario: dict[str, Any], live: type[LiveRun] = LiveRun) -> dict[str, Any]:
    """The `expect` of a scenario."""
    from pyspark.errors import PySparkException

    session = spark.newSession()
    settings = {"spark.sql.shuffle.partitions": "3", **(scenario.get("conf") or {})}
    run: LiveRun | None = None
    phase, step = "analysis", -1
    expect: dict[str, Any] = {}
    stack = ExitStack()
    try:
        for key, value in settings.items():
            session.conf.set(key, str(value))
        run = live(session, scenario, stack.enter_context(scenario_folder()))
        expect["columns"] = run.columns
        phase = "start"
        run.start()
        phase = "batch"
        for step, what in enumerate(scenario["steps"]):
            run.step(step, what)
        expect["batches"] = run.batches
    except PySparkException as error:
        place: dict[str, Any] = {"phase": phase}
        if run is not None and phase == "batch":
            run.record(step, data=True)
            expect["batches"] = run.batches
            failed = max(run.rows, default=-1) + 1 if run.failed is None else run.failed
            place |= {"step": step, "batch": failed}
        cause = run.failure if run is not None and run.failure is not None else error
        expect["error"] = place | {"condition": _condition(cause)}
    finally:
        if run is not None and run.query is not None:
            run.query.stop()
        stack.close()
    return expect


def _condition(error: Any) -> str | None:
    """That of an analysis, else of the innermost Spark error."""
    from pyspark.errors import AnalysisException, PySparkException

    condition = error.getCondition() if isinstance(error, PySparkException) else None
    # What is not Spark's own comes as it is, with Java's exception in it.
    if condition and isinstance(error, AnalysisException):
        return str(condition)
    origin = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while origin is not None:
        try:
            condition = origin.getCondition() or condition
        except Exception:  # a Java exception that is not Spark's has no condition
            logging.debug("no condition on %s", origin)
        origin = origin.getCause()
    return str(condition) if condition else None


def main(arguments: list[str]) -> None:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # for functions of the query's
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    logging.disable(logging.CRITICAL)  # PySpark logs each error that it raises
    for path in [Path(name) for name in arguments] or sorted(SCENARIOS.glob("*.yaml")):
        expect = derive(spark, yaml.safe_load(path.read_text(encoding="utf-8")))
        write_expectation(path, expect)
        print(path.stem, len(expect.get("batches", [])), "batches", expect.get("error", ""))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
