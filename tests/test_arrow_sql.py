"""Expressions as users write them, computed by tasks, against a live Spark."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from arrow_cases import ROWS, _value
from arrow_comparison import Data, difference
from arrow_sql_cases import CASES

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.expressions.core import AttributeReference, Expression
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.logical import Project
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.rules.optimization import optimize
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.kernels.expressions.evaluator import Evaluator
from stateplan.runtime.kernels.expressions.programs.compile import compile_program
from stateplan.runtime.kernels.expressions.programs.kinds import kind_of
from stateplan.runtime.kernels.expressions.values.vectors import shown_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = parse_schema(
    "a INT, b INT, l BIGINT, s STRING, x DOUBLE, t TIMESTAMP, ints ARRAY<INT>, others ARRAY<INT>, "
    "longs ARRAY<BIGINT>, doubles ARRAY<DOUBLE>, texts ARRAY<STRING>, times ARRAY<TIMESTAMP>, "
    "days ARRAY<DATE>, decimals ARRAY<DECIMAL(7,2)>, flags ARRAY<BOOLEAN>, "
    "items ARRAY<STRUCT<k: INT, v: STRING>>, nested ARRAY<ARRAY<INT>>, "
    "maps ARRAY<MAP<STRING, INT>>, counts MAP<STRING, INT>, more MAP<STRING, INT>, "
    "names MAP<INT, STRING>, sums MAP<STRING, DOUBLE>, many ARRAY<INT>, "
    "y INT, m INT, d INT, h INT, mi INT, sec DECIMAL(16,6), place INT, "
    "wide DECIMAL(38,18), whole DECIMAL(38,0), tiny DECIMAL(38,38), short DECIMAL(12,4)"
)
COLUMNS = tuple(
    AttributeReference(name=field.name, type_=field.data_type, expr_id=5_000 + i)
    for i, field in enumerate(SCHEMA.fields)
)
RANGES = {"y": (1890, 2090), "m": (0, 14), "d": (0, 33), "h": (-1, 25), "mi": (-1, 61)}
"""Columns of whole numbers, most of them in these ranges."""
SMALL = {"int": (0, 1, 2, -3, 7, 40), "string": ("", "a", "b", "ab", "é", "🙂x")}


def value_of(kind: DataType, chance: random.Random, small: bool) -> Any:
    """A value; `small` are those of which some are equal and few overflow."""
    if chance.random() < 0.12:
        return None
    match kind:
        case ArrayType(element_type=element):
            size = chance.choice((0, 1, 2, 2, 3, 5, 8))
            return [value_of(element, chance, small) for _ in range(size)]
        case MapType(key_type=key, value_type=item):
            keys = dict.fromkeys(chance.choices(SMALL[key.simple], k=chance.randrange(4)))
            return [(one, value_of(item, chance, small)) for one in keys]
        case StructType(fields=fields):
            return {f.name: value_of(f.data_type, chance, small) for f in fields}
    if small and kind.simple in SMALL:
        return chance.choice(SMALL[kind.simple])
    return _value(kind, chance)


def rows() -> pa.Table:
    chance = random.Random(7)
    found = {}
    for column in COLUMNS:
        values = [value_of(column.type_, chance, i % 4 != 0) for i in range(ROWS)]
        match column.name:
            case "many":
                values = [[chance.randrange(20) for _ in range(7 * (i % 12))] for i in range(ROWS)]
            case "sec":
                seconds = (0, 59_999_999, 60_000_000, 60_000_001, 61_000_000, -1, 1_500_000)
                values = [Decimal(chance.choice(seconds)).scaleb(-6) for _ in range(ROWS)]
            case "place":
                values = [chance.choice((None, 0, 1, 2, 3, -1, -2, -9, 9)) for _ in range(ROWS)]
            case name if name in RANGES:
                values = [
                    value if i % 9 == 0 else chance.randrange(*RANGES[name])
                    for i, value in enumerate(values)
                ]
        found[column.name] = pa.array(values, shown_type(kind_of(column.type_)))
    return pa.table(found)


DATA = Data(rows, COLUMNS)


def expression_of(text: str, *, ansi: bool) -> Expression:
    """An expression over the columns as the optimizer leaves it."""
    return expression_over(COLUMNS, text, ansi=ansi)


def expression_over(columns: Sequence[AttributeReference], text: str, *, ansi: bool) -> Expression:
    """An expression over some columns as the optimizer leaves it."""
    conf = Conf({"spark.sql.ansi.enabled": str(ansi).lower(), "spark.sql.session.timeZone": "UTC"})
    fields = tuple(StructField(column.name, column.type_) for column in columns)
    source = Source(name="events", schema=StructType(fields))
    with id_scope(itertools.count()):
        query = parse(f"SELECT {text} AS found FROM STREAM events", conf)
        plan = optimize(analyze(query, {"events": source}, conf), conf)
    (project,) = (node for node in plan.walk() if isinstance(node, Project))
    by_name = {column.name: column for column in columns}

    def own(node: Expression) -> Expression:
        return by_name[node.name] if isinstance(node, AttributeReference) else node

    return project.project_list[0].children[0].transform_up(own)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    yield own


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("topic", CASES)
def test_expressions(session: SparkSession, topic: str, ansi: bool, tmp_path: Path) -> None:
    expressions = [expression_of(text, ansi=ansi) for text in CASES[topic]]
    found = difference(session, expressions, tmp_path, ansi=ansi, data=DATA)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("topic", CASES)
def test_no_rows(topic: str) -> None:
    program = compile_program([expression_of(t, ansi=True) for t in CASES[topic]], COLUMNS)
    assert program is not None
    found = Evaluator(program).evaluate(DATA.batch.slice(0, 0))
    assert {len(column) for column in found} == {0}


def test_a_comparator_that_gives_null(session: SparkSession) -> None:
    """Java's sort gives the error in a wrapper of its own: only the condition is compared."""
    text = "array_sort(many, (l, r) -> if(l > r, CAST(NULL AS INT), 0))"
    program = compile_program([expression_of(text, ansi=True)], COLUMNS)
    assert program is not None
    short = DATA.batch.slice(1, 3)
    with pytest.raises(KernelError, match="COMPARATOR_RETURNS_NULL"):
        Evaluator(program).evaluate(short)
    with pytest.raises(Exception, match="COMPARATOR_RETURNS_NULL"):
        session.sql(f"SELECT {text} FROM VALUES (array(2, 1)), (array(1, 2)) AS t(many)").collect()
    with pytest.raises(KernelError, match="STATEPLAN_NOT_EXACT"):
        Evaluator(program).evaluate(DATA.batch.slice(9, 1))


