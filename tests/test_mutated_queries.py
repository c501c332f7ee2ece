"""Texts and descriptions with something wrong in them end in a plan or in an error of ours."""

from __future__ import annotations

import pytest
from mutated_queries import case, outcome

import stateplan

EVENTS = {"events": "n INT, b BOOLEAN"}
COUNT = "The `{}` requires {} parameters but the actual number is {}."
SYNTAX = "Syntax error at or near {}. SQLSTATE: 42601 (line 1, pos {})"


def test_mutated_queries_end_in_a_plan_or_an_error_of_ours() -> None:
    assert [(seed, found) for seed in range(200) if (found := outcome(case(seed)))] == []


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
