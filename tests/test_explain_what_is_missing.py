"""Scripts whose models, files, services and tables are not here are explained all the same."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import stateplan

from stateplan.planner.connect.script.hints import Hints
from stateplan.planner.connect.script.notebook import read_cells
from stateplan.planner.connect.script.program import Program
from stateplan.planner.connect.script.stand_ins import StandInNeeded
from stateplan.planner.connect.script.unset import Unset
from stateplan.planner.connect.sql_commands import answer_schema, created_view
from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.schemas.open_schemas import is_placeholder
from stateplan.planner.pipelines.model import Pipeline
from stateplan.planner.pipelines.sql_files import split
from stateplan.planner.pipelines.statements import SqlFile

HEAD = """\
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.getOrCreate()
"""


def explain(folder: Path, code: str, *arguments: str) -> tuple[int, str, str]:
    """Exit status, output and errors of `stateplan explain job.py`."""
    (folder / "job.py").write_text(HEAD + code, encoding="utf-8")
    done = stateplan(folder, "explain", "job.py", *arguments)
    return done.returncode, done.stdout, done.stderr


MODELS = """
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import IndexToString, VectorAssembler
from pyspark.ml.functions import vector_to_array
import sparknlp
s = spark.readStream.schema("a DOUBLE, b DOUBLE, t STRING").json("/in")
scored = PipelineModel.load("/models/m").transform(s)
scored.select("a", "prediction", "words.first").writeStream.queryName("loaded").start()
parts = VectorAssembler(inputCols=["a", "b"], outputCol="features")
trained = Pipeline(stages=[parts, LogisticRegression()]).fit(spark.table("training"))
q = trained.transform(s).withColumn("p", vector_to_array("probability")[1])
q.select("t", "p").writeStream.queryName("fitted").start()
back = IndexToString(inputCol="i", outputCol="l", labels=sparknlp.labels())
other = Pipeline(stages=[sparknlp.Document(), back]).fit(spark.table("training"))
other.transform(s).select("l").writeStream.queryName("unknown").start()
sparknlp.Model("m").transform(s).select("t", "entities").writeStream.queryName("missing").start()
"""


def test_models_add_the_columns_that_their_stages_or_the_code_name(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("training: 'a DOUBLE, b DOUBLE, label DOUBLE'\n")
    status, out, told = explain(tmp_path, MODELS, "--catalog", "c.yaml")
    assert status == 0, told
    loaded, fitted, unknown, missing = out.split("\n-- ")
    assert (
        "UDF(a#" in loaded and ".prediction AS prediction#" in loaded and ".words.first" in loaded
    )
    assert "UDF(UDF(UDF(a#" in fitted and "[1] AS p#" in fitted
    assert ".l AS l#" in unknown and ".entities AS entities#" in missing
    assert "?PipelineModel.load(/models/m)? is not known" in told
    assert "prediction DOUBLE, words STRUCT<first: STRING>" in told


MESSAGES = """
from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.protobuf.functions import from_protobuf
import requests, urllib.request, json
kafka = spark.readStream.format("kafka").option("subscribe", "t").load()
answer = requests.get("http://registry:8081/subjects/t/versions/latest", timeout=5)
answer.raise_for_status()
if answer.status_code == 200:
    registered = answer.json()["schema"]
with urllib.request.urlopen("http://registry/2") as response:
    second = json.loads(response.read().decode())["schema"]
given = open("given.avsc").read()
with open("/not/here.avsc") as file:
    lost = file.read()
for name, schema in (("g", given), ("r", registered), ("s", second), ("l", lost)):
    rows = kafka.select(from_avro("value", schema).alias("v")).select("v.id")
    rows.writeStream.queryName(name).start()
message = kafka.select(from_protobuf("value", "Order", binaryDescriptorSet=b"").alias("v"))
message.select("v.total", to_avro("v")).writeStream.queryName("p").start()
try:
    open("/not/there")
except OSError:
    print("caught")
