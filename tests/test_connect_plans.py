"""PySpark code in descriptions: planned without a server, as Spark plans it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import stateplan
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

EVENTS = "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT"


def query(code: str, output_mode: str = "append", **sources: str) -> Query:
    """A description's query over `events` and other sources."""
    written = {"events": EVENTS, **sources}
    content = {
        "sources": {name: {"schema": schema} for name, schema in written.items()},
        "python": code,
        "output_mode": output_mode,
    }
    return Query.of(parse_description(content))


def same_as_sql(code: str, sql: str, output_mode: str = "append") -> None:
    """The code's plan is the one of the SQL text."""
    from stateplan.physical.explain.normalise import normalise

    written = query(code, output_mode)
    conf = {"spark.sql.shuffle.partitions": "200"}
    other = stateplan.sql(sql, {"events": EVENTS}, output_mode, conf)
    assert normalise(written.explain()) == normalise(other.explain())


@pytest.mark.parametrize(
    ("code", "sql"),
    [
        (
            'events.filter(F.col("qty") > 1).select("user", (F.col("qty") + 1).alias("q"))',
            "SELECT user, qty + 1 AS q FROM STREAM events WHERE qty > 1",
        ),
        (
            'events.withColumn("x", F.expr("qty * 2")).drop("amount", "ts", "qty")',
            "SELECT user, qty * 2 AS x FROM STREAM events",
        ),
        (
            'events.withColumnRenamed("user", "u").select("u", F.upper("u").alias("up"))',
            "SELECT user AS u, upper(user) AS up FROM STREAM events",
        ),
        (
            'events.select(F.when(events.qty > 1, "a").otherwise("b").alias("k"))',
            "SELECT CASE WHEN qty > 1 THEN 'a' ELSE 'b' END AS k FROM STREAM events",
        ),
        (
            'events.select("user", "qty").toDF("a", "b").where("b > 2")',
            "SELECT user AS a, qty AS b FROM STREAM events WHERE qty > 2",
        ),
        (
            'events.fillna(0, ["qty"]).select("qty")',
            "SELECT coalesce(qty, CAST(0 AS INT)) AS qty FROM STREAM events",
        ),
        (
            'events.select(events["user"]).limit(3)',
            "SELECT user FROM STREAM events LIMIT 3",
        ),
    ],
)
def test_code_plans_as_sql_does(code: str, sql: str) -> None:
    same_as_sql(code, sql)


def test_a_schema_in_the_code_is_one_in_sql() -> None:
    schema = "__import__('pyspark').sql.types.StructType().add('a b', 'integer').add('c', 'string')"
    same_as_sql(
        f"events.select(F.from_json('user', {schema}).alias('v'))",
        "SELECT from_json(user, '`a b` INT, c STRING') AS v FROM STREAM events",
    )


def test_grouped_code_plans_as_sql_does() -> None:
    same_as_sql(
        'events.groupBy("user").agg(F.sum("qty").alias("n"), F.count("*").alias("c"))',
        "SELECT user, sum(qty) AS n, count(*) AS c FROM STREAM events GROUP BY user",
        "update",
    )


def test_the_minimum_of_a_field_is_named_as_classic_pyspark_names_it() -> None:
    code = 'events.alias("e").groupBy("ok").min("qty", "p.x", "e.P.x", "e.qty")'
    sources = {"events": "ok BOOLEAN, qty INT, p STRUCT<x: DOUBLE>"}
    found = query(code, "update", **sources).execution.analyzed.output
    names = ["ok", "min(qty)", "min(p.x AS x)", "min(P.x AS x)", "min(qty)"]
    assert [column.name for column in found] == names


def test_the_stateful_view_names_the_line_of_code() -> None:
    code = 'events\n  .withWatermark("ts", "1 minute")\n  .dropDuplicates(["user", "ts"])'
    text = query(code).explain("stateful")
    assert 'from:        python:3: .dropDuplicates(["user", "ts"])' in text


