"""A live Spark and the embedded engine, asked for the same expressions over the same rows."""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .canonical import texts
from .shapes import frame_of

HERE = Path(__file__).resolve().parent
Setting = tuple[bool, str]
"""ANSI mode and time zone."""
SECONDS = 900.0
TOGETHER = 32
ASKED_ROWS = 1
"""How many of the rows on which an expression fails are asked one by one."""


@dataclass
class Outcome:
    """What an engine said of an expression.

    Attributes:
        type: the column's type as Spark's simpleString.
        rows: the value per row on which it did not fail.
        errors: the condition (of Spark) or the text of the error per row that was asked alone.
        failing: all rows on which it fails, as Spark knows.
        error: why there is nothing else.
        planned: whether the engine at least planned it.
    """

    type: str = ""
    rows: dict[str, str] = field(default_factory=dict)
    errors: dict[int, str | None] = field(default_factory=dict)
    failing: list[int] = field(default_factory=list)
    error: str | None = None
    planned: bool = True


def settings_of(setting: Setting) -> dict[str, str]:
    ansi, zone = setting
    return {
        "spark.sql.ansi.enabled": str(ansi).lower(),
        "spark.sql.session.timeZone": zone,
    }


class LiveSpark:
    """Spark in this process. Expressions run interpreted, each kept from stopping the others."""

    def __init__(self, rows: pa.Table, session: Any = None) -> None:
        self.session = session or self._start()
        self.session.conf.set("spark.sql.codegen.wholeStage", "false")
        self.session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        self.table = rows
        # A time without a zone in Arrow is one without a zone in Spark.
        self.session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
        self.rows = self.session.createDataFrame(rows)
        self.session.conf.unset("spark.sql.timestampType")
        self._jvm = self.session._jvm
        self._parser = self.session._jsparkSession.sessionState().sqlParser()

    def _start(self) -> Any:
        """A session of our own: one core, quiet."""
        # Thousands of small plans that run once: compiling them well costs more than it gives.
        java = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dlog4j2.level=OFF"
        os.environ.setdefault(
            "PYSPARK_SUBMIT_ARGS", f"--driver-java-options '{java}' pyspark-shell"
        )
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.ui.retainedExecutions", 1)
        builder = builder.config("spark.driver.memory", "3g")
        builder = builder.config("spark.ui.showConsoleProgress", "false")
        builder = builder.config("spark.sql.shuffle.partitions", "1")
        builder = builder.config("spark.log.structuredLogging.enabled", "false")
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        logging.disable(logging.CRITICAL)  # PySpark logs each error that it raises.
        return session

    def groups(self, setting: Setting, sqls: Sequence[str], shape: str) -> dict[str, Outcome]:
        """Aggregates over groups, or over one group or nothing (shapes.py)."""
        self._configure(setting)
        found: dict[str, Outcome] = {}
        for start in range(0, len(sqls), TOGETHER):
            found.update(self._aggregated(sqls[start : start + TOGETHER], shape))
        return found

    def _aggregated(self, sqls: Sequence[str], shape: str) -> dict[str, Outcome]:
        try:
            frame = frame_of(shape, self.rows, [f"{sql} AS v{i}" for i, sql in enumerate(sqls)])
            kinds = [field.dataType.simpleString() for field in frame.schema.fields[1:]]
            table = frame.toArrow()
        except Exception as error:
            if len(sqls) == 1:
                condition = getattr(error, "getCondition", lambda: None)()
                return {sqls[0]: Outcome(error=condition or str(error)[:200])}
            half = len(sqls) // 2
            one, other = sqls[:half], sqls[half:]
            return {**self._aggregated(one, shape), **self._aggregated(other, shape)}
        ids = texts(table["id"])
        return {
            sql: Outcome(type=kind, rows=dict(zip(ids, texts(table[f"v{i}"]), strict=True)))
            for i, (sql, kind) in enumerate(zip(sqls, kinds, strict=True))
        }

    def _configure(self, setting: Setting) -> None:
        for key, value in settings_of(setting).items():
            self.session.conf.set(key, value)

    def ask(self, setting: Setting, sqls: Sequence[str]) -> dict[str, Outcome]:
        """Expressions over each row; rows on which one fails do not stop the others."""
        self._configure(setting)
        found: dict[str, Outcome] = {}
        for start in range(0, len(sqls), TOGETHER):
            found.update(self._many(sqls[start : start + TOGETHER]))
        for sql, outcome in found.items():
            for row in _spread(outcome.failing):
                outcome.errors[row] = self._condition(sql, row)
        return found

    def _many(self, sqls: Sequence[str]) -> dict[str, Outcome]:
        try:
            columns = [self._kept(sql).alias(f"v{i}") for i, sql in enumerate(sqls)]
            frame = self.rows.select("id", *columns)
            kinds = [f.dataType.fields[0].dataType.simpleString() for f in frame.schema.fields[1:]]
            table = frame.toArrow()
        except Exception as error:
            if len(sqls) == 1:
                return {sqls[0]: Outcome(error=str(error).split("\n", 1)[0][:300])}
            half = len(sqls) // 2
            return {**self._many(sqls[:half]), **self._many(sqls[half:])}
        ids = table["id"].to_pylist()
        return {
            sql: _outcome(kind, ids, table[f"v{i}"])
            for i, (sql, kind) in enumerate(zip(sqls, kinds, strict=True))
        }

    def _kept(self, sql: str) -> Any:
        """The expression in a struct, which is null where it fails."""
        from pyspark.sql import Column

        parsed = self._parser.parseExpression(f"named_struct('v', {sql})")
        kept = self._jvm.org.apache.spark.sql.catalyst.expressions.TryEval(parsed)
        return Column(self._jvm.org.apache.spark.sql.classic.ExpressionUtils.column(kept))

    def _condition(self, sql: str, row: int) -> str | None:
        from pyspark.errors import PySparkException

        try:
            frame = self.rows.filter(f"id = {row}").selectExpr(f"{sql} AS v")
            # The optimizer computes a projection over local rows itself, without a job.
            frame._jdf.queryExecution().optimizedPlan()
            frame.toArrow()
        except PySparkException as error:
            condition = error.getCondition()
            return condition or f"{type(error).__name__}: {str(error)[:100]}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:100]}"
        return None

    def run(self, setting: Setting, program: str, place: str) -> dict[str, Any]:
        """A whole query in Python that leaves a DataFrame in `result` (programs.py)."""
        from pyspark.sql import functions

        self._configure(setting)
        try:
            names: dict[str, Any] = {"spark": self.session, "rows": self.rows, "place": place}
            exec(program, {**names, "table": self.table, "F": functions}, names)
            table = names["result"].toArrow()
            kind = names["result"].schema.simpleString()
            columns = [texts(table.column(i)) for i in range(table.num_columns)]
            return {"type": kind, "list": [" | ".join(row) for row in zip(*columns, strict=True)]}
        except Exception as error:
            condition = getattr(error, "getCondition", lambda: None)()
            return {"error": condition or str(error)[:200]}


