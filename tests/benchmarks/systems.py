"""One run of a job in this process: native Structured Streaming, stateplan, or Spark's floor.

The time of a streaming batch is that from its trigger's start to the start of the next one's, by
the timestamps of the progress: nothing that happens between batches is left out. Each run therefore
has one more batch than it counts. The floor is the same SQL as a batch query over the files of one
batch, timed from reading the directory's names to the last row.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import functions
from .cpu import CpuClock
from .job import EMBEDDED, FLOOR, OTHERS, ROCKSDB, SPARK, Input, Job, Run
from .memory import PeakMemory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ROCKSDB_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MASTER = "local[2]"
Rows = dict[str, list[str]]


def session(driver_memory: str) -> SparkSession:
    """This process's Spark, the same for every system."""
    from stateplan.runtime.engines.spark_session import start_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = {
        "spark.driver.memory": driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
    }
    return start_session(MASTER, "stateplan-benchmark", chosen)


def run(job: Job, spark: SparkSession | None = None) -> Run:
    """Run a job from an empty checkpoint to the end of its data.

    Args:
        job: what to run on which system.
        spark: this process's Spark; None: start it if the system needs one.
    """
    if job.system in OTHERS:
        module = import_module(f".others.{OTHERS[job.system]}", __package__)
        with CpuClock() as clock:
            start = time.time()
            result: Run = module.run(job)
            cpu = clock.between(start, time.time()) / job.counted[1]
        return replace(result, cpu_seconds=cpu)
    if spark is None and job.system != EMBEDDED:
        spark = session(job.driver_memory)
    if job.system == FLOOR:
        assert spark is not None
        return _floor(spark, job)
    kept: Rows = {}
    with (
        CpuClock() as clock,
        PeakMemory(job.watch_memory, workers=job.system != EMBEDDED) as memory,
    ):
        if job.system in (SPARK, EMBEDDED):
            progress = _stateplan(spark, job, kept)
        else:
            assert spark is not None
            progress = _native(spark, job, kept)
    return _figures(job, progress, kept, clock, memory.peak)


def _stateplan(spark: SparkSession | None, job: Job, kept: Rows) -> list[Mapping[str, Any]]:
    import stateplan
    from stateplan.planner.description import SourceDescription
    from stateplan.planner.model.settings.conf import Conf
    from stateplan.planner.query import Query

    sources = {i.name: _described(i) for i in job.inputs}
    conf = {
        "spark.sql.shuffle.partitions": str(job.stores),
        "spark.sql.session.timeZone": "UTC",
    }
    if job.function:
        query = Query(
            getattr(functions, job.function),
            sources={name: SourceDescription(**one) for name, one in sources.items()},
            output_mode=job.mode,
            conf=Conf(conf),
        )
    else:
        query = stateplan.sql(job.text, sources=sources, output_mode=job.mode, conf=conf)
    seen: list[Mapping[str, Any]] = []
    settings: dict[str, Any] = {"engine": EMBEDDED} if job.system == EMBEDDED else {"spark": spark}
    if job.keep_rows:
        settings["foreach_batch"] = _keeper(kept)
    else:
        settings["sink"] = "noop"
    handle = query.run(
        **settings,
        trigger="available_now",
        checkpoint=job.checkpoint,
        listeners=[seen.append],
        background=False,
    )
    handle.await_termination()
    return seen


def _described(one: Input) -> dict[str, Any]:
    options = one.reader_options if one.files is None else one.stream_options
    return {
        "schema": one.schema,
        "format": one.format,
        "path": one.path,
        "static": one.files is None,
        "options": dict(options),
    }


