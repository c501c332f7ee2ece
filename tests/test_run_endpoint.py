"""Spark Connect clients whose streams run here: `stateplan serve --run` on the embedded engine."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytestmark = pytest.mark.embedded
_TOKEN = "a token of the tests"
Connect = Callable[[], Any]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """An endpoint in front of the embedded engine."""
    from stateplan.planner.connect.server import Access
    from stateplan.runtime.connect.backend import open_backend
    from stateplan.runtime.connect.serving import running

    backend, _ = open_backend("embedded", None, {"spark.sql.shuffle.partitions": "3"})
    with running(backend, Access(token=_TOKEN)) as (_, port):
        yield f"sc://localhost:{port}/"


@pytest.fixture
def connect(address: str) -> Iterator[Connect]:
    """Makes clients, each with a session of its own; their sessions end with the test."""
    from pyspark.sql.connect.session import SparkSession

    made: list[Any] = []

    def client() -> Any:
        made.append(SparkSession.builder.remote(f"{address};token={_TOKEN}").create())
        return made[-1]

    yield client
    for spark in made:
        if not spark.is_stopped:
            spark.stop()


def _rows(folder: Path, *rows: tuple[str, int]) -> str:
    """A directory of JSON files that gets one with these rows."""
    folder.mkdir(exist_ok=True)
    lines = [f'{{"k": "{k}", "v": {v}}}' for k, v in rows]
    (folder / f"{uuid.uuid4()}.json").write_text("\n".join(lines))
    return str(folder)


def _stream(spark: Any, folder: Path, *rows: tuple[str, int]) -> Any:
    return spark.readStream.schema("k string, v int").json(_rows(folder, *rows))


def test_sessions_start_with_the_settings_given(connect: Connect) -> None:
    spark = connect()
    assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    assert spark.range(3).count() == 3
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"
    assert connect().conf.get("spark.sql.shuffle.partitions") == "3"


def test_settings_are_checked_before_anything_starts() -> None:
    from stateplan.planner.model.errors import SettingError
    from stateplan.runtime.connect.backend import open_backend

    with pytest.raises(SettingError, match="shuffle"):
        open_backend("embedded", None, {"spark.sql.shuffle.partitions": "many"})


def test_a_stream_of_files_needs_a_schema(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import IllegalArgumentException

    rows = connect().readStream.json(_rows(tmp_path / "in", ("a", 1)))
    with pytest.raises(IllegalArgumentException, match="Schema must be specified when creating"):
        rows.writeStream.format("noop").start()


def test_a_stream_runs_and_its_rows_are_a_view(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 2), ("a", 3))
    names = spark.createDataFrame([("a", "Ann"), ("b", "Bob")], "k string, name string")
    sums = rows.join(names, "k").groupBy("name").sum("v")
    query = sums.writeStream.outputMode("complete").format("memory").queryName("sums").start()
    assert spark.table("sums").columns == ["name", "sum(v)"]  # from the start on, as in Spark
    query.processAllAvailable()
    assert sorted(map(tuple, spark.table("sums").collect())) == [("Ann", 4), ("Bob", 2)]
    assert query.lastProgress.numInputRows == 3
    assert [one.id for one in spark.streams.active] == [query.id]
    assert spark.streams.get(query.id).name == "sums"
    assert query.isActive
    assert query.exception() is None
    assert query.awaitTermination(0.1) is False
    _rows(tmp_path / "in", ("b", 5))
    query.processAllAvailable()
    assert sorted(map(tuple, spark.table("sums").collect())) == [("Ann", 4), ("Bob", 7)]
    query.stop()
    assert not query.isActive
    assert spark.streams.get(query.id) is None
    assert spark.streams.awaitAnyTermination(5) is True


def test_two_columns_of_a_memory_sink_may_have_one_name(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 2))
    names = spark.createDataFrame([("a", "x"), ("c", "y")], "k string, V string")
    both = rows.join(names, rows.k == names.k)
    query = both.writeStream.format("memory").queryName("both").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert spark.table("both").schema.simpleString() == "struct<k:string,v:int,k:string,V:string>"
    assert [tuple(row) for row in spark.table("both").collect()] == [("a", 1, "a", "x")]
    asked = spark.sql("SELECT * FROM both")
    assert asked.columns == ["k", "v", "k", "V"] and asked.count() == 1
    query = rows.writeStream.format("memory").queryName("both").trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert sorted(map(tuple, spark.table("both").collect())) == [("a", 1), ("b", 2)]


ITEMS = """id,name,price,since,at,ok,big
1,A,1.5,2024-01-02,2024-01-02 10:00:00,true,1
2,"B, b",2,2024-02-01,2024-01-02T11:00:00Z,false,9999999999
3,-,,,,,
"""


def _file(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


def test_files_at_rest_are_read_as_spark_reads_them(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    items = _file(tmp_path / "items" / "a.csv", ITEMS)
    read = spark.read.option("header", True).option("nullValue", "-").csv(items, inferSchema=True)
    assert read.schema.simpleString() == (
        "struct<id:int,name:string,price:double,since:date,at:timestamp,ok:boolean,big:bigint>"
    )
    assert [tuple(row) for row in read.select("id", "name", "big").collect()] == [
        (1, "A", 1),
        (2, "B, b", 9999999999),
        (3, None, None),
    ]
    text = '{"b": 1, "a": {"z": [1.5, null], "y": "t"}}\n{"b": 2.5, "c": null}\noops\n'
    lines = spark.read.json(_file(tmp_path / "a.json", text))
    assert lines.schema.simpleString() == (
        "struct<_corrupt_record:string,a:struct<y:string,z:array<double>>,b:double,c:string>"
    )
    assert [row._corrupt_record for row in lines.collect()] == [None, None, "oops"]
    _file(tmp_path / "parts" / "day=2024-01-01" / "n=1" / "x.csv", "1,a\n")
    _file(tmp_path / "parts" / "day=2024-01-02" / "n=02" / "y.csv", "2,b\n3,c\n")
    parts = spark.read.csv(str(tmp_path / "parts"))
    assert parts.schema.simpleString() == "struct<_c0:string,_c1:string,day:date,n:int>"
    assert sorted((row._c0, str(row.day), row.n) for row in parts.collect()) == [
        ("1", "2024-01-01", 1),
        ("2", "2024-01-02", 2),
        ("3", "2024-01-02", 2),
    ]
    with pytest.raises(Exception, match="Path does not exist"):
        spark.read.csv(str(tmp_path / "nowhere")).collect()
    (tmp_path / "empty").mkdir()
    with pytest.raises(Exception, match="Unable to infer schema for JSON"):
        spark.read.json(str(tmp_path / "empty")).collect()
    with pytest.raises(Exception, match="Unable to infer schema for Parquet"):
        spark.read.parquet(str(tmp_path / "empty")).collect()
    for name in ("a.json.snappy", "a.csv.snappy"):
        reader = spark.read.format(name.split(".")[1])
        with pytest.raises(Exception, match="reads no files that end with"):
            reader.load(_file(tmp_path / name, "x")).collect()
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b"a\xff,b\n1,2\n")
    assert spark.read.csv(str(odd), header=True, inferSchema=True).columns == ["a\ufffd", "b"]
    twice = spark.read.json(_file(tmp_path / "twice.json", '{"A": 1, "a": 2}'))
    with pytest.raises(Exception, match="The column `a` already exists"):
        twice.collect()
    with pytest.raises(Exception, match="'prefersDecimal' = 'true'"):
        spark.read.option("prefersDecimal", True).json(str(tmp_path / "a.json")).collect()
    given = spark.read.schema("a INT").json(str(tmp_path / "empty"))
    assert given.columns == ["a"] and given.collect() == []


def test_files_without_a_format_have_that_of_the_settings(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    place, others = str(tmp_path / "rows"), str(tmp_path / "others")
    spark.range(3).write.save(place)
    assert any(name.name.endswith(".parquet") for name in (tmp_path / "rows").iterdir())
    assert spark.read.load(place).count() == 3
    assert spark.read.option("path", place).load().count() == 3
    spark.conf.set("spark.sql.sources.default", "json")
    spark.range(2).write.option("path", others).save()
    assert spark.read.load(others).count() == spark.read.json(others).count() == 2


def test_records_of_json_in_other_forms(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    whole = _file(tmp_path / "whole.json", '[{"a": 1,\n "b": "x"},\n {"a": 2}]')
    read = spark.read.option("multiLine", True).json(whole)
    assert [tuple(row) for row in read.collect()] == [(1, "x"), (2, None)]
    places = _file(tmp_path / "lines.json", "{'a': 1};{'a': 2, 'b': {'c': 'd'}}")
    read = spark.read.option("lineSep", ";").schema("a INT, b STRING").json(places)
    assert [tuple(row) for row in read.collect()] == [(1, None), (2, "{'c': 'd'}")]
    heeded = spark.read.option("encoding", "UTF-8").option("header", True)  # no option of JSON
    assert heeded.json(_file(tmp_path / "a.json", '{"a": "ä"}')).first().a == "ä"
    for format_, name, value in (("json", "encoding", "UTF-16"), ("csv", "charset", "UTF-16LE")):
        odd = spark.read.option(name, value).schema("a STRING").format(format_).load(whole)
        with pytest.raises(Exception, match=f"the option '{name}' is '{value}'"):
            odd.collect()


def _until(holds: Callable[[], bool]) -> None:
    """Wait for what the endpoint does once a client has its answer."""
    for _ in range(100):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come true")


def test_files_of_unlike_columns_have_those_of_the_first(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    spark.range(2).coalesce(1).write.parquet(str(tmp_path / "files" / "a.parquet"))
    more = spark.range(2).selectExpr("id", "'x' AS more")
    more.coalesce(1).write.parquet(str(tmp_path / "files" / "b.parquet"))
    files = str(tmp_path / "files")
    # Folders without `=` in their names are read where all files are asked for.
    read = spark.read.option("recursiveFileLookup", True)
    assert read.parquet(files).columns == ["id"]
    assert len(read.parquet(files).collect()) == 4
    assert read.option("mergeSchema", True).parquet(files).columns == ["id", "more"]
    spark.conf.set("spark.sql.parquet.mergeSchema", "true")
    spark.conf.set("spark.sql.streaming.schemaInference", "true")
    stream = spark.readStream.option("recursiveFileLookup", True).parquet(files)
    assert stream.columns == ["id", "more"]


@pytest.mark.parametrize("format", ["parquet", "text", "json"])
def test_directories_below_are_read_where_all_files_are_asked_for(
    connect: Connect, tmp_path: Path, format: str
) -> None:
    spark = connect()
    for place, value in (("files", "a"), ("files/sub", "b"), ("files/_sub", "c")):
        rows = spark.createDataFrame([(value,)], "value STRING")
        rows.write.mode("append").format(format).save(str(tmp_path / place))
    files = str(tmp_path / "files")

    def found(*places: str, **options: str) -> list[str]:
        read = spark.read.schema("value STRING").format(format).options(**options)
        return sorted(row.value for row in read.load(list(places)).collect())

    assert found(files) == ["a"]
    assert found(files, recursiveFileLookup="true") == ["a", "b"]
    assert found(f"{files}/sub", f"{files}/_sub") == ["b", "c"]


def test_files_at_rest_in_views_batches_and_beside_streams(
    connect: Connect, tmp_path: Path
) -> None:
    from stateplan.runtime.engines.embedded_calls import HELD

    spark = connect()
    held = len(HELD)
    items = _file(tmp_path / "items" / "a.csv", ITEMS)
    reader = spark.read.option("header", True).option("inferSchema", True)
    look_up = reader.csv(items)
    assert look_up.count() == 3
    _until(lambda: len(HELD) == held)
    look_up.createOrReplaceTempView("items")
    assert spark.sql("SELECT max(big) AS m FROM items").first().m == 9999999999
    rows = _stream(spark, tmp_path / "in", ("A", 1), ("B, b", 2), ("Z", 3))
    joined = rows.join(look_up, rows.k == look_up.name, "left").select("k", "big")
    table = spark.table("items")
    named = rows.join(table, rows.k == table.name).select("k", "ok")
    for name, frame in (("joined", joined), ("named", named)):
        query = frame.writeStream.format("memory").queryName(name)
        assert query.trigger(availableNow=True).start().awaitTermination(60)
    found = {name: sorted(map(tuple, spark.table(name).collect())) for name in ("joined", "named")}
    assert found == {
        "joined": [("A", 1), ("B, b", 9999999999), ("Z", None)],
        "named": [("A", True), ("B, b", False)],
    }
    out = str(tmp_path / "out")

    def look(frame: Any, batch_id: int) -> None:
        here = frame.sparkSession.read.option("header", True).csv(items, inferSchema=True)
        frame.join(here, frame.k == here.name).select("k", "price").write.json(out)

    query = rows.writeStream.foreachBatch(look).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    assert query.exception() is None
    written = spark.read.json(out)
    assert written.columns == ["k", "price"]
    assert sorted(map(tuple, written.collect())) == [("A", 1.5), ("B, b", 2.0)]
    spark.stop()
    _until(lambda: len(HELD) <= held)


VALUES = [(1, None, None, 1.5, "a,b"), (2, True, "x", None, 'q"q'), (3, False, "", 2.0, None)]


def _written(path: Path) -> dict[str, str]:
    """What data files hold, by their directories below a path."""
    files = (file for file in path.rglob("part-*") if file.is_file())
    return {str(file.parent.relative_to(path)): file.read_text() for file in files}


def test_a_dataframe_is_written_as_spark_writes_it(connect: Connect, tmp_path: Path) -> None:
    spark, out = connect(), tmp_path / "out"
    rows = spark.createDataFrame(VALUES, "a int, ok boolean, p string, x double, t string")
    rows.write.option("header", True).option("nullValue", "-").csv(str(out / "csv"))
    assert _written(out / "csv") == {
        ".": 'a,ok,p,x,t\n1,-,-,1.5,"a,b"\n2,true,x,-,"q\\"q"\n3,false,"",2.0,-\n'
    }
    rows.write.partitionBy("ok", "p").json(str(out / "json"))
    null = "__HIVE_DEFAULT_PARTITION__"
    assert _written(out / "json") == {
        f"ok={null}/p={null}": '{"a":1,"x":1.5,"t":"a,b"}\n',
        "ok=true/p=x": '{"a":2,"t":"q\\"q"}\n',
        f"ok=false/p={null}": '{"a":3,"x":2.0}\n',
    }
    assert (out / "json" / "_SUCCESS").exists()
    rows.write.partitionBy("ok").parquet(str(out / "parquet"))
    read = spark.read.parquet(str(out / "parquet"))
    assert sorted((row.a, row.ok) for row in read.collect()) == [
        *((1, None), (2, "true"), (3, "false"))
    ]
    assert read.schema["ok"].dataType.simpleString() == "string"


def test_modes_of_writing(connect: Connect, tmp_path: Path) -> None:
    spark, out = connect(), str(tmp_path / "out")
    rows = spark.createDataFrame([(1, "x"), (2, "y")], "a int, p string")
    one = rows.where("a = 1")

    def found() -> list[tuple[Any, ...]]:
        return sorted(map(tuple, spark.read.schema("a int, p string").json(out).collect()))

    rows.write.partitionBy("p").json(out)
    with pytest.raises(Exception, match="Set mode as"):
        rows.write.partitionBy("p").json(out)
    one.write.mode("ignore").partitionBy("p").json(out)
    assert found() == [(1, "x"), (2, "y")]
    one.write.mode("append").partitionBy("p").json(out)
    assert found() == [(1, "x"), (1, "x"), (2, "y")]
    dynamic = one.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
    dynamic.partitionBy("p").json(out)
    assert found() == [(1, "x"), (2, "y")]
    both = spark.read.schema("a int, p string").json(out)
    both.where("a = 2").write.mode("overwrite").partitionBy("p").json(out)
    assert found() == [(2, "y")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["_SUCCESS", "p=y"]
    with pytest.raises(Exception, match="The CSV datasource doesn't support the column `z`"):
        spark.sql("SELECT array(1) AS z").write.csv(str(tmp_path / "z"))
    with pytest.raises(Exception, match="The column `a` already exists"):
        spark.sql("SELECT 1 AS a, 2 AS A").write.csv(str(tmp_path / "z"))
    with pytest.raises(Exception, match=r"^\[DIVIDE_BY_ZERO\]"):
        spark.sql("SELECT 1 / id AS z FROM range(3)").write.csv(str(tmp_path / "z"))
    bad = spark.read.schema("a int").option("mode", "FAILFAST").json(_file(tmp_path / "b", "x"))
    for act in (bad.collect, lambda: bad.write.csv(str(tmp_path / "z"))):
        with pytest.raises(Exception, match=r"^\[FAILED_READ_FILE.NO_HINT\]"):
            act()
    (tmp_path / "file").touch()
    with pytest.raises(Exception, match="file"):
        rows.write.mode("append").json(str(tmp_path / "file"))
    assert not (tmp_path / "z").exists()


def test_a_function_over_one_partition_gets_the_rows_of_all_files_at_once(
    connect: Connect, tmp_path: Path
) -> None:
    """The largest file first, in batches of at most `maxRecordsPerBatch` rows, as in Spark."""
    spark, folder = connect(), tmp_path / "in"
    for rows in ([("a", 1)], [("long", 2), ("longer", 3), ("d", 4)], [("e", 5), ("f", 6)]):
        _rows(folder, *rows)

    def of_batches(batches: Any) -> Any:
        for batch in batches:
            yield batch.slice(0, 2)

    def seen(most: int) -> list[int]:
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", most)
        read = spark.readStream.schema("k string, v int").json(str(folder)).coalesce(1)
        made = read.mapInArrow(of_batches, "k string, v int")
        query = made.writeStream.format("memory").queryName("made").trigger(availableNow=True)
        assert query.start().awaitTermination(60)
        return [row.v for row in spark.table("made").collect()]

    assert seen(10_000) == [2, 3]
    assert seen(3) == [2, 3, 5, 6]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("SELECT nope FROM rows", "UNRESOLVED_COLUMN"),
        ("SELEC k FROM rows", "PARSE_SYNTAX_ERROR"),
        ("SELECT k FROM range(3), STREAM rows WHERE sum(v) > 1", "INVALID_WHERE_CONDITION"),
    ],
)
def test_sql_of_streams_is_analyzed_at_once(
    connect: Connect, tmp_path: Path, text: str, condition: str
) -> None:
    spark = connect()
    _stream(spark, tmp_path / "in", ("a", 1)).createOrReplaceTempView("rows")
    with pytest.raises(Exception, match=condition):
        spark.sql(text)
    assert spark.sql("SELECT 'from rows' AS t").first().t == "from rows"
    spark.sql("DROP VIEW IF EXISTS other")


def test_what_spark_refuses_as_it_plans_a_batch_fails_the_first_one(
    connect: Connect, tmp_path: Path
) -> None:
    spark = connect()
    _stream(spark, tmp_path / "in", ("a", 1)).createOrReplaceTempView("rows")
    left = spark.sql("SELECT k FROM rows EXCEPT SELECT 'b'")
    query = left.writeStream.format("noop").trigger(availableNow=True).start()
    with pytest.raises(Exception, match="UNSUPPORTED_STREAMING_OPERATOR_WITHOUT_WATERMARK"):
        query.awaitTermination(60)
    assert query.exception() is not None


def test_a_stream_is_not_written_as_rows_at_rest_are(connect: Connect, tmp_path: Path) -> None:
    rows = _stream(connect(), tmp_path / "in", ("a", 1))
    with pytest.raises(Exception, match="The method `write` can not be called on streaming"):
        rows.write.json(str(tmp_path / "out"))
    with pytest.raises(Exception, match="The method `writeTo` can not be called on streaming"):
        rows.writeTo("somewhere").append()
    assert not (tmp_path / "out").exists()


def test_an_option_may_name_a_query(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1))
    writer = rows.writeStream.format("memory").option("queryName", "named")
    query = writer.trigger(availableNow=True).start()
    assert query.name == "named" and query.awaitTermination(60)
    assert spark.table("named").count() == 1


def test_a_memory_sink_may_have_the_name_of_a_table_that_its_query_reads(
    connect: Connect, tmp_path: Path
) -> None:
    spark = connect()
    spark.createDataFrame([("a", "x")], "k string, label string").createOrReplaceTempView("labels")
    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 2))
    joined = rows.join(spark.table("labels"), "k", "left").groupBy("label").count()
    writer = joined.writeStream.format("memory").queryName("labels").outputMode("complete")
    assert writer.trigger(availableNow=True).start().awaitTermination(60)
    found = {row.label: row["count"] for row in spark.table("labels").collect()}
    assert found == {"x": 1, None: 1}


def test_files_stay_as_they_were_where_writing_fails(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark, out = connect(), tmp_path / "out"
    rows = spark.createDataFrame([(1, "x"), (2, "y")], "a int, p string")
    rows.write.partitionBy("p").json(str(out))
    before = _written(out)
    rename, moved = Path.rename, list[Path]()

    def failing(path: Path, place: Path) -> Path:
        moved.append(place)
        if len(moved) > 1:
            raise OSError(28, "No space left on device")
        return rename(path, place)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(Exception, match="No space left on device"):
        rows.write.mode("overwrite").partitionBy("p").json(str(out))
    assert len(moved) == 2
    assert _written(out) == before and not list(out.glob("_temporary*"))


def test_a_failure_is_raised_until_it_is_reset(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 0))

    def start(column: str) -> Any:
        writer = rows.selectExpr(column).writeStream.format("noop").trigger(availableNow=True)
        return writer.start()

    with pytest.raises(StreamingQueryException, match="DIVIDE_BY_ZERO"):
        start("1 / v AS x").awaitTermination()
    start("v").awaitTermination()
    with pytest.raises(StreamingQueryException, match="DIVIDE_BY_ZERO"):
        spark.streams.awaitAnyTermination(5)
    spark.streams.resetTerminated()
    assert spark.streams.awaitAnyTermination(0.2) is False
    start("v").awaitTermination()
    assert spark.streams.awaitAnyTermination(5) is True


def test_a_checkpoint_goes_on_where_it_stopped(connect: Connect, tmp_path: Path) -> None:
    spark = connect()

    def run() -> list[tuple[Any, ...]]:
        counts = _stream(spark, tmp_path / "in", ("a", 1)).groupBy("k").count()
        writer = counts.writeStream.outputMode("update").format("memory").queryName("counts")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(60) is True
        return sorted(map(tuple, spark.table("counts").collect()))

    assert run() == [("a", 1)]
    assert run() == [("a", 2)]


def test_a_query_that_is_started_again_takes_the_place_of_its_run(
    connect: Connect, tmp_path: Path
) -> None:
    """As where a notebook's cell is run again."""
    from pyspark.errors import AnalysisException

    spark, other = connect(), connect()

    def start(client: Any, *rows: tuple[str, int]) -> Any:
        written = _stream(client, tmp_path / "in", *rows).writeStream.format("json")
        written = written.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = written.trigger(processingTime="1 second").start(str(tmp_path / "out"))
        query.processAllAvailable()
        return query

    first = start(spark, ("a", 1))
    second = start(spark, ("b", 2))
    third = start(other, ("c", 3))
    assert [query.isActive for query in (first, second, third)] == [False, False, True]
    assert first.exception() is second.exception() is None
    assert first.id == third.id
    assert first.runId != third.runId
    rows = spark.read.json(str(tmp_path / "out")).select("k", "v").collect()
    assert sorted(map(tuple, rows)) == [("a", 1), ("b", 2), ("c", 3)]
    other.conf.set("spark.sql.streaming.stopActiveRunOnRestart", "false")
    with pytest.raises(AnalysisException, match="CONCURRENT_QUERY"):
        start(other, ("d", 4))
    third.stop()


