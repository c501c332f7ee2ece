"""Every expression of `function_expressions.txt`, against a live Spark: its analyzed text, its name
and type, and that the Spark SQL which we write for the runtime gives the same values.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.expressions.core import Alias, AttributeReference, Expression
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.logical import Project
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import StructField, StructType
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.planner.model.text.text import plan_text
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.rules.optimization import optimize

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPRESSIONS = (Path(__file__).parent / "function_expressions.txt").read_text().splitlines()
SCHEMA = (
    "user STRING, ts TIMESTAMP, amount DOUBLE, qty INT, l BIGINT, f FLOAT, dec DECIMAL(10,2), "
    "b BOOLEAN, d DATE, arr ARRAY<INT>, m MAP<STRING,INT>, st STRUCT<a:INT,b:STRING>, s SMALLINT, "
    "bin BINARY, items ARRAY<STRUCT<a:INT,b:STRING>>, sarr ARRAY<STRING>, ntz TIMESTAMP_NTZ, "
    "aarr ARRAY<ARRAY<INT>>"
)
ROWS = """
    ('12', TIMESTAMP'2024-03-05 10:11:12.345', 1.5D, 3, 40L, 2.5F, 12.34BD, true, DATE'2024-02-29',
     array(1, 2, 3), map('a', 1, 'b', 2), named_struct('a', 1, 'b', 'x'), 5S, X'616263',
     array(named_struct('a', 1, 'b', 'x'), named_struct('a', 2, 'b', null)), array('x', 'y'),
     TIMESTAMP_NTZ'2024-03-05 10:11:12', array(array(1), array(2, 3))),
    ('2023-01-02', TIMESTAMP'1969-12-31 23:59:59.5', -0.25D, -7, -9L, -1.5F, -0.05BD, false,
     DATE'1999-12-31', array(1, null), map('x', 5), named_struct('a', null, 'b', 'q'), -1S,
     X'00FF', array(), array('p', null), TIMESTAMP_NTZ'1960-01-01 00:00:00', array(array(9))),
    (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
     null, null)
"""
CONF = Conf({"spark.sql.ansi.enabled": "false"})


@pytest.fixture(scope="module")
def lenient(spark: SparkSession) -> Iterator[SparkSession]:
    """A session without ANSI, so that no value of a row stops the query, with the table."""
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.conf.set("spark.sql.debug.maxToStringFields", "1000")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    names = [f.name for f in parse_schema(SCHEMA).fields]
    typed = ", ".join(
        f"CAST({f.name} AS {f.data_type.sql}) AS {f.name}" for f in parse_schema(SCHEMA).fields
    )
    query = f"SELECT {typed} FROM VALUES {ROWS} AS t({', '.join(names)})"
    session.sql(query).createOrReplaceTempView("events")
    yield session
    session.catalog.dropTempView("events")


def analyzed(expressions: list[str]) -> Project:
    """Our analysis of a select of these expressions."""
    source = Source(name="events", schema=parse_schema(SCHEMA))
    query = parse(f"SELECT {', '.join(expressions)} FROM STREAM events", CONF)
    plan = analyze(query, {"events": source}, CONF)
    assert isinstance(plan, Project)
    return plan


def optimized(expression: str) -> Expression:
    """The expression as the runtime gets it, projections that computed its parts put in."""
    with id_scope(itertools.count()):
        plan = optimize(analyzed([expression]), CONF)
    assert isinstance(plan, Project)
    item: Expression = plan.project_list[0]
    while isinstance(plan.child, Project):
        plan = plan.child
        item = item.transform_up(partial(value_of, known={p.expr_id: p for p in plan.project_list}))
    return item.child if isinstance(item, Alias) else item


def value_of(expression: Expression, known: dict[int, Expression]) -> Expression:
    """A column as what computes it in the projection below."""
    if not isinstance(expression, AttributeReference):
        return expression
    found = known.get(expression.expr_id)
    return found.child if isinstance(found, Alias) else expression


def chunks(size: int) -> list[list[str]]:
    return [EXPRESSIONS[i : i + size] for i in range(0, len(EXPRESSIONS), size)]


def in_spark(session: SparkSession, expressions: list[str]) -> tuple[str, str]:
    """Spark's analyzed text of a select, without ids, and its schema."""
    frame = session.sql(f"SELECT {', '.join(expressions)} FROM events")
    text = frame._jdf.queryExecution().analyzed().toString().splitlines()[0]
    return re.sub(r"#\d+", "#", text), frame.schema.simpleString()


def in_ours(expressions: list[str]) -> tuple[str, str]:
    """The same of our analysis."""
    with id_scope(itertools.count()):
        plan = analyzed(expressions)
    items = ", ".join(plan_text(item) for item in plan.project_list)
    fields = tuple(StructField(a.name, a.data_type) for a in plan.output)
    return re.sub(r"#\d+", "#", f"Project [{items}]"), StructType(fields).simple


@pytest.mark.parametrize("chunk", chunks(100), ids=lambda chunk: str(chunk[0]))
def test_names_types_and_texts(lenient: SparkSession, chunk: list[str]) -> None:
    if in_spark(lenient, chunk) != in_ours(chunk):
        pairs = ((in_spark(lenient, [e]), in_ours([e])) for e in chunk)
        assert [(theirs, mine) for theirs, mine in pairs if theirs != mine] == []


@pytest.mark.parametrize("chunk", chunks(100), ids=lambda chunk: str(chunk[0]))
def test_our_sql_gives_the_same_values(lenient: SparkSession, chunk: list[str]) -> None:
    written = [spark_sql(optimized(e), lambda column: f"`{column.name}`") for e in chunk]
    expected, actual = values(lenient, chunk), values(lenient, written)
    pairs = zip(chunk, written, zip(*expected, strict=True), zip(*actual, strict=True), strict=True)
    assert [pair for pair in pairs if pair[2] != pair[3]] == []


def values(session: SparkSession, texts: list[str]) -> list[tuple[str | None, ...]]:
    """The rows of a select of these texts, as strings."""
    columns = ", ".join(f"CAST(({text}) AS STRING) AS c{i}" for i, text in enumerate(texts))
    return [tuple(row) for row in session.sql(f"SELECT {columns} FROM events").collect()]
