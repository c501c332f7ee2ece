"""Each row's place and hash as columns, on an engine that has Spark's hashes."""

from __future__ import annotations

from runtime_plan.small import (
    ORIGIN,
    TS,
    USER,
    A,
    as_is,
    by,
    kernel,
    relation,
    source,
    text,
    tree,
)
from stateplan.physical.exchange import SortExec
from stateplan.planner.model.expressions.core import SortOrder
from stateplan.runtime.engines.embedded_exactness import EMBEDDED
from stateplan.runtime.plan import BatchFacts, RuntimeNode
from stateplan.runtime.plan.nodes import Kernel
from stateplan.runtime.plan.passes.place_rows import place_rows

FACTS = BatchFacts()


def placed(plan: RuntimeNode) -> RuntimeNode:
    after = place_rows(plan, FACTS)
    assert place_rows(after, FACTS) is after
    assert after.output == plan.output
    return after


def test_rows_get_spark_s_hashes_of_their_keys() -> None:
    assert text(placed(kernel(by(USER, child=source(USER, TS))))) == tree("""
        Kernel StreamingDeduplicate 0 (4 stores)
        +- Select [hash(user#0, 42) AS __place#1, xxhash64(user#0, 42) AS __hash#2L, user#0, ts#3]
           +- Exchange by [user#0]
              +- ReadSource events [user#0, ts#3]
    """)


def test_where_all_rows_are_in_one_task_there_is_one_place() -> None:
    assert text(placed(kernel(source(USER), single=True))) == tree("""
        Kernel StreamingDeduplicate 0 (4 stores)
        +- Select [0 AS __place#0, 0 AS __hash#1L, user#2]
           +- ReadSource events [user#2]
    """)


def test_the_partition_that_a_row_was_read_in_travels_in_the_place() -> None:
    plan = kernel(source(A, ORIGIN), origin=ORIGIN)
    place = "(shiftleft(cast(hash(a#0, 42) as bigint), 32) | cast(origin#1L as bigint)) AS __place"
    assert text(placed(plan)).split("\n")[1:] == [
        f"+- Select [{place}#2L, xxhash64(a#0, 42) AS __hash#3L, a#0]",
        "   +- ReadSource events [a#0, origin#1L]",
    ]


def test_every_kernel_of_a_chain_gets_its_own() -> None:
    sort = SortExec(child=relation(A), order=(SortOrder(child=A),), is_global=False)
    below = as_is(sort, kernel(source(A), operator_id=1))
    plan = placed(kernel(below))
    assert [node.placed for node in plan.collect(Kernel)] == [True, True]
    assert text(plan).count("__place") == 2


def test_an_engine_without_these_hashes_leaves_it_to_ours() -> None:
    plan = kernel(by(USER, child=source(USER, TS)))
    assert place_rows(plan, BatchFacts(engine=EMBEDDED)) is plan


def test_rows_without_a_kernel_need_no_place() -> None:
    plan = by(A, child=source(A))
    assert place_rows(plan, FACTS) is plan
