"""Aggregate functions over groups and over nothing: compared as signatures of their own."""

from __future__ import annotations

import itertools

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import (
    AggregateExpression,
    AttributeReference,
    Expression,
)
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.logical import Aggregate
from stateplan.planner.model.schemas.types import StructField, StructType
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze
from stateplan.runtime.engines.signatures import Signature, signatures

from .cases import Case, without_ansi
from .columns import DECIMALS, NESTED, TYPES, column_of, conf_for, type_of

SEEDS = (
    "count(c)",
    "count(DISTINCT c)",
    "sum(c)",
    "sum(DISTINCT c)",
    "avg(c)",
    "min(c)",
    "max(c)",
    "first(c)",
    "last(c)",
    "first(c, true)",
    "last(c, true)",
    "any_value(c)",
    "collect_list(c)",
    "collect_set(c)",
    "stddev(c)",
    "stddev_pop(c)",
    "var_samp(c)",
    "var_pop(c)",
    "skewness(c)",
    "kurtosis(c)",
    "count_if(c)",
    "bool_and(c)",
    "bool_or(c)",
    "bit_and(c)",
    "bit_or(c)",
    "bit_xor(c)",
    "approx_count_distinct(c)",
    "max_by(c, k)",
    "min_by(c, k)",
    "max_by(k, c)",
    "percentile(c, 0.5)",
    "percentile_approx(c, 0.5)",
    "median(c)",
    "mode(c)",
    "corr(c, k)",
    "covar_samp(c, k)",
    "covar_pop(c, k)",
    "try_sum(c)",
    "try_avg(c)",
    "product(c)",
    "string_agg(c, ',')",
    "sum(c) FILTER (WHERE k > 0)",
    "count(c) FILTER (WHERE k > 0)",
    "min(c) FILTER (WHERE k > 0)",
    "avg(c) FILTER (WHERE k > 0)",
    "collect_list(c) FILTER (WHERE k > 0)",
    "count(1)",
    "grouping(c)",
)


def aggregate_cases() -> dict[bool, dict[Signature, Case]]:
    """Per ANSI mode the aggregates over columns of every type."""
    found: dict[bool, dict[Signature, Case]] = {True: {}, False: {}}
    for text, kind in itertools.product(SEEDS, (*TYPES, *DECIMALS, *NESTED)):
        for call in _aggregates(text, kind):
            for ansi, form in ((True, call), (False, without_ansi(call))):
                for signature in signatures(form):
                    found[ansi].setdefault(signature, Case(signature)).add(form)
    return found


def _aggregates(text: str, kind: str) -> list[Expression]:
    schema = StructType((StructField("c", type_of(kind)), StructField("k", type_of("int"))))
    conf = conf_for(ansi=True)
    try:
        with id_scope(itertools.count()):
            query = parse(f"SELECT {text} AS v FROM STREAM events", conf)
            plan = analyze(query, {"events": Source(name="events", schema=schema)}, conf)
    except StateplanError:
        return []
    found = [
        inner
        for node in plan.walk()
        if isinstance(node, Aggregate)
        for expression in node.expressions
        for inner in expression.walk()
        if isinstance(inner, AggregateExpression)
    ]
    return [call.transform_up(_over_data) for call in found]


def _over_data(node: Expression) -> Expression:
    return column_of(node.type_, 1) if isinstance(node, AttributeReference) else node
