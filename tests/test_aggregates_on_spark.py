"""Each aggregate's forms give what Spark gives over all rows.

Two ways: Spark's partial results per batch, or the buffers of single rows folded per batch; then
merged batch after batch and finished. One run has a single batch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pytest

from stateplan.physical.aggregate import BaseAggregateExec
from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
    SortOrder,
    lit,
)
from stateplan.planner.model.functions.aggregate_forms import partial_over
from stateplan.planner.model.registry import find, lookup, names
from stateplan.planner.model.schemas.ddl import parse_type
from stateplan.planner.model.schemas.types import (
    DOUBLE,
    INT,
    LONG,
    ArrayType,
    StructType,
    YearMonthIntervalType,
)
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.spark_sql import spark_sql
from stateplan.runtime.arrow_types import arrow_schema, column_name
from stateplan.runtime.engines.kernels import buffers_of
from stateplan.runtime.kernels.aggregates.buffers import RowBuffers
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.plan.aggregation import row_buffers
from stateplan.runtime.plan.carried import months, plain
from stateplan.runtime.plan.specs import BufferedFunction, functions_of
from stateplan.runtime.state.rows import columns_of

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
    "z": "CASE WHEN k = 3 OR id % 5 = 0 THEN NULL ELSE abs(xxhash64(id) % 3000) END",
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
    *calls("max_by min_by", ["s, l, 3", "i, l, 2", "r, ts, 4", "a, l, 200"]),
    *calls("listagg string_agg", ["s, 'o''{}'", "s", "y"]),
    *calls("histogram_numeric", ["l, 200", "ts, 200"]),
    *calls("theta_sketch_agg", ["i", "l", "d", "n", "f", "s", "y"]),
    *calls("bitmap_and_agg bitmap_or_agg", ["y"]),
    *calls("bitmap_construct_agg", ["z"]),
    *calls("percentile", ["dt, 0.3"]),
    *calls("percentile", ["i, 0.3", "d, 0.25", "m, 0.9", "n, 0.5", "f, 1.0", "i, 0.5, k"]),
    *calls("percentile_approx", ["i, 0.5", "d, 0.9", "m, 0.3", "t, 0.4", "ts, 0.7", "dt, 0.2"]),
    *calls("median", ["i", "d", "mm", "dt"]),
    *calls("mode", ["i, true", "s, true", "t, true", "n, true", "r, true", "a, true"]),
    *calls("first_value last_value", ["i", "s, true"]),
    *calls("mean", ["i", "m"]),
    *calls("approx_percentile", ["i, 0.5"]),
]

Columns = dict[str, AttributeReference]
Build = Callable[[Columns], Call]


def _call(name: str, *arguments: Expression, options: tuple[object, ...] = ()) -> Call:
    return Call(name=name, arguments=arguments, options=options)


def _double(value: float) -> Literal:
    return Literal(value=value, type_=DOUBLE)


_SHARES = Literal(value=(0.0, 0.25, 1.0), type_=ArrayType(DOUBLE, False))

# What SQL writes otherwise than by a name and arguments, or not at all; `{f}` is a FILTER's place.
WRITTEN: dict[str, Build] = {
    "collect_list(i){f} RESPECT NULLS": lambda c: _call("collect_list", c["i"], options=(False,)),
    "collect_set(r){f} RESPECT NULLS": lambda c: _call("collect_set", c["r"], options=(False,)),
    "percentile(d, array(0D, 0.25D, 1D)){f}": lambda c: _call(
        "percentile", c["d"], _SHARES, lit(1)
    ),
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY d DESC){f}": lambda c: _call(
        "percentile", c["d"], _double(0.3), lit(1), options=(True,)
    ),
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY d){f}": lambda c: _call(
        "percentile_disc", c["d"], _double(0.3), options=(False,)
    ),
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY m DESC){f}": lambda c: _call(
        "percentile_disc", c["m"], _double(0.3), options=(True,)
    ),
    "percentile_approx(m, array(0D, 0.25D, 1D), 1000){f}": lambda c: _call(
        "percentile_approx", c["m"], _SHARES, lit(1000)
    ),
    "mode() WITHIN GROUP (ORDER BY i DESC){f}": lambda c: _call("mode", c["i"], options=(False,)),
    "mode() WITHIN GROUP (ORDER BY i){f}": lambda c: _call("mode", c["i"], options=(True,)),
    "listagg(s, '-') WITHIN GROUP (ORDER BY n DESC NULLS LAST, i){f}": lambda c: _call(
        "listagg",
        c["s"],
        lit("-"),
        SortOrder(child=c["n"], ascending=False, nulls_first=False),
        SortOrder(child=c["i"]),
    ),
    "string_agg(s, '-') WITHIN GROUP (ORDER BY r, a DESC NULLS FIRST){f}": lambda c: _call(
        "string_agg",
        c["s"],
        lit("-"),
        SortOrder(child=c["r"]),
        SortOrder(child=c["a"], ascending=False),
    ),
    "percentile_disc(0.3) WITHIN GROUP (ORDER BY dt){f}": lambda c: _call(
        "percentile_disc", c["dt"], _double(0.3), options=(False,)
    ),
    **{
        f"count_min_sketch({column}, 0.9D, {sure}D, {seed}){{f}}": partial(
            lambda column, sure, seed, c: _call(
                "count_min_sketch", c[column], _double(0.9), _double(sure), lit(seed)
            ),
            column,
            sure,
            seed,
        )
        for column, sure, seed in (("i", 0.5, 1), ("l", 0.9, 42), ("s", 0.9, 7), ("y", 0.7, 8))
    },
    "regr_sxx(d, d){f}": lambda c: _call("regrreplacement", c["d"]),
    "product(d){f}": lambda c: _call("product", c["d"]),
    "array(max(if(i <=> 1, d, NULL)){f}, max(if(i <=> NULL, d, NULL)){f})": lambda c: _call(
        "pivotfirst",
        c["i"],
        c["d"],
        options=(lit(1), Literal(value=None, type_=INT)),
    ),
}

# Planned, but not run: they have no merge.
UNMERGEABLE = [
    "kll_merge_agg_bigint",
    "kll_merge_agg_double",
    "kll_merge_agg_float",
    "kll_sketch_agg_bigint",
    "kll_sketch_agg_double",
    "kll_sketch_agg_float",
    "theta_intersection_agg",
    "theta_union_agg",
]


def rows(spark: SparkSession) -> DataFrame:
    """600 rows of 5 keys in 6 batches, in one partition."""
    frame = spark.range(0, 600, 1, 1).selectExpr("id", "(id DIV 3) % 5 AS k", "id DIV 100 AS b")
    return frame.selectExpr("k", "b", *(f"{sql} AS {name}" for name, sql in COLUMNS.items()))


def resolved(text: str, schema: dict[str, AttributeReference], conf: Conf) -> Call:
    """The call that analysis makes of `name(column, constant)` and the optimizer leaves."""
    if text in WRITTEN:
        return WRITTEN[text](schema)
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


def _functions(
    columns: Columns, texts: list[str], conf: Conf, *, kept: bool
) -> tuple[BufferedFunction, ...]:
    """The functions, where `kept` over the rows whose `l` is above 0."""
    condition = _call(">", columns["l"], Literal(value=0, type_=LONG)) if kept else None
    aggregates = [
        AggregateExpression(function=resolved(text, columns, conf), filter=condition)
        for text in texts
    ]
    return functions_of(cast(BaseAggregateExec, SimpleNamespace(aggregates=aggregates)))


def in_steps(
    frame: DataFrame, texts: list[str], conf: Conf, *, by_row: bool = False, kept: bool = False
) -> dict[int, list[Any]]:
    """Each key's results: partial per batch, merged one after the other, then final.

    Args:
        frame: rows with their key `k` and batch `b`, in one partition.
        texts: the aggregates.
        conf: the session's settings.
        by_row: Spark gives the buffers of single rows, and our kernels fold them per batch.
        kept: the aggregates have a FILTER.
    """
    kinds = parse_type(frame.schema.simpleString())
    assert isinstance(kinds, StructType)
    columns = {f.name: AttributeReference(name=f.name, type_=f.data_type) for f in kinds.fields}
    functions = _functions(columns, texts, conf, kept=kept)
    buffers = buffers_of(functions)
    named = frame.selectExpr("k", "b", *(f"{a.name} AS {column_name(a)}" for a in columns.values()))
    keys, batch = _from_rows(named, functions) if by_row else _from_spark(named, functions)
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    counts = np.diff(np.append(starts, len(keys)))
    state = batch.take(pa.array(starts))
    for step in range(1, int(counts.max())):
        assert (counts > step).all(), "every key has rows in every batch"
        state = buffers.merge(state, batch.take(pa.array(starts + step)))
    emitted = [plain(column) for function in functions for column in function.emitted]
    names = [column_name(part) for column in emitted for part in column.parts]
    values = pa.table([pa.array(keys[starts]), *buffers.finish(state).columns], ["k", *names])
    final = frame.sparkSession.createDataFrame(values)
    back = final.selectExpr("k", *(_named(c.restored, c.column) for c in emitted))
    results = (f.forms.final_over(f.emitted) for f in functions)
    return _by_key(back.selectExpr("k", *(f"{_sql(e)} AS v{i}" for i, e in enumerate(results))))


def _from_spark(named: DataFrame, functions: Sequence[BufferedFunction]) -> tuple[Any, Any]:
    """Keys and buffers of each key and batch, as Spark computes them."""
    from pyspark.sql import functions as F

    columns = [column for function in functions for column in function.travelling]
    values = [e for f in functions for e in partial_over(f.forms, f.aggregate.filter)]
    partials = [F.expr(_named(e, c)) for e, c in zip(values, columns, strict=True)]
    grouped = named.groupBy("k", "b").agg(*partials).orderBy("k", "b")
    table = grouped.selectExpr("k", *_parts(columns)).toArrow()
    buffers = buffers_of(functions)
    arrays = _arrays(table.select(range(1, table.num_columns)), buffers.travelling)
    rows = columns_of(arrays, buffers.travelling, table.num_rows)
    return table.column(0).to_numpy(), buffers.started(rows)


def _from_rows(named: DataFrame, functions: Sequence[BufferedFunction]) -> tuple[Any, Any]:
    """The same, folded from the buffers of single rows."""
    made, sources = row_buffers(functions)
    columns = [alias.to_attribute() for alias in made]
    rows = named.selectExpr("k", "b", *(_named(a, c) for a, c in zip(made, columns, strict=True)))
    table = rows.selectExpr("k", "b", *_parts(columns)).toArrow()
    keys, batches = (table.column(i).to_numpy() for i in (0, 1))
    order = np.lexsort((batches, keys))  # stable: rows stay in order
    table = table.take(pa.array(order))
    schema = arrow_schema(part for column in columns for part in plain(column).parts)
    arrays = _arrays(table.select(range(2, table.num_columns)), schema)
    buffers = buffers_of(functions)
    batch = RowBuffers(schema, sources).make(arrays, buffers.travelling, len(order))
    keys, batches = keys[order], batches[order]
    heads = np.append(True, (keys[1:] != keys[:-1]) | (batches[1:] != batches[:-1]))
    return keys[heads], buffers.gathered(batch, heads, of_rows=True)


def _sql(expression: Expression) -> str:
    return spark_sql(expression.child if isinstance(expression, Alias) else expression, column_name)


def _named(expression: Expression, column: AttributeReference) -> str:
    return f"{_sql(expression)} AS {column_name(column)}"


def _parts(columns: Sequence[AttributeReference]) -> list[str]:
    """The SQL of what travels for some columns."""
    carried = [plain(column) for column in columns]
    return [
        _named(value, part)
        for column in carried
        for value, part in zip(column.split(column.column), column.parts, strict=True)
    ]


def _arrays(table: Any, schema: Any) -> list[Any]:
    pairs = zip(table.columns, schema, strict=True)
    return [column.combine_chunks().cast(field.type) for column, field in pairs]


def _by_key(frame: DataFrame) -> dict[int, list[Any]]:
    interval = AttributeReference(name="", type_=YearMonthIntervalType())
    shown = [
        spark_sql(months(interval), lambda column, name=name: name)
        if kind.startswith("interval year")
        else name
        for name, kind in frame.dtypes
    ]
    return {row[0]: list(row[1:]) for row in frame.selectExpr(*shown).collect()}


_AT_ONCE = 60  # aggregates in one query

# Spark settles the sign of zero; of the others the order of rows decides.
_SIGNED = ("sum", "avg", "first", "last", "mode", "collect_set")


def same(left: Any, right: Any, text: str) -> bool:
    """Equal, with NaN equal to itself, sets in any order, floats but for their last digits."""
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        if text.startswith(_SIGNED) and left == right == 0:
            return math.copysign(1, left) == math.copysign(1, right)
        return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        if text.startswith("collect_set(") and isinstance(left, list):
            left, right = sorted(left, key=repr), sorted(right, key=repr)
            text = "collect_set of"
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(same(a, b, text) for a, b in pairs)
    return type(left) is type(right) and bool(left == right)


@pytest.mark.parametrize("mode", ["ansi", "lenient", "filtered"])
def test_every_aggregate_equals_sparks(spark: SparkSession, mode: str) -> None:
    ansi, kept = str(mode != "lenient").lower(), mode == "filtered"
    conf = Conf({"spark.sql.ansi.enabled": ansi})
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    # A class compiled per expression takes longer than all of these rows.
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    frame = rows(session).cache()
    if kept:  # what one batch brings meets no other state
        frame = frame.withColumn("b", frame.b * 0)
    chosen = [*CASES, *WRITTEN][:: 2 if kept else 1]
    if mode == "lenient":
        chosen = [c for c in CASES if c.startswith(("sum", "avg", "try", "count"))]
    wrong = []
    for start in range(0, len(chosen), _AT_ONCE):
        texts = chosen[start : start + _AT_ONCE]
        aggregates = [_aggregate(text, i, kept=kept) for i, text in enumerate(texts)]
        expected = _by_key(frame.groupBy("k").agg(*aggregates))
        for by_row in (False, True):
            found = in_steps(frame, texts, conf, by_row=by_row, kept=kept)
            wrong += [
                f"{text} of key {key}{' by rows' if by_row else ''}: {found[key][i]} "
                f"instead of {values[i]}"
                for key, values in expected.items()
                for i, text in enumerate(texts)
                if not same(found[key][i], values[i], text)
            ]
    frame.unpersist()
    assert not wrong, "\n".join(wrong)


def test_every_aggregate_that_merges_has_a_case() -> None:
    schema = {name: AttributeReference(name=name, type_=DOUBLE) for name in COLUMNS}
    covered = {text.partition("(")[0] for text in CASES}
    covered |= {build(schema).name for build in WRITTEN.values()}
    known = {name for name in names() if (spec := lookup(name)).forms or spec.replacement}
    aggregates = {name for name in known if lookup(name).kind == "aggregate"}
    missing = {lookup(name).name for name in aggregates} - {lookup(n).name for n in covered}
    # The bytes of an HLL sketch depend on its unions: scenarios compare it, batch by batch.
    elsewhere = {"percentile_cont", "hll_sketch_agg", "hll_union_agg"}
    assert sorted(missing - elsewhere) == sorted(UNMERGEABLE)
    for name in UNMERGEABLE:
        forms = lookup(name).forms
        assert forms is not None and not forms(_call(name, schema["y"])).mergeable


def _aggregate(text: str, position: int, *, kept: bool = False) -> Any:
    from pyspark.sql import functions as F

    if text.startswith("product"):
        column = F.product(F.expr("if(l > 0, d, NULL)" if kept else "d"))
    elif text in WRITTEN:
        column = F.expr(text.replace("{f}", " FILTER (WHERE l > 0)" if kept else ""))
    else:
        column = F.expr(f"{text} FILTER (WHERE l > 0)" if kept else text)
    return column.alias(f"v{position}")


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
    assert in_steps(frame, texts, Conf(), by_row=True) == expected


def test_percentiles_tell_the_two_zeros_apart(spark: SparkSession) -> None:
    """Where a map is large, its order of 0.0 and -0.0 is another one."""
    frame = spark.range(0, 6000, 1, 1).selectExpr(
        "CAST(id % 4 AS BIGINT) AS k",
        "id DIV 3000 AS b",
        "CASE pmod(hash(id), 3) WHEN 0 THEN -0.0D WHEN 1 THEN 0.0D "
        "ELSE if(id % 4 = 3, CAST(id AS DOUBLE), 1D) END AS v",
    )
    shares = (0.0, 0.2, 0.4, 0.5)
    texts = [f"percentile(v, {share})" for share in shares] + ["mode(v)"]
    expected = _by_key(frame.groupBy("k").agg(*(_aggregate(t, i) for i, t in enumerate(texts))))
    for by_row in (False, True):
        assert repr(in_steps(frame, texts, Conf(), by_row=by_row)) == repr(expected)


def test_the_mode_of_what_is_equally_frequent_is_the_first_in_sparks_hash_map(
    spark: SparkSession,
) -> None:
    frame = spark.range(0, 400, 1, 1).selectExpr(
        "id % 40 AS k",
        "id DIV 200 AS b",
        "concat('é', char(97 + pmod(hash(id), 9))) AS s",
        # 2 and 4 want the same place there: of these the one that came first would be the mode.
        "array(-7L, 0L, 1L, 3L, 5L, 10000000000L)[pmod(hash(id, 4), 6)] AS l",
        "CAST(pmod(hash(id, 1), 7) AS INT) AS i",
        "pmod(hash(id, 2), 6) / 4D AS v",
        "pmod(hash(id, 3), 2) = 0 AS o",
    )
    texts = ["mode(s)", "mode(l)", "mode(i)", "mode(v)", "mode(o)"]
    expected = _by_key(frame.groupBy("k").agg(*(_aggregate(t, i) for i, t in enumerate(texts))))
    for by_row in (False, True):
        assert in_steps(frame, texts, Conf(), by_row=by_row) == expected


_SKETCH = "0201070403000208862ff90dcbd7c204" + "00" * 24
"""An HLL sketch of 2^4 slots, of two values."""


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
        ("bitmap_construct_agg(v)", "32767L + b", "INVALID_BITMAP_POSITION"),
        ("hll_union_agg(v)", "X'0102'", "HLL_INVALID_INPUT_SKETCH_BUFFER"),
        (
            "hll_union_agg(v)",
            f"unhex(if(b = 0, '{_SKETCH}', '{_SKETCH.replace('070403', '070803')}'))",
            "HLL_UNION_DIFFERENT_LG_K",
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
    with pytest.raises(PySparkException) as sparks:
        frame.groupBy("k").agg(_aggregate(text, 0)).collect()
    first_line = str(sparks.value).split("\n")[0]
    # Merged batch by batch, or folded: all rows lie in one batch.
    for given, by_row in ((frame, False), (frame.withColumn("b", frame.k), True)):
        with pytest.raises(KernelError) as ours:
            in_steps(given, [text], Conf(), by_row=by_row)
        assert ours.value.condition == condition
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
    expected = _by_key(frame.groupBy("k").agg(*(_aggregate(t, i) for i, t in enumerate(texts))))
    assert in_steps(frame, texts, Conf()) == expected
    assert in_steps(frame.withColumn("b", frame.k), texts, Conf(), by_row=True) == expected
