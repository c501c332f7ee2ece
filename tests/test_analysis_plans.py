"""Analyzed plans, as Spark 4.3 prints them."""

from __future__ import annotations

import itertools
import re

import pytest

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.plans.query_plan import LogicalPlan
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.logical_text import tree_text
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze, inline_ctes

CATALOG = {
    "events": Source(
        name="events", schema=parse_schema("user STRING, ts TIMESTAMP, amount DOUBLE, qty INT")
    ),
    "other": Source(
        name="other",
        schema=parse_schema("user STRING, v BIGINT, s STRUCT<a: INT, b: INT>, arr ARRAY<INT>"),
    ),
    "stat": Source(name="stat", schema=parse_schema("user STRING, city STRING"), streaming=False),
}
SOURCE_LINES = re.compile(r"\n[ :+|-]*(View|StreamingRelation|Relation) .*")


def analyzed(sql: str, **settings: str) -> LogicalPlan:
    conf = Conf({key.replace("__", "."): value for key, value in settings.items()})
    with id_scope(itertools.count()):
        return analyze(parse(sql, conf), CATALOG, conf)


def shown(sql: str, **settings: str) -> str:
    """The analyzed plan without its sources, ids numbered by first appearance."""
    ids: dict[str, str] = {}
    text = SOURCE_LINES.sub("", tree_text(analyzed(sql, **settings)))
    text = re.sub(r"watermark-\d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", text)
    return re.sub(r"#(\d+)", lambda m: "#" + ids.setdefault(m[1], str(len(ids))), text)


def columns(sql: str, **settings: str) -> list[str]:
    return [f"{a.name} {a.type_.simple}" for a in analyzed(sql, **settings).output]


def test_a_source_is_a_view_under_its_name() -> None:
    assert tree_text(analyzed("SELECT USER FROM STREAM events e")).startswith("~Project [USER#0]")
    assert shown("SELECT * FROM events") == (
        "~Project [user#0, ts#1, amount#2, qty#3]\n+- ~SubqueryAlias events"
    )


@pytest.mark.parametrize(
    ("item", "column"),
    [
        ("s.a", "a int"),
        ("S.A", "A int"),
        ("other.s.b", "b int"),
        ("arr[0]", "arr[0] int"),
        ("v + 1", "(v + 1) bigint"),
        ("CAST(v AS STRING)", "v string"),
        ("upper(user)", "upper(user) string"),
        ("named_struct('x', s.a).x", "named_struct(x, s.a).x int"),
    ],
)
def test_unnamed_columns_are_named_as_spark_names_them(item: str, column: str) -> None:
    assert columns(f"SELECT {item} FROM STREAM other") == [column]


def test_stars_spread_tables_and_structs() -> None:
    assert columns("SELECT s.*, o.* EXCEPT (arr, s) FROM STREAM other o") == [
        "a int",
        "b int",
        "user string",
        "v bigint",
    ]


def test_having_reads_the_select_list_and_adds_what_it_lacks() -> None:
    sql = (
        "SELECT user, sum(qty) AS s FROM STREAM events GROUP BY user HAVING s > 1 AND max(qty) > 3"
    )
    assert shown(sql) == (
        "~Project [user#0, s#1L]\n"
        "+- ~Filter ((s#1L > cast(1 as bigint)) AND (max(qty)#2 > 3))\n"
        "   +- ~Aggregate [user#0], [user#0, sum(qty#3) AS s#1L, max(qty#3) AS max(qty)#2]\n"
        "      +- ~SubqueryAlias events"
    )


def test_order_by_reaches_grouping_columns_below_having() -> None:
    sql = (
        "SELECT sum(qty) AS s FROM STREAM events GROUP BY user, amount"
        " HAVING user = 'A' ORDER BY amount"
    )
    assert shown(sql) == (
        "~Project [s#0L]\n"
        "+- ~Sort [amount#1 ASC NULLS FIRST], true\n"
        "   +- ~Project [s#0L, amount#1]\n"
        "      +- ~Filter (user#2 = A)\n"
        "         +- ~Aggregate [user#2, amount#1], [sum(qty#3) AS s#0L, user#2, amount#1]\n"
        "            +- ~SubqueryAlias events"
    )


@pytest.mark.parametrize("key", ["1", "bucket", "qty % 10"])
def test_group_by_takes_positions_and_aliases(key: str) -> None:
    sql = f"SELECT qty % 10 AS bucket, count(*) AS n FROM STREAM events GROUP BY {key}"
    assert shown(sql).startswith(
        "~Aggregate [(qty#0 % 10)], [(qty#0 % 10) AS bucket#1, count(1) AS n#2L]"
    )


def test_a_column_wins_over_an_alias_in_group_by() -> None:
    sql = "SELECT user AS qty, count(*) FROM STREAM events GROUP BY qty, user"
    assert shown(sql).startswith("~Aggregate [qty#0, user#1], [user#1 AS qty#2,")


def test_a_tumbling_window_is_a_column_below() -> None:
    sql = (
        "SELECT window.start, count(*) AS n FROM STREAM events"
        " WATERMARK ts DELAY OF INTERVAL 10 SECONDS GROUP BY window(ts, '1 minute')"
    )
    lines = shown(sql).split("\n")
    assert lines[0] == (
        "~Aggregate [window#0-T10000ms], [window#0-T10000ms.start AS start#1, count(1) AS n#2L]"
    )
    assert lines[1].startswith("+- ~Project [named_struct(start, knownnullable(")
    assert lines[1].endswith(" AS window#0-T10000ms, user#4, ts#3-T10000ms, amount#5, qty#6]")
    assert lines[2:4] == [
        "   +- ~Filter isnotnull(ts#3-T10000ms)",
        "      +- ~EventTimeWatermark <id>, ts#3: timestamp, 10 seconds",
    ]


