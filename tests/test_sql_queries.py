"""Queries as Spark's parser builds their plans, shown as trees."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
import yaml_files

from stateplan.planner.model.errors import AnalysisError
from stateplan.planner.model.expressions.core import lit
from stateplan.planner.model.plans.logical import Aggregate, EventTimeWatermark
from stateplan.planner.model.plans.query_plan import LogicalPlan
from stateplan.planner.sql import parse
from stateplan.planner.sql.parameters import bound

CORPUS = Path(__file__).resolve().parent.parent.parent / "shared" / "corpus"


def tree(plan: LogicalPlan, depth: int = 0) -> str:
    """One line a node: its class and its plain values."""
    shown = []
    for field in fields(plan):
        value = getattr(plan, field.name)
        plain = isinstance(value, str | bool | tuple) and value not in ("", False, ())
        hidden = field.name in ("origin", "node_id", "delay", *plan.expression_fields)
        if plain and not hidden and field.name not in (*plan.child_fields, "definitions"):
            shown.append(f"{field.name}={value}")
    lines = ["  " * depth + " ".join([type(plan).__name__, *shown])]
    lines += [tree(child, depth + 1) for child in plan.children]
    return "\n".join(lines)


def check(text: str, want: str) -> None:
    assert tree(parse(text)) == want.strip("\n")


def test_watermark_stands_above_the_alias_that_is_written_behind_it() -> None:
    check(
        "select user from stream events watermark ts delay of interval 10 seconds as e where a > 1",
        """
Project
  Filter
    EventTimeWatermark delay_text=10 seconds
      SubqueryAlias alias=e
        UnresolvedRelation parts=('events',) streaming=True
""",
    )


@pytest.mark.parametrize(
    ("delay", "amount", "text"),
    [
        ("interval 10 minutes", (0, 0, 600_000_000), "10 minutes"),
        ("interval '1 02:03' day to minute", (0, 0, 93_780_000_000), "26 hours 3 minutes"),
        ("interval 2 weeks", (0, 0, 1_209_600_000_000), "336 hours"),
        ("interval '1-2' year to month", (14, 0, 0), "1 years 2 months"),
        ("interval 10 milliseconds", (0, 0, 10_000), "0.01 seconds"),
    ],
)
def test_delay(delay: str, amount: tuple[int, int, int], text: str) -> None:
    plan = parse(f"select * from stream e watermark ts delay of {delay}").children[0]
    assert isinstance(plan, EventTimeWatermark)
    assert (plan.delay, plan.delay_text) == (amount, text)


def test_negative_delay_is_refused() -> None:
    with pytest.raises(AnalysisError, match="should not be negative"):
        parse("select * from stream e watermark ts delay of interval -1 second")


def test_stream_as_a_function_and_as_a_name() -> None:
    check(
        "select 1 from stream(a.b)", "Project\n  UnresolvedRelation parts=('a', 'b') streaming=True"
    )
    check("select 1 from stream", "Project\n  UnresolvedRelation parts=('stream',)")


def test_joins_with_watermarks_on_both_sides() -> None:
    check(
        """select * from stream l watermark a delay of interval 1 hour
           left join stream r watermark b delay of interval 2 hours as x on l.k = x.k
           cross join t left anti join u using (k, v), w""",
        """
Project
  Join join_type=Inner hint=(None, None)
    Join join_type=LeftAnti using=('k', 'v') hint=(None, None)
      Join join_type=Cross hint=(None, None)
        Join join_type=LeftOuter hint=(None, None)
          EventTimeWatermark delay_text=1 hours
            UnresolvedRelation parts=('l',) streaming=True
          EventTimeWatermark delay_text=2 hours
            SubqueryAlias alias=x
              UnresolvedRelation parts=('r',) streaming=True
        UnresolvedRelation parts=('t',)
      UnresolvedRelation parts=('u',)
    UnresolvedRelation parts=('w',)
""",
    )


def test_set_operations_order_limit_and_offset() -> None:
    check(
        "select a from x union all (select b from y limit 1) union select 1 order by 1 limit 3 "
        "offset 2",
        """
GlobalLimit
  LocalLimit
    Offset
      Sort is_global=True
        Distinct
          Union
            Union
              Project
                UnresolvedRelation parts=('x',)
              GlobalLimit
                LocalLimit
                  Project
                    UnresolvedRelation parts=('y',)
            Project
              OneRowRelation
