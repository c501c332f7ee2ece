"""Exchanges between a kernel and what would run it twice, or among other tasks than its own."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_plan.small import A, B, as_is, by, column, kernel, relation, select, source, text, tree
from stateplan.physical.basic import UnionExec
from stateplan.physical.distribution import HashPartitioning, RangePartitioning
from stateplan.physical.exchange import CoalesceExec, SampleExec, ShuffleExchangeExec, SortExec
from stateplan.physical.joins import CartesianProductExec
from stateplan.physical.plan import SparkPlan
from stateplan.planner.model.expressions.core import SortOrder
from stateplan.runtime.plan import BatchFacts, EngineFacts, RuntimeNode
from stateplan.runtime.plan.facts import FEW, STATE_ROWS, Figures
from stateplan.runtime.plan.nodes import Aggregate
from stateplan.runtime.plan.passes.protect_kernels import protect_kernels

ORDER = (SortOrder(child=A),)
FACTS = BatchFacts()
SORT = SortExec(child=relation(A), order=ORDER, is_global=True)
RANGE = ShuffleExchangeExec(
    child=relation(A), partitioning=RangePartitioning(3, ORDER), origin="REPARTITION_BY_NUM"
)
HASH = ShuffleExchangeExec(
    child=relation(A), partitioning=HashPartitioning(3, (A,)), origin="REPARTITION_BY_NUM"
)
SAMPLE = SampleExec(child=relation(A), lower=0.0, upper=0.5, with_replacement=False, seed=1)
COALESCE = CoalesceExec(child=relation(A), num_partitions=1)
PRODUCT = CartesianProductExec(left=relation(A), right=relation(B), join_type="Inner")


def protected(plan: RuntimeNode, facts: BatchFacts = FACTS) -> RuntimeNode:
    after = protect_kernels(plan, facts)
    assert protect_kernels(after, facts) is after
    return after


def rows() -> RuntimeNode:
    return select(kernel(by(A, child=source(A))), A)


def test_the_rows_of_little_state_are_sorted_by_one_task() -> None:
    assert text(protected(as_is(SORT, rows()))) == tree("""
        Sort [a#0 ASC NULLS FIRST], false, 0
        +- Exchange to one task
           +- Select [a#0]
              +- Kernel StreamingDeduplicate 0 (4 stores)
                 +- Exchange by [a#0]
                    +- ReadSource events [a#0]
    """)


def test_the_rows_of_much_state_are_sampled_behind_an_exchange() -> None:
    facts = BatchFacts(figures={0: Figures(), 1: Figures.of({STATE_ROWS: FEW + 1})})
    assert text(protected(as_is(SORT, rows()), facts)) == tree("""
        Sort [a#0 ASC NULLS FIRST], true, 0
        +- Exchange to any task
           +- Select [a#0]
              +- Kernel StreamingDeduplicate 0 (4 stores)
                 +- Exchange by [a#0]
                    +- ReadSource events [a#0]
    """)


@pytest.mark.parametrize("operator", [RANGE, COALESCE], ids=lambda one: one.node_name)
def test_an_operator_that_reads_in_its_own_way_gets_an_exchange(operator: SparkPlan) -> None:
    first, *rest = text(protected(as_is(operator, rows()))).split("\n")
    assert first.startswith(operator.node_name)
    assert rest[:2] == ["+- Exchange to any task", "   +- Select [a#0]"]


def test_each_input_of_a_union_with_a_kernel_gets_an_exchange() -> None:
    union = UnionExec(inputs=(relation(A), relation(B)), attributes=(A,))
    assert text(protected(as_is(union, rows(), source(B, name="others")))) == tree("""
        Union
        :- Exchange to any task
        :  +- Select [a#0]
        :     +- Kernel StreamingDeduplicate 0 (4 stores)
        :        +- Exchange by [a#0]
        :           +- ReadSource events [a#0]
        +- ReadSource others [b#1]
    """)


def test_a_product_reads_each_side_once() -> None:
    plan = protected(as_is(PRODUCT, rows(), source(B, name="others")))
    assert [child.node_name for child in plan.children] == ["Exchange", "ReadSource"]


AGGREGATE = Aggregate(child=rows(), keys=(A,), aggregates=())


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(as_is(SORT, source(A)), id="no kernel below"),
        pytest.param(as_is(SORT, by(A, child=rows())), id="an exchange between"),
        pytest.param(as_is(SORT, as_is(HASH, rows())), id="an exchange of the user's between"),
        pytest.param(as_is(SORT, AGGREGATE), id="a grouping between, which exchanges"),
        pytest.param(as_is(SAMPLE, rows()), id="a random part, of each partition by itself"),
        pytest.param(as_is(HASH, rows()), id="an exchange by hash, which samples nothing"),
        pytest.param(
            as_is(SortExec(child=relation(A), order=ORDER, is_global=False), rows()),
            id="a sort of each partition",
        ),
    ],
)
def test_nothing_is_put_where_a_kernel_runs_once_anyway(plan: RuntimeNode) -> None:
    assert protect_kernels(plan, FACTS) is plan


@pytest.mark.parametrize("operator", [SORT, RANGE], ids=lambda one: one.node_name)
def test_an_engine_that_repeats_nothing_needs_no_exchange(operator: Any) -> None:
    plan = as_is(operator, rows())
    facts = BatchFacts(engine=EngineFacts(name="once", repeats=False))
    assert protect_kernels(plan, facts) is plan


def test_kernels_in_both_inputs() -> None:
    other = column("c")
    union = UnionExec(inputs=(relation(A), relation(other)), attributes=(A,))
    plan = protected(as_is(union, rows(), kernel(source(other), operator_id=1)))
    assert [child.node_name for child in plan.children] == ["Exchange", "Exchange"]
