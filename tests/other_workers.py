"""A program with a Spark of its own whose workers are other Pythons than the program's.

python other_workers.py MASTER API=PYTHON...    (API: `classic`, then `connect`, to one Spark)

Prints a line of JSON for each: what a stateful query gave, and the same from Spark alone; or the
error. Fails if a child process of this one would not find the whole of stateplan.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import stateplan
from stateplan.planner.model.ddl import parse_schema
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import MemorySource

SQL = "SELECT k, sum(v) AS s, approx_count_distinct(v) AS d FROM STREAM events GROUP BY k"
ROWS = [(("a", "b", None)[i % 3], i) for i in range(4000)]


def session(master: str, port: int) -> SparkSession:
    """A user's session, not as stateplan would have started it, with a Connect server beside it."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    return SparkSession.builder.master(master).config(map=settings).getOrCreate()


def connected(port: int) -> Any:
    """A Connect session on the same Spark; from here on PySpark's functions are the client's."""
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = os.environ["SPARK_LOCAL_REMOTE"] = "1"
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    return ConnectSession.builder.remote(f"sc://127.0.0.1:{port}").create()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


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


def main() -> None:
    master, *cases = sys.argv[1:]
    port = free_port()
    classic = session(master, port)
    for case in cases:
        api, _, python = case.partition("=")
        if api == "connect":
            spark = connected(port)
            spark.conf.set("spark.sql.execution.pyspark.python", python)
        else:
            spark = classic
            spark.sparkContext.pythonExec = python
        try:
            print(json.dumps(result(spark)), flush=True)
        except stateplan.StateplanError as error:
            told = {"condition": error.condition, "message": error.message, "hint": error.hint}
            print(json.dumps(told), flush=True)
    folders = os.pathsep.join(sys.path)
    command = [sys.executable, "-c", "import stateplan.planner.query"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": folders})
    classic.stop()


if __name__ == "__main__":
    main()
