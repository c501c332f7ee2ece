"""An archive of the classes that Spark loads: a JVM that starts with it needs half the time.

The tests start many JVMs, each of which would find, check and parse 19,000 classes anew.
The first run of the tests makes the archive beside its own work; the JVM takes none that was made
by another Java or of other jars, and does without one that is not there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Queries of a few rows end before the JVM's second compiler pays: its threads would take half of
# the processor time. Without it a JVM keeps 48 MB of compiled code, which hundreds of queries fill:
# then it throws away and compiles again.
_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
_ARCHIVE = Path(__file__).resolve().parent.parent / ".pytest_cache" / "spark-classes.jsa"


def options() -> str:
    """The options of the JVMs that the tests start."""
    return f"{_OPTIONS} -XX:SharedArchiveFile={_ARCHIVE} -Xlog:cds=off -Xlog:cds+dynamic=off"


def start_making() -> subprocess.Popen[bytes] | None:
    """Start to make the archive; None: it is there."""
    if _ARCHIVE.exists():
        return None
    _ARCHIVE.parent.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, __file__], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def _make() -> None:
    """Run a little of what the tests run in a JVM that writes the archive as it ends."""
    unfinished = _ARCHIVE.with_suffix(f".{os.getpid()}")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{_OPTIONS} -XX:ArchiveClassesAtExit={unfinished}"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        with tempfile.TemporaryDirectory() as folder:
            gateway = _run_queries(folder)
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(120)
        unfinished.replace(_ARCHIVE)
    finally:
        unfinished.unlink(missing_ok=True)


def _run_queries(folder: str) -> Any:
    from pyspark.sql import SparkSession, functions

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    builder = builder.config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    spark = builder.config("spark.connect.grpc.binding.port", "0").getOrCreate()
    rows = spark.range(10).selectExpr("id", "timestamp_seconds(id) AS at", "string(id % 3) AS k")
    rows.write.parquet(folder + "/rows")
    stream = spark.readStream.schema(rows.schema).parquet(folder + "/rows")
    counted = stream.groupBy(functions.window("at", "2 seconds"), "k").count()
    query = counted.writeStream.format("noop").outputMode("complete").trigger(availableNow=True)
    query.start().awaitTermination()
    gateway = spark.sparkContext._gateway
    spark.stop()
    return gateway


if __name__ == "__main__":
    _make()