"""


def test_schemas_of_messages_come_from_files_and_services_that_are_not_here(
    tmp_path: Path,
) -> None:
    fields = [{"name": "id", "type": "long"}]
    schema = json.dumps({"type": "record", "name": "R", "fields": fields})
    (tmp_path / "given.avsc").write_text(schema)
    status, out, told = explain(tmp_path, MESSAGES)
    assert status == 0 and out.endswith("caught\n"), told
    given, registered, second, lost, message = out.split("\n-- ")
    assert f", {schema}).id AS id#" in given or f", {schema}) AS v#" in given
    assert "?requests.get(http://registry:8081/subjects/t/versions/latest).json()" in registered
    assert "?json(urlopen(http://registry/2).read().decode())['schema']?" in second
    assert "?open(/not/here.avsc)?" in lost
    assert "from_protobuf(value#" in message and "to_avro(" in message
    assert "job.py:8: requests.get(http://registry:8081" in told and "is not sent" in told
    assert "'/not/here.avsc' is not here: its content is a stand-in" in told


def test_no_connection_is_made(tmp_path: Path) -> None:
    code = "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)\n"
    status, _, told = explain(tmp_path, code)
    assert status == 1
    assert "makes no network connections, to 127.0.0.1:9 (job.py:4)" in told
    assert "hint: Leave out what needs a service" in told


def test_a_script_that_hangs_is_ended_where_it_does(tmp_path: Path) -> None:
    loop = "while True: pass\n"
    code = (
        "s = spark.readStream.format('rate').load()\ns.writeStream.start()\n"
        f"{loop}s.writeStream.queryName('below').start()\n{loop}"
    )
    status, out, told = explain(tmp_path, code, "--timeout", "4")
    assert status == 1 and "StreamingRelation rate" in out and "'below'" in out
    assert "job.py:5: this waits for ever; it was ended here" in told
    assert "error: the file still ran after 4 seconds at job.py:7" in told
    assert "--timeout SECONDS" in told


GUESSES = """
import os, re
if not spark.catalog.tableExists("main.silver.readings") or not os.environ.get("KEY"):
    raise ValueError("nothing to read")
host = re.search("host=(.+);", dbutils.secrets.get("scope", "key")).group(1)
spark.sql(f"CREATE TABLE main.bronze.zones USING delta")
r = spark.readStream.table("main.silver.readings").alias("r")
z = spark.table("main.bronze.zones").alias("z")
j = r.join(z, F.col("r.zone") == F.col("z.zone_id"), "left").withWatermark("r.at", "1 minute")
j = j.select(F.col("r.at"), "z.name", "r.payload.cpu", F.col("r.payload.disk.free").alias("d"))
j.where(F.element_at("name", 1) == "x").writeStream.toTable("main.gold.joined")
g = spark.readStream.table("main.gold.joined")
g = g.withWatermark("at", "1 minute").groupBy(F.window("at", "1 minute"), "cpu").count()
g.writeStream.start()
schema = spark.read.parquet("/old/events").schema
e = spark.readStream.schema(schema).parquet("/new/events").selectExpr("user.id", "lower(kind) k")
e.writeStream.start()
spark.read.json("/other/events").createOrReplaceTempView("v")
spark.sql("SELECT count(*) FROM v WHERE size(tags) > 1").show()
for i in range(150):
    e = e.withColumn(f"c{i % 7}", F.lit(i))
e.select("c3").writeStream.queryName("deep").start()
print(spark.sql("SHOW TABLES").columns, spark.sql("SELECT 1 n, now() t").collect()[0]["n"])
spark.sql("CREATE VOLUME main.bronze.files")
rated = spark.readStream.format("rate").load().selectExpr("ai_classify(value, array('a')) AS c")
rated.writeStream.trigger(**dbutils.x).queryName("unknown").start()
import missing, subprocess
subprocess.check_call(["pip", "install", "missing"])
assert os.system("false") == 0 and subprocess.run("false").returncode == 0
parsed = spark.readStream.table("levels").withColumn("v", missing.parse("x"))
parsed = parsed.select("v.low.x", F.greatest(F.lit(1.0), "level"), F.when(F.col("good"), 1),
                       F.col("v.segments")[0]["fields"][9], F.size("v.tags"))