@pytest.mark.parametrize(
    ("code", "condition", "words"),
    [
        ('events.select("nope")', "UNRESOLVED_COLUMN.WITH_SUGGESTION", "`nope` cannot be"),
        ('events.select(events["nope"])', "UNRESOLVED_COLUMN.WITH_SUGGESTION", "`nope`"),
        ('events.select("a..b")', "INVALID_ATTRIBUTE_NAME_SYNTAX", "a..b"),
        ('events.withWatermark("ts", "soon")', "CANNOT_PARSE_INTERVAL", "'soon'"),
        ('events.withWatermark("ts", "-1 minute")', None, "should not be negative"),
        (
            'events.dropDuplicates(["ts.x"])',
            "UNRESOLVED_COLUMN_AMONG_FIELD_NAMES",
            'column name "ts.x" among',
        ),
        ("events.randomSplit([0.5, 0.5])[0]", "_LEGACY_ERROR_TEMP_3102", "Sorting is not"),
        ('events.approxQuantile("qty", [0.5], 0.1)', "_LEGACY_ERROR_TEMP_3102", "must be executed"),
        ("events.checkpoint()", "_LEGACY_ERROR_TEMP_3102", "must be executed"),
        ('events.crosstab("user", "qty")', "_LEGACY_ERROR_TEMP_3063", "pivot is not supported"),
        ('events.toDF("a")', "ASSIGNMENT_ARITY_MISMATCH", "aliased: 4 does not match"),
        (
            'events.groupBy("user").pivot("qty", [1]).count()',
            "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
            "append",
        ),
        ("events.collect()", "_LEGACY_ERROR_TEMP_3102", "must be executed with writeStream"),
        ("events.count()", "_LEGACY_ERROR_TEMP_3102", "must be executed with writeStream"),
        ("events.persist()", "_LEGACY_ERROR_TEMP_3102", "must be executed with writeStream"),
        (
            'events.groupBy("user").pivot("qty", [1]).agg(F.count("*"))',
            "INVALID_USAGE_OF_STAR_OR_REGEX",
            "in Pivot",
        ),
        ('events.groupBy("user").pivot("qty").count()', "_LEGACY_ERROR_TEMP_3063", "pivot is not"),
        ("events +", "STATEPLAN_PYTHON_SYNTAX", "cannot be read"),
        ("1 + 1", "STATEPLAN_PYTHON_NO_DATAFRAME", "gives a int"),
        ("nothing.select(1)", None, "NameError"),
        ("events.limit('x')", None, "failed"),
    ],
)
def test_refusals(code: str, condition: str | None, words: str) -> None:
    with pytest.raises(stateplan.StateplanError) as caught:
        query(code).explain()
    assert caught.value.condition == condition
    assert words in caught.value.message and caught.value.hint


def test_a_pivot_groups_by_a_window() -> None:
    windowed = 'events.withWatermark("ts", "1 minute").groupBy(F.window("ts", "5 minutes"))'
    plan = query(f'{windowed}.pivot("user", ["a", "b"]).agg(F.sum("amount"))').explain()
    assert plan.count("StateStoreSave [window#") == 2
    assert ", a, b, 0, 0)]" in plan and "[1] AS b#" in plan


def test_classic_and_connect_live_in_one_process() -> None:
    program = (
        "from pyspark.sql import functions as classic, SparkSession\n"
        "import stateplan\n"
        "from stateplan.planner.description import parse_description\n"
        "from stateplan.planner.query import Query\n"
        "q = Query.of(parse_description({'sources': {'e': {'schema': 'a INT'}},"
        " 'python': 'e.select(\"a\")'}))\n"
        "print(q.explain().splitlines()[1])\n"
        "from pyspark.sql.utils import is_remote\n"
        "print(is_remote(), SparkSession.getActiveSession())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "StreamingRelation FileSource[e], [a#0]\nFalse None\n", done.stderr


USERS = {"schema": "user STRING, country STRING", "static": True}


@pytest.mark.parametrize(
    ("code", "sql"),
    [
        (
            'events.where(F.col("user").isin(users.select("user")))',
            "SELECT * FROM STREAM events WHERE user IN (SELECT user FROM users)",
        ),
        (
            'events.alias("e").where(users.alias("u").where(F.col("e.user").outer() =='
            ' F.col("u.user")).exists()).select("qty")',
            "SELECT qty FROM STREAM events e"
            " WHERE EXISTS (SELECT * FROM users u WHERE e.user = u.user)",
        ),
        (
            'events.select("qty", users.agg(F.max("country")).scalar().alias("m"))',
            "SELECT qty, (SELECT max(country) FROM users) AS m FROM STREAM events",
        ),
        (
            'events.alias("e").lateralJoin(users.alias("u").where(F.col("e.user").outer() =='
            ' F.col("u.user")).select(F.col("country").alias("c")))',
            "SELECT * FROM STREAM events e,"
            " LATERAL (SELECT country AS c FROM users u WHERE e.user = u.user)",
        ),
        (
            'events.join(users.distinct(), "user").select(events["*"])',
            "SELECT e.* FROM STREAM events e JOIN"
            " (SELECT DISTINCT * FROM users) u ON e.user = u.user",
        ),
    ],
)
def test_dataframes_within_dataframes(code: str, sql: str) -> None:
    from stateplan.physical.explain.normalise import normalise

    sources = {"events": {"schema": EVENTS}, "users": USERS}
    plans = [
        Query.of(parse_description({"sources": sources, kind: text})).explain()
        for kind, text in (("python", code), ("sql", sql))
    ]
    assert normalise(plans[0]) == normalise(plans[1])