@pytest.mark.parametrize(
    ("slide", "count", "condition"),
    [("5 seconds", 2, "isnotnull(ts#"), ("3 seconds", 4, "((ts#")],
)
def test_a_sliding_window_expands(slide: str, count: int, condition: str) -> None:
    sql = f"SELECT window(ts, '10 seconds', '{slide}') AS w FROM STREAM events"
    lines = shown(sql).split("\n")
    assert lines[1].startswith(f"+- ~Filter {condition}")
    assert lines[2].count("[named_struct") == count


@pytest.mark.parametrize(
    ("gap", "judged"),
    [
        ("'5 minutes'", False),
        ("CASE WHEN qty > 1 THEN '1 minute' END", True),
        ("'0 seconds'", True),
    ],
)
def test_session_gaps_are_judged_row_by_row_unless_constant(gap: str, judged: bool) -> None:
    sql = f"SELECT count(*) FROM STREAM events GROUP BY session_window(ts, {gap}), user"
    assert (".end > session_window#" in shown(sql)) is judged


def test_a_window_over_a_window_reads_its_time() -> None:
    sql = (
        "SELECT window(w, '1 hour') AS h, count(*) AS n FROM (SELECT window(ts, '5 minutes') AS w"
        " FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 MINUTE) GROUP BY 1"
    )
    text = shown(sql)
    assert " AS window_time(w)#" in text
    assert text.startswith("~Aggregate [window#0-T60000ms], [window#0-T60000ms AS h#1-T60000ms")


def test_a_union_widens_each_branch_under_the_first_names() -> None:
    sql = "SELECT qty AS a FROM STREAM events UNION ALL SELECT v FROM STREAM other"
    assert columns(sql) == ["a bigint"]
    assert ":- ~Project [cast(a#0 as bigint) AS a#1L]" in shown(sql)


def test_a_stream_has_the_same_columns_in_every_branch_of_a_union() -> None:
    sql = "SELECT user FROM STREAM events UNION ALL SELECT user FROM STREAM events"
    assert "+- ~Project [user#0 AS user#1]\n   +- ~Project [user#0]" in shown(sql)


def test_a_join_tells_its_sides_apart() -> None:
    plan = analyzed("SELECT * FROM STREAM events a JOIN STREAM events b ON a.user = b.user")
    assert len(plan.output_ids) == 8


def test_using_gives_the_key_once() -> None:
    sql = "SELECT * FROM STREAM events LEFT JOIN stat USING (user)"
    assert columns(sql)[0] == "user string" and len(columns(sql)) == 5


def test_aliases_further_left_get_a_project_of_their_own() -> None:
    assert shown("SELECT qty + 1 AS q, q * 2 AS r FROM STREAM events") == (
        "~Project [q#0, (q#0 * 2) AS r#1]\n"
        "+- ~Project [user#2, ts#3, amount#4, qty#5, (qty#5 + 1) AS q#0]\n"
        "   +- ~SubqueryAlias events"
    )


def test_definitions_of_with_stay_until_they_are_inlined() -> None:
    plan = analyzed("WITH w AS (SELECT user FROM STREAM events) SELECT * FROM w")
    assert tree_text(plan).startswith("~WithCTE\n:- ~CTERelationDef 0, false")
    assert tree_text(inline_ctes(plan)).startswith("~Project [user#0]\n+- ~SubqueryAlias w")


def test_a_watermark_follows_its_column_and_its_copies() -> None:
    sql = (
        "SELECT ts, t, ts + INTERVAL 1 DAY AS u FROM (SELECT ts, ts AS t FROM STREAM events"
        " WATERMARK ts DELAY OF INTERVAL 1 MINUTE)"
    )
    assert [a.delay_ms for a in analyzed(sql).output] == [60000, 60000, None]


def test_names_mind_case_if_asked() -> None:
    assert columns("SELECT QTY FROM STREAM events") == ["QTY int"]
    with pytest.raises(Exception, match="UNRESOLVED_COLUMN"):
        analyzed("SELECT QTY FROM STREAM events", spark__sql__caseSensitive="true")


def test_functions_with_over_stand_in_a_window_operator() -> None:
    frame = "specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$())"
    sql = "SELECT user, row_number() OVER (PARTITION BY user ORDER BY ts) AS n FROM STREAM events"
    assert shown(sql) == (
        "~Project [user#0, n#1]\n"
        "+- ~Project [user#0, ts#2, n#1, n#1]\n"
        "   +- ~Window [row_number() windowspecdefinition(user#0, ts#2 ASC NULLS FIRST, "
        f"{frame}) AS n#1], [user#0], [ts#2 ASC NULLS FIRST]\n"
        "      +- ~Project [user#0, ts#2]\n"
        "         +- ~SubqueryAlias events"
    )


def test_group_by_all_takes_what_is_not_aggregated() -> None:
    sql = "SELECT qty, upper(user) AS u, count(*) AS n FROM STREAM events GROUP BY ALL"
    assert shown(sql).startswith("~Aggregate [qty#0, upper(user#1)], ")


def test_generators_stand_below_the_select_list() -> None:
    assert shown("SELECT v, explode(arr) AS x FROM STREAM other") == (
        "~Project [v#0L, x#1]\n"
        "+- ~Generate explode(arr#2), false, [x#1]\n"
        "   +- ~SubqueryAlias other"
    )