chosen = {"processingTime": missing.INTERVAL, "availableNow": missing.ONCE}
parsed.writeStream.trigger(**chosen).queryName("parsed").start()
"""


def test_guessed_columns_are_those_that_the_code_uses_and_the_second_run_plans(
    tmp_path: Path,
) -> None:
    status, out, told = explain(tmp_path, GUESSES, "--catalog", "c.yaml", "--write-catalog")
    assert status == 0, told
    assert "['namespace', 'tableName', 'isTemporary'] 1" in out
    lines = (tmp_path / "c.yaml").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == [
        "main.silver.readings: 'zone STRING, at TIMESTAMP, payload STRUCT<cpu: STRING, disk:"
        " STRUCT<free: STRING>>'",
        "main.bronze.zones: zone_id STRING, name ARRAY<STRING>",
        "events: {schema: 'user STRUCT<id: STRING>, kind STRING', path: '/old/events'}",
        "events_2: {schema: 'tags ARRAY<STRING>', path: '/other/events'}",
        "levels: level DOUBLE, good BOOLEAN",
    ]
    assert "ai_classify(value#" in out and "taken to give a text: ai_classify" in told
    assert "no process is started here: pip install missing" in told
    assert "the table 'main.silver.readings' is taken to be there" in told and "--env KEY" in told
    status, again, told = explain(tmp_path, GUESSES, "--catalog", "c.yaml")
    assert status == 2 and again.count("== Physical Plan ==") == 4
    assert "UNRESOLVED_ROUTINE" in told and "--write-catalog takes it for one" in told


JOB = """
# run with a file that it needs
import configparser, logging, os, sys
from pathlib import Path
from fastapi import HTTPException
from pyspark.sql.functions import *
logging.basicConfig(filename="logs/today", level=logging.INFO)
try:
    raise HTTPException(status_code=404)
except HTTPException as error:
    assert error.status_code == 404
settings = configparser.ConfigParser()
settings.read("conf/job.properties")
try:
    settings["KAFKA"]
    raise SystemExit("a section of no file")
except KeyError:
    pass
try:
    countDistinct("a")
except NameError as error:
    assert error.name == "countDistinct"
spark.readStream.format("rate").load().writeStream.queryName("first").start()
if not Path("/opt/data").is_dir() or not os.path.exists(__file__):
    sys.exit(2)
trained = (Path("models") / "als").exists()
print("trained" if trained else "not trained")
sys.exit(3 if not trained else 0)
"""


def test_what_a_script_looked_for_in_vain_is_named_where_it_ends_itself(tmp_path: Path) -> None:
    status, out, told = explain(tmp_path, JOB)
    assert status == 3 and "query 'first'" in out
    assert "error: the file ended itself at job.py:30" in told
    assert "job.py:26: '/opt/data' is taken to be there" in told and "not trained" in out
    assert "hint: The code looked for 'models/als', which is not here" in told
    assert "job.py:9: the folder of '" in told and "today' is not here" in told
    assert not (tmp_path / "logs").exists()


def test_errors_of_a_file_say_what_to_do(tmp_path: Path) -> None:
    program = Program(path=str(tmp_path / "job.py"))
    unset = Unset(program)
    unset.variables["TOPIC"] = unset.parameters["day"] = None
    patches = SimpleNamespace(absent={"a.ini": None}, unset=unset, failures=[])
    asked: list[str] = []
    hints = Hints(program, patches, asked)  # type: ignore[arg-type]

    def hint(error: BaseException) -> str:
        return hints.of(error)

    assert "import countDistinct by its name" in hint(NameError("no", name="countDistinct"))
    assert hint(NameError("no", name="os")).endswith("add the line `import os`.")
    assert "`from pyspark.sql.window import Window`" in hint(NameError("no", name="Window"))
    assert "--python-path" in hint(NameError("no", name="another"))
    moved = ImportError("cannot import name 'DataFrame' from 'pyspark.sql.functions' (x.py)")
    assert hint(moved) == "PySpark has it in pyspark.sql: import it from there."
    assert "No data is read here" in hint(StandInNeeded("collect()[0]['a']", "compare"))
    placed = hint(ValueError("unknown url type: '?config.url?/subjects'"))
    assert placed.startswith("?config.url? stands for what is not here") and "--call" in placed
    assert hint(KeyError("K")) == "Set what is not there: --env TOPIC=... -- day=...."
    needed = StandInNeeded("os.environ['TOPIC'].x", "compare")
    assert hint(needed) == "Set it: --env TOPIC=VALUE."
    assert "call's brackets" in hint(StandInNeeded("args['a.b']", "compare"))
    job = StandInNeeded("getResolvedOptions(sys.argv)['a']", "compare")
    assert hint(job).endswith("FILE -- --NAME VALUE.")
    assert "Put a file /x/a.json there" in hint(StandInNeeded("json(/x/a.json)['a']", "compare"))
    assert "newer than 3." in hint(SyntaxError("f-string: unmatched '['"))
    unset.variables.clear()
    unset.parameters.clear()
    assert hint(KeyError("K")).startswith("The code looked for 'a.ini', which is not here")
    wrong = TypeError("window() missing 1 required positional argument: 'timeColumn'")
    assert hint(wrong).startswith("Python refuses this call")
    asked.append("http://registry/1")
    assert "what http://registry/1 answers" in hint(ValueError("max() arg is an empty sequence"))


PIPELINE = {
    "gold.py": """
