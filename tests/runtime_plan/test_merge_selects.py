"""Two selects that stand on each other become one, where nothing is then computed twice."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_plan.small import A, B, attribute, by, call, named, plus, select, source, text, tree
from stateplan.planner.model.expressions.core import Call, GetStructField, SortOrder, lit
from stateplan.planner.model.expressions.windows import WindowExpression
from stateplan.planner.model.tree import replace
from stateplan.runtime.plan import BatchFacts, RuntimeNode
from stateplan.runtime.plan.passes.merge_selects import merge_selects


def merged(plan: RuntimeNode) -> str:
    after = merge_selects(plan, BatchFacts())
    assert after.output == plan.output
    assert merge_selects(after, BatchFacts()) is after
    return text(after)


DOUBLED = named(call("*", A, lit(2)), "d")
D = attribute(DOUBLED)
NAMED = named(A, "n")
N = attribute(NAMED)
RANDOM = named(call("rand", lit(7)), "r")
R = attribute(RANDOM)


def test_an_expression_takes_the_place_of_its_column() -> None:
    plan = select(select(source(), DOUBLED, B), named(plus(D, 1), "x"), B)
    assert merged(plan) == tree("""
        Select [((a#0 * 2) + 1) AS x#1, b#2]
        +- ReadSource events [a#0, b#2]
    """)


def test_three_selects_become_one() -> None:
    plan = select(select(select(source(), DOUBLED, B), D, B), named(plus(D, 1), "x"))
    assert merged(plan) == tree("""
        Select [((a#0 * 2) + 1) AS x#1]
        +- ReadSource events [a#0, b#2]
    """)


def test_conditions_above_come_behind_those_below() -> None:
    below = select(source(), DOUBLED, B, where=[call(">", B, lit(0))])
    plan = select(below, B, where=[call("<", D, lit(9))])
    assert merged(plan) == tree("""
        Select [b#0] where (b#0 > 0) AND ((a#1 * 2) < 9)
        +- ReadSource events [a#1, b#0]
    """)


def test_a_column_under_another_name_may_be_used_twice() -> None:
    plan = select(select(source(), NAMED), named(plus(N, 1), "x"), named(plus(N, 2), "y"))
    assert merged(plan) == tree("""
        Select [(a#0 + 1) AS x#1, (a#0 + 2) AS y#2]
        +- ReadSource events [a#0, b#3]
    """)


@pytest.mark.parametrize("twice", [("columns",), ("columns", "where")], ids=["columns", "where"])
def test_what_is_used_twice_is_computed_once(twice: Any) -> None:
    below = select(source(), DOUBLED)
    if "where" in twice:
        plan = select(below, D, where=[call(">", D, lit(1))])
    else:
        plan = select(below, D, named(plus(D, 1), "x"))
    assert merge_selects(plan, BatchFacts()) is plan


def test_a_random_value_is_picked() -> None:
    plan = select(select(source(), RANDOM, DOUBLED), R)
    assert merged(plan) == tree("""
        Select [rand(7) AS r#0]
        +- ReadSource events [a#1, b#2]
    """)


@pytest.mark.parametrize("filtered", [False, True])
def test_a_random_value_stays_below_what_looks_at_it(filtered: bool) -> None:
    below = select(source(), RANDOM, A)
    if filtered:  # fewer rows would give other values
        plan = select(below, R, where=[call(">", A, lit(0))])
    else:
        plan = select(below, named(plus(R, 1), "x"))
    assert merge_selects(plan, BatchFacts()) is plan


@pytest.mark.parametrize("above", [True, False])
def test_a_function_over_other_rows_stays_where_it_is(above: bool) -> None:
    rank = Call(name="row_number")
    over = WindowExpression(function=rank, partition_by=(B,), order_by=(SortOrder(child=A),))
    ranked = named(over, "place")
    if above:
        plan = select(select(source(), A, B, where=[call(">", A, lit(0))]), A, B, ranked)
    else:
        plan = select(select(source(), A, B, ranked), A, where=[call(">", A, lit(0))])
    assert merge_selects(plan, BatchFacts()) is plan


def test_a_field_of_a_struct_that_is_made_on_the_spot() -> None:
    made = named(call("named_struct", lit("x"), plus(A, 1), lit("y"), B), "s")
    field = GetStructField(child=attribute(made), ordinal=0, name="x")
    plan = select(select(source(), made), named(field, "x"))
    assert merged(plan) == tree("""
        Select [(a#0 + 1) AS x#1]
        +- ReadSource events [a#0, b#2]
    """)


def test_a_map_that_holds_no_null_by_the_conditions_below_keeps_its_type() -> None:
    known = replace(A, is_nullable=False)
    keeps = call("isnotnull", A)
    one = named(call("map", lit("k"), known), "m")
    assert merged(select(select(source(), A, where=[keeps]), one)) == tree("""
        Select [map(k, a#0) AS m#1] where isnotnull(a#0)
        +- ReadSource events [a#0, b#2]
    """)
    sums = replace(D, is_nullable=False)
    two = named(call("map", lit("k"), sums), "m")
    plan = select(select(source(), DOUBLED, where=[keeps]), two)
    assert merge_selects(plan, BatchFacts()) is plan


def test_a_select_that_changes_nothing_goes() -> None:
    assert merged(select(source(), A, B)) == "ReadSource events [a#0, b#1]"


def test_a_select_of_another_order_of_columns_stays() -> None:
    plan = select(source(), B, A)
    assert merge_selects(plan, BatchFacts()) is plan


def test_selects_on_both_sides_of_an_exchange_stay() -> None:
    plan = select(by(A, child=select(source(), A)), NAMED)
    assert merge_selects(plan, BatchFacts()) is plan
