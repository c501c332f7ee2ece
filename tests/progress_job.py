"""What the progress of varied queries says, batch by batch; times and memory left out.

    python tests/progress_job.py FOLDER > tests/progress_answers.jsonl   # Structured Streaming
    stateplan run --engine embedded tests/progress_job.py -- FOLDER      # our runtime

Prints a line of JSON for each query: its name, and its progress. FOLDER must be empty. Names of
queries behind it choose these.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "k STRING, v INT, ts TIMESTAMP"
# The rows of each file: (k, v, seconds). Some are late, one has no time, one no key.
FILES: list[list[tuple[str | None, int | None, int | None]]] = [
    [("a", 1, 0), ("b", 2, 5), ("a", 3, 12), ("a", 1, 0), ("c", 7, None)],
    [("a", 4, 31), (None, 5, 33), ("b", 6, 14)],
    [("b", 1, 2), ("c", 8, 29), ("a", 4, 31), ("a", 9, 75)],
    [("a", 1, 74), ("d", 0, 90)],
]
NOT_COMPARED = {"allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs", "memoryUsedBytes"} | {
    *("id", "runId", "timestamp", "batchDuration", "customMetrics"),
    *("inputRowsPerSecond", "processedRowsPerSecond"),
}


class Job:
    """One query over folders of its own.

    Args:
        spark: a session of Spark or of our runtime.
        folder: a new folder.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.name = folder.name

    def write(self, source: str, number: int, shift: int = 0) -> None:
        """Put a file of rows into a source's folder."""
        place = self.folder / source
        place.mkdir(parents=True, exist_ok=True)
        lines = []
        for k, v, second in FILES[number]:
            at = None if second is None else second + shift
            ts = None if at is None else f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z"
            lines.append(json.dumps({"k": k, "v": v, "ts": ts}) + "\n")
        hidden = place / f".{number}.json"
        hidden.write_text("".join(lines))
        os.utime(hidden, (1_700_000_000 + number,) * 2)
        hidden.rename(place / f"{number}.json")

    def write_all(self, source: str, shift: int = 0) -> None:
        """Put all files into a source's folder."""
        for number in range(len(FILES)):
            self.write(source, number, shift)

    def read(self, source: str = "in", shift: int = 0, files: int = 1) -> DataFrame:
        """A stream of all files, so many a batch."""
        self.write_all(source, shift)
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", files)
        return reader.json(str(self.folder / source))

    def timed(self, source: str = "in", shift: int = 0, delay: str = "10 seconds") -> DataFrame:
        """The same with a watermark."""
        return self.read(source, shift).withWatermark("ts", delay)

    def run(
        self,
        frame: DataFrame,
        mode: str = "append",
        sink: Any = "noop",
        **trigger: Any,
    ) -> list[dict[str, Any]]:
        """What a query's progress says until there is nothing left to do."""
        writer = frame.writeStream.outputMode(mode).queryName(self.name.replace(" ", "_"))
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        if callable(sink):
            writer = writer.foreachBatch(sink)
        elif sink in ("json", "parquet"):
            writer = writer.format(sink).option("path", str(self.folder / "out"))
        else:
            writer = writer.format(sink)
        query = writer.trigger(**(trigger or {"availableNow": True})).start()
        if trigger and "processingTime" in trigger:
            query.processAllAvailable()
            time.sleep(1)
            query.stop()
        else:
            query.awaitTermination()
        return [self._compared(json.loads(p.json)) for p in query.recentProgress]

    def _compared(self, value: Any) -> Any:
        """What is not of a run alone."""
        if isinstance(value, dict):
            parts = {k: v for k, v in value.items() if k not in NOT_COMPARED}
            if "durationMs" in parts:
                parts["durationMs"] = sorted(parts["durationMs"])
            return {k: self._compared(v) for k, v in parts.items()}
        if isinstance(value, list):
            return [self._compared(part) for part in value]
        if isinstance(value, str):
            return value.replace(str(self.folder), "FOLDER")
        return value


