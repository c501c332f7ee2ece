"""Scripts and notebooks as people have them: without their packages, settings, cluster and data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import stateplan

from stateplan.planner.connect.script.process import ScriptProcess
from stateplan.planner.connect.script.program import Program

JOB = """\
import argparse, logging, os, time
from kafka import KafkaProducer
from delta import configure_spark_with_delta_pip
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession, functions as F
from shop import settings, tuning
from .near import TOPIC

class Sink(settings.Base):
    kept: str

@settings.logged
def write(batch, number):
    batch.write.format("jdbc").option("url", os.environ["URL"]).save()

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="append")
conf = SparkConf().set("spark.driver.memory", "4g").set("spark.sql.shuffle.partitions", "3")
builder = SparkSession.builder.master("yarn").config(conf=conf).enableHiveSupport()
builder = builder.config("spark.sql.extensions", "x").config("spark.ui.port", "4050")
spark = configure_spark_with_delta_pip(builder).getOrCreate()
spark.sparkContext._jsc.hadoopConfiguration().set("fs.s3a.path.style.access", "true")
with settings.connection() as c:
    first, second = c.load()
    for row in c:
        raise ValueError
settings.client.subscribe(write).option("a", 1).start()
rows = spark.read.schema("user STRING, city STRING").json("/data/users")
print("rows", rows.count(), rows.collect(), rows.first(), len(rows.toPandas()))
rows.show()
raw = spark.readStream.format("kafka").option("subscribe", TOPIC).load()
events = raw.select(F.from_json(F.col("value").cast("string"), settings.SCHEMA).alias("e"))
events = events.select("e.*").withWatermark("at", settings.DELAY)
counts = events.join(rows, "user").groupBy(F.window("at", "5 minutes"), "city").count()
query = counts.writeStream.foreachBatch(write).outputMode(parser.parse_args().mode).start()
query.awaitTermination()
while query.isActive:
    time.sleep(60)
while True:
    time.sleep(60)
