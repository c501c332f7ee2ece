"""A program with a Spark of its own whose workers are other Pythons than the program's.

python other_workers.py MASTER PYTHON...    a classic session, one Python after the other
python other_workers.py serve PYTHON        a Connect server; prints where; ends with its input
python other_workers.py sc://HOST:PORT      a client of one

Prints a line of JSON for each: what a stateful query gave, and the same from Spark alone; or the
error; and the seconds that it took. Fails if a child process of this one would not find the whole
of stateplan.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import stateplan
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import MemorySource

SQL = "SELECT k, sum(v) AS s, approx_count_distinct(v) AS d FROM STREAM events GROUP BY k"
ROWS = [(("a", "b", None)[i % 3], i) for i in range(4000)]


def session(master: str, **more: str) -> SparkSession:
    """A user's session, not as stateplan would have started it."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
        **more,
    }
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()


def serve(python: str) -> None:
    """A Connect server with such workers, until the standard input ends."""
    os.environ["PYSPARK_PYTHON"] = python
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    plugin = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    served = session("local[2]", **plugin)
    print(f"sc://127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    served.stop()


def result(spark: SparkSession) -> dict[str, Any]:
    """What the query gives, what Spark gives, how many keys its state has."""
    source = MemorySource(parse_schema("k STRING, v BIGINT"), 1)
    source.add(ROWS[:1000])
    source.add(ROWS[1000:])
    sink = MemorySink()
    query = stateplan.sql(SQL, {"events": "k STRING, v BIGINT"}, "complete")
    with tempfile.TemporaryDirectory() as checkpoint:
        started = query.run(
            spark,
            sources={"events": source},
            sink=sink,
            trigger="available_now",
            checkpoint=checkpoint,
            background=False,
        )
        started.await_termination()
        keys = stateplan.read_state(spark, checkpoint).count()
    frame = spark.createDataFrame(ROWS, "k string, v bigint").groupBy("k")
    expected = frame.agg(F.sum("v"), F.approx_count_distinct("v")).collect()
    return {
        "rows": sorted(map(list, sink.rows()), key=str),
        "expected": sorted(map(list, expected), key=str),
        "keys": keys,
    }


def told(spark: SparkSession) -> None:
    """Print what the query gives."""
    start = time.monotonic()
    try:
        found = result(spark)
    except stateplan.StateplanError as error:
        found = {"condition": error.condition, "message": error.message, "hint": error.hint}
    print(json.dumps({**found, "seconds": time.monotonic() - start}), flush=True)


def main() -> None:
    where, *pythons = sys.argv[1:]
    if where == "serve":
        serve(pythons[0])
        return
    if where.startswith("sc://"):
        spark = SparkSession.builder.remote(where).getOrCreate()
        told(spark)
    else:
        spark = session(where)
        for python in pythons:
            spark.sparkContext.pythonExec = python
            told(spark)
    folders = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", "import stateplan.planner.query"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": folders})
    spark.stop()


if __name__ == "__main__":
    main()
