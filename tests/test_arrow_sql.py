"""Expressions as users write them, computed by tasks, against a live Spark."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from arrow_cases import ROWS, _value
from arrow_comparison import Data, difference

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.expressions.core import AttributeReference, Expression
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.logical import Project
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import ArrayType, DataType, MapType, StructType
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.rules.optimization import optimize
from stateplan.runtime.kernels.expressions.kinds import kind_of
from stateplan.runtime.kernels.expressions.vectors import shown_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = parse_schema(
    "a INT, b INT, l BIGINT, s STRING, x DOUBLE, t TIMESTAMP, ints ARRAY<INT>, others ARRAY<INT>, "
    "longs ARRAY<BIGINT>, doubles ARRAY<DOUBLE>, texts ARRAY<STRING>, times ARRAY<TIMESTAMP>, "
    "days ARRAY<DATE>, decimals ARRAY<DECIMAL(7,2)>, flags ARRAY<BOOLEAN>, "
    "items ARRAY<STRUCT<k: INT, v: STRING>>, nested ARRAY<ARRAY<INT>>, "
    "maps ARRAY<MAP<STRING, INT>>, counts MAP<STRING, INT>, more MAP<STRING, INT>, "
    "names MAP<INT, STRING>, sums MAP<STRING, DOUBLE>, many ARRAY<INT>, "
    "y INT, m INT, d INT, h INT, mi INT, sec DECIMAL(16,6), place INT"
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


DATA = Data(rows(), COLUMNS)


def expression_of(text: str, *, ansi: bool) -> Expression:
    """An expression over the columns as the optimizer leaves it."""
    conf = Conf({"spark.sql.ansi.enabled": str(ansi).lower(), "spark.sql.session.timeZone": "UTC"})
    source = Source(name="events", schema=SCHEMA)
    with id_scope(itertools.count()):
        query = parse(f"SELECT {text} AS found FROM STREAM events", conf)
        plan = optimize(analyze(query, {"events": source}, conf), conf)
    (project,) = (node for node in plan.walk() if isinstance(node, Project))
    by_name = {column.name: column for column in COLUMNS}

    def own(node: Expression) -> Expression:
        return by_name[node.name] if isinstance(node, AttributeReference) else node

    return project.project_list[0].children[0].transform_up(own)


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    yield own


TRANSFORMS = (
    "transform(ints, e -> e + 1)",
    "transform(ints, e -> e * a)",
    "transform(ints, (e, i) -> e + i)",
    "transform(ints, (e, i) -> i)",
    "transform(ints, e -> e % a)",
    "transform(ints, e -> if(a <=> 0, -1, e % a))",
    "transform(ints, e -> CAST(e AS STRING) || s)",
    "transform(longs, e -> e + l)",
    "transform(longs, e -> CAST(e AS INT))",
    "transform(doubles, e -> e / 2)",
    "transform(doubles, (e, i) -> CAST(e AS STRING) || i)",
    "transform(texts, e -> upper(e))",
    "transform(texts, e -> CAST(e AS INT))",
    "transform(texts, e -> try_cast(e AS INT))",
    "transform(texts, e -> named_struct('t', e, 'n', length(e), 'a', a))",
    "transform(times, e -> date_trunc('HOUR', e))",
    "transform(times, e -> e + INTERVAL 1 HOUR)",
    "transform(days, e -> year(e))",
    "transform(days, e -> date_add(e, a))",
    "transform(decimals, e -> e * 2)",
    "transform(items, e -> e.v)",
    "transform(items, e -> e.k + a)",
    "transform(items, e -> to_json(e))",
    "transform(items, e -> struct(e.v AS x, e AS y, s AS z))",
    "transform(nested, e -> transform(e, f -> f + 1))",
    "transform(nested, (e, i) -> transform(e, (f, j) -> f + i * j + a))",
    "transform(nested, e -> filter(e, f -> f > b))",
    "transform(ints, e -> transform(others, f -> e + f))",
    "transform(ints, e -> array(e, a))",
    "transform(maps, e -> transform_values(e, (k, v) -> v + a))",
    "transform(ints, e -> 1)",
    "transform(ints, e -> CAST(NULL AS STRING))",
    "transform(split(s, 'a'), e -> trim(e))",
    "transform(array(a, b), e -> e + 1)",
    "transform(array(1, 2, 3), e -> e + a)",
)
FILTERS = (
    "filter(ints, e -> e > 1)",
    "filter(ints, e -> e IS NOT NULL)",
    "filter(ints, (e, i) -> i % 2 = 0)",
    "filter(texts, e -> e RLIKE '[a-b]+')",
    "filter(texts, e -> CAST(e AS INT) > 1)",
    "filter(items, e -> e.k > a AND e.v <> '')",
    "filter(nested, e -> exists(e, f -> f = 1))",
    "filter(doubles, e -> e > x)",
    "filter(flags, e -> e)",
    "filter(maps, e -> e IS NOT NULL)",
    "exists(ints, e -> e = a)",
    "exists(ints, e -> 10 % e = 1)",
    "exists(texts, e -> CAST(e AS INT) = 0)",
    "exists(texts, e -> contains(e, 'a'))",
    "exists(items, e -> e.k IS NULL)",
    "exists(flags, e -> e)",
    "forall(ints, e -> e > -3)",
    "forall(ints, e -> 10 % e >= 0)",
    "forall(flags, e -> e)",
    "forall(texts, e -> CAST(e AS INT) < 0)",
    "forall(ints, e -> exists(others, f -> f = e))",
)
AGGREGATES = (
    "aggregate(ints, 0, (acc, e) -> acc + e)",
    "aggregate(ints, 0L, (acc, e) -> acc + coalesce(e, 0))",
    "aggregate(ints, a, (acc, e) -> acc + e, acc -> acc * 10)",
    "aggregate(ints, 10 % a, (acc, e) -> acc + e)",
    "aggregate(ints, CAST(1 AS BIGINT), (acc, e) -> acc * e)",
    "reduce(longs, l, (acc, e) -> greatest(acc, e))",
    "aggregate(texts, '', (acc, e) -> acc || coalesce(e, '-'))",
    "aggregate(texts, s, (acc, e) -> concat(acc, ',', e), acc -> length(acc))",
    "aggregate(doubles, CAST(0 AS DOUBLE), (acc, e) -> acc + e)",
    "aggregate(items, 0, (acc, e) -> acc + e.k + a)",
    "aggregate(ints, CAST(NULL AS INT), (acc, e) -> coalesce(acc, 0) + 1)",
    "aggregate(ints, named_struct('n', 0, 'sum', 0L), (acc, e) -> "
    "named_struct('n', acc.n + 1, 'sum', acc.sum + coalesce(e, 0)), acc -> acc.sum / acc.n)",
    "aggregate(nested, 0, (acc, e) -> acc + aggregate(e, 0, (one, f) -> one + coalesce(f, a)))",
    "aggregate(filter(ints, e -> e > 0), 0, (acc, e) -> acc + e)",
    "aggregate(ints, true, (acc, e) -> acc AND e >= 0)",
    "zip_with(ints, others, (e, f) -> e + f)",
    "zip_with(ints, texts, (e, f) -> named_struct('e', e, 'f', f, 'a', a))",
    "zip_with(texts, texts, (e, f) -> e || f)",
    "zip_with(longs, doubles, (e, f) -> coalesce(e, 0) + f)",
    "zip_with(ints, transform(others, e -> 7 % e), (e, f) -> coalesce(e, f))",
)
MAPS = (
    "transform_values(counts, (k, v) -> v + a)",
    "transform_values(counts, (k, v) -> k || CAST(v AS STRING))",
    "transform_values(sums, (k, v) -> v / 2)",
    "transform_values(names, (k, v) -> k)",
    "transform_keys(counts, (k, v) -> upper(k) || '-' || length(k) || k)",
    "transform_keys(names, (k, v) -> k + 1)",
    "transform_keys(counts, (k, v) -> v)",
    "map_filter(counts, (k, v) -> v > 1)",
    "map_filter(counts, (k, v) -> k <> s)",
    "map_filter(names, (k, v) -> CAST(v AS INT) > k)",
    "map_filter(sums, (k, v) -> v > x)",
    "map_zip_with(counts, more, (k, v, w) -> coalesce(v, 0) + coalesce(w, 0))",
    "map_zip_with(counts, sums, (k, v, w) -> named_struct('k', k, 'v', v, 'w', w, 'a', a))",
    "map_zip_with(counts, map_filter(more, (k, v) -> v > 0), (k, v, w) -> k || a || v || w)",
)
SORTS = (
    "array_sort(ints, (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END)",
    "array_sort(ints, (l, r) -> coalesce(r, 0) - coalesce(l, 0))",
    "array_sort(ints, (l, r) -> if(l < r, -1, 1))",
    "array_sort(ints, (l, r) -> if(l <= r, -1, 1))",
    "array_sort(ints, (l, r) -> r - l)",
    "array_sort(ints, (l, r) -> -1)",
    "array_sort(ints, (l, r) -> 1)",
    "array_sort(ints, (l, r) -> hash(l, r))",
    "array_sort(texts, (l, r) -> length(coalesce(l, '')) - length(coalesce(r, '')))",
    "array_sort(texts, (l, r) -> CASE WHEN l IS NULL THEN 1 WHEN r IS NULL THEN -1 "
    "WHEN l < r THEN -1 WHEN l > r THEN 1 ELSE 0 END)",
    "array_sort(items, (l, r) -> CASE WHEN l.k < r.k THEN -1 WHEN l.k > r.k THEN 1 ELSE a END)",
    "array_sort(ints, (l, r) -> if(l = 2, CAST(NULL AS INT), 0))",
    "array_sort(many, (l, r) -> l % 5 - r % 5)",
    "array_sort(many, (l, r) -> if(l < r, 1, if(l = r, 0, -1)))",
    "array_sort(items)",
    "array_sort(nested)",
    "array_sort(doubles)",
    "array_sort(decimals)",
    "array_sort(times)",
    "sort_array(items)",
    "sort_array(nested, false)",
    "sort_array(texts, false)",
)


ARRAYS = (
    "size(ints)",
    "cardinality(counts)",
    "array_size(items)",
    "ints[place]",
    "texts[1]",
    "longs[l]",
    "get(ints, place)",
    "element_at(ints, if(place = 0, 1, place))",
    "element_at(texts, place)",
    "try_element_at(items, place)",
    "element_at(counts, s)",
    "counts['a']",
    "sums[s]",
    "names[a]",
    "array_contains(ints, a)",
    "array_contains(doubles, x)",
    "array_contains(texts, 'a')",
    "array_contains(nested, ints)",
    "map_contains_key(counts, s)",
    "array_position(ints, a)",
    "array_position(doubles, CAST('NaN' AS DOUBLE))",
    "array_remove(ints, 1)",
    "array_remove(doubles, 0.0D)",
    "array_remove(items, struct(1 AS k, 'a' AS v))",
    "array_max(items)",
    "array_min(nested)",
    "array_max(doubles)",
    "arrays_overlap(ints, others)",
    "arrays_overlap(doubles, array(x, 0.0D))",
    "arrays_overlap(nested, array(ints))",
    "array_distinct(ints)",
    "array_distinct(items)",
    "array_compact(texts)",
    "array_repeat(s, 3)",
    "array_repeat(ints, 2)",
    "array_repeat(a, -1)",
    "array_insert(ints, 2, a)",
    "array_insert(ints, -2, a)",
    "array_insert(ints, -1, a)",
    "array_insert(ints, 5, a)",
    "array_insert(ints, -6, a)",
    "array_insert(ints, 0, a)",
    "array_append(texts, s)",
    "array_prepend(items, named_struct('k', a, 'v', s))",
    "flatten(nested)",
    "flatten(transform(items, e -> array(e, e)))",
    "concat(ints, others, array(a))",
    "array_join(texts, ',')",
    "array_join(texts, '-', 'none')",
    "map_keys(counts)",
    "map_values(sums)",
    "map_entries(names)",
    "map_from_entries(items)",
    "map_from_entries(transform(ints, (e, i) -> struct(i, e)))",
    "map_concat(counts, map('z', a))",
    "map_concat(names, names)",
    "items.v",
    "slice(nested, 2, 2)",
)
PARTS = (
    "make_date(y, m, d)",
    "make_date(y, 2, 29)",
    "make_date(2024, m, d)",
    "make_date(a, 1, 1)",
    "make_timestamp(y, m, d, h, mi, sec)",
    "make_timestamp(y, 12, 31, h, mi, 60)",
    "make_timestamp(2024, 2, d, 0, 0, x)",
    "make_timestamp(a, 1, 1, 0, 0, 0)",
    "make_timestamp(y, m, d, h, mi, sec, 'America/New_York')",
    "make_timestamp_ntz(y, m, d, h, mi, sec)",
    "make_timestamp_ltz(y, m, d, 1, 1, sec)",
    "try_make_timestamp(y, m, d, h, mi, sec)",
    "try_make_timestamp_ntz(y, m, d, h, mi, sec)",
    "try_make_timestamp_ltz(y, m, d, h, mi, sec, 'Europe/Berlin')",
    "conv(s, 10, 16)",
    "conv(s, 16, 10)",
    "conv(CAST(l AS STRING), 10, -36)",
    "conv(CAST(l AS STRING), 10, 2)",
    "conv(hex(l), 16, -10)",
    "conv(s, 36, 37)",
    "conv(s || '18446744073709551615', 10, 7)",
    "conv(concat('-', abs(a)), 10, -8)",
)


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("texts", [TRANSFORMS, FILTERS, AGGREGATES, MAPS, SORTS, ARRAYS, PARTS])
def test_expressions(
    session: SparkSession, texts: tuple[str, ...], ansi: bool, tmp_path: Path
) -> None:
    expressions = [expression_of(text, ansi=ansi) for text in texts]
    found = difference(session, expressions, tmp_path, ansi=ansi, data=DATA)
    assert not found, "\n".join(found)