"""


def explain(path: Path, *arguments: str, folder: Path | None = None) -> tuple[int, str, str]:
    """Exit status, output and errors of `stateplan explain`."""
    done = stateplan(folder or path.parent, "explain", str(path), *arguments)
    return done.returncode, done.stdout, done.stderr


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_job_without_its_packages_settings_and_data(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "kafka").mkdir()  # a folder of the project that hides no module
    write(tmp_path / "shop" / "tuning.py", "LEVEL = 3\n")
    write(tmp_path / "shop" / "jobs" / "__init__.py", "")
    write(tmp_path / "shop" / "jobs" / "near.py", "TOPIC = 'orders'\n")
    job = write(tmp_path / "shop" / "jobs" / "job.py", JOB)
    status, out, told = explain(job, "--", "--mode", "update")
    assert status == 0, told
    assert "rows 0 [] None 0" in out and "|user|city|" in out
    line = JOB[: JOB.index("query = ")].count("\n") + 1
    assert f"-- job.py:{line}: query, update mode, to foreachBatch" in out
    assert "timestamp, ?settings.DELAY?" in out.replace("shop.settings", "settings")
    assert "numPartitions = 3]" in out
    assert "count() gives no rows: no data is read" in told
    assert "at TIMESTAMP, user STRING" in told or "user STRING, at TIMESTAMP" in told
    assert "not installed here: kafka, delta, shop" in told
    assert "this waits for ever" in told

    status, out, told = explain(job, "--into-batches", "--env", "URL=jdbc:x")
    assert status == 0 and ": write of a batch, to jdbc" in out
    status, _, told = explain(job, "--strict-imports")
    assert status == 1 and "ImportError: cannot import name 'KafkaProducer'" in told


HEAD = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
RATE = "s = spark.readStream.format('rate').load()\n"


def test_rows_of_tables_that_nobody_described_stop_no_job(tmp_path: Path) -> None:
    body = (
        "spark.read.jdbc(url='jdbc:x', table='(SELECT 1) AS t').collect()\n"
        "known = spark.table('a.b.silver').cache()\n"
        "assert known.count() == known.select('k').distinct().count()\n"
        "known.groupBy('k').agg({'v': 'sum'}).orderBy('k').show()\n"
        "assert not known.where('k > 1').isStreaming\n"
        "s.join(spark.table('a.b.silver'), 'value').writeStream.format('noop').start()\n"
        "s.writeStream.format('console').start()\n"
    )
    status, out, told = explain(write(tmp_path / "job.py", HEAD + RATE + body))
    assert ": query, append mode, to console" in out
    assert status == 2
    assert told.count("error: ") == 1  # one stream reads columns that nobody described
    assert "The columns of the table 'a.b.silver' are not known" in told
    assert "count() gives no rows: no data is read" in told


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("import settings\nif settings.N > 3:\n    pass\n", 1, "?settings.N? is needed to compare"),
        ("import settings\nx = settings.N * 2\n", 1, "--python-path"),
        ("int(spark.range(3).agg({'id': 'max'}).first()[0])\n", 1, "No data is read here"),
        ("import os\nt = os.environ['TOPIC']\nif t == 'a':\n    pass\n", 1, "--env TOPIC=VALUE"),
        ("import sys\nsys.argv[1]\n", 1, "stateplan explain FILE -- ARGUMENTS"),
        ("if spark.conf.get('my.team') > 'a':\n    pass\n", 1, "--conf my.team=VALUE"),
        ("s.join(spark.table('a.b.c'), 'value').writeStream.start()\n", 2, "  a.b.c: value STRING"),
        ("def go():\n    s = spark.readStream\n", 0, "--call plans what a function starts"),
        (
            "try:\n    s.groupBy('value').count().writeStream.start()\n"
            "except Exception:\n    print('failed')\n",
            0,
            "the file caught this error:\nerror: [STREAMING_OUTPUT_MODE",
        ),
    ],
)
def test_what_is_missing_is_told(tmp_path: Path, body: str, status: int, words: str) -> None:
    job = write(tmp_path / "job.py", HEAD + RATE + body)
    found, _, told = explain(job)
    assert found == status and words in told, told
    assert "pyspark/" not in told and "stateplan/" not in told


def test_columns_of_a_data_source_and_of_kafka(tmp_path: Path) -> None:
    body = """
from pyspark.sql.datasource import DataSource
class Mine(DataSource):
    @classmethod
    def name(cls): return 'mine'
    def schema(self): return 'i INT, t TIMESTAMP'