def test_streams_of_views_and_sql(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    _stream(spark, tmp_path / "in", ("a", 1), ("b", 2)).createOrReplaceTempView("arrivals")
    frame = spark.sql("SELECT upper(k) AS k, v + 1 AS v FROM arrivals WHERE v > 1")
    assert frame.isStreaming
    assert frame.schema.simpleString() == "struct<k:string,v:int>"
    query = frame.writeStream.format("memory").queryName("out").trigger(once=True).start()
    query.awaitTermination()
    assert list(map(tuple, spark.table("out").collect())) == [("B", 3)]


def test_the_catalog_has_views_of_streams(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    spark = connect()
    arrivals, catalog = _stream(spark, tmp_path / "in", ("a", 1)), spark.catalog
    arrivals.createOrReplaceTempView("Arrivals")
    spark.sql("CREATE TEMP VIEW late AS SELECT k FROM arrivals WHERE v > 1")
    found = [(table.name, table.tableType) for table in catalog.listTables()]
    assert sorted(found) == [("arrivals", "TEMPORARY"), ("late", "TEMPORARY")]
    assert [(c.name, c.dataType) for c in catalog.listColumns("late")] == [("k", "string")]
    assert catalog.tableExists("ARRIVALS") and not catalog.tableExists("nothing")
    for view in (arrivals, spark.range(2)):
        with pytest.raises(AnalysisException) as caught:
            view.createTempView("late")
        assert caught.value.getCondition() == "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"
    assert catalog.dropTempView("ARRIVALS") and not catalog.dropTempView("arrivals")
    spark.sql("DROP VIEW IF EXISTS Late")
    assert catalog.listTables() == []
    with pytest.raises(AnalysisException):
        spark.table("arrivals").writeStream.format("noop").start()
    spark.range(3).createOrReplaceTempView("few")
    catalog.cacheTable("few")
    assert catalog.functionExists("upper") and not catalog.functionExists("upp")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        catalog.cacheTable("nothing")


def test_a_setting_that_there_is_not_has_sparks_condition(connect: Connect) -> None:
    from pyspark.errors import SparkNoSuchElementException

    spark = connect()
    assert spark.conf.get("no.such.setting", "x") == "x"
    with pytest.raises(SparkNoSuchElementException) as caught:
        spark.conf.get("no.such.setting")
    assert caught.value.getCondition() == "SQL_CONF_NOT_FOUND"


def test_clients_are_kept_apart(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import AnalysisException

    one, other = connect(), connect()
    query = _stream(one, tmp_path / "in", ("a", 1)).writeStream.format("memory")
    query = query.queryName("mine").start()
    assert other.streams.active == []
    assert other.streams.get(query.id) is None
    query.processAllAvailable()
    with pytest.raises(AnalysisException, match="mine"):
        other.table("mine").collect()
    with pytest.raises(Exception, match="already active in this SparkSession"):
        _stream(one, tmp_path / "in").writeStream.format("memory").queryName("mine").start()
    same_name = _stream(other, tmp_path / "in").writeStream.format("memory").queryName("mine")
    same_name.start().stop()
    other.stop()
    assert query.isActive


def test_a_released_session_ends_its_streams(
    connect: Connect, address: str, tmp_path: Path
) -> None:
    from pyspark.sql.connect.session import SparkSession

    spark = connect()
    query = _stream(spark, tmp_path / "in", ("a", 1)).writeStream.format("noop").start()
    same = f"{address};token={_TOKEN};session_id={spark.session_id}"
    # A client that only goes away leaves its streams: who comes back finds them.
    spark.client.close()
    again = SparkSession.builder.remote(same).create()
    assert [one.id for one in again.streams.active] == [query.id]
    again.stop()
    after = SparkSession.builder.remote(f"{address};token={_TOKEN}").create()
    assert after.streams.active == []
    after.stop()


def test_a_function_of_each_batch(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    out = str(tmp_path / "out")

    def save(frame: Any, batch_id: int) -> None:
        more = frame.sparkSession.range(1).selectExpr("'z' AS k", f"{batch_id} AS v")
        frame.union(more).write.mode("append").parquet(out)

    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 1)).where("k = 'a'")
    query = rows.writeStream.foreachBatch(save).start()
    query.processAllAvailable()
    _rows(tmp_path / "in", ("b", 2))  # a batch that no row is left of
    query.processAllAvailable()
    query.stop()
    assert sorted(map(tuple, spark.read.parquet(out).collect())) == [("a", 1), ("z", 0), ("z", 1)]


def test_a_function_that_fails_ends_the_query_and_names_its_line(
    connect: Connect, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException

    spark = connect()

    def fail(frame: Any, batch_id: int) -> None:
        raise RuntimeError("no such luck")

    line = fail.__code__.co_firstlineno + 1
    query = _stream(spark, tmp_path / "in", ("a", 1)).writeStream.foreachBatch(fail).start()
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination()
    for text in ("FOREACH_BATCH_USER_FUNCTION_ERROR", "RuntimeError: no such luck"):
        assert text in str(raised.value)
    assert f"(test_run_endpoint.py:{line})" in str(raised.value)
    assert not query.isActive
    assert "no such luck" in str(query.exception())


def test_a_function_of_each_row(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    out = tmp_path / "rows"

    class Writer:
        def open(self, partition: int, batch: int) -> bool:
            self.batch = batch
            return True

        def process(self, row: Any) -> None:
            with out.open("a") as file:
                file.write(f"{self.batch} {row.k} {row.v}\n")

    query = _stream(spark, tmp_path / "in", ("a", 1)).writeStream.foreach(Writer()).start()
    query.processAllAvailable()
    query.stop()
    assert out.read_text() == "0 a 1\n"


def test_a_function_of_rows_that_fails_ends_the_query(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    spark = connect()
    out = tmp_path / "closed"

    class Writer:
        def process(self, row: Any) -> None:
            raise RuntimeError("no such luck")

        def close(self, error: Any) -> None:
            out.write_text(repr(error))

    line = Writer.process.__code__.co_firstlineno + 1
    query = _stream(spark, tmp_path / "in", ("a", 1)).writeStream.foreach(Writer()).start()
    with pytest.raises(StreamingQueryException) as raised:
        query.processAllAvailable()
    for text in ("[FOREACH_USER_FUNCTION_ERROR]", "Reason: RuntimeError: no such luck SQLSTATE"):
        assert text in str(raised.value)
    assert f"(test_run_endpoint.py:{line})" in str(raised.value)
    assert out.read_text() == "RuntimeError('no such luck')"


def test_a_function_that_exits_fails_the_query(connect: Connect, tmp_path: Path) -> None:
    """Its process would end with it in Spark, and no row be written; here it is our process."""
    from pyspark.errors import StreamingQueryException

    spark = connect()

    def leave(row: Any) -> None:
        raise SystemExit(3)

    def leave_group(key: Any, frames: Any, state: Any) -> Any:
        raise SystemExit(4)

    rows = _stream(spark, tmp_path / "in", ("a", 1))
    groups = rows.groupBy("k").applyInPandasWithState(
        leave_group, "k string", "n int", "update", "NoTimeout"
    )
    writers = (
        rows.writeStream.foreach(leave),
        groups.writeStream.outputMode("update").format("noop"),
    )
    for number, writer in enumerate(writers, 3):
        query = writer.start()
        with pytest.raises(StreamingQueryException, match=f"SystemExit: {number}"):
            query.awaitTermination()


def test_tables_as_sinks_and_sources(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # the engine's tables are in the current directory
    spark = connect()

    def run() -> Any:
        writer = _stream(spark, tmp_path / "in", ("a", 1)).writeStream.trigger(availableNow=True)
        options = {"format": "parquet", "checkpointLocation": str(tmp_path / "checkpoint")}
        return writer.toTable("arrived", **options)

    for _ in range(2):
        assert run().awaitTermination(60)
    assert list(map(tuple, spark.table("arrived").collect())) == [("a", 1)] * 2
    copy = spark.readStream.table("arrived").writeStream.format("noop").start()
    copy.processAllAvailable()
    assert copy.lastProgress.sink.numOutputRows == 2
    copy.stop()
    spark.sql("DROP TABLE arrived")
    with pytest.raises(Exception, match="The table 'arrived' that batches 0 to 1 were written to"):
        run()


def test_the_engines_own_errors_name_the_way_out(connect: Connect) -> None:
    from pyspark.errors import ArithmeticException

    spark = connect()
    with pytest.raises(Exception, match=r"(?s)SHOW CREATE TABLE.* use --engine spark"):
        spark.sql("SHOW CREATE TABLE t").collect()
    with pytest.raises(Exception, match="`stateplan state DIRECTORY` shows"):
        spark.read.format("statestore").load("checkpoint").collect()
    with pytest.raises(ArithmeticException) as raised:
        spark.sql("SELECT 1 / 0").collect()
    assert raised.value.getCondition() == "DIVIDE_BY_ZERO"
    assert "--engine spark" not in str(raised.value)


def test_listeners_hear_of_start_progress_and_end(connect: Connect, tmp_path: Path) -> None:
    from pyspark.sql.streaming.listener import StreamingQueryListener

    heard: list[tuple[str, Any]] = []

    class Told(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:
            heard.append(("started", event.name))

        def onQueryProgress(self, event: Any) -> None:
            heard.append(("progress", event.progress.numInputRows))

        def onQueryIdle(self, event: Any) -> None:
            pass

        def onQueryTerminated(self, event: Any) -> None:
            heard.append(("ended", event.exception))

    spark = connect()
    listener = Told()
    spark.streams.addListener(listener)
    writer = _stream(spark, tmp_path / "in", ("a", 1), ("b", 2)).writeStream.format("noop")
    query = writer.queryName("told").start()
    assert heard == [("started", "told")]  # before start() returns, as in Spark
    query.processAllAvailable()
    query.stop()
    # PySpark waits for ever in `removeListener` if an event is on its way meanwhile.
    deadline = time.monotonic() + 60
    while len(heard) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    spark.streams.removeListener(listener)
    assert heard == [("started", "told"), ("progress", 2), ("ended", None)]


def test_no_event_is_sent_once_the_last_listener_is_gone() -> None:
    from stateplan.runtime.connect.client_session import ClientSession

    session = ClientSession(None, "ann", "a session")  # type: ignore[arg-type]
    bus = session.open_bus()
    session.send(1, "{}")
    session.end_buses()
    session.send(1, "{}")
    assert (bus.get_nowait(), bus.empty()) == (None, True)


def test_state_of_the_users_own(connect: Connect, tmp_path: Path) -> None:
    spark = connect()

    def total(key: tuple[str], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        import pandas as pd

        before = state.get[0] if state.exists else 0
        now = before + int(sum(frame.v.sum() for frame in frames))
        state.update((now,))
        yield pd.DataFrame({"k": [key[0]], "total": [now]})

    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 2), ("a", 3)).groupBy("k")
    totals = rows.applyInPandasWithState(
        total, "k string, total long", "sum long", "update", "NoTimeout"
    )
    query = totals.writeStream.outputMode("update").format("memory").queryName("totals").start()
    query.processAllAvailable()
    _rows(tmp_path / "in", ("b", 5))
    query.processAllAvailable()
    query.stop()
    found = sorted(map(tuple, spark.table("totals").collect()))
    assert found == [("a", 4), ("b", 2), ("b", 7)]


def test_initial_state_of_a_processor(connect: Connect, tmp_path: Path) -> None:
    from pyspark.sql.streaming import StatefulProcessor

    spark = connect()

    class Total(StatefulProcessor):
        def init(self, handle: Any) -> None:
            self.total = handle.getValueState("total", "v int")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timers: Any) -> Iterator[Any]:
            import pandas as pd

            before = self.total.get() or (0,)
            self.total.update((before[0] + int(sum(frame.v.sum() for frame in rows)),))
            yield pd.DataFrame({"k": [key[0]], "total": [self.total.get()[0]]})

        def handleInitialState(self, key: Any, initialState: Any, timers: Any) -> None:
            self.total.update((int(initialState["start"].iloc[0]),))

    # A DataFrame of rows, whose columns come twice, keys first.
    start = spark.createDataFrame([("a", 700), ("c", 5)], "k string, start int").groupBy("k")
    rows = _stream(spark, tmp_path / "in", ("a", 1), ("b", 2), ("a", 3)).groupBy("k")
    totals = rows.transformWithStateInPandas(
        Total(), "k string, total long", "Update", "None", initialState=start
    )
    query = totals.writeStream.outputMode("update").format("memory").queryName("started").start()
    query.processAllAvailable()
    query.stop()
    assert sorted(map(tuple, spark.table("started").collect())) == [("a", 704), ("b", 2)]


def test_what_is_missing_or_unknown_has_sparks_conditions(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1))
    checkpoint = str(tmp_path / "checkpoint")

    def started(frame: Any) -> Any:
        return frame.writeStream.format("noop").start()

    for start, condition in (
        (lambda: rows.writeStream.format("memory").start(), "_LEGACY_ERROR_TEMP_1194"),
        (
            lambda: rows.writeStream.format("json").start(str(tmp_path / "out")),
            "_LEGACY_ERROR_TEMP_1298",
        ),
        (
            lambda: rows.writeStream.option("checkpointLocation", checkpoint).start(),
            "_LEGACY_ERROR_TEMP_2047",
        ),
        (lambda: rows.writeStream.format("Paper").start(), "DATA_SOURCE_NOT_FOUND"),
        (lambda: rows.writeStream.format("rate").start(), "_LEGACY_ERROR_TEMP_2049"),
        (lambda: started(spark.readStream.format("paper").load()), "DATA_SOURCE_NOT_FOUND"),
        (lambda: started(spark.readStream.format("noop").load()), "_LEGACY_ERROR_TEMP_2049"),
        (
            lambda: started(spark.readStream.schema("a INT").format("json").load()),
            "_LEGACY_ERROR_TEMP_2047",
        ),
    ):
        with pytest.raises(PySparkException) as caught:
            start()
        assert caught.value.getCondition() == condition


def test_refusals(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    stream = _stream(spark, tmp_path / "in", ("a", 1))
    with pytest.raises(Exception, match="WRITE_STREAM_NOT_ALLOWED"):
        spark.range(3).writeStream.format("noop").start()
    with pytest.raises(Exception, match="checkpointLocation must be specified") as refused:
        stream.writeStream.format("parquet").start(str(tmp_path / "out"))
    assert refused.value.getCondition() == "_LEGACY_ERROR_TEMP_1298"  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="queryName must be specified for memory sink") as refused:
        stream.writeStream.format("memory").start()
    assert refused.value.getCondition() == "_LEGACY_ERROR_TEMP_1194"  # type: ignore[attr-defined]
    with pytest.raises(Exception, match="continuous trigger is not supported"):
        stream.writeStream.format("noop").trigger(continuous="1 second").start()
    with pytest.raises(Exception, match="DATA_SOURCE_NOT_FOUND"):
        stream.writeStream.format("paper").option("checkpointLocation", str(tmp_path)).start()
    assert spark.streams.active == []


def test_without_the_token_nobody_comes_in(address: str) -> None:
    from pyspark.sql.connect.session import SparkSession

    for url in (f"{address};token=another", address):
        started = time.monotonic()
        with pytest.raises(Exception, match="No token"):
            SparkSession.builder.remote(url).create().range(1).count()
        assert time.monotonic() - started < 30


def _people(spark: Any) -> Any:
    rows = [(1, "a", 4.5), (2, "a", 1.25), (3, "b", None), (4, None, 2.0)]
    return spark.createDataFrame(rows, "id INT, k STRING, v DOUBLE")


@pytest.mark.parametrize(
    ("query", "columns", "rows"),
    [
        (
            lambda people, f: people.summary("25%", "count").select("summary", "v"),
            ["summary", "v"],
            [("25%", "1.25"), ("count", "3")],
        ),
        (
            lambda people, f: (
                people.select("k")
                .unionByName(people.select("id"), allowMissingColumns=True)
                .agg(f.count("k"), f.max("id"))
            ),
            ["count(k)", "max(id)"],
            [(3, 4)],
        ),
        (
            lambda people, f: people.selectExpr("cume_dist() OVER (ORDER BY id)").limit(1),
            [
                "cume_dist() OVER (ORDER BY id ASC NULLS FIRST RANGE BETWEEN UNBOUNDED PRECEDING "
                "AND CURRENT ROW)"
            ],
            [(0.25,)],
        ),
        (
            lambda people, f: people.groupingSets([["k"], []], "k").agg(f.sum("id")),
            ["k", "sum(id)"],
            [("a", 3), ("b", 3), (None, 10), (None, 4)],
        ),
        (
            lambda people, f: people.selectExpr("CAST(v * 1e10 AS STRING) AS s").where("id < 3"),
            ["s"],
            [("1.25E10",), ("4.5E10",)],
        ),
        (
            lambda people, f: people.sparkSession.sql(
                "SELECT * FROM (SELECT k, id, v FROM {p}) PIVOT (max(v) FOR id IN (1, 2))",
                p=people,
            ),
            ["k", "1", "2"],
            [("a", 4.5, 1.25), ("b", None, None), (None, None, None)],
        ),
        (
            lambda people, f: people.sparkSession.sql(
                "SELECT k, count(*) AS n FROM {p} GROUP BY ALL", p=people
            ),
            ["k", "n"],
            [("a", 2), ("b", 1), (None, 1)],
        ),
        (
            lambda people, f: people.where("id < 4").selectExpr(
                "avg(CAST(id / 3 AS DECIMAL(10,3))) AS m", "count(DISTINCT k, id) AS n"
            ),
            ["m", "n"],
            [(Decimal("0.6666667"), 3)],
        ),
    ],
    ids=["summary", "union", "window", "sets", "cast", "pivot", "group-by-all", "distinct"],
)
def test_rows_at_rest_are_computed_as_those_of_streams(
    connect: Connect,
    query: Callable[[Any, Any], Any],
    columns: list[str],
    rows: list[tuple[Any, ...]],
) -> None:
    """Sail by itself gives other values, types or names to each of them, or refuses it."""
    from pyspark.sql.connect import functions

    frame = query(_people(connect()), functions)
    assert frame.columns == columns
    assert sorted(map(tuple, frame.collect()), key=str) == rows


def test_statistics_of_columns(connect: Connect) -> None:
    """Sail has no quantiles, and leaves out the column for nulls of the other ones."""
    people = _people(connect())
    assert people.approxQuantile(["v", "id"], [0.0, 0.5, 1.0], 0.0) == [
        [1.25, 2.0, 4.5],
        [1.0, 2.0, 4.0],
    ]
    described = people.describe("id")
    assert (described.count(), people.summary("max", "min").count()) == (5, 2)
    counted = described.where(described["summary"] == "count").select("summary")
    assert list(map(tuple, counted.collect())) == [("count",)]
    times = people.crosstab("k", "v")
    assert times.columns == ["k_v", "1.25", "2.0", "4.5", "null"]
    assert sorted(map(tuple, times.collect())) == [
        ("a", 1, 0, 1, 0),
        ("b", 0, 0, 0, 1),
        ("null", 0, 1, 0, 0),
    ]


def test_questions_about_rows_at_rest(connect: Connect) -> None:
    people = _people(connect())
    assert people.select("id").sameSemantics(people.select("id"))
    assert not people.sameSemantics(people.select("id"))
    described = people.withMetadata("id", {"unit": "m"}).schema["id"]
    assert described.metadata == {"unit": "m"}


def test_what_is_refused_or_fails_at_rest_has_sparks_conditions(connect: Connect) -> None:
    from pyspark.errors import (
        AnalysisException,
        ArithmeticException,
        NumberFormatException,
        PythonException,
    )
    from pyspark.sql.connect import functions as F

    def joined(numbers: pd.Series) -> str:
        return str(numbers.sum())

    people = _people(connect())
    refused = {
        "UNRESOLVED_COLUMN.WITH_SUGGESTION": lambda: people.select("nope").schema,
        "UNRESOLVED_ROUTINE": lambda: people.selectExpr("nope(id)").collect(),
        "MISSING_AGGREGATION": lambda: people.groupBy("k").agg(people.id).collect(),
        "TABLE_OR_VIEW_NOT_FOUND": lambda: people.sparkSession.sql("SELECT * FROM nope").collect(),
        "INVALID_PANDAS_UDF_PLACEMENT": lambda: (
            people.groupBy("k").agg(F.pandas_udf(joined, "string")("id"), F.sum("id")).collect()
        ),
    }
    for condition, act in refused.items():
        with pytest.raises(AnalysisException) as raised:
            act()
        assert raised.value.getCondition() == condition
    with pytest.raises(NumberFormatException, match=r"CAST_INVALID_INPUT.*'a'"):
        people.selectExpr("CAST(k AS INT)").collect()
    with pytest.raises(ArithmeticException, match="ARITHMETIC_OVERFLOW"):
        people.selectExpr("9223372036854775807L AS big").agg({"big": "sum"}).collect()
    with pytest.raises(PythonException, match="ZeroDivisionError"):
        people.select(F.udf(lambda n: n // 0, "int")("id")).collect()


def test_types_that_spark_does_not_mix_are_not_mixed_at_rest(connect: Connect) -> None:
    from pyspark.errors import AnalysisException

    people = _people(connect())
    with pytest.raises(AnalysisException, match="STACK_COLUMN_DIFF_TYPES"):
        people.selectExpr("stack(2, id, 1, id, 2L)").collect()


def test_as_many_rows_at_rest_as_are_grouped_early_are_counted(connect: Connect) -> None:
    spark = connect()
    many = spark.createDataFrame([(n, n % 3) for n in range(10_000)], "id INT, k INT")
    assert many.count() == 10_000
    assert many.select("k").distinct().count() == 3
    assert [part.count() > 0 for part in many.randomSplit([0.5, 0.5], 1)] == [True, True]


def test_columns_at_rest_whose_names_differ_in_letters_alone(connect: Connect) -> None:
    spark = connect()
    spark.conf.set("spark.sql.caseSensitive", "true")
    rows = spark.createDataFrame([(1, 2)], "k INT, K INT")
    assert rows.groupBy("K").agg({"k": "sum"}).collect() == [(2, 1)]
    assert spark.createDataFrame([(1, 2)], ["a", "a"]).collect() == [(1, 2)]


def test_a_subquery_at_rest_leaves_no_view(connect: Connect) -> None:
    spark = connect()
    _people(spark).createOrReplaceTempView("people")
    above = spark.sql("SELECT id FROM people WHERE v > (SELECT avg(v) FROM people)")
    assert above.collect() == [(1,)]
    assert [table.name for table in spark.catalog.listTables()] == ["people"]


def test_statements_that_the_engine_has_not(connect: Connect) -> None:
    spark = connect()
    _people(spark).createOrReplaceTempView("people")
    setting = "spark.sql.shuffle.partitions"
    assert spark.sql(f"SET {setting} = 5").collect() == [(setting, "5")]
    assert spark.conf.get(setting) == "5"
    assert spark.sql(f"SET {setting}").collect() == [(setting, "5")]
    assert spark.sql("DESCRIBE people").collect() == [
        ("id", "int", None),
        ("k", "string", None),
        ("v", "double", None),
    ]
    for text in ("CACHE TABLE people", "UNCACHE TABLE people;", "REFRESH TABLE people"):
        assert spark.sql(text).count() == 0
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql("DESCRIBE nothing")


def test_a_table_that_is_cut_short_is_shown_as_spark_shows_it(
    connect: Connect, capsys: Any
) -> None:
    _people(connect()).select("id").orderBy("id").show(1)
    _people(connect()).select("id").where("id = 2").show()
    line = "+---+\n"
    first = f"{line}| id|\n{line}|  1|\n{line}only showing top 1 row\n"
    assert capsys.readouterr().out == f"{first}{line}| id|\n{line}|  2|\n{line}\n"


def test_rows_are_shown_one_below_the_other(connect: Connect, capsys: Any) -> None:
    people = _people(connect())
    people.select("id").orderBy("id").show(1, vertical=True)
    people.select("id", "k").where("id < 0").show(vertical=True)
    people.selectExpr("'a long text' AS a").limit(1).show(1, 6, True)
    shown = "-RECORD 0--\n id  | 1   \nonly showing top 1 row\n(0 rows)\n"
    assert capsys.readouterr().out == f"{shown}-RECORD 0-----\n a   | a l... \n\n"


def test_a_table_is_there_once_its_query_has_started(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1))
    writer = rows.writeStream.clusterBy("v").option("checkpointLocation", str(tmp_path / "c"))
    query = writer.toTable("fresh")
    read = spark.readStream.table("fresh")
    query.processAllAvailable()
    query.stop()
    copy = read.writeStream.format("memory").queryName("copied").trigger(availableNow=True).start()
    copy.awaitTermination()
    assert [tuple(row) for row in spark.table("copied").collect()] == [("a", 1)]
    spark.sql("DROP TABLE fresh")


def test_declared_columns_of_an_outputs_folders_stay(connect: Connect, tmp_path: Path) -> None:
    spark = connect()
    rows = _stream(spark, tmp_path / "in", ("a", 1))
    writer = rows.writeStream.partitionBy("k").format("parquet").trigger(availableNow=True)
    out = str(tmp_path / "out")
    writer.option("checkpointLocation", str(tmp_path / "c")).start(out).awaitTermination()
    assert spark.read.schema("k STRING, v INT").parquet(out).collect() == [("a", 1)]
    assert spark.read.parquet(out).columns == ["v", "k"]


def test_what_sail_computes_otherwise_is_told_once(connect: Connect, capfd: Any) -> None:
    spark = connect()
    rows = spark.createDataFrame([('[{"f": 1}]',)], "text STRING")
    for _ in range(2):
        assert rows.selectExpr("upper(text) AS t").first().t == '[{"F": 1}]'
        rows.selectExpr("get_json_object(text, '$[*].f') AS f").collect()
    rows.count()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("warning: The embedded engine does not compute the expression get_json")
    assert line.endswith("The answer is Sail's.")


def test_what_spark_refuses_of_rows_at_rest_is_refused(connect: Connect) -> None:
    from pyspark.errors import AnalysisException

    rows = connect().range(3).selectExpr("id", "map('x', id) AS m")
    with pytest.raises(AnalysisException) as caught:  # Sail gives three rows
        rows.select("m").distinct().collect()
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE"


def test_columns_of_a_dataframe_beside_itself(connect: Connect) -> None:
    spark = connect()
    numbers = spark.range(4)
    some = numbers.filter("id > 1")
    joined = numbers.join(some, numbers.id == some.id, "left")
    found = sorted((tuple(row) for row in joined.collect()), key=repr)
    assert found == [(0, None), (1, None), (2, 2), (3, 3)]
    rows = spark.createDataFrame([("a", 1)], "k STRING, v INT")
    unpivoted = rows.unpivot(rows.k, [rows.v], "name", "value")
    assert [tuple(row) for row in unpivoted.collect()] == [("a", "v", 1)]


def test_a_client_goes_on_once_its_view_is_known(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateplan.runtime.connect.service import RunService

    spark = connect()
    remember = RunService._remember_view

    def slowly(*arguments: Any) -> None:
        time.sleep(0.3)
        remember(*arguments)

    monkeypatch.setattr(RunService, "_remember_view", slowly)
    numbers = spark.range(3).union(spark.range(3, 6))
    numbers.orderBy("id", ascending=False).createOrReplaceTempView("downwards")
    assert [row.id for row in spark.table("downwards").collect()] == [5, 4, 3, 2, 1, 0]


def test_rows_come_in_the_order_of_their_partitions(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from stateplan.runtime.connect import row_order

    spark = connect()
    parts = [spark.range(start, start + 3) for start in (0, 3, 6, 9)]
    united = parts[0].union(parts[1]).union(parts[2]).union(parts[3])
    for _ in range(3):
        assert [row.id for row in united.collect()] == list(range(12))
        assert [row.id for row in united.where("id > 4").limit(3).collect()] == [5, 6, 7]
        assert united.first().id == 0
    assert [row.id for row in united.orderBy("id", ascending=False).limit(2).collect()] == [11, 10]
    assert united.limit(2).select(united.id + 1, "id", "id").collect() == [(1, 0, 0), (2, 1, 1)]
    united.orderBy("id", ascending=False).createOrReplaceTempView("sorted")
    assert [row.id for row in spark.table("sorted").collect()] == list(range(11, -1, -1))
    half = "SELECT id FROM sorted WHERE id > (SELECT percentile(id, 0.5) FROM sorted)"
    assert [row.id for row in spark.sql(half).collect()] == [11, 10, 9, 8, 7, 6]
    united.createOrReplaceTempView("united")
    assert [row.id for row in spark.sql("SELECT * FROM united").collect()] == list(range(12))
    lines = _file(tmp_path / "lines" / "a.csv", "1\n2\n")
    _file(tmp_path / "lines" / "b.csv", "3\n")
    read = spark.read.schema("id INT").csv(str(Path(lines).parent))
    assert [row.id for row in read.collect()] == [1, 2, 3]
    sent: Any = read
    asked = sent._plan.to_proto(sent.sparkSession.client).root
    assert row_order.lies_anyhow(asked, ())
    monkeypatch.setattr(row_order, "_MOST_BYTES", 1)
    assert not row_order.lies_anyhow(asked, ())  # all would be read for the first
    united.write.parquet(str(tmp_path / "rows"))
    assert spark.read.parquet(str(tmp_path / "rows")).count() == 12


def test_rows_of_files_at_rest_are_grouped_in_their_order(connect: Connect, tmp_path: Path) -> None:
    from pyspark.sql.connect import functions as F

    for number in range(1, 9):  # the largest is read first
        numbers = range(number * 100, number * 100 + 40 - number)
        _file(tmp_path / "lines" / f"{number}.csv", "".join(f"{n},{n % 2}\n" for n in numbers))
    rows = connect().read.schema("n INT, k INT").csv(str(tmp_path / "lines"))
    found = rows.groupBy("k").agg(F.collect_list("n").alias("list"), F.first("n").alias("first"))
    every = [n for n in range(100, 900) if n % 100 < 40 - n // 100]
    wanted = [[n for n in every if n % 2 == k] for k in (0, 1)]

    def lists(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": rows["k"][:1], "list": [rows["n"].tolist()]})

    for _ in range(4):
        assert [(r.k, r.list, r.first) for r in found.orderBy("k").collect()] == [
            (k, wanted[k], 100 + k) for k in (0, 1)
        ]
        grouped = rows.groupBy("k").applyInPandas(lists, "k INT, list ARRAY<INT>")
        assert [tuple(row) for row in grouped.collect()] == list(enumerate(wanted))


def test_metrics_of_rows_at_rest(connect: Connect, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    people = _people(connect())
    metrics = (F.count(F.lit(1)).alias("n"), F.max("v").alias("v"), F.first("k").alias("k"))
    before, after = Observation("before"), Observation()
    rows = people.observe(before, *metrics).where("id > 1").observe(after, F.sum("id").alias("s"))
    assert len(rows.collect()) == 3
    assert before.get == {"n": 4, "v": 4.5, "k": "a"}
    assert after.get == {"s": 9}
    written = Observation("written")
    people.observe(written, F.count(F.lit(1)).alias("n")).write.json(str(tmp_path / "people"))
    assert written.get == {"n": 4}
    spark = people.sparkSession
    spark.client.disable_reattachable_execute()  # as the session of a script
    actions: tuple[Callable[[Any], object], ...] = (
        lambda rows: rows.collect(),
        lambda rows: rows.write.parquet(str(tmp_path / "parquet")),
        lambda rows: rows.write.format("noop").mode("overwrite").save(),
    )
    for action in actions:
        seen = Observation()
        action(people.observe(seen, F.count(F.lit(1)).alias("n")))
        assert seen.get == {"n": 4}
    with pytest.raises(PySparkException, match="shuffle"):
        people.observe(Observation(), F.max(F.shuffle(F.array("id"))).alias("s")).collect()
