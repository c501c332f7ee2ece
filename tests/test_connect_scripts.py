"""PySpark scripts, run as they are over the planner: what is printed, and the exit status."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stateplan.planner.cli import main

HEAD = """\
import sys
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.functions import col, window

spark = SparkSession.builder.master("local[*]").appName("a").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "7")
spark.sparkContext.setLogLevel("WARN")
events = spark.readStream.schema("user STRING, ts TIMESTAMP, n INT").json("/data/events")
"""
FIRST = HEAD.count("\n") + 1


def script(folder: Path, body: str) -> Path:
    path = folder / "job.py"
    path.write_text(HEAD + body, encoding="utf-8")
    return path


def explain(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`stateplan explain` in a process of its own: the script writes to its standard output."""
    command = [sys.executable, "-m", "stateplan.planner.cli", "explain", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent)


GOOD = """\
counts = (events
    .withWatermark("ts", "10 minutes")
    .groupBy(window(col("ts"), "5 minutes"), "user")
    .agg(F.count("*").alias("c")))
counts.printSchema()
query = counts.writeStream.queryName("counts").foreachBatch(lambda df, n: df.show()).start()
events.createOrReplaceTempView("e")
totals = spark.sql("SELECT user, sum(n) AS s FROM e JOIN users USING (user) GROUP BY user")
totals.explain()
totals.writeStream.outputMode("complete").format("memory").queryName("totals").toTable("t")
lines = spark.readStream.format("socket").option("host", "x").option("port", 9).load()
lines.dropDuplicates().writeStream.format("console").start()
print(query.isActive, query.lastProgress.batchId, spark.streams.active, sys.argv[1:])
query.awaitTermination()
query.explain()
spark.udf.register("twice", lambda n: 2 * n, "int")
spark.sql("SELECT twice(n) FROM e").join(spark.range(3).selectExpr("twice(id)")).explain()
lines.writeStream.toTable("copies")
lines.writeStream.format("json").option("path", "/data/copies").start()
lines.writeStream.format("memory").queryName("seen").start()
spark.readStream.table("copies").unionByName(spark.sql("SELECT * FROM seen")).explain()
spark.read.json("/data/copies").explain()
spark.stop()
"""


def test_every_stream_is_printed_and_nothing_runs(tmp_path: Path) -> None:
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text("users: user STRING, city STRING\n", encoding="utf-8")
    path = script(tmp_path, GOOD)
    done = explain(path, "--catalog", str(catalog), "--mode", "stateful", "--", "--day", "1")
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("-- ")]
    assert shown == [
        f"-- job.py:{FIRST + 5}: query 'counts', append mode, to foreachBatch",
        f"-- job.py:{FIRST + 9}: query 'totals', complete mode, to table t",
        f"-- job.py:{FIRST + 11}: query, append mode, to console",
        f"-- job.py:{FIRST + 17}: query, append mode, to table copies",
        f"-- job.py:{FIRST + 18}: query, append mode, to json /data/copies",
        f"-- job.py:{FIRST + 19}: query 'seen', append mode, to memory",
    ]
    assert f'from:        job.py:{FIRST + 3}: .agg(F.count("*").alias("c")))' in done.stdout
    assert f"from:        job.py:{FIRST + 11}: lines.dropDuplicates()" in done.stdout
    assert " |-- window: struct (nullable = true)" in done.stdout
    assert "StreamingRelation FileSource[/data/events]" in done.stdout
    assert "False 0 [] ['--day', '1']" in done.stdout
    assert "numPartitions = 7]" in done.stdout
    # What one part of the script writes, another reads.
    assert "StreamingRelation FileSource[copies], [value#" in done.stdout
    assert "Location: InMemoryFileIndex(1 paths)[/data/copies]" in done.stdout
    assert "BatchEvalPython [twice(n#" in done.stdout and "Range (0, 3, step=1" in done.stdout


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("events.count()\n", "count() needs the rows of a query (job.py:{0})"),
        ("spark.sql('SELECT * FROM nowhere')\n", "--catalog"),
        ("spark.readStream.json('/data/x').writeStream.start()\n", "'/data/x' are not known"),
    ],
)
def test_a_refusal_is_told_with_its_line(tmp_path: Path, body: str, words: str) -> None:
    done = explain(script(tmp_path, body))
    assert done.returncode == 2
    assert words.format(FIRST) in done.stderr and f"at: job.py:{FIRST}\n" in done.stderr
    assert "hint: " in done.stderr and "Traceback" not in done.stderr


def test_a_script_that_fails_shows_its_own_frames(tmp_path: Path) -> None:
    done = explain(script(tmp_path, "def f():\n    return 1 / 0\nf()\n"))
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr and "runpy" not in done.stderr


# ----------------------------------------------------------------------------- in this process


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_sql_files(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("e: user STRING, n INT\n", encoding="utf-8")
    query = tmp_path / "q.sql"
    query.write_text("SELECT user, sum(n) FROM STREAM e GROUP BY user;\n", encoding="utf-8")
    result = call("explain", query, "--catalog", tmp_path / "c.yaml", "--output-mode", "update")
    assert result.exit_code == 0 and "StateStoreSave [user" in result.stdout
    result = call("explain", query)
    assert result.exit_code == 2 and "TABLE_OR_VIEW_NOT_FOUND" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.py",), "There is no file 'none.py'"),
        (("none.sql",), "There is no file 'none.sql'"),
        (("job.py", "--output-mode", "update"), "leave --output-mode out"),
        (("job.py", "--mode", "pretty"), "STATEPLAN_UNKNOWN_EXPLAIN_MODE"),
        (("job.py", "--catalog", "list.yaml"), "STATEPLAN_BAD_CATALOG"),
        (("job.py", "--catalog", "bad.yaml"), "has no schema"),
        (("q.sql", "more"), "Only a script takes arguments"),
        (("q.yaml", "--catalog", "list.yaml"), "leave --catalog out"),
    ],
)
def test_bad_input_is_status_2(
    tmp_path: Path, arguments: tuple[str, ...], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(tmp_path, "")
    (tmp_path / "list.yaml").write_text("- a\n", encoding="utf-8")
    (tmp_path / "bad.yaml").write_text("e: {format: json}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    result = call("explain", *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_serve_answers_a_client(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stateplan.planner.cli", "serve", "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None and server.stdout is not None
    stop = threading.Timer(60, server.kill)
    stop.start()
    try:
        address = server.stderr.readline().split()[2].rstrip(";")
        program = (
            "from pyspark.sql.connect.session import SparkSession as S\n"
            f"s = S.builder.remote('{address}').create()\n"
            "e = s.readStream.format('rate').load()\n"
            "print(e.schema.simpleString(), s.version, e.isStreaming)\n"
            "e.dropDuplicates(['value']).writeStream.format('noop').start()\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout == "struct<timestamp:timestamp,value:bigint> 4.3.0 True\n", done.stderr
        assert server.stdout.readline() == "-- query, append mode, to noop\n"
        assert server.stdout.readline() == "== Physical Plan ==\n"
    finally:
        stop.cancel()
        server.terminate()
        server.communicate()