def _native(spark: SparkSession, job: Job, kept: Rows) -> list[Mapping[str, Any]]:
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(job.stores))
    if job.system == ROCKSDB:
        own.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB_PROVIDER)
    for one in job.inputs:
        if one.files is None:
            reader: Any = own.read.options(**one.reader_options)
        else:
            reader = own.readStream.options(**one.stream_options)
        frame = reader.schema(one.schema).format(one.format).load(one.path)
        frame.createOrReplaceTempView(one.name)
    writer = _result(own, job, streaming=True).writeStream.outputMode(job.mode)
    writer = writer.foreachBatch(_keeper(kept)) if job.keep_rows else writer.format("noop")
    query = writer.option("checkpointLocation", job.checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    return [json.loads(p.json) for p in query.recentProgress]


def _floor(spark: SparkSession, job: Job) -> Run:
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(job.stores))
    moments = [time.time()]
    with CpuClock() as clock:
        for number in range(job.counted[1]):
            for one in job.inputs:
                _files(own, one, number).createOrReplaceTempView(one.name)
            result = _result(own, job, streaming=False)
            result.write.format("noop").mode("overwrite").save()
            moments.append(time.time())
    counted = moments[job.counted[0] :]
    cpu = clock.between(counted[0], counted[-1]) / (len(counted) - 1)
    seconds = [end - start for start, end in pairwise(counted)]
    return Run(system=FLOOR, seconds=seconds, rows=(), cpu_seconds=cpu)


def _files(own: SparkSession, one: Input, batch: int) -> DataFrame:
    """The files of one batch of a stream, or of a table, as a batch query reads them."""
    names = sorted(p.name for p in Path(one.path).iterdir() if p.name.startswith("batch-"))
    if one.files is not None:
        names = names[batch * one.files : (batch + 1) * one.files]
    reader = own.read.options(**one.reader_options).schema(one.schema).format(one.format)
    return reader.load([f"{one.path}/{name}" for name in names])


def _result(own: SparkSession, job: Job, *, streaming: bool) -> DataFrame:
    """The query's DataFrame; each step before the last one is a view."""
    if job.function:
        streams = {one.name: own.table(one.name) for one in job.inputs}
        query: DataFrame = getattr(functions, job.function)(**streams)
        return query
    for step in job.steps:
        frame = own.sql(job.sql(step, streaming=streaming))
        if step.distinct:
            within = step.within_watermark and streaming
            drop = frame.dropDuplicatesWithinWatermark if within else frame.dropDuplicates
            frame = drop(list(step.distinct))
        if step is not job.steps[-1]:
            frame.createOrReplaceTempView(step.name)
    return frame


def _keeper(kept: Rows) -> Callable[[DataFrame, int], None]:
    """Keeps the rows of each batch as text, in their order; numbers to 12 digits."""

    def keep(frame: DataFrame, batch: int) -> None:
        rows = [json.dumps(row.asDict(recursive=True), default=str) for row in frame.collect()]
        kept.pop(str(batch), None)
        if rows:
            kept[str(batch)] = [_rounded(json.loads(row)) for row in rows]

    return keep


def _rounded(row: Any) -> str:
    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return f"{value:.12g}"
        if isinstance(value, list):
            return [plain(one) for one in value]
        if isinstance(value, dict):
            return {key: plain(one) for key, one in value.items()}
        return value

    return json.dumps(plain(row), ensure_ascii=False)


def _figures(
    job: Job,
    progress: list[Mapping[str, Any]],
    kept: Rows,
    clock: CpuClock,
    python_bytes: int | None,
) -> Run:
    with_data = [p for p in progress if p["numInputRows"] > 0]
    if len(with_data) != job.batches:
        raise RuntimeError(f"{len(with_data)} batches of data were run, not {job.batches}")
    starts = [dt.datetime.fromisoformat(p["timestamp"]) for p in with_data]
    counted = range(*job.counted)
    operators = progress[-1]["stateOperators"]
    return Run(
        system=job.system,
        seconds=[(starts[i + 1] - starts[i]).total_seconds() for i in counted],
        rows=[int(with_data[i]["numInputRows"]) for i in counted],
        progress=[with_data[i] for i in counted],
        watermarks={
            str(p["batchId"]): p.get("eventTime", {}).get("watermark", "") for p in progress
        },
        kept=kept if job.keep_rows else None,
        state_rows=sum(int(operator["numRowsTotal"]) for operator in operators),
        state_bytes=sum(_file_sizes(Path(job.checkpoint) / "state")),
        operators=len(operators),
        cpu_seconds=clock.between(*(starts[i].timestamp() for i in job.counted)) / len(counted),
        python_bytes=python_bytes,
    )


def _file_sizes(directory: Path) -> list[int]:
    return [p.stat().st_size for p in directory.rglob("*") if p.is_file()]
