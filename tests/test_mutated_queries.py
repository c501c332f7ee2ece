"""Texts and descriptions with something wrong in them end in a plan or in an error of ours."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from mutated_queries import case, outcome

import stateplan
from stateplan.planner.model import registry

EVENTS = {"events": "n INT, b BOOLEAN"}
COUNT = "The `{}` requires {} parameters but the actual number is {}."
SYNTAX = "Syntax error at or near {}. SQLSTATE: 42601 (line 1, pos {})"


def test_mutated_queries_end_in_a_plan_or_an_error_of_ours() -> None:
    assert [(seed, found) for seed in range(200) if (found := outcome(case(seed)))] == []


CONSTANTS = (
    *("1", "0", "-3", "7L", "2.5D", "1.25", "'abc'", "''", "'2024-01-31'", "'yyyy-MM-dd'", "true"),
    *("NULL", "array(1, 2)", "array('a', NULL)", "map('a', 1)", "named_struct('x', 1)", "X'0102'"),
    *("INTERVAL '1' DAY", "INTERVAL '2' MONTH", "'UTC'", "'MONTH'", "DOUBLE('NaN')", "1e30D"),
    *("TIMESTAMP '2024-03-05 06:07:08.123'", "DATE '2024-02-29'", "-2147483648", "'a,b'", "' '"),
    *("TIMESTAMP_NTZ '1960-01-01 00:00:00'", "9223372036854775807L", "CAST(NULL AS INT)"),
)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_calls_of_constants_end_in_a_plan_or_an_error_of_ours(ansi: str) -> None:
    chance = random.Random(f"constants {ansi}")
    named = [name for name in registry.names() if name.isidentifier()]
    for _ in range(400):
        given = ", ".join(chance.choices(CONSTANTS, k=chance.choice((1, 1, 2, 2, 2, 3, 3, 4, 6))))
        text = f"SELECT {chance.choice(named)}({given}) AS c FROM STREAM events"
        with suppress(stateplan.StateplanError):
            stateplan.sql(text, EVENTS, conf={"spark.sql.ansi.enabled": ansi}).explain()


@pytest.mark.parametrize(
    ("selected", "words"),
    [
        ("(SELECT *)", "Scalar subquery must return only one column, but got 0."),
        (".'2025-01-01'", SYNTAX.format("'.'", 7)),
        (".²", SYNTAX.format("'.'", 7)),
        (".5TS", SYNTAX.format("'.'", 7)),
        ("/*+ REBALANCE( , n) */ n", SYNTAX.format("','", 22)),
        ("/*+ REBALANCE(n, ) */ n", SYNTAX.format("')'", 24)),
        ("1e", "with name `1e` cannot be resolved"),
        ("transform((n, x) -> x)", COUNT.format("transform", 2, 1)),
        ("aggregate(array(n), x -> 1)", COUNT.format("aggregate", "[3, 4]", 2)),
        ("map_zip_with(map(1, 2), (k, v, w) -> 1)", COUNT.format("map_zip_with", 3, 2)),
        ("array_sort((x, y) -> 1)", "a lambda function to a parameter that does not accept it."),
        ("`in`()", "Failed preparing of the function `in` for call."),
        ("`and`(x, b, b)", "'Project [unresolvedalias('and('x, b"),
        ("`=`(x, 1, 2)", "'Project [unresolvedalias('`=`('x, 1, 2))]"),
        ("`like`(x)", "'Project [unresolvedalias('like('x))]"),
    ],
)
def test_calls_that_do_not_fit_are_refused_in_spark_s_words(selected: str, words: str) -> None:
    with pytest.raises(stateplan.StateplanError) as failure:
        stateplan.sql(f"SELECT {selected} FROM STREAM events", EVENTS).explain()
    assert words in f"{failure.value.message}\n{failure.value.tree}"


@pytest.mark.parametrize("column", ["x -> n", "x -> 1 AS n", "(x, y) -> x"])
def test_a_lambda_that_is_a_column_is_refused(column: str) -> None:
    """Spark ends in an internal error. The other side asks this one for its columns."""
    text = f"SELECT n FROM STREAM events UNION ALL SELECT {column} FROM STREAM events"
    with pytest.raises(stateplan.AnalysisError) as failure:
        stateplan.sql(text, EVENTS).explain()
    assert failure.value.condition == "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION"
