"""Aggregates of how often each value occurs: percentiles, median, mode; and ordered lists.

Their state is what Spark's is: each value with its count (Spark keeps a hash map). The results are
computed from it by Spark, in SQL over an array of such pairs.
"""

from __future__ import annotations

from ..expressions import Call, Expression, Literal, SortOrder
from ..registry import AggregateForms, Buffer, Merge
from ..spark_sql import spark_sql, type_sql
from ..types import (
    BINARY,
    LONG,
    ArrayType,
    DataType,
    NumericType,
    StringType,
    StructField,
    StructType,
)
from .aggregates_common import first_type, planned_only

_BUFFER = Buffer("buf", BINARY)
_PLANNED = planned_only(_BUFFER)


def _counted(data_type: DataType) -> DataType:
    """The buffer's type: values with their counts."""
    return ArrayType(StructType((StructField("v", data_type), StructField("n", LONG))), False)


def _forms(call: Call, count: str, final: str) -> AggregateForms:
    pair = f"named_struct('v', {{0}}, 'n', {count})"
    used = f"{{0}} IS NOT NULL AND {count} > 0"
    return AggregateForms(
        buffers=(Buffer("buf", _counted(first_type(call))),),
        partial=(f"collect_list(CASE WHEN {used} THEN {pair} END)",),
        merges=(Merge("counts", (0,)),),
        final=final,
        plan=(_BUFFER,),
    )


def _constant(expression: Expression) -> str:
    """A constant argument in SQL, as a part of a format."""

    def unknown(column: object) -> str:
        raise TypeError(f"{column} is no constant")

    return spark_sql(expression, unknown).replace("{", "{{").replace("}", "}}")


def _let(name: str, value: str, body: str) -> str:
    """The SQL of something over a name for the value of something else."""
    return f"element_at(transform(array({value}), {name} -> {body}), 1)"


def _over_pairs(body: str) -> str:
    """`body` over `x.s`, the pairs in order, and `x.n`, how many values there are; else null."""
    pairs = f"named_struct('s', {_sorted()}, 'n', aggregate({{b0}}, 0L, (a, e) -> a + e.n))"
    return _let("x", pairs, f"CASE WHEN x.n > 0 THEN {body} END")


def _sorted() -> str:
    return "array_sort({b0})"


def _at(index: str, data_type: str) -> str:
    """The value at a position among all values in order."""
    start = f"named_struct('c', 0L, 'v', CAST(NULL AS {data_type}))"
    step = f"named_struct('c', a.c + e.n, 'v', CAST(e.v AS {data_type}))"
    return f"aggregate(x.s, {start}, (a, e) -> IF(a.c > {index}, a, {step})).v"


def _per_share(call: Call, body: str) -> str:
    """`body` over the share `p`; an array of it if there are several shares."""
    shares = call.arguments[1]
    several = isinstance(shares.data_type, ArrayType)
    given = _constant(shares) if several else f"array({_constant(shares)})"
    each = f"transform({given}, p -> {body})"
    return _over_pairs(each if several else f"element_at({each}, 1)")


# --------------------------------------------------------------------------------- percentiles


def _is_supported(call: Call) -> bool:
    numeric = isinstance(first_type(call), NumericType)
    return numeric and all(a.foldable for a in call.arguments[1:2])


def percentile_forms(call: Call) -> AggregateForms:
    """`percentile(value, share, frequency)`: between the two nearest values, weighted."""
    if not _is_supported(call):
        return _PLANNED
    low, high = _at("floor(q)", "DOUBLE"), _at("ceil(q)", "DOUBLE")
    between = f"(ceil(q) - q) * {low} + (q - floor(q)) * {high}"
    value = f"CASE WHEN floor(q) = ceil(q) OR {low} = {high} THEN {low} ELSE {between} END"
    place = "p * (x.n - 1)"
    frequency = "CAST({2} AS BIGINT)" if len(call.arguments) > 2 else "1L"
    return _forms(call, frequency, _downwards(call, _per_share(call, _let("q", place, value))))


def discrete_forms(call: Call) -> AggregateForms:
    """`percentile_disc`: the first value that so large a share of all is not above."""
    if not _is_supported(call):
        return _PLANNED
    value = _at("greatest(ceil(p * x.n) - 1, 0L)", "DOUBLE")
    return _forms(call, "1L", _downwards(call, _per_share(call, value)))


