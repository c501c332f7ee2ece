"""Scenarios: a query, the input of each micro-batch, and what came out batch by batch.

A step's rows become one JSON file a stream, read one file a micro-batch, so that the rows go
through Spark's own JSON reader and all streams move in step.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..planner.description import Scenario, Step
from ..planner.incremental_execution import IncrementalExecution
from ..planner.model.errors import (
    PlanningError,
    RuntimeFailure,
    StateplanError,
    StreamingCheckError,
)
from ..planner.model.schemas.ddl import parse_schema
from ..planner.model.schemas.types import DataType, StructType
from ..planner.model.settings.conf import Conf
from ..planner.query import Query
from .comparison import as_text, plain
from .frames import for_arrow
from .progress import StreamingQueryProgress
from .sinks import Sink
from .sources import FileSource, Source
from .sources.tables import FilesTable, Table
from .streaming import StartRequest, StreamingQuery, start
from .triggers import MANUAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCENARIO_CONF = {"spark.sql.shuffle.partitions": "3", "spark.sql.session.timeZone": "UTC"}
_MEMORY, _ROOM = "/dev/shm", 256 << 20
_FIRST_FILE_TIME = 1_700_000_000  # files are read in the order of their times
_METRICS = {
    "operator": "operatorName",
    "rows_total": "numRowsTotal",
    "rows_updated": "numRowsUpdated",
    "rows_removed": "numRowsRemoved",
    "rows_dropped_by_watermark": "numRowsDroppedByWatermark",
}


class SinkFailure(RuntimeFailure):
    """The failure of the sink that a step with `crash: true` asks for."""

    def __init__(self) -> None:
        super().__init__(
            "STATEPLAN_SCENARIO_CRASH", "The sink fails here, before the batch is committed."
        )


@dataclass
class CaughtRows(Sink):
    """A sink that keeps what it is handed, and what the query says about it."""

    in_arrow = True
    one_action = True

    types: Sequence[DataType]
    ordered: bool
    rows: dict[int, list[Any]] = field(default_factory=dict)
    progress: dict[int, StreamingQueryProgress] = field(default_factory=dict)
    crash: bool = False

    @property
    def description(self) -> str:
        return "MemorySink"

    def write(self, frame: DataFrame, batch_id: int) -> int | None:
        table = for_arrow(frame).toArrow()
        columns = [
            [plain(value, data_type) for value in column.to_pylist()]
            for column, data_type in zip(table.columns, self.types, strict=True)
        ]
        rows = [list(row) for row in zip(*columns, strict=True)]
        self.rows[batch_id] = rows if self.ordered else sorted(rows, key=as_text)
        if self.crash:
            self.crash = False
            raise SinkFailure
        return len(rows)

    def listen(self, progress: StreamingQueryProgress) -> None:
        self.progress[progress.batch_id] = progress


class ScenarioRun:
    """One scenario under way in a directory of its own.

    Args:
        tasks: how many tasks run each stateful operator; None: as many as cores allow.
        restart_always: restart the query before every step.
    """

    def __init__(
        self,
        spark: SparkSession,
        scenario: Scenario,
        folder: Path,
        *,
        tasks: int | None = None,
        restart_always: bool = False,
        query: Query | None = None,
    ) -> None:
        self._spark, self._scenario, self._folder = spark, scenario, folder
        self._given = query
        self._tasks, self._restart_always = tasks, restart_always
        self._query: StreamingQuery | None = None
        self._caught = CaughtRows((), scenario.ordered)
        self.emitted: dict[str, Any] = {}

    def run(
        self, first: int = 0, end: int | None = None, before: Sequence[Any] = ()
    ) -> dict[str, Any]:
        """Run steps; returns what came out as `expect` is.

        Args:
            first: the step to begin with; but for 0 a restart, behind steps that another run has
                led in the same directory.
            end: the step to stop before; None: behind the last one.
            before: the batches of the steps before.
        """
        step = first or -1
        self.emitted["batches"] = list(before)
        try:
            execution = self._planned()
            self._start(execution)
            for step in range(first, len(self._scenario.steps) if end is None else end):
                self._step(execution, step, self._scenario.steps[step], started=step == first)
        except StateplanError as error:
            if step >= 0:
                self._record(step, data=True)
            self._refuse(error, step)
        finally:
            if self._query is not None:
                self._query.stop()
        return self.emitted

    def _planned(self) -> IncrementalExecution:
        conf = Conf({**SCENARIO_CONF, **self._scenario.conf})
        query = self._given or Query.of(self._scenario, conf=conf)
        execution = query.execution
        output = execution.analyzed.output
        self.emitted["columns"] = [[a.name, a.data_type.simple] for a in output]
        self._caught.types = [a.data_type for a in output]
        return execution

    def _start(self, execution: IncrementalExecution) -> None:
        sources: dict[str, Source] = {}
        tables: dict[str, Table] = {}
        for name, source in self._scenario.sources.items():
            path = self._folder / name
            path.mkdir(exist_ok=True)
            schema = parse_schema(source.schema_ or "")
            if source.static:
                self._write(name, 0, source.rows or [])
                tables[name] = FilesTable(str(path), "json", schema, {"mode": "FAILFAST"})
            else:
                sources[name] = self._source(name, path, schema)
        request = StartRequest(
            execution=execution,
            sources=sources,
            tables=tables,
            sink=self._caught,
            trigger=MANUAL,
            checkpoint=self._folder / "checkpoint",
            listeners=[self._caught.listen],
            tasks=self._tasks,
        )
        self._query = start(self._spark, request)

    def _source(self, name: str, path: Path, schema: StructType) -> Source:
        options = {"maxFilesPerTrigger": "1", "mode": "FAILFAST"}
        return FileSource("json", str(path), schema, options)

    def _write(self, name: str, step: int, rows: Sequence[Any]) -> None:
        hidden = self._folder / f".{name}-{step}"
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        hidden.write_text(text, encoding="utf-8")
        os.utime(hidden, (_FIRST_FILE_TIME + step, _FIRST_FILE_TIME + step))
        hidden.rename(self._folder / name / f"step-{step:05d}.json")

    def _step(
        self, execution: IncrementalExecution, number: int, what: Step, *, started: bool
    ) -> None:
        if what.restart or self._restart_always:
            if not started:
                self._restart(execution)
            self._settle()
            self._record(number, data=False)
            if what.restart:
                return
        for name, source in self._scenario.sources.items():
            if not source.static:
                self._write(name, number, (what.batch or {}).get(name) or [])
        self._caught.crash = what.crash
        try:
            self._settle()
        except StateplanError:
            if not what.crash or self._caught.crash:
                raise
            self._restart(execution)
            self._settle()
        self._record(number, data=True)

    def _settle(self) -> None:
        assert self._query is not None
        self._query.process_all_available()

    def _restart(self, execution: IncrementalExecution) -> None:
        assert self._query is not None
        self._query.stop()
        self._start(execution)

    def _record(self, step: int, *, data: bool) -> None:
        """The batches that ran to their commit since the last record."""
        batches = self.emitted["batches"]
        while len(batches) in self._caught.progress:
            number = len(batches)
            batches.append(self._batch(number, step, data=data))
            data = False

    def _batch(self, number: int, step: int, *, data: bool) -> dict[str, Any]:
        progress = self._caught.progress[number]
        batch: dict[str, Any] = {"id": number, "step": step}
        if not data:
            batch["no_data"] = True
        if "watermark" in progress.get("eventTime", {}):
            batch["watermark"] = progress["eventTime"]["watermark"]
        batch["rows"] = self._caught.rows[number]
        state = progress.get("stateOperators") or []
        if state:
            batch["state"] = [{k: op[v] for k, v in _METRICS.items()} for op in state]
        return batch

    def _refuse(self, error: StateplanError, step: int) -> None:
        place: dict[str, Any]
        if error.phase == "analysis":
            place = {"phase": "analysis"}
        elif isinstance(error, PlanningError) and step < 0:
            place = {"phase": "batch", "step": 0, "batch": 0}  # Spark plans when it runs a batch
        elif isinstance(error, StreamingCheckError) or step < 0:
            place = {"phase": "start"}
        else:
            what = self._scenario.steps[step]
            batch = len(self.emitted["batches"])
            place = {"phase": "restart" if what.restart else "batch", "step": step, "batch": batch}
        message = error.message.split("\n")[0].removeprefix(f"[{error.condition}] ")
        # A failure of Java's own leaves Spark that of the query's end.
        condition = error.condition or ("STREAM_FAILED" if "batch" in place else None)
        self.emitted["error"] = {**place, "condition": condition, "message": message}
        if place["phase"] in ("analysis", "start"):
            self.emitted.pop("batches", None)


def place_in_memory() -> str | None:
    """A file system in memory, if there is one with room: no step waits there for a disk."""
    with contextlib.suppress(OSError):
        if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM:
            return _MEMORY
    return None


@contextlib.contextmanager
def scenario_folder() -> Iterator[Path]:
    """A directory for a scenario's files and checkpoint, which goes at the end."""
    folder = Path(tempfile.mkdtemp(prefix="stateplan-scenario-", dir=place_in_memory()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_scenario(
    spark: SparkSession,
    scenario: Scenario,
    *,
    tasks: int | None = None,
    restart_always: bool = False,
    query: Query | None = None,
) -> Mapping[str, Any]:
    """Run a scenario from an empty checkpoint; returns what it emitted, as `expect` is.

    Args:
        spark: the session.
        scenario: sources and steps.
        tasks: how many tasks run each stateful operator.
        restart_always: restart the query before each step.
        query: a query written in Python, instead of the scenario's own.
    """
    how: dict[str, Any] = {"tasks": tasks, "restart_always": restart_always, "query": query}
    with scenario_folder() as folder:
        return ScenarioRun(spark, scenario, folder, **how).run()