import dlt
@dlt.table
def joined():
    left, right = spark.read.table("fact"), spark.read.table("dim")
    return left.join(right, left.id == right.id).select("region", "total")
""",
    "silver/__init__.py": "",
    "silver/facts.py": """
import dlt
from .names import STAGE
@dlt.view(name="changes")
def changes():
    return dlt.readStream(STAGE).withColumn("total", spark_price() * 2)
def spark_price():
    from pyspark.sql.functions import col
    return col("price")
dlt.create_streaming_table("fact")
dlt.create_auto_cdc_flow(target="fact", source="changes", keys=["id"], sequence_by="at",
    ignore_null_updates=False, stored_as_scd_type=1, except_column_list=["note"])
dlt.create_streaming_table(
    "dim", schema="key BIGINT GENERATED ALWAYS AS IDENTITY, id STRING MASK hide, "
    "region STRUCT<a: INT, b: STRING>, CONSTRAINT keyed PRIMARY KEY (id)")
@dlt.append_flow(target="dim")
def regions():
    return spark.readStream.table("raw.dims").select("id", "region")
""",
    "silver/names.py": "STAGE = 'main.raw.stage'\n",
    "silver/made.py": """
import dlt
def table_of(name):
    @dlt.table(name=name + "_made")
    def read():
        return spark.readStream.table("raw.arrivals")
    return read
""",
    "silver/more.py": "from .made import table_of\nmore = table_of('more')\n",
    "tail.py": """
import dlt
dlt.create_streaming_table("main.raw.stage")
@dlt.append_flow(target="main.raw.stage")
def arrivals():
    return spark.readStream.table("raw.arrivals")
@dlt.append_flow(target="main.raw.stage", once=True)
def filled():
    return spark.read.table("raw.arrivals")
@dlt.foreach_batch_sink(name="service")
def send(batch, number):
    pass
@dlt.append_flow(target="service")
def sent():
    return spark.readStream.table("main.raw.stage")
""",
}


def test_tables_that_later_files_of_databricks_define_are_no_guesses(tmp_path: Path) -> None:
    for name, code in PIPELINE.items():
        (tmp_path / "jobs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "jobs" / name).write_text(code, encoding="utf-8")
    (tmp_path / "c.yaml").write_text(
        "raw.dims: 'id STRING, region STRUCT<a: INT, b: STRING>'\n", encoding="utf-8"
    )
    done = stateplan(tmp_path, "explain", "jobs", "--catalog", "c.yaml", "--write-catalog")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("== Physical Plan ==") == 7 and "\nmore_made: " in done.stdout
    written = (tmp_path / "c.yaml").read_text()
    guessed = written.split("correct the types.\n")[1]
    assert guessed.startswith("raw.arrivals: ") and guessed.count("\n") == 1
    for column in ("id STRING", "price", "at", "note"):
        assert column in guessed


STRUCTS = """
p = spark.table("payloads").schema
a = spark.readStream.table("a").select("payload.after.*", "payload.op").select("id", "op")
a.writeStream.start()
rows = spark.readStream.format("rate").load().select(F.from_json(F.lit("{}"), p).alias("j"))
rows.select("j.user").join(spark.table("users"), "user").writeStream.start()
hinted = spark.readStream.format("cloudFiles").option("cloudFiles.schemaHints", "n INT")
hinted.load("/h").select("n", "more").writeStream.start()
books = spark.readStream.table("orders").withColumn("book", F.explode("books"))
none = spark.createDataFrame([])
books.join(none, books.book.id == none.isbn).select("title").writeStream.start()
sheets = spark.readStream.table("sheets").withColumn("row", F.explode("rows"))
sheets.withColumn("heads", F.col("row.headers")).select(F.col("heads")[1]).writeStream.start()
loose = spark.readStream.table("loose")
loose.writeStream.toTable("kept")
spark.readStream.table("kept").createOrReplaceTempView("seen")
spark.sql("CREATE TEMP VIEW named AS(SELECT id FROM seen)")
packed = F.to_json(F.struct(*spark.table("users").drop("user").columns)).alias("packed")
loaded = spark.readStream.format("cloudFiles").option("cloudFiles.format", "csv").load("/l")
loaded.select(packed, *loaded.columns).writeStream.start()
"""

ELSEWHERE = """
import os, time
from collections import deque
try:
    from collections import Iterator
