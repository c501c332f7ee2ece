"""One run of a work on one system: a fresh checkpoint, all batches, what each took.

The time of a batch is that from its trigger's start to the start of the next one's, by the
timestamps of the progress: nothing that happens between batches is left out. Each run therefore
has one more batch than it counts.
"""

from __future__ import annotations

import datetime as dt
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .data import SCHEMA, file_sizes
from .memory import PeakMemory
from .works import OURS, ROCKSDB, Work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROCKSDB_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MASTER = "local[2]"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one run showed.

    Attributes:
        system: which it was.
        seconds: of each batch that counts.
        rows: input rows of each batch that counts.
        progress: the progress of each batch that counts.
        state_rows: rows in the state at the end, over all operators.
        state_bytes: the size of the checkpoint's state directory at the end.
        python_bytes: peak private memory of all Python workers together; None: not looked at.
    """

    system: str
    seconds: tuple[float, ...]
    rows: tuple[int, ...]
    progress: tuple[Mapping[str, Any], ...]
    state_rows: int
    state_bytes: int
    python_bytes: int | None


def session(driver_memory: str, settings: Mapping[str, str] | None = None) -> SparkSession:
    """This process's Spark, the same for every system."""
    from stateplan.runtime.session import start_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    chosen = {
        "spark.driver.memory": driver_memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        **(settings or {}),
    }
    return start_session(MASTER, "stateplan-benchmark", chosen)


def run(
    spark: SparkSession, system: str, work: Work, root: Path, *, watch_memory: bool = False
) -> Run:
    """Run a work from an empty checkpoint to the end of its data.

    Args:
        spark: the session of this process.
        system: `stateplan`, `native` or `native-rocksdb`.
        work: what to run.
        root: where the data are, and the checkpoint is for the time of the run.
        watch_memory: whether to look at the memory of the Python workers all the time.
    """
    data = work.data.path(root, work.files)
    checkpoint = Path(tempfile.mkdtemp(prefix="checkpoint-", dir=root))
    start = _stateplan if system == OURS else _native
    try:
        with PeakMemory(watch_memory) as memory:
            progress = start(spark, system, work, data, checkpoint)
        return _figures(system, work, progress, checkpoint / "state", memory.peak)
    finally:
        shutil.rmtree(checkpoint, ignore_errors=True)


def _stateplan(
    spark: SparkSession, system: str, work: Work, data: Path, checkpoint: Path
) -> list[Mapping[str, Any]]:
    import stateplan

    source = {
        "schema": SCHEMA,
        "format": "parquet",
        "path": str(data),
        "options": {"maxFilesPerTrigger": str(work.data.parts)},
    }
    query = stateplan.sql(
        work.streaming_sql,
        sources={"events": source},
        output_mode=work.mode,
        conf={
            "spark.sql.shuffle.partitions": str(work.stores),
            "spark.sql.session.timeZone": "UTC",
        },
    )
    seen: list[Mapping[str, Any]] = []
    handle = query.run(
        spark,
        sink="noop",
        trigger="available_now",
        checkpoint=checkpoint,
        listeners=[seen.append],
        background=False,
    )
    handle.await_termination()
    return seen


def _native(
    spark: SparkSession, system: str, work: Work, data: Path, checkpoint: Path
) -> list[Mapping[str, Any]]:
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", str(work.stores))
    if system == ROCKSDB:
        own.conf.set("spark.sql.streaming.stateStore.providerClass", _ROCKSDB_PROVIDER)
    reader = own.readStream.schema(SCHEMA).option("maxFilesPerTrigger", work.data.parts)
    reader.parquet(str(data)).createOrReplaceTempView("events")
    frame = own.sql(work.sql)
    if work.distinct:
        frame = frame.dropDuplicates(list(work.distinct))
    writer = frame.writeStream.outputMode(work.mode).format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return [{**p} for p in query.recentProgress]


def _figures(
    system: str,
    work: Work,
    progress: list[Mapping[str, Any]],
    state: Path,
    python_bytes: int | None,
) -> Run:
    with_data = [p for p in progress if p["numInputRows"] > 0]
    if len(with_data) != work.files:
        raise RuntimeError(f"{system} ran {len(with_data)} batches of data, not {work.files}")
    starts = [dt.datetime.fromisoformat(p["timestamp"]) for p in with_data]
    first = work.files - work.batches - 1
    counted = range(first, first + work.batches)
    operators = progress[-1]["stateOperators"]
    return Run(
        system=system,
        seconds=tuple((starts[i + 1] - starts[i]).total_seconds() for i in counted),
        rows=tuple(int(with_data[i]["numInputRows"]) for i in counted),
        progress=tuple(with_data[i] for i in counted),
        state_rows=sum(int(operator["numRowsTotal"]) for operator in operators),
        state_bytes=sum(file_sizes(state)),
        python_bytes=python_bytes,
    )