def _downwards(call: Call, sql: str) -> str:
    """The same with the values in descending order, if WITHIN GROUP says so."""
    reverse = bool(call.options and call.options[0])
    return sql.replace(_sorted(), f"reverse({_sorted()})") if reverse else sql


def approximate_forms(call: Call) -> AggregateForms:
    """`percentile_approx(value, share, accuracy)`, without an error.

    Spark's sketch has none either up to half as many values as the accuracy says.
    """
    accuracy = call.arguments[2]
    if not (_is_supported(call) and isinstance(accuracy, Literal)):
        return _PLANNED
    error = f"1.0D / {_constant(accuracy)}"
    data_type = type_sql(first_type(call))
    rank = f"CASE WHEN p <= {error} THEN 0L WHEN p >= 1 - {error} THEN x.n - 1 ELSE "
    value = _at(f"({rank} greatest(ceil(p * x.n) - 1, 0L) END)", data_type)
    return _forms(call, "1L", _per_share(call, value))


# ----------------------------------------------------------------------------------------- mode


def mode_forms(call: Call) -> AggregateForms:
    """`mode(value)`: of values that occur equally often the lowest, or the highest if asked."""
    data_type = type_sql(first_type(call))
    highest = bool(call.options) and not call.options[0]
    null = f"CAST(NULL AS {data_type})"
    start = f"named_struct('v', {null}, 'n', 0L, 'bv', {null}, 'bn', 0L)"
    # Equal values stand together.
    count = "IF(a.v <=> e.v, a.n, 0L) + e.n"
    better = f"({count} {'>=' if highest else '>'} a.bn)"
    step = (
        f"named_struct('v', e.v, 'n', {count}, 'bv', IF({better}, e.v, a.bv), "
        f"'bn', IF({better}, {count}, a.bn))"
    )
    return _forms(call, "1L", f"aggregate({_sorted()}, {start}, (a, e) -> {step}).bv")


# -------------------------------------------------------------------------------- ordered lists


def listagg_forms(call: Call) -> AggregateForms:
    """`listagg(value, separator)`, of strings; WITHIN GROUP's order follows as arguments."""
    value, separator, *order = call.arguments
    if not (isinstance(separator, Literal) and isinstance(call.data_type, StringType)):
        return _PLANNED
    between = (
        _constant(Literal(value=separator.value or "", type_=separator.type_))
        if (separator.value is not None)
        else "''"
    )
    orders = [o for o in order if isinstance(o, SortOrder)]
    texts, element = "{b0}", value.data_type
    collected = "collect_list({0})"
    if orders:
        keys = "".join(f", 'k{i}', {{{i + 2}}}" for i in range(len(orders)))
        pair = f"named_struct('v', {{0}}{keys})"
        collected = f"collect_list(CASE WHEN {{0}} IS NOT NULL THEN {pair} END)"
        fields = [StructField(f"k{i}", o.data_type) for i, o in enumerate(orders)]
        element = StructType((StructField("v", value.data_type), *fields))
        texts = f"transform(array_sort({{b0}}, (a, b) -> {_comparison(orders)}), e -> e.v)"
    return AggregateForms(
        buffers=(Buffer("buf", ArrayType(element, False)),),
        partial=(collected,),
        merges=(Merge("concat", (0,)),),
        final=f"CASE WHEN cardinality({{b0}}) > 0 THEN array_join({texts}, {between}) END",
        plan=(_BUFFER,),
    )


def _comparison(orders: list[SortOrder]) -> str:
    """-1, 0 or 1 for two elements `a` and `b`; the sort is stable."""
    branches = []
    for i, order in enumerate(orders):
        nulls, other = ("-1", "1") if order.nulls_first else ("1", "-1")
        below, above = ("-1", "1") if order.ascending else ("1", "-1")
        branches.append(
            f"WHEN NOT a.k{i} <=> b.k{i} THEN CASE WHEN a.k{i} IS NULL THEN {nulls} "
            f"WHEN b.k{i} IS NULL THEN {other} WHEN a.k{i} < b.k{i} THEN {below} ELSE {above} END"
        )
    return f"CASE {' '.join(branches)} ELSE 0 END"