spark.dataSource.register(Mine)
spark.readStream.format('mine').load().select('t').writeStream.format('kafka').start()
k = spark.readStream.format('kafka').option('includeHeaders', 'true').load()
k.select('headers').writeStream.format('console').start()
"""
    status, out, told = explain(write(tmp_path / "job.py", HEAD + body))
    assert status == 0, told
    assert "StreamingRelation mine, [i#" in out
    assert "timestampType#" in out and ", headers#" in out


def test_a_script_that_fails_midway_shows_the_plans_so_far(tmp_path: Path) -> None:
    body = "s.writeStream.format('console').start()\nraise ValueError('late')\n"
    status, out, told = explain(write(tmp_path / "job.py", HEAD + RATE + body))
    assert status == 1 and "-- job.py:4: query, append mode, to console" in out
    assert told.startswith("Traceback") and "ValueError: late" in told


SOURCE = """\
# Databricks notebook source
# MAGIC %pip install great
# COMMAND ----------
# MAGIC %run ./helpers
# COMMAND ----------
dbutils.widgets.text("table", "events")
name = dbutils.widgets.get("table")
key = dbutils.secrets.get("scope", "key")
df = spark.readStream.schema(schema).json(f"/mnt/{name}")
df.createOrReplaceTempView("e")
# COMMAND ----------
# MAGIC %sql
# MAGIC -- by kind; and no more
# MAGIC SELECT kind, count(*) FROM e GROUP BY kind;
# COMMAND ----------
display(df.dropDuplicates(["id"]))
changed = unknown_helper(df)
# COMMAND ----------
changed.writeStream.queryName("lost").start()
# COMMAND ----------
limit = schema.index("absent")
assert spark.range(3).count() > 0
user = spark.sql("SELECT uuid()").first()[0].upper()
path = spark.range(0).first()["path"]
df.where(df.id < limit).writeStream.queryName("limited").start(f"{path}/{user}")
# COMMAND ----------
df.writeStream.queryName("below").start()
"""


def test_a_notebook_s_source(tmp_path: Path) -> None:
    notebook = write(tmp_path / "note.py", SOURCE)
    status, out, told = explain(notebook, "--", "table=orders")
    assert status == 0, told
    assert "-- note.py:12: query 'display', complete mode" in out
    assert "-- note.py:16: query 'display', append mode" in out
    assert "FileSource[/mnt/orders]" in out and "%pip is skipped" in told
    assert "helpers is not here: names that it defines are stand-ins" in told
    write(tmp_path / "helpers.py", "schema = 'kind STRING, id INT'\n")
    status, out, told = explain(notebook)
    assert status == 1 and "name 'unknown_helper' is not defined" in told
    assert "query 'below'" in out and "name 'changed'" not in told
    assert "query 'limited', append mode, to parquet ?head()['path']?/?UUID()?" in out
    assert "< cast(?limit? as bigint)" in out and "they are stand-ins: limit\n" in told
    assert "note.py:22: what is asserted needs data" in told


def test_jupyter_and_folders(tmp_path: Path) -> None:
    cells = [
        "!pip install x\n%matplotlib inline\nimport seaborn as sns\n",
        f"%%time\n{HEAD}{RATE}",
        "s.writeStream.format('console').start()\n",
        "%%bash\nls\n",
    ]
    content = {"cells": [{"cell_type": "code", "source": [c]} for c in cells]}
    write(tmp_path / "a.ipynb", json.dumps(content))
    write(tmp_path / "b.py", HEAD + RATE + "s.writeStream.toTable('t')\n")
    write(tmp_path / "c.py", "print('no stream')\n")
    status, out, told = explain(tmp_path, folder=tmp_path)
    assert status == 0, told
    shown = [line for line in out.splitlines() if line.startswith("-- ")]
    assert shown == [
        "-- a.ipynb[3]:1: query, append mode, to console",
        "-- b.py:4: query, append mode, to table t",
    ]
    assert "no stream" not in out and "a.ipynb[4]:1: %bash is skipped" in told


LIBRARY = """\
from pyspark.sql import DataFrame, SparkSession

def build(df: DataFrame, limit, kind):
    found = df.where(df.amount > 3).dropDuplicates(["k"])
    if kind in ("new", "all"):
        return found.writeStream.outputMode("update" if kind == "new" else "complete")

class Job:
    def __init__(self, spark, settings):
        self.spark = spark

    def run(self):
        rate = self.spark.readStream.format("rate").load()

        def each(batch, number):
            batch.groupBy("value").count().write.mode("append").saveAsTable("t")

        rate.writeStream.foreachBatch(each).start()
"""


def test_functions_that_nothing_calls(tmp_path: Path) -> None:
    library = write(tmp_path / "job.py", LIBRARY)
    status, out, told = explain(library, "--call", "build")
    assert status == 0 and "StreamingDeduplicate [k#" in out and "?df?, [amount#" in out
    assert "query 'build', update mode" in out and "?kind? is taken for 'new'" in told
    status, out, _ = explain(library, "--call", "Job.run", "--into-batches")
    assert status == 0 and "-- job.py:16: write of a batch, to table t" in out


def test_guesses_go_into_the_catalog(tmp_path: Path) -> None:
    body = (
        "e = spark.readStream.format('delta').load('s3://b/my-events')\n"
        "t = spark.table('main.sales.orders')\n"
        "e.select('id', 'n').join(t.select('id', 'total'), 'id').writeStream.toTable('out')\n"
    )
    job = write(tmp_path / "job.py", HEAD + body)
    status, _, told = explain(job)
    assert status == 2 and "my_events: {schema: 'id STRING, n STRING', path: 's3://b/my" in told
    status, _, told = explain(job, "--catalog", "c.yaml", "--write-catalog")
    assert status == 0, told
    lines = (tmp_path / "c.yaml").read_text(encoding="utf-8").splitlines()
    assert lines[1:] == [
        "my_events: {schema: 'id STRING, n STRING', path: 's3://b/my-events'}",
        "main.sales.orders: id STRING, total STRING",
    ]
    status, again, told = explain(job, "--catalog", "c.yaml")
    assert (status == 0 and "BroadcastHashJoin" in again) or "SortMergeJoin" in again, told


def test_a_class_that_a_client_sends_is_never_unpickled(tmp_path: Path) -> None:
    made = tmp_path / "made.txt"
    body = f"""