def windowed(job: Job, mode: str, size: str = "20 seconds", slide: str | None = None) -> Any:
    from pyspark.sql import functions as F

    window = F.window("ts", size, slide)
    rows = job.timed().groupBy(window, "k").agg(F.count("*").alias("n"), F.sum("v").alias("s"))
    return job.run(rows, mode, "memory")


def observed(job: Job) -> Any:
    from pyspark.sql import functions as F

    figures = [
        *(F.count("*").alias("n"), F.sum("v").alias("s"), F.max("ts").alias("t")),
        *(F.avg("v").alias("a"), F.max(F.struct("v", "k")).alias("m"), F.first("k").alias("k")),
        *(F.sum(F.col("v").cast("decimal(10,2)")).alias("d"), F.collect_list("v").alias("l")),
        *(F.max(F.col("ts").cast("date")).alias("y"), F.lit(None).alias("nothing")),
        *(F.max(F.col("k").cast("binary")).alias("b"), F.max(F.col("v") > 3).alias("o")),
    ]
    rows = job.timed().observe("before", *figures).filter("v > 3")
    return job.run(rows.observe("after", F.count("*").alias("n")), "append", "json")


def observed_twice(job: Job) -> Any:
    from pyspark.sql import functions as F

    rows = job.timed().observe("read", F.count("*").alias("n"))
    counts = rows.groupBy("k").count().observe("groups", F.count("*").alias("n"))
    return job.run(counts, "update", "memory")


def session(job: Job) -> Any:
    from pyspark.sql import functions as F

    rows = job.timed().groupBy(F.session_window("ts", "5 seconds"), "k").count()
    return job.run(rows)


def joined(
    job: Job, how: str, on: str = "a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 SECONDS"
) -> Any:
    job.timed("left").createOrReplaceTempView("a")
    job.timed("right", 3, "5 seconds").createOrReplaceTempView("b")
    columns = "a.*" if "SEMI" in how else "a.k, a.v, b.ts"
    return job.run(job.spark.sql(f"SELECT {columns} FROM a {how} JOIN b ON {on}"))


def with_itself(job: Job) -> Any:
    rows = job.timed()
    return job.run(rows.union(rows).groupBy("k").count(), "update")


def unions(job: Job) -> Any:
    rows = job.timed("one").union(job.timed("two", 40, "30 seconds"))
    return job.run(rows.dropDuplicates(["k", "ts"]))


def with_table(job: Job) -> Any:
    table = job.spark.createDataFrame([("a", 1), ("b", 2), ("b", 3)], "k STRING, w INT")
    return job.run(job.read().join(table, "k", "left"))


def chained(job: Job) -> Any:
    from pyspark.sql import functions as F

    inner = job.timed().groupBy(F.window("ts", "10 seconds"), "k").count()
    outer = inner.groupBy(F.window("window", "30 seconds")).agg(F.sum("count"))
    return job.run(outer)


def by_function(job: Job, action: Callable[[DataFrame], object]) -> Any:
    return job.run(job.read(), sink=lambda frame, number: action(frame))


def stateful_function(job: Job) -> Any:
    def counted(key: Any, frames: Any, state: Any) -> Iterator[pd.DataFrame]:
        import pandas as pd

        count = (state.getOption or (0,))[0] + sum(map(len, frames))
        if state.hasTimedOut:
            state.remove()
        else:
            state.update((count,))
            state.setTimeoutTimestamp(max(state.getCurrentWatermarkMs(), 1767225600000) + 20000)
        yield pd.DataFrame({"k": [key[0]], "n": [count]})

    grouped = job.timed().groupBy("k")
    rows = grouped.applyInPandasWithState(
        counted, "k STRING, n BIGINT", "n BIGINT", "update", "EventTimeTimeout"
    )
    return job.run(rows, "update")


def restarted(job: Job) -> Any:
    """Runs again with nothing to do: all there is, once, and by the clock."""
    rows = job.timed().groupBy("ts").count()
    found = job.run(rows)
    return (
        found + job.run(rows) + job.run(rows, once=True) + job.run(rows, processingTime="0 seconds")
    )