except ImportError:
    from collections.abc import Iterator
from awsglue import DynamicFrame
from awsglue.context import GlueContext
from awsglue.transforms import *
from awsglue.utils import getResolvedOptions
from pydantic import Field
from pydantic_settings import BaseSettings
from pyspark.context import SparkConf, SparkContext
from pyspark.ml.linalg import Vectors, VectorUDT
import sys, urllib3

class Settings(BaseSettings):
    interval: str = Field(default="7 seconds", alias="I")
    topic: str = Field(...)

args = getResolvedOptions(sys.argv, ["JOB_NAME", "table"])
glue = GlueContext(SparkContext.getOrCreate(SparkConf()))
s = glue.create_data_frame.from_options(
    connection_type="kinesis", connection_options={"streamARN": "a", "inferSchema": "true"})
def each(batch, number):
    frame = DynamicFrame.fromDF(batch, glue, "f").toDF()
    Filter.apply(frame=frame)
    frame.write.saveAsTable(args["table"])
glue.forEachBatch(frame=s, batch_function=each, options={"windowSize": "9 seconds"})
k = glue.create_data_frame_from_catalog("d", "t", additional_options={"startingOffsets": "x"})
k.select("n").writeStream.queryName("catalog").start()
host, port = os.environ["SERVERS"].split(":")
number = int(os.environ["NUMBER"])
r = spark.readStream.format("rate").load()
q = (r.writeStream.queryName(spark.conf.get("name")).outputMode(Settings().mode)
     .trigger(processingTime=Settings().interval).start(spark.conf.get("path")))
for _ in range(1000):
    r.writeStream.queryName("restarted").start().awaitTermination()
while q.lastProgress["numInputRows"] > 0:
    raise ValueError
text = urllib3.PoolManager().request("GET", "http://registry/1").data
vectors = F.udf(lambda v: Vectors.dense(v), VectorUDT())
while True:
    time.sleep(9)
print(f"{Settings().topic:.2f}", Settings().interval, Settings().topic == "")
r.select(vectors("value").alias("v")).writeStream.queryName("behind").start()
"""


def test_settings_streams_and_columns_that_are_known_where_the_code_runs(tmp_path: Path) -> None:
    given = ["--catalog", "c.yaml", "--write-catalog", "--into-batches"]
    status, out, told = explain(tmp_path, STRUCTS + ELSEWHERE, *given, "--", "--table", "cities")
    assert status == 0, told
    assert "append mode, to foreachBatch" in out and ": write of a batch, to table cities" in out
    assert out.count("query 'restarted'") == 100
    assert "query 'catalog'" in out and "query 'behind'" in out
    assert "query '?spark.conf.get('name')?', append mode, to parquet ?spark.conf" in out
    assert "?Settings.topic? 7 seconds False" in out
    assert "?os.environ['NUMBER']? is taken for 1" in told
    assert "urllib3.get(http://registry/1) is not sent" in told
    assert "--env SERVERS=... --env NUMBER=... --conf name=... --conf path=..." in told
    lines = (tmp_path / "c.yaml").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == [
        "payloads: user STRING",
        "a: 'payload STRUCT<after: STRUCT<id: STRING>, op: STRING>'",
        "users: user STRING",
        "h: {schema: 'n INT, more STRING', path: '/h'}",
        "orders: 'books ARRAY<STRUCT<id: STRING>>'",
        "sheets: 'rows ARRAY<STRUCT<headers: ARRAY<STRING>>>'",
        "loose: id STRING",
        "l: {schema: '_rescued_data STRING', path: '/l'}",
        "d.t: n STRING",
    ]
    assert "?createDataFrame? is not known: it has the columns that the code uses (isbn" in told


FABRIC = """\
# Fabric notebook source

# METADATA ********************

# META {
# META }

# CELL ********************

key = notebookutils.credentials.getSecret("vault", "key")
rates = spark.readStream.format("rate").load()
rates.createOrReplaceTempView("r")

# CELL ********************

# MAGIC %%sql
# MAGIC SELECT value, count(*) FROM r GROUP BY value
"""


def test_a_notebook_of_fabric(tmp_path: Path) -> None:
    (tmp_path / "note.py").write_text(FABRIC, encoding="utf-8")
    *_, code, sql = read_cells(str(tmp_path / "note.py"))
    assert code.source.splitlines()[9].startswith("key =")
    assert "SELECT value, count" in sql.source.splitlines()[15]


PARTLY = """
import dlt
from pyspark.sql.functions import *
dlt.create_streaming_table("orders")
dlt.create_auto_cdc_flow(target="orders", source="orders_raw", keys=["id"], sequence_by="at",
                         except_column_list=["note"])
