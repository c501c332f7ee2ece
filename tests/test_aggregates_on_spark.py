"""Partial over batches, merged, then final: each aggregate equals Spark's over all rows."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from stateplan.planner.model.conf import Conf
from stateplan.planner.model.ddl import parse_type
from stateplan.planner.model.expressions import (
    AggregateExpression,
    AttributeReference,
    Call,
    Expression,
    Literal,
    lit,
)
from stateplan.planner.model.registry import find
from stateplan.planner.model.types import DOUBLE, StructType
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.lowering.columns import months
from stateplan.runtime.lowering.functions import Function, buffers_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Small domains with nulls, NaN, -0.0 and ties; key 3 has only nulls in many columns.
COLUMNS = {
    "i": "CASE WHEN k = 3 OR id % 5 = 0 THEN NULL ELSE CAST(hash(id) % 50 AS INT) END",
    "l": "CASE WHEN k = 3 OR id % 7 = 0 THEN NULL ELSE xxhash64(id) % 1000000007 END",
    "f": "CASE id % 11 WHEN 0 THEN NULL WHEN 1 THEN CAST('-0.0' AS FLOAT) WHEN 2 THEN 0F "
    "ELSE CAST(hash(id) % 9 / 4 AS FLOAT) END",
    "d": "CASE WHEN k = 3 OR id % 6 = 0 THEN NULL ELSE 1e3D + hash(id, 1) % 1000 / 7D END",
    "n": "CASE id % 9 WHEN 0 THEN double('NaN') WHEN 1 THEN -0.0D WHEN 2 THEN 0.0D WHEN 3 THEN NULL"
    " ELSE CAST(id % 4 AS DOUBLE) - 1 END",
    "m": "CASE WHEN k = 3 OR id % 8 = 0 THEN NULL ELSE CAST(hash(id) / 100 AS DECIMAL(12, 2)) END",
    "mm": "CASE WHEN k = 3 THEN NULL ELSE CAST(hash(id) / 7 AS DECIMAL(25, 6)) END",
    "big": "CAST(CAST(hash(id) AS DECIMAL(38, 0)) * 100000000000000000000 AS DECIMAL(38, 4))",
    "s": "CASE WHEN id % 5 = 1 THEN NULL ELSE concat('é', char(97 + id % 13), '\\u0000') END",
    "y": "CASE WHEN id % 4 = 1 THEN NULL ELSE unhex(hex(abs(hash(id)) % 300)) END",
    "o": "CASE WHEN k = 3 OR id % 3 = 0 THEN NULL ELSE id % 5 > 0 END",
    "t": "CASE WHEN id % 4 = 1 THEN NULL ELSE date_add(DATE'1969-12-01', CAST(id % 60 AS INT)) END",
    "ts": "timestamp_micros(hash(id))",
    "tn": "CAST(timestamp_micros(hash(id)) AS TIMESTAMP_NTZ)",
    "dt": "CASE WHEN k = 3 THEN NULL "
    "ELSE make_dt_interval(0, 0, CAST(id % 17 AS INT), hash(id) % 9) END",
    "ym": "CASE WHEN k = 3 THEN NULL "
    "ELSE make_ym_interval(CAST(id % 3 AS INT), CAST(hash(id) % 11 AS INT)) END",
    "r": "CASE WHEN id % 6 = 1 THEN NULL ELSE named_struct('a', if(id % 3 > 0, id % 2, NULL), 'b', "
    "CASE id % 5 WHEN 0 THEN double('NaN') WHEN 1 THEN NULL WHEN 2 THEN -0.0D ELSE 0D END) END",
    "a": "CASE WHEN id % 6 = 2 THEN NULL "
    "ELSE slice(array(id % 3, NULL, id % 2, 5), 1, CAST(id % 5 AS INT)) END",
    "mp": "map(concat('k', id % 3), id % 2)",
}
ORDERED = ["i", "l", "f", "d", "n", "m", "mm", "s", "y", "o", "t", "ts", "tn", "dt", "ym", "r", "a"]
ANY = [*ORDERED, "mp"]
LISTED = [column for column in ANY if column != "ym"]  # months have no Python form in lists


def calls(names: str, arguments: list[str]) -> list[str]:
    """Every function over every argument list."""
    return [f"{name}({given})" for name in names.split() for given in arguments]


CASES = [
    *calls("count", ["1", "i", "i, s"]),
    *calls("min max", ORDERED),
    *calls("collect_set", [column for column in LISTED if column != "mp"]),
    *calls("collect_list", LISTED),
    *calls("approx_count_distinct", ANY),
    *calls("first last", ANY + [f"{column}, true" for column in ANY]),
    *calls("any_value", ["i, true"]),
    *calls("approx_count_distinct", ["l, 0.3", "l, 0.1", "l, 0.02"]),
    *calls("max_by min_by", ["s, i", "i, r", "r, n"]),
    *calls("sum avg try_sum try_avg", [*"ilfdnm", "mm"]),
    *calls("sum avg try_sum", ["big", "dt", "ym"]),
    *calls("bit_and bit_or bit_xor", ["i", "l"]),
    *calls("bool_and bool_or every some any count_if", ["o"]),
    *calls("stddev stddev_samp std stddev_pop variance var_samp var_pop", ["d", "n"]),
    *calls("skewness kurtosis", ["d", "n"]),
    *calls("corr covar_samp covar_pop regr_r2 regr_sxx regr_sxy regr_syy", ["d, n", "d, d"]),
    *calls("regr_slope regr_intercept", ["d, n", "d, d"]),
    *calls("regr_count regr_avgx regr_avgy", ["d, i", "i, d"]),
    *calls("listagg string_agg", ["s, 'o''{}'", "s"]),
    *calls("percentile", ["i, 0.3", "d, 0.25", "m, 0.9", "n, 0.5", "f, 1.0", "i, 0.5, k"]),
    *calls("percentile_approx", ["i, 0.5", "d, 0.9", "m, 0.3"]),
    *calls("median", ["i", "d", "mm"]),
    *calls("mode", ["i, true", "s, true", "t, true"]),
]


def rows(spark: SparkSession) -> DataFrame:
    """600 rows of 5 keys in 6 batches, in one partition."""
    frame = spark.range(0, 600, 1, 1).selectExpr("id", "(id DIV 3) % 5 AS k", "id DIV 100 AS b")
    return frame.selectExpr("k", "b", *(f"{sql} AS {name}" for name, sql in COLUMNS.items()))


def resolved(text: str, schema: dict[str, AttributeReference], conf: Conf) -> Call:
    """The call that analysis makes of `name(column, constant)` and the optimizer leaves."""
    match = re.fullmatch(r"(\w+)\((.*)\)", text)
    assert match is not None
    name, given = match.groups()
    arguments = [_argument(part.strip(), schema) for part in given.split(", ")]
    spec = find(name)
    assert spec is not None
    call: Expression = Call(name=name, arguments=tuple(arguments), ansi=conf.ansi)
    assert isinstance(call, Call)
    if spec.check is not None:
        call = spec.check(call, conf)
    while isinstance(call, Call) and call.spec.replacement is not None:
        call = call.spec.replacement(call)
    assert isinstance(call, Call)
    return call


def _argument(text: str, schema: dict[str, AttributeReference]) -> Expression:
    if text in schema:
        return schema[text]
    if text == "true":
        return lit(True)
    if text.startswith("'"):
        return lit(text[1:-1].replace("''", "'"))
    return Literal(value=float(text), type_=DOUBLE) if "." in text else lit(int(text))


def in_steps(frame: DataFrame, texts: list[str], conf: Conf) -> dict[int, list[Any]]:
    """Each key's results: partial per batch, merged one after the other, then final."""
    kinds = parse_type(frame.schema.simpleString())
    assert isinstance(kinds, StructType)
    schema = {
        f.name: AttributeReference(name=f.name, type_=f.data_type, expr_id=i)
        for i, f in enumerate(kinds.fields)
    }
    functions = []
    for i, text in enumerate(texts):
        call = resolved(text, schema, conf)
        assert call.spec.forms is not None, text
        aggregate = AggregateExpression(function=call, result_id=1000 + i)
        functions.append(Function(i, aggregate, call.spec.forms(call)))
    named = frame.selectExpr("k", "b", *(f"{a.name} AS c{a.expr_id}" for a in schema.values()))
    columns = [c for f in functions for c in f.buffers]
    partial = named.groupBy("k", "b").agg(*_expressions(functions))
    table = partial.orderBy("k", "b").selectExpr("k", *(c.outward for c in columns)).toArrow()
    keys = table.column(0).to_numpy()
    buffers = buffers_of(functions)
    batch = pa.RecordBatch.from_arrays(
        [table.column(i + 1).combine_chunks().cast(f.type) for i, f in enumerate(buffers.schema)],
        schema=buffers.schema,
    )
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    counts = np.diff(np.append(starts, len(keys)))
    state = batch.take(pa.array(starts))
    for step in range(1, int(counts.max())):
        assert (counts > step).all(), "every key has rows in every batch"
        state = buffers.merge(state, batch.take(pa.array(starts + step)))
    emitted = buffers.finish(state)
    values = pa.table(
        [pa.array(keys[starts]), *emitted.columns], names=["k", *emitted.schema.names]
    )
    final = frame.sparkSession.createDataFrame(values)
    back = final.selectExpr("k", *(c.inward for f in functions for c in f.emitted))
    return _by_key(back.selectExpr("k", *(f.result for f in functions)))