def idle(job: Job) -> Any:
    """Shows that there is nothing to do as often as it is asked to."""
    job.spark.conf.set("spark.sql.streaming.noDataProgressEventInterval", "600")
    job.spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
    try:
        counts = job.timed().groupBy("ts").count()
        return job.run(counts, sink="memory", processingTime="0 seconds")
    finally:
        job.spark.conf.unset("spark.sql.streaming.noDataProgressEventInterval")
        job.spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")


def idle_without_rows(job: Job) -> Any:
    (job.folder / "in").mkdir(parents=True)
    rows = job.spark.readStream.schema(SCHEMA).json(str(job.folder / "in"))
    return job.run(rows, processingTime="0 seconds")


def micro_batches(job: Job) -> Any:
    reader = job.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10)
    rows = reader.option("startTimestamp", 1000).option("numPartitions", 2).load()
    query = rows.writeStream.format("noop").trigger(once=True).start()
    query.awaitTermination()
    return [job._compared(json.loads(p.json)) for p in query.recentProgress]


CASES: dict[str, Callable[[Job], Any]] = {
    "plain": lambda job: job.run(job.read().filter("v > 1").select("k")),
    "plain with watermark": lambda job: job.run(job.timed().select("k", "ts")),
    "without a column": lambda job: job.run(job.read().selectExpr("1 AS one")),
    "json files": lambda job: job.run(job.read(files=3), sink="json"),
    "parquet files": lambda job: job.run(job.timed(), sink="parquet"),
    "memory": lambda job: job.run(job.read(), sink="memory"),
    "windows": lambda job: windowed(job, "append"),
    "windows update": lambda job: windowed(job, "update", "20 seconds", "10 seconds"),
    "windows complete": lambda job: windowed(job, "complete"),
    "keyed": lambda job: job.run(job.read().groupBy("k").count(), "update"),
    "keyed complete": lambda job: job.run(job.timed().groupBy("k").count(), "complete", "memory"),
    "global": lambda job: job.run(job.timed().groupBy().count(), "update", "memory"),
    "distinct": lambda job: job.run(job.timed().select("k", "ts").distinct()),
    "deduplicated": lambda job: job.run(job.timed().dropDuplicates(["k", "ts"])),
    "deduplicated for ever": lambda job: job.run(job.read().dropDuplicates(["k"])),
    "deduplicated late": lambda job: job.run(job.timed().dropDuplicates(["k", "v"])),
    "deduplicated within": lambda job: job.run(
        job.timed().dropDuplicatesWithinWatermark(["k", "v"])
    ),
    "sessions": session,
    "inner join": lambda job: joined(job, "INNER"),
    "left join": lambda job: joined(job, "LEFT"),
    "full join": lambda job: joined(job, "FULL"),
    "semi join": lambda job: joined(job, "LEFT SEMI"),
    "keyed join": lambda job: joined(job, "INNER", "a.k = b.k"),
    "limit": lambda job: job.run(job.read().limit(6)),
    "chain": chained,
    "observed": observed,
    "observed twice": observed_twice,
    "with itself": with_itself,
    "unions": unions,
    "with a table": with_table,
    "function": lambda job: by_function(job, lambda frame: frame.collect()),
    "function of first": lambda job: by_function(job, lambda frame: frame.filter("v > 3").count()),
    "stateful function": stateful_function,
    "restarted": restarted,
    "idle": idle,
    "idle without rows": idle_without_rows,
    "micro-batches": micro_batches,
}


def main(folder: str, *names: str) -> None:
    """Print what each query's progress says."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    for key, value in {"shuffle.partitions": "2", "session.timeZone": "UTC"}.items():
        spark.conf.set(f"spark.sql.{key}", value)
    for name, case in CASES.items():
        if not names or name in names:
            found = case(Job(spark, Path(folder) / name))
            print(json.dumps({"case": name, "progress": found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
