"""The engine groups rows before they are exchanged, where the batch before shows that it pays."""

from __future__ import annotations

from typing import Any

import pytest

from runtime_plan.queries import SCHEMAS, STORES, first_plan, text
from runtime_plan.small import tree
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.engines.embedded_exactness import EMBEDDED
from stateplan.runtime.plan import SPARK, BatchFacts, RuntimeNode
from stateplan.runtime.plan.facts import GROUPS, MANY, RECEIVED, TO_GROUP, Figures
from stateplan.runtime.plan.nodes import Aggregate, Kernel
from stateplan.runtime.plan.passes.group_first import group_first
from stateplan.runtime.plan.passes.read_files import read_files
from stateplan.runtime.plan.reading_nodes import ReadFiles

TYPES = {field.name: field.data_type for field in parse_schema(SCHEMAS["events"]).fields}
BY_USER = "SELECT user, sum(qty) AS s FROM STREAM events GROUP BY user"
GLOBAL = "SELECT count(*) AS n, max(qty + 1) AS m FROM STREAM events"
FEW_KEYS = MANY // TO_GROUP
SHRINKS = {RECEIVED: MANY, GROUPS: FEW_KEYS}


def facts(figures: dict[str, int] | None = None, **others: Any) -> BatchFacts:
    return BatchFacts(conf=STORES, figures={0: Figures.of(figures or {})}, **others)


def grouped(plan: RuntimeNode, known: BatchFacts) -> RuntimeNode:
    after = group_first(plan, known)
    assert group_first(after, known) is after
    assert after.output == plan.output
    return after


def below_kernel(plan: RuntimeNode) -> str:
    (kernel,) = plan.collect(Kernel)
    (rows,) = kernel.inputs
    return text(rows)


def test_groups_take_the_place_of_the_exchange() -> None:
    plan = first_plan(BY_USER, "update")
    assert below_kernel(plan) == tree("""
        Select [user#0, cast(qty#1 as bigint) AS sum#2L]
        +- Exchange by [user#0]
           +- Select [user#0, qty#1]
              +- Select [user#0, qty#1]
                 +- ReadSource events [user#0, ts#3, qty#1, price#4]
    """)
    assert below_kernel(grouped(plan, facts(SHRINKS))) == tree("""
        Select [user#0, sum#1L, rows#2L]
        +- Aggregate [user#0], [sum(qty#3) AS sum#1L, count(1) AS rows#2L]
           +- Select [user#0, qty#3]
              +- Select [user#0, qty#3]
                 +- ReadSource events [user#0, ts#4, qty#3, price#5]
    """)


def test_tasks_that_read_files_group_what_they_read() -> None:
    known = facts(SHRINKS, files={"events": TYPES})
    reading = read_files(first_plan(BY_USER, "update"), known)
    assert list(reading.collect(ReadFiles))
    assert grouped(reading, known) is reading


def test_groups_lie_where_spark_s_hash_of_their_keys_says() -> None:
    (groups,) = grouped(first_plan(BY_USER, "update"), facts(SHRINKS)).collect(Aggregate)
    assert groups.placed


def test_a_global_aggregate_always_is_grouped_first() -> None:
    after = grouped(first_plan(GLOBAL, "update"), facts())
    assert below_kernel(after) == tree("""
        Select [count#0L, max#1, rows#2L]
        +- Aggregate [], [count(1) AS count#0L, max((qty#3 + 1)) AS max#1, count(1) AS rows#2L]
           +- Select [qty#3]
              +- Select [qty#3]
                 +- ReadSource events [user#4, ts#5, qty#3, price#6]
    """)
    assert not next(iter(after.collect(Aggregate))).placed


@pytest.mark.parametrize(
    "figures",
    [
        pytest.param({}, id="nothing is known of the batch before"),
        pytest.param({RECEIVED: MANY - 1, GROUPS: 1}, id="a small batch"),
        pytest.param({RECEIVED: MANY, GROUPS: FEW_KEYS + 1}, id="rows hardly repeat keys"),
    ],
)
def test_rows_go_as_they_are(figures: dict[str, int]) -> None:
    plan = first_plan(BY_USER, "update")
    assert group_first(plan, facts(figures)) is plan


def test_an_engine_for_which_it_does_not_pay() -> None:
    plan = first_plan(GLOBAL, "update")
    assert group_first(plan, facts(SHRINKS, engine=EMBEDDED)) is plan
    assert group_first(plan, facts(SHRINKS, engine=SPARK)) is not plan


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT ON (user) user FROM STREAM events",
        "SELECT user, session_window(ts, '1 second') AS s, count(*) AS n FROM STREAM events "
        "WATERMARK ts DELAY OF INTERVAL 1 SECONDS GROUP BY 1, 2",
    ],
)
def test_what_depends_on_single_rows_is_not_grouped(sql: str) -> None:
    plan = first_plan(sql)
    assert group_first(plan, facts(SHRINKS)) is plan


def test_maps_are_not_grouped_by_the_engine() -> None:
    by_map = first_plan(
        "SELECT map(user, qty) AS m, count(*) AS n FROM STREAM events GROUP BY 1", "update"
    )
    assert group_first(by_map, facts(SHRINKS)) is by_map