def _expressions(functions: list[Function]) -> list[Any]:
    from pyspark.sql import functions as F

    return [F.expr(sql) for f in functions for sql in f.partials]


def _by_key(frame: DataFrame) -> dict[int, list[Any]]:
    shown = [
        months(name) if kind.startswith("interval year") else name for name, kind in frame.dtypes
    ]
    return {row[0]: list(row[1:]) for row in frame.selectExpr(*shown).collect()}


def same(left: Any, right: Any, text: str) -> bool:
    """Equal, with NaN equal to itself, sets in any order, floats but for their last digits."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        if text.startswith("collect_set"):
            left, right = sorted(left, key=repr), sorted(right, key=repr)
            text = ""
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, text) for a, b in pairs)
    return type(left) is type(right) and bool(left == right)


@pytest.mark.parametrize("ansi", [True, False])
def test_every_aggregate_equals_sparks(spark: SparkSession, ansi: bool) -> None:
    conf = Conf({"spark.sql.ansi.enabled": str(ansi).lower()})
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    frame = rows(session).cache()
    texts = CASES if ansi else [c for c in CASES if c.startswith(("sum", "avg", "try", "count"))]
    aggregates = [_aggregate(text, i) for i, text in enumerate(texts)]
    expected = _by_key(frame.groupBy("k").agg(*aggregates))
    found = in_steps(frame, texts, conf)
    frame.unpersist()
    wrong = [
        f"{text} of key {key}: {found[key][i]} instead of {values[i]}"
        for key, values in expected.items()
        for i, text in enumerate(texts)
        if not same(found[key][i], values[i], text)
    ]
    assert not wrong, "\n".join(wrong)


def _aggregate(text: str, position: int) -> Any:
    from pyspark.sql import functions as F

    return F.expr(text).alias(f"v{position}")


def test_approximate_counts_equal_sparks_from_two_to_sixty_thousand_values(
    spark: SparkSession,
) -> None:
    frame = spark.range(2, 1 << 17, 1, 1).selectExpr(
        "CAST(log2(id) AS BIGINT) AS k", "id % 2 AS b", "CAST(id AS STRING) AS v"
    )
    texts = [f"approx_count_distinct(v, {deviation})" for deviation in (0.39, 0.2, 0.05, 0.01)]
    aggregates = [_aggregate(text, i) for i, text in enumerate(texts)]
    expected = _by_key(frame.groupBy("k").agg(*aggregates))
    assert in_steps(frame, texts, Conf()) == expected


@pytest.mark.parametrize(
    ("text", "column", "condition"),
    [
        ("sum(v)", "if(b = 0, 9223372036854775807L, 1L)", "ARITHMETIC_OVERFLOW"),
        (
            "sum(v)",
            "if(b = 0, CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)), 1)",
            "ARITHMETIC_OVERFLOW",
        ),
        (
            "sum(v)",
            "make_dt_interval(if(b = 0, 106751990, 2), 5)",
            "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION",
        ),
        (
            "avg(v)",
            "CAST(12345678 AS DECIMAL(38, 30))",
            "NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
        ),
    ],
)
def test_overflow_says_what_spark_says(
    spark: SparkSession, text: str, column: str, condition: str
) -> None:
    from pyspark.errors import PySparkException

    frame = spark.range(0, 2, 1, 1).selectExpr("0 AS k", "id AS b", f"{column} AS v")
    with pytest.raises(KernelError) as ours:
        in_steps(frame, [text], Conf())
    assert ours.value.condition == condition
    with pytest.raises(PySparkException) as sparks:
        frame.groupBy("k").agg(_aggregate(text, 0)).collect()
    first_line = str(sparks.value).split("\n")[0]
    assert " ".join(ours.value.message.split()) == " ".join(first_line.split())


def test_overflow_is_null_where_spark_tolerates_it(spark: SparkSession) -> None:
    frame = spark.range(0, 3, 1, 1).selectExpr(
        "0 AS k",
        "id AS b",
        "if(id = 0, 9223372036854775807L, 1L) AS l",
        "if(id = 0, CAST('99999999999999999999999999999999999999' AS DECIMAL(38, 0)), -id) AS d",
        "make_dt_interval(if(id = 0, 106751990, 2), 5) AS v",
    )
    texts = [f"{name}({column})" for name in ("try_sum", "try_avg") for column in "ldv"]
    found = in_steps(frame, texts, Conf())
    expected = _by_key(frame.groupBy("k").agg(*(_aggregate(t, i) for i, t in enumerate(texts))))
    assert found == expected
