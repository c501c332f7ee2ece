"""`stateplan run job.py`, and who may come in to `stateplan serve`."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stateplan.planner.cli import main

_JOB = Path(__file__).parent.parent / "examples" / "jobs" / "totals.py"


def _run(
    engine: str, script: Path, *arguments: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stateplan.planner.cli", "run", "--engine", engine]
    return subprocess.run(
        [*command, str(script), "--", *arguments],
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
    )


def _totals(folder: Path) -> list[tuple[str, int]]:
    with sqlite3.connect(folder / "totals.db") as database:
        return sorted(database.execute("SELECT customer, total FROM totals"))


@pytest.mark.embedded
def test_a_script_runs_embedded(tmp_path: Path) -> None:
    ended = _run("embedded", _JOB, "--folder", str(tmp_path))
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith("engine: embedded.")
    assert _totals(tmp_path) == [("ann", 21), ("bob", 5)]


_BEGINNING = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
"""
_SUBQUERIES = """
table = spark.createDataFrame([("a", 1), ("b", 5), (None, 9)], "k STRING, w INT")
table.createOrReplaceTempView("t")
spark.readStream.schema("k string, v int").json(sys.argv[1]).createOrReplaceTempView("s")
query = spark.sql(
    "SELECT v, EXISTS (SELECT 1 FROM (SELECT k AS key, w FROM t) WHERE key = s.k AND w > 1) AS e, "
    "k IN (SELECT k FROM t), "
    "(SELECT max(w) FROM t WHERE t.k = s.k) AS m FROM s "
    "WHERE k NOT IN (SELECT k FROM t WHERE w > 5 AND k IS NOT NULL)"
).writeStream.format("memory").queryName("seen").trigger(availableNow=True).start()
query.awaitTermination()
print(sorted(tuple(row) for row in spark.table("seen").collect()), query.lastProgress.numInputRows)
"""
_DIRECTORIES = """
for schema in ("k string, v int", "p string, k string, v int"):
    rows = spark.readStream.schema(schema).json(sys.argv[2])
    query = rows.writeStream.format("memory").queryName("read").trigger(availableNow=True).start()
    query.awaitTermination()
    print(spark.table("read").columns, [tuple(row) for row in spark.table("read").collect()])
"""

_FUNCTIONS = """
import os
import threading

found, lock = [], threading.Lock()  # nobody can pickle it


def each(rows, number):
    with lock:
        rows.createOrReplaceTempView("batch")
        total = rows.sparkSession.sql("SELECT sum(v) AS total FROM batch").first().total
        found.append((number, total, spark.range(total).count()))


class Names:
    def process(self, row):
        open(f"row-{row.v}", "w").close()


rows = spark.readStream.schema("k string, v int").json(sys.argv[1])
for writer in (rows.writeStream.foreachBatch(each), rows.writeStream.foreach(Names())):
    writer.trigger(availableNow=True).start().awaitTermination()
print(found, sorted(name for name in os.listdir() if name.startswith("row-")))
"""

_SESSIONS = """
names = spark.read.schema("k string, v int").json(sys.argv[1]).withColumnRenamed("v", "w")
joined = []


def join(rows, number):
    joined.extend(tuple(row) for row in rows.join(names, "k").collect())


rows = spark.readStream.schema("k string, v int").json(sys.argv[1])
rows.writeStream.foreachBatch(join).trigger(availableNow=True).start().awaitTermination()
print(sorted(joined))
totals = rows.groupBy().agg({"v": "sum", "k": "max", "*": "count"})
query = totals.writeStream.format("memory").queryName("totals").outputMode("complete")
query.trigger(availableNow=True).start().awaitTermination()
print(spark.table("totals").columns, tuple(spark.table("totals").first()))
try:
    rows.select("nothing").columns
except Exception as error:
    print(error.getCondition(), error.getSqlState(), error.getMessageParameters()["objectName"])
try:
    rows.show()
except Exception as error:
    print(str(error).splitlines()[0][:60])
"""

_EXAMPLE = f"""
import runpy

sys.argv[1:] = ["--folder", sys.argv[3]]
runpy.run_path({str(_JOB)!r}, run_name="__main__")
"""


