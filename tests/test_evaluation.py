"""Constant folding, exactly as Spark's optimizer does it, or not at all."""

from __future__ import annotations

import pytest

from stateplan.planner.model.catalog import Source
from stateplan.planner.model.expressions.core import Alias, Expression
from stateplan.planner.model.expressions.evaluation import evaluate
from stateplan.planner.model.plans.logical import Project
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.model.text.text import plan_text
from stateplan.planner.sql import parse
from stateplan.rules.analysis import analyze

ANSI = Conf()
LEGACY = Conf({"spark.sql.ansi.enabled": "false"})
SOURCES = {"events": Source(name="events", schema=parse_schema("x INT"))}


def analyzed(expression: str, conf: Conf) -> Expression:
    plan = analyze(parse(f"SELECT {expression} AS v FROM STREAM events", conf), SOURCES, conf)
    assert isinstance(plan, Project)
    item = plan.project_list[0]
    assert isinstance(item, Alias)
    return item.child


def folded(expression: str, conf: Conf = ANSI) -> str | None:
    value = evaluate(analyzed(expression, conf))
    return None if value is None else plan_text(value)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        ("7 % -3", "1"),
        ("-7 % 3", "-1"),
        ("-7.5 % 2.5", "0.0"),
        ("pmod(-7.5, 2.5)", "0.0"),
        ("pmod(-7.25, 3)", "1.75"),
        ("date_format(TIMESTAMP '2024-01-02 19:07:00', 'h:mm a')", "7:07 PM"),
        ("-7 div 2", "-3"),
        ("pmod(-7, 3)", "2"),
        ("10 / 4", "2.5"),
        ("1.5 * 1.5", "2.25"),
        ("1.0 / 3", "0.333333"),
        ("1 = 1.0", "true"),
        ("cast('NaN' as double) = cast('NaN' as double)", "true"),
        ("null AND false", "false"),
        ("null OR false", "null"),
        ("null <=> null", "true"),
        ("2 IN (1, null)", "null"),
        ("2 IN (2, null)", "true"),
        ("if(null, 1, 2)", "2"),
        ("coalesce(null, 3)", "3"),
        ("CASE WHEN false THEN 1 ELSE 2 END", "2"),
        ("greatest(1, null, 3)", "3"),
        ("round(2.5)", "3"),
        ("bround(2.5)", "2"),
        ("round(-2.567, 2)", "-2.57"),
        ("ceil(-1.2)", "-1"),
        ("upper('abc') || trim('  x ')", "ABCx"),
        ("substring('abcdef', -3, 2)", "de"),
        ("lpad('a', 3, 'xy')", "xya"),
        ("date'2024-01-31' + interval 1 month", "2024-02-29"),
        ("date'2024-01-31' + 1", "2024-02-01"),
        ("timestamp'2024-01-31 10:00:00' - interval 1 day", "2024-01-30 10:00:00"),
        (
            "timestamp'2024-01-02 00:00:00' - timestamp'2024-01-01 12:00:00'",
            "INTERVAL '0 12:00:00' DAY TO SECOND",
        ),
        ("year(date'2024-01-31')", "2024"),
        ("date_trunc('hour', timestamp'2024-01-31 10:20:30')", "2024-01-31 10:00:00"),
        ("interval 1 day + interval 2 hours", "INTERVAL '1 02' DAY TO HOUR"),
        ("interval 3 minutes * 1.5", "INTERVAL '0 00:04:30' DAY TO SECOND"),
        ("array(1, 2)[1]", "2"),
        ("named_struct('a', 5).a", "5"),
        ("map('k', 7)['k']", "7"),
        ("md5('a')", "0cc175b9c0f1b6a831c399e269772661"),
        ("cast(' 12 ' as int)", "12"),
        ("cast('2024-03-10 10:00:00+02:00' as timestamp)", "2024-03-10 08:00:00"),
        ("cast(1e10 as string)", "1.0E10"),
        ("cast(1.239 as decimal(4,2))", "1.24"),
        ("try_cast('x' as int)", "null"),
        ("cast('2 s' as interval)", "null"),
        ("try_divide(1, 0)", "null"),
        ("try_add(2147483647, 1)", "null"),
    ],
)
def test_values(expression: str, value: str) -> None:
    assert folded(expression) == value


@pytest.mark.parametrize(
    ("expression", "legacy"),
    [
        ("1 / 0", "null"),
        ("1 % 0", "null"),
        ("2147483647 + 1", "-2147483648"),
        ("cast('a' as int)", "null"),
        ("cast('1.7' as int)", "1"),
        ("cast(300 as tinyint)", "44"),
        ("cast(1e10 as int)", "2147483647"),
        ("array(1)[5]", "null"),
    ],
)
def test_what_fails_in_ansi_is_left_to_run_time(expression: str, legacy: str) -> None:
    assert folded(expression) is None
    assert folded(expression, LEGACY) == legacy


@pytest.mark.parametrize("expression", ["x + 1", "rand()", "now()", "xxhash64(5)"])
def test_what_is_no_constant_or_not_known_here_stays(expression: str) -> None:
    assert folded(expression) is None
