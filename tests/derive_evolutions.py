"""Write `spark` and, where it is missing, `verdict` into tests/evolutions/*.yaml from a live Spark.

    python tests/derive_evolutions.py [TOPIC|ID...]

Three runs a case: the old query over the first batches; the new one on from its checkpoint; the new
one over all batches from nothing. `meaning` says whether a reader of the sink holds the same after
the first two as after the third, `since_restart` whether what came out from the restart on is so.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from evolutions import BEFORE, FOLDER, ROWS, SCHEMAS, Case, is_python, lay_checkpoint
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from stateplan.planner.evolution.check import check_against
from stateplan.planner.evolution.reading import read_checkpoint

Batches = list[list[tuple[Any, ...]]]


class Run:
    """A query over the batches from `first` on, on a checkpoint under `root`."""

    def __init__(self, spark: SparkSession, case: Case, which: str, root: Path) -> None:
        self.session = spark.newSession()
        self.query = case.query(which)
        self.text = case.was if which == "was" else case.now
        self.root = root
        self.batches: Batches = []
        self.columns: list[str] = []
        self.error: dict[str, Any] | None = None
        self.failure: Exception | None = None

    def frame(self) -> Any:
        for key, value in self.query.conf.settings.items():
            self.session.conf.set(key, value)
        frames = {}
        for name in SCHEMAS:
            described = self.query.sources.get(name)
            schema = SCHEMAS[name] if described is None else described.schema_
            (self.root / name).mkdir(exist_ok=True)
            reader = self.session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
            frames[name] = reader.json(str(self.root / name))
            frames[name].createOrReplaceTempView(name)
        if is_python(self.text):
            return eval(self.text, {**frames, "F": F})
        return self.session.sql(self.text)

    def feed(self, batch: int) -> None:
        for name in SCHEMAS:
            text = "\n".join(json.dumps(row) for row in ROWS[batch])
            (self.root / name).mkdir(exist_ok=True)
            (self.root / name / f"step-{batch:05d}.json").write_text(text)

    def go(self, first: int, last: int) -> Run:
        phase, query = "analysis", None
        try:
            frame = self.frame()
            self.columns = frame.columns
            phase = "start"
            writer = frame.writeStream.outputMode(self.query.output_mode).foreachBatch(self._take)
            query = writer.option("checkpointLocation", str(self.root / "ck")).start()
            phase = "plan"
            for batch in range(first, last):
                self.feed(batch)
                query.processAllAvailable()
        except PySparkException as problem:
            if self.failure is not None:
                phase = "batch"
            self.error = {"restart": "failed" if phase == "batch" else "refused"}
            self.error |= {"phase": phase, "condition": _condition(self.failure or problem)}
        finally:
            if query is not None:
                query.stop()
        return self

    def _take(self, frame: Any, _: int) -> None:
        try:
            rows = frame.collect()
        except Exception as error:  # Py4J has a class of its own for what Spark has no name for
            self.failure = error
            raise
        self.batches.append([tuple(map(str, row)) for row in rows])


def _condition(error: Exception) -> str | None:
    """The condition of the innermost error that has one."""
    best = error.getCondition() if isinstance(error, PySparkException) else None
    cause = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while cause is not None:
        try:
            own = cause.getCondition()
        except Exception:
            own = None
        if own and own != "STREAM_FAILED":
            best = own
        cause = cause.getCause()
    return best


def held(case: Case, runs: list[tuple[Run, Batches]]) -> Counter[tuple[Any, ...]]:
    """The rows that a reader of the sink has in the end."""
    rows: list[tuple[Any, ...]] = []
    for run, batches in runs:
        mode = run.query.output_mode
        places = [run.columns.index(c) for c in case.key or [] if c in run.columns]
        for batch in batches:
            if mode == "complete":
                rows = list(batch)
                continue
            if mode == "update" and places:
                fresh = {tuple(row[i] for i in places) for row in batch}
                rows = [r for r in rows if tuple(r[i] for i in places) not in fresh]
            rows += batch
    return Counter(rows)


def derive(spark: SparkSession, case: Case) -> dict[str, Any]:
    """What Spark does with the change."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        old = Run(spark, case, "was", Path(one)).go(0, BEFORE)
        if old.error is not None:
            raise RuntimeError(f"{case.id}: the old query fails: {old.error}")
        after = Run(spark, case, "now", Path(one)).go(BEFORE, len(ROWS))
        if after.error is not None:
            return after.error
        fresh = Run(spark, case, "now", Path(two)).go(0, BEFORE)
        count = len(fresh.batches)
        again = Run(spark, case, "now", Path(two)).go(BEFORE, len(ROWS))
    since = [[(run, run.batches)] for run in (after, again)]
    whole = (
        [(old, old.batches), (after, after.batches)],
        [(fresh, fresh.batches[:count]), (again, again.batches)],
    )
    pairs = {"meaning": whole, "since_restart": since}
    same = {n: held(case, a) == held(case, b) for n, (a, b) in pairs.items()}
    return {"restart": "accepted", **{n: "same" if s else "differs" for n, s in same.items()}}


def main() -> None:
    """Derive the topics and cases that are named, or all."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for path in sorted(FOLDER.glob("*.yaml")):
        contents = yaml.safe_load(path.read_text(encoding="utf-8"))
        for content in contents:
            case = Case(**content)
            if sys.argv[1:] and not {path.stem, case.id} & set(sys.argv[1:]):
                continue
            content["spark"] = derive(spark, case)
            with tempfile.TemporaryDirectory() as folder:
                stored = read_checkpoint(lay_checkpoint(Path(folder), case.query("was")))
                report = check_against(case.query("now"), stored, case.query("was"))
            content.setdefault("verdict", report.verdict)
            print(case.id, content["spark"], report.verdict, flush=True)
        path.write_text(yaml.safe_dump(contents, sort_keys=False, width=100), encoding="utf-8")


if __name__ == "__main__":
    main()