dlt.create_streaming_table("snapshots")
dlt.apply_changes_from_snapshot(target="snapshots", source=lambda v: None, keys=["id"])
@dlt.table(temporary=True)
def orders_raw():
    return spark.readStream.format("cloudFiles").load("/d/orders")
@dlt.table
def broken():
    return spark.readStream.table("raw").select(undefined("x"))
@dlt.table
def elsewhere():
    import tempo
    return tempo.TSDF("broken")
@dlt.table
def below():
    return dlt.read_stream("broken")
if __name__ == "__main__":
    @dp.table
    def at_rest():
        return spark.read.table("orders").select("id")
"""


def test_a_file_that_lies_elsewhere_is_the_project_s_own(tmp_path: Path) -> None:
    for name in ("data/schemas/a.avsc", "jobs/job.py", "jobs/c.json", "data/c.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    outside = Program(path=str(tmp_path / "jobs" / "job.py"))
    assert outside.namesake("/opt/schemas/a.avsc") == ""  # it is no project
    (tmp_path / ".git").mkdir()
    project = Program(path=str(tmp_path / "jobs" / "job.py"))
    assert project.namesake("/opt/schemas/a.avsc") == "data/schemas/a.avsc"
    assert project.namesake("/opt/data/c.json") == "data/c.json"
    assert project.namesake("/opt/c.json") == ""  # there are two
    assert project.namesake("/opt/none.json") == ""


def test_statements_of_databricks() -> None:
    text = "-- Databricks notebook source\nSELECT 1 -- one;\n-- COMMAND ----------\nSELECT 2;"
    assert [line for line, _ in split(text)] == [2, 4]
    found: list[Any] = []
    query = "CREATE OR REFRESH MATERIALIZED VIEW v COMMENT 'c' SELECT 1 AS a"
    SqlFile(text=query, name="a.sql", databricks=True).statements(found.append)
    assert found[0].flow.query.strip() == "SELECT 1 AS a"
    named = "SET b = x; CREATE VIEW ${a}.${b} AS SELECT '${c}' AS a"
    SqlFile(text=named, name="a.sql", conf={"a": "gold"}).statements(found.append)
    assert found[1].dataset.identifier == ("gold", "x") and "'${c}'" in found.pop().flow.query
    with pytest.raises(AnalysisError) as refused:
        SqlFile(text=named, name="a.sql").statements(found.append)
    assert refused.value.hint == "Set a: --conf a=VALUE. Set c: --conf c=VALUE."
    flow = "CREATE FLOW f AS INSERT INTO ONCE t SELECT * FROM STREAM read_files('/x')"
    with pytest.raises(AnalysisError, match="CREATE BAD"):
        SqlFile(text=f"CREATE BAD;{flow}", name="a", databricks=True).statements(found.append)
    assert found[1].flow.once and found[1].flow.query.strip().startswith("SELECT")
    view = created_view("CREATE OR REPLACE TEMP VIEW v COMMENT 'as is' AS(SELECT 1)")
    assert view is not None and view[1].sql.query == "(SELECT 1)"
    assert is_placeholder(answer_schema("DESCRIBE EXTERNAL LOCATION `l`") or "")
    with pytest.raises(AnalysisError, match="Syntax error at or near 'SELECT'"):
        SqlFile(text=query.replace("OR REFRESH ", ""), name="a.sql").statements(found.append)
    assert Pipeline(databricks=True).identifier(("LIVE", "t"))[1:] == ("default", "t")


def test_what_a_broken_function_defines_costs_no_other_plan(tmp_path: Path) -> None:
    code = "from pyspark import pipelines as dp\n" + PARTLY
    status, out, told = explain(tmp_path, code, "--catalog", "c.yaml", "--write-catalog")
    assert status == 1 and out.count("== Physical Plan ==") == 2, told
    assert "at_rest: materialized view" in out and "orders: streaming table" in out
    assert "NameError: name 'undefined' is not defined" in told
    assert "?tempo.TSDF('broken')? is needed to plan it" in told
    assert "'below' reads 'broken', which has no plan" in told
    assert "'snapshots' is made by comparing whole snapshots" in told