""",
    )


def test_subqueries_get_a_name_and_columns() -> None:
    check(
        "select * from (select * from (select 1)) as t(a, b)",
        """
Project
  SubqueryAlias alias=t columns=('a', 'b')
    Project
      SubqueryAlias alias=__auto_generated_subquery_name
        Project
          OneRowRelation
""",
    )


def test_having_without_grouping_is_a_global_aggregate() -> None:
    check(
        "select count(*) from x having count(*) > 1",
        "UnresolvedHaving\n  Aggregate\n    UnresolvedRelation parts=('x',)",
    )


def test_distinct_on_deduplicates_before_the_projection() -> None:
    check(
        "select distinct on (a, b.c) a, d from stream x where d > 1",
        """
Project
  Deduplicate
    Filter
      UnresolvedRelation parts=('x',) streaming=True
""",
    )
    check(
        "select distinct on (a) within watermark a from stream x",
        "Project\n  Deduplicate within_watermark=True\n"
        "    UnresolvedRelation parts=('x',) streaming=True",
    )


def test_distinct_on_takes_columns_only() -> None:
    with pytest.raises(AnalysisError) as caught:
        parse("select distinct on (a + 1) a from stream x")
    assert caught.value.condition == "STATEPLAN_DEDUPLICATION_KEY"


def test_lateral_views() -> None:
    check(
        "select * from x lateral view explode(a) t as c lateral view outer posexplode(b) u as p, q",
        """
Project
  Generate outer=True alias=u
    Generate alias=t
      UnresolvedRelation parts=('x',)
""",
    )


def test_with_and_values() -> None:
    plan = parse("with a as (select 1), b(x) as (values (1, 'a')) select * from a")
    assert tree(plan) == "UnresolvedWith\n  Project\n    UnresolvedRelation parts=('a',)"
    (_, first), (name, second) = plan.definitions  # type: ignore[attr-defined]
    assert tree(first) == "SubqueryAlias alias=a\n  Project\n    OneRowRelation"
    assert name == "b" and tree(second).startswith("SubqueryAlias alias=b columns=('x',)")


def test_comments_and_a_closing_semicolon() -> None:
    check("select 1 -- one\n/* two */ ;", "Project\n  OneRowRelation")


def test_where_operators_stand_in_the_text() -> None:
    plan = parse("select a\nfrom stream x watermark ts delay of interval 1 hour\ngroup by a")
    assert isinstance(plan, Aggregate)
    places = [(n.origin.line, n.origin.position) for n in plan.walk() if n.origin]
    assert places == [(3, 0), (2, 14), (2, 5)]


@pytest.mark.parametrize(
    "text",
    ["with recursive a as (select 1) select * from a",
     "insert into a select 1"],
)  # fmt: skip
def test_what_spark_has_and_stateplan_has_not(text: str) -> None:
    with pytest.raises(AnalysisError) as caught:
        parse(text)
    assert (caught.value.condition or "").startswith("STATEPLAN_UNSUPPORTED_")
    assert caught.value.hint


def corpus_queries() -> list[tuple[str, str]]:
    found = []
    for path in sorted([*CORPUS.glob("plans/*.yaml"), *CORPUS.glob("runs/*.yaml")]):
        text = yaml_files.load(path).get("sql")
        if text and path.stem != "err-syntax":
            found.append((path.stem, text))
    return found


@pytest.mark.parametrize(("name", "text"), corpus_queries(), ids=lambda value: value[:30])
def test_the_corpus_is_read(name: str, text: str) -> None:
    parse(text)


def test_parameters_stand_for_the_values_that_the_caller_gives() -> None:
    named = "select user, ':no' from stream e where a > :low and b < :high"
    with bound({"low": lit(1), "high": lit(2)}, ()):
        by_name = parse(named)
    with bound({}, (lit(1), lit(2))):
        by_place = parse("select user, '?' from stream e where a > ? and b < ?")
    conditions = [plan.children[0].expressions for plan in (by_name, by_place)]
    assert conditions[0] == conditions[1]
    assert "value=1" in repr(conditions[0]) and "value=2" in repr(conditions[0])