def _spread(rows: Sequence[int]) -> list[int]:
    """Some of the rows, from all over."""
    step = max(1, len(rows) // ASKED_ROWS)
    return list(rows[::step][:ASKED_ROWS])


def _outcome(kind: str, ids: Iterable[int], column: pa.ChunkedArray) -> Outcome:
    array = column.combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
    known = array.is_valid().to_pylist()
    shown = texts(array.field(0))
    outcome = Outcome(type=kind)
    for row, valid, text in zip(ids, known, shown, strict=True):
        if valid:
            outcome.rows[str(row)] = text
        else:
            outcome.failing.append(row)
    return outcome


class Embedded:
    """The embedded engine in another interpreter; started again when it dies."""

    def __init__(self, python: Path, rows: pa.Table, place: Path) -> None:
        self._file = place / "rows.parquet"
        pq.write_table(rows, self._file)
        self._command = [str(python), str(HERE / "sail_worker.py"), str(self._file)]
        self._process: subprocess.Popen[str] | None = None

    def ask(
        self, setting: Setting, sqls: Sequence[str], known: Mapping[str, Outcome]
    ) -> dict[str, Outcome]:
        """The engine's outcomes; rows on which Spark fails are asked one by one."""
        found: dict[str, Outcome] = {}
        for start in range(0, len(sqls), TOGETHER):
            found.update(self._some(setting, list(sqls[start : start + TOGETHER]), known))
        return found

    def _some(
        self, setting: Setting, sqls: list[str], known: Mapping[str, Outcome]
    ) -> dict[str, Outcome]:
        question = {
            "settings": settings_of(setting),
            "shape": "rows",
            "sqls": sqls,
            "failing": {sql: known[sql].failing for sql in sqls if known[sql].failing},
            "single": {sql: list(known[sql].errors) for sql in sqls},
        }
        answer = self.send(question)
        if answer is None:
            if len(sqls) == 1:
                return {sqls[0]: Outcome(error="the engine's process ended", planned=False)}
            half = len(sqls) // 2
            one, other = sqls[:half], sqls[half:]
            return {**self._some(setting, one, known), **self._some(setting, other, known)}
        return {sql: _read(answer[sql]) for sql in sqls}

    def groups(self, setting: Setting, sqls: Sequence[str], shape: str) -> dict[str, Outcome]:
        """Aggregates over groups, or over one group or nothing (shapes.py)."""
        question = {"settings": settings_of(setting), "shape": shape, "sqls": list(sqls)}
        answer = self.send(question)
        if answer is not None:
            return {sql: _read(answer[sql]) for sql in sqls}
        if len(sqls) == 1:
            return {sqls[0]: Outcome(error="the engine's process ended", planned=False)}
        half = len(sqls) // 2
        one, other = sqls[:half], sqls[half:]
        return {**self.groups(setting, one, shape), **self.groups(setting, other, shape)}

    def run(self, setting: Setting, program: str, place: str) -> dict[str, Any]:
        """A whole query in Python that leaves a DataFrame in `result` (programs.py)."""
        question = {"settings": settings_of(setting), "program": program, "place": place}
        answer = self.send(question)
        return answer or {"error": "the engine's process ended"}

    def send(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """One answer; None where the process died or was silent for too long."""
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            return self._line(process)
        except (OSError, ValueError):
            self.stop()
            return None

    def _line(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        line = process.stdout.readline() if ready else ""
        if not line:
            raise OSError("no answer")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "RUST_LOG": "off", "TZ": "UTC"},
            )
            self._line(self._process)
        return self._process

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            with self._process:  # Waits, and closes the pipes.
                pass
            self._process = None


def _read(answer: dict[str, Any]) -> Outcome:
    return Outcome(
        type=answer.get("type", ""),
        rows=answer.get("rows", {}),
        errors={int(row): text for row, text in answer.get("errors", {}).items()},
        error=answer.get("error"),
        planned=answer.get("planned", True),
    )
