"""The tasks of a kernel read files themselves where our own code computes all that is between."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from runtime_plan.queries import ALL_EXACT, SCHEMAS, STORES, USERS, WATERMARK, first_plan, text
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.schemas.types import STRING
from stateplan.runtime.plan import SPARK, BatchFacts, RuntimeNode
from stateplan.runtime.plan.facts import GROUPS, RECEIVED, Figures, Reader
from stateplan.runtime.plan.nodes import Kernel
from stateplan.runtime.plan.passes.count_rows import count_rows
from stateplan.runtime.plan.passes.read_files import MOST_TASKS, read_files
from stateplan.runtime.plan.passes.read_needed import read_needed
from stateplan.runtime.plan.reading_nodes import ReadFiles

TYPES = {field.name: field.data_type for field in parse_schema(SCHEMAS["events"]).fields}
BY_USER = "SELECT user, count(*) AS n FROM STREAM events GROUP BY user"


def facts(tasks: int = 2, **types: Any) -> BatchFacts:
    return BatchFacts(conf=STORES, tasks=tasks, files={"events": {**TYPES, **types}})


def below_kernel(plan: RuntimeNode, known: BatchFacts) -> str:
    with id_scope(itertools.count(1000)):
        after = read_files(plan, known)
    assert read_files(after, known) is after
    assert after.output == plan.output
    (kernel,) = after.collect(Kernel)
    (rows,) = kernel.inputs
    return text(rows)


def test_conditions_and_computed_keys_are_read() -> None:
    sql = "SELECT upper(user) AS u, sum(qty) AS s FROM STREAM events WHERE price > 1 GROUP BY 1"
    (line,) = below_kernel(first_plan(sql, "update"), facts()).split("\n")
    assert line == (
        "ReadFiles events [upper(user#0) AS _groupingexpression#1, cast(qty#2 as bigint) AS sum#3L]"
        " where isnotnull(price#4) AND (price#4 > 1.0), "
        "placed by [upper(user#0) AS _groupingexpression#1]"
    )


def test_event_times_are_observed_before_what_is_filtered_above_the_watermark() -> None:
    sql = f"SELECT DISTINCT ON (user) user, ts FROM {WATERMARK} WHERE ts > TIMESTAMP '2026-01-01'"
    (line,) = below_kernel(first_plan(sql), facts()).split("\n")
    assert "observing ts" in line and line.startswith("ReadFiles events [user#0, ts#1")


def test_a_table_of_files_is_looked_up() -> None:
    sql = (
        "SELECT coalesce(country, user) AS c, count(*) AS n FROM STREAM events "
        "LEFT JOIN users USING (user) WHERE qty > 1 GROUP BY 1"
    )
    users = {field.name: field.data_type for field in parse_schema(USERS).fields}
    known = BatchFacts(conf=STORES, tasks=2, files={"events": TYPES, "users": users})
    (line,) = below_kernel(first_plan(sql, "update"), known).split("\n")
    assert line == (
        "ReadFiles events [coalesce(country#0, user#1) AS _groupingexpression#2], looking up "
        "[user#1 AS key#3] where isnotnull(qty#4) AND (qty#4 > 1) in users [user#5 AS key#6] "
        "where isnotnull(user#5) for [country#0], LeftOuter, placed by "
        "[coalesce(country#0, user#1) AS _groupingexpression#2]"
    )


def test_with_many_tasks_rows_are_dealt_out_where_tasks_are_in_many_processes() -> None:
    for tasks, engine, dealt in (
        (MOST_TASKS, SPARK, False),
        (MOST_TASKS + 1, SPARK, True),
        (MOST_TASKS + 1, ALL_EXACT, False),
    ):
        known = replace(facts(tasks), engine=engine)
        (line,) = below_kernel(first_plan(BY_USER, "update"), known).split("\n")
        assert line.endswith(f"placed{' and dealt' if dealt else ''} by [user#0]")


@pytest.mark.parametrize(
    ("key", "figures", "dealt"),
    [
        ("user", {}, False),
        ("user", {RECEIVED: 600_000, GROUPS: 20_000}, True),
        ("user", {RECEIVED: 600_000, GROUPS: 40_000}, False),
        ("user", {RECEIVED: 600, GROUPS: 2}, False),
        ("get_json_object(user, '$.id')", {}, True),
        ("regexp_extract(user, '([0-9]+)', 1)", {}, True),
    ],
)
def test_rows_are_dealt_out_where_computing_takes_long_or_few_are_left(
    key: str, figures: dict[str, int], dealt: bool
) -> None:
    plan = first_plan(f"SELECT {key} AS k, count(*) AS n FROM STREAM events GROUP BY 1", "update")
    line = below_kernel(plan, replace(facts(), figures={0: Figures.of(figures)}))
    assert (" and dealt by " in line) is dealt


def test_an_expand_becomes_copies() -> None:
    sql = "SELECT user, qty, count(*) AS n FROM STREAM events GROUP BY ROLLUP(user, qty)"
    (line,) = below_kernel(first_plan(sql, "update"), facts()).split("\n")
    assert line == (
        "ReadFiles events [user#0, qty#1, spark_grouping_id#2L], copied as "
        "[user#3 AS copy#4, qty#5 AS copy#6, 0 AS copy#7L], "
        "[user#3 AS copy#8, null AS copy#9, 1 AS copy#10L], "
        "[null AS copy#11, null AS copy#12, 3 AS copy#13L] AS "
        "[user#0, qty#1, spark_grouping_id#2L], placed by [user#0, qty#1, spark_grouping_id#2L]"
    )


def test_the_elements_of_a_list_become_rows() -> None:
    sql = (
        "SELECT word, user, count(*) AS n FROM (SELECT user, p, word FROM STREAM events "
        "LATERAL VIEW OUTER posexplode(split(user, ' ')) AS p, word WHERE qty > 1) "
        "WHERE p < 3 GROUP BY ALL"
    )
    (line,) = below_kernel(first_plan(sql, "update"), facts()).split("\n")
    assert line == (
        "ReadFiles events [word#0, user#1] where isnotnull(p#2) AND (p#2 < 3), exploding outer "
        "split(user#1,  , -1) AS posexplode#3 where isnotnull(qty#4) AND (qty#4 > 1) AS "
        "[p#2, word#0], placed by [word#0, user#1]"
    )


def test_sums_of_floats_take_copies_in_the_order_of_rows() -> None:
    for value, in_order in (("qty", False), ("price", True)):
        sql = f"SELECT user, qty, sum({value}) AS s FROM STREAM events GROUP BY CUBE(user, qty)"
        with id_scope(itertools.count(1000)):
            (files,) = read_files(first_plan(sql, "update"), facts()).collect(ReadFiles)
        assert [getattr(step, "in_order", None) for step in files.steps] == [in_order]


def test_a_reader_of_our_own_is_asked_for_what_the_scan_needs_and_counts_its_rows() -> None:
    schema = parse_schema(SCHEMAS["events"])
    reader = Reader(format="json", schema=schema, here=True)
    known = replace(facts(), readers={"events": reader})
    plan = read_needed(first_plan("SELECT user, count(*) AS n FROM STREAM events WHERE qty > 1 "
                                  "GROUP BY user", "update"), known)  # fmt: skip
    plan = count_rows(plan, known)
    assert below_kernel(plan, known) == (
        "ReadFiles events [user#0] where isnotnull(qty#1) AND (qty#1 > 1), "
        "given [isnotnull(qty#1), (qty#1 > 1)], counted, placed and dealt by [user#0]"
    )
    assert below_kernel(plan, replace(known, tasks=1)).endswith("counted, placed by [user#0]")


def test_rows_without_keys_are_read_by_several_tasks_for_one() -> None:
    plan = first_plan("SELECT collect_set(user) AS n FROM STREAM events WHERE qty > 1", "update")
    made = "if (isnotnull(user#0)) array(user#0) else [] AS buf#1"
    read = f"ReadFiles events [{made}] where isnotnull(qty#2) AND (qty#2 > 1), placed"
    assert below_kernel(plan, facts()) == f"{read} and dealt by []"
    assert below_kernel(plan, replace(facts(), tasks=1)) == f"{read} by []"


@pytest.mark.parametrize(
    ("sql", "known"),
    [
        pytest.param(BY_USER, BatchFacts(conf=STORES), id="rows are in no Parquet files"),
        pytest.param(
            BY_USER, facts(user=TYPES["qty"]), id="the files have another type than the source"
        ),
        pytest.param(
            "SELECT soundex(user) AS k, count(*) AS n FROM STREAM events GROUP BY 1",
            facts(),
            id="our own code does not compute the key",
        ),
        pytest.param(
            "SELECT user FROM STREAM events LIMIT 9", facts(), id="a limit needs few rows"
        ),
        pytest.param(
            "SELECT first(country) AS c, user FROM STREAM events JOIN users USING (user) "
            "GROUP BY user",
            BatchFacts(
                conf=STORES,
                tasks=2,
                files={"events": TYPES, "users": {"user": STRING, "country": STRING}},
            ),
            id="which row of a joined table comes first is the engine's to say",
        ),
        pytest.param(
            "SELECT country, count(*) AS n FROM STREAM events JOIN users USING (user) GROUP BY 1",
            facts(),
            id="the joined table is in no Parquet files",
        ),
    ],
)
def test_the_engine_reads_where(sql: str, known: BatchFacts) -> None:
    plan = first_plan(sql, "append" if "LIMIT" in sql else "update")
    after = read_files(plan, known)
    assert after is plan
    assert not list(after.collect(ReadFiles))


def test_a_kernel_above_another_takes_its_rows() -> None:
    sql = (
        "SELECT window(ts, '1 minute') AS w, count(*) AS n FROM "
        f"(SELECT DISTINCT ON (user, ts) user, ts FROM {WATERMARK}) GROUP BY 1"
    )
    after = read_files(first_plan(sql), facts())
    upper, lower = after.collect(Kernel)
    assert isinstance(lower.inputs[0], ReadFiles) and not isinstance(upper.inputs[0], ReadFiles)