from pyspark import cloudpickle
from pyspark.sql.connect.proto import Command
class Sent:
    def __reduce__(self): return (open, ({str(made)!r}, 'w'))
command = Command()
command.register_data_source.name = 'mine'
command.register_data_source.python_data_source.command = cloudpickle.dumps(Sent())
command.register_data_source.python_data_source.python_ver = '3'
spark._client.execute_command(command)
"""
    status, _, told = explain(write(tmp_path / "job.py", HEAD + body))
    assert status == 2 and "A Python data source" in told, told
    assert not made.exists()


def test_who_reads_may_stop_reading(tmp_path: Path) -> None:
    body = "for i in range(3):\n    spark.readStream.format('rate').load().writeStream.start()\n"
    job = write(tmp_path / "job.py", HEAD + body)
    command = [sys.executable, "-m", "stateplan.planner.cli", "explain", str(job)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "job.py" in process.stdout.readline()
        process.stdout.close()
        assert "error" not in process.stderr.read()
    assert process.returncode == 0


def test_a_client_that_is_missing_is_told_once(tmp_path: Path) -> None:
    """The process that gets ready for the file lacks it, too."""
    job = write(tmp_path / "job.py", HEAD)
    write(tmp_path / "without" / "grpc.py", "raise ImportError('No module named grpc.')")
    command = [sys.executable, "-m", "stateplan.planner.cli", "explain", str(job)]
    path = {**os.environ, "PYTHONPATH": str(tmp_path / "without")}
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: [STATEPLAN_CLIENT_MISSING]") and not error.endswith("..")
    assert "stateplan[client]" in hint


def test_a_process_that_has_died_gives_its_status(tmp_path: Path) -> None:
    write(tmp_path / "dies.py", "import os\nos._exit(7)\n")
    with ScriptProcess("dies", {"PYTHONPATH": str(tmp_path)}) as process:
        process._process.wait()  # dead before `run` writes to it
        assert process.run("local", Program(path="job.py")) == 7


def test_a_library_of_another_version_lacks_names_and_parts(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "oldlib"
    write(library / "__init__.py", "def known():\n    return 'known'\n")
    write(library / "part.py", "import no_such_dependency_of_it\n")
    body = (
        "import sys\n"
        f"sys.path.insert(0, {str(library.parent)!r})\n"
        "from oldlib import known, renamed\n"
        "from oldlib.part import Reader\n"
        "assert known() == 'known'\n"
        "java = spark.sparkContext._jvm.org.apache.log4j\n"
        "people = spark.createDataFrame([(renamed(), 1)], T.StructType().add('p', 'string')"
        ".add('value', 'long'))\n"
        "rates = spark.readStream.format('rate').load().join(people, 'value')\n"
        "rates.writeStream.option('x', Reader('y')).toTable('out')\n"
    )
    job = write(tmp_path / "job.py", HEAD + "from pyspark.sql import types as T\n" + body)
    status, out, told = explain(job)
    assert status == 0, told
    assert "LocalTableScan <empty>, [p#" in out
    assert "not installed here: oldlib.renamed, oldlib.part." in told
    status, _, told = explain(job, "--strict-imports")
    assert status == 1 and "cannot import name 'renamed'" in told