def _lines_of(engine: str, folder: Path, *parts: str) -> list[str]:
    """What the parts of a script print; the second one reads directories."""
    plain, directories = folder / "in", folder / "directories"
    (directories / "p=07").mkdir(parents=True)
    (directories / "p=07" / "a.json").write_text('{"k":"a","v":1}')
    plain.mkdir()
    (plain / "a.json").write_text('{"k":"a","v":1}\n{"k":"b","v":2}\n{"k":"c","v":3}')
    script = folder / "job.py"
    script.write_text("".join([_BEGINNING, *parts]))
    ended = _run(engine, script, str(plain), str(directories), str(folder), folder=folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.startswith(f"engine: {engine}.")
    return ended.stdout.splitlines()


@pytest.fixture(scope="module")
def folder_on_spark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spark")


@pytest.fixture(scope="module")
def lines_on_spark(folder_on_spark: Path) -> list[str]:
    """All parts in one script: most of its time Spark starts."""
    return _lines_of(
        "spark", folder_on_spark, _SUBQUERIES, _DIRECTORIES, _FUNCTIONS, _SESSIONS, _EXAMPLE
    )


def test_a_script_runs_on_spark(lines_on_spark: list[str], folder_on_spark: Path) -> None:
    assert lines_on_spark
    assert _totals(folder_on_spark) == [("ann", 21), ("bob", 5)]
    assert (folder_on_spark / "checkpoint" / "commits" / "0").exists()


_ANSWERS = "[(1, False, True, 1), (2, True, True, 5), (3, False, False, None)] 3"


@pytest.mark.embedded
def test_subqueries_read_tables_of_the_session_embedded(tmp_path: Path) -> None:
    assert _lines_of("embedded", tmp_path, _SUBQUERIES) == [_ANSWERS]


def test_subqueries_read_tables_of_the_session(lines_on_spark: list[str]) -> None:
    assert lines_on_spark[0] == _ANSWERS


_COLUMNS = ["['k', 'v', 'p'] [('a', 1, 7)]", "['k', 'v', 'p'] [('a', 1, '07')]"]


@pytest.mark.embedded
def test_columns_of_directories_are_those_that_spark_knows_embedded(tmp_path: Path) -> None:
    assert _lines_of("embedded", tmp_path, _DIRECTORIES) == _COLUMNS


def test_columns_of_directories_are_those_that_spark_knows(lines_on_spark: list[str]) -> None:
    assert lines_on_spark[1:3] == _COLUMNS


_OF_ONE_SESSION = [
    "[('a', 1, 1), ('b', 2, 2), ('c', 3, 3)]",
    "['sum(v)', 'count(1)', 'max(k)'] (6, 3, 'c')",
    "UNRESOLVED_COLUMN.WITH_SUGGESTION 42703 `nothing`",
    "Queries with streaming sources must be executed with writeSt",
]


@pytest.mark.embedded
def test_batches_and_errors_are_those_of_the_scripts_session_embedded(tmp_path: Path) -> None:
    assert _lines_of("embedded", tmp_path, _SESSIONS) == _OF_ONE_SESSION


def test_batches_and_errors_are_those_of_the_scripts_session(lines_on_spark: list[str]) -> None:
    assert lines_on_spark[4:8] == _OF_ONE_SESSION


_CALLED = "[(0, 6, 6)] ['row-1', 'row-2', 'row-3']"


@pytest.mark.embedded
def test_functions_run_where_the_script_does_embedded(tmp_path: Path) -> None:
    assert _lines_of("embedded", tmp_path, _FUNCTIONS) == [_CALLED]


def test_functions_run_where_the_script_does(lines_on_spark: list[str]) -> None:
    assert lines_on_spark[3] == _CALLED


@pytest.mark.embedded
def test_a_function_of_batches_that_fails_is_told_by_its_lines(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "from pyspark.sql import SparkSession\n\nspark = SparkSession.builder.getOrCreate()\n"
        "rows = spark.readStream.format('rate-micro-batch').option('rowsPerBatch', 1).load()\n\n\n"
        "def each(rows, number):\n    raise KeyError('lost')\n\n\n"
        "rows.writeStream.foreachBatch(each).trigger(once=True).start().awaitTermination()\n"
    )
    ended = _run("embedded", script)
    assert ended.returncode == 2
    assert "[FOREACH_BATCH_USER_FUNCTION_ERROR]" in ended.stderr and "'lost'" in ended.stderr
    assert "(job.py:8)" in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.embedded
def test_a_script_that_fails_is_told_by_its_own_lines(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import sys\n\n\ndef main():\n    raise KeyError(sys.argv[1])\n\n\nmain()\n")
    ended = _run("embedded", script, "lost")
    assert ended.returncode == 1
    assert "KeyError: 'lost'" in ended.stderr
    assert 'job.py", line 5, in main' in ended.stderr
    assert "launch.py" not in ended.stderr


@pytest.mark.embedded
def test_an_error_of_the_engines_in_a_script_shows_no_stack_of_a_jvm(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(
        "from pyspark.sql import SparkSession\n\nspark = SparkSession.builder.getOrCreate()\n"
        "rows = spark.readStream.schema('a int').csv('nowhere')\n"
        "rows.writeStream.format('console').start()\n"
    )
    ended = _run("embedded", script)
    assert "[PATH_NOT_FOUND]" in ended.stderr and "at: job.py:5" in ended.stderr
    assert "JVM" not in ended.stderr and "Traceback" not in ended.stderr


def test_a_script_has_no_options_of_a_description(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["run", str(_JOB), "--output-mode", "append"])
    assert ended.exit_code == 2
    assert "A script says these itself" in ended.output


@pytest.mark.parametrize(
    ("options", "condition"),
    [
        (["--host", "0.0.0.0"], "OPEN_PORT"),
        (["--host", "0.0.0.0", "--token-file", "TOKEN"], "OPEN_PORT"),
        (["--host", "0.0.0.0", "--tls-certificate", "x.pem", "--tls-key", "x.key"], "OPEN_PORT"),
        (["--token-file", "EMPTY"], "EMPTY_TOKEN_FILE"),
        (["--tls-key", "x.key"], "TLS_INCOMPLETE"),
    ],
)
def test_other_machines_need_a_token_and_tls(
    options: list[str], condition: str, tmp_path: Path
) -> None:
    (tmp_path / "TOKEN").write_text("secret\n")
    (tmp_path / "EMPTY").write_text("\n")
    written = [str(tmp_path / one) if one in ("TOKEN", "EMPTY") else one for one in options]
    for more in ([], ["--run"]):
        ended = CliRunner().invoke(main, ["serve", *more, *written])
        assert ended.exit_code == 2, ended.output
        assert f"STATEPLAN_{condition}" in ended.output