def test_batches_of_many_rows() -> None:
    """Rows are computed in chunks, elements in chunks of their own."""
    texts = (
        "transform(ints, (e, i) -> coalesce(e, 0) % 7 + i + coalesce(b, 0) % 5)",
        "aggregate(others, 0L, (sum, e) -> sum + coalesce(e, 0))",
    )
    program = compile_program([expression_of(text, ansi=False) for text in texts], COLUMNS)
    assert program is not None
    places = np.random.default_rng(3).integers(0, ROWS, 70_000)
    found = Evaluator(program).evaluate(DATA.batch.take(pa.array(places)))
    for many, few in zip(found, Evaluator(program).evaluate(DATA.batch), strict=True):
        assert many == few.take(pa.array(places))


@pytest.mark.parametrize(
    ("text", "refuses"),
    [
        ("transform(ints, e -> e + 1)", False),
        ("transform(maps, e -> transform_keys(e, (k, v) -> upper(k)))", True),
        ("CAST(texts AS ARRAY<DECIMAL(10, 2)>)", True),
    ],
)
def test_a_program_tells_whether_it_refuses_values(text: str, refuses: bool) -> None:
    """Such a program is not run on Spark, which computes all."""
    program = compile_program([expression_of(text, ansi=True)], COLUMNS)
    assert program is not None and program.refuses_values == refuses
