"""Advice: each fault with its cost and the change that helps; none on faultless queries."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from evolutions import lay_checkpoint
from golden_cases import golden

import stateplan
from stateplan.planner.advice import advice_on, advice_text
from stateplan.planner.advice_rules import RULES, Facts
from stateplan.planner.cli import main
from stateplan.planner.description import parse_description
from stateplan.planner.evolution.check import advised, check_against
from stateplan.planner.evolution.printing import report_markdown, report_text
from stateplan.planner.evolution.reading import read_checkpoint
from stateplan.planner.query import Query

SOURCES = {
    "e": "user STRING, ts TIMESTAMP, n DOUBLE, k STRING COLLATE UTF8_LCASE",
    "f": "user STRING, at TIMESTAMP, m INT",
}
E = "STREAM e WATERMARK ts DELAY OF INTERVAL 10 MINUTES"
F = "STREAM f WATERMARK at DELAY OF INTERVAL 1 HOUR"
HOURS = f"SELECT window(ts, '1 hour') AS w, user, count(*) AS c FROM {E} GROUP BY 1, 2"
DAYS = f"SELECT window(window_time(w), '1 day'), sum(c) FROM ({HOURS}) GROUP BY 1"
RANGE = "e.user = f.user AND at BETWEEN ts AND ts + INTERVAL 2 HOURS"
UNCHECKED = {"spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false"}
SINGLE = UNCHECKED | {"spark.sql.streaming.statefulOperator.allowMultiple": "false"}
LATEST = {"spark.sql.streaming.multipleWatermarkPolicy": "max"}


def query(sql: str, mode: str = "append", conf: dict[str, str] | None = None) -> Query:
    return stateplan.sql(sql, SOURCES, mode, conf)


def rules(asked: Query) -> list[str]:
    return [each.rule for each in asked.advice()]


@pytest.mark.parametrize(
    ("sql", "mode", "conf", "expected", "words"),
    [
        (
            "SELECT user, count(*) FROM STREAM e GROUP BY user",
            "update",
            {},
            ["never_evicted"],
            "the query has no watermark; memory, disk; give ts a watermark and group by",
        ),
        (
            "SELECT DISTINCT ON (user) * FROM STREAM f",
            "append",
            {},
            ["never_evicted"],
            "use dropDuplicatesWithinWatermark",
        ),
        (
            "SELECT window(ts, '1 hour'), count(*) FROM STREAM e GROUP BY 1",
            "update",
            {},
            ["never_evicted"],
            "windows that it has passed go then",
        ),
        (
            f"SELECT user, count(*) FROM {E} GROUP BY user",
            "update",
            {},
            ["watermark_not_in_keys"],
            "column ts is not among the keys; group by ts, or by window(ts, ...), too",
        ),
        (
            f"SELECT date_trunc('hour', ts) AS hour, count(*) FROM {E} GROUP BY 1",
            "update",
            {},
            ["watermark_not_in_keys"],
            "each new date_trunc(hour, ts); use window(ts, ...) for date_trunc(hour, ts):",
        ),
        (
            f"SELECT e.user, m FROM {E} JOIN {F} ON e.user = f.user",
            "append",
            {},
            ["unbounded_join_side"] * 2,
            "the left side's rows; the right side's rows; bound the time between their rows",
        ),
        (
            f"SELECT window(ts, '1 hour'), count(*) FROM {E} JOIN STREAM f ON e.user = f.user"
            " GROUP BY 1",
            "append",
            {},
            ["no_watermark_reaches", *["unbounded_join_side"] * 2],
            "no row is ever emitted",
        ),
        (DAYS, "append", SINGLE, ["late_between_operators"], "allowMultiple to true"),
        (DAYS, "update", UNCHECKED, ["emitted_again"], "sums and counts are too high"),
        (
            f"SELECT DISTINCT ON (w) * FROM ({HOURS})",
            "complete",
            UNCHECKED,
            ["late_between_operators", "emitted_again", "all_state_each_batch"],
            "dropped here as late; use append mode",
        ),
        (
            f"SELECT e.user, m FROM {E} JOIN {F} ON {RANGE}",
            "append",
            LATEST,
            ["slower_stream_dropped"],
            "set spark.sql.streaming.multipleWatermarkPolicy to min",
        ),
        (
            f"SELECT window(ts, '1 hour'), n, count(*) FROM {E} GROUP BY 1, 2",
            "append",
            {},
            ["surprising_keys"],
            "the key n is a floating-point number (double); 0.1 + 0.2 and 0.3 are two keys",
        ),
        (
            f"SELECT window(ts, '1 hour'), k, count(*) FROM {E} GROUP BY 1, 2",
            "append",
            {},
            ["surprising_keys"],
            "BINARY_INEQUALITY; collate(k, 'UTF8_BINARY')",
        ),
        (
            f"SELECT e.user, m FROM {E} LEFT JOIN {F} ON {RANGE}",
            "append",
            {},
            ["padded_rows_late"],
            "of the left stream that match nothing come 3 hours late; not at all while",
        ),
        (
            HOURS,
            "complete",
            {},
            ["all_state_each_batch"],
            "grow with each new window, user; overwrites by key",
        ),
    ],
)
def test_a_fault_is_told_with_its_cost_and_a_change(
    sql: str, mode: str, conf: dict[str, str], expected: list[str], words: str
) -> None:
    asked = query(sql, mode, conf)
    assert rules(asked) == expected
    text = advice_text(asked.advice())
    for part in words.split("; "):
        assert part in text
    assert text.count("    cost:   ") == text.count("    change: ") == len(expected)


def test_every_rule_is_tested() -> None:
    names = {rule.__name__ for rule in RULES}
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in names if f'"{name}"' not in source] == []
    assert [rule.__name__ for rule in RULES if not rule.__doc__] == []


@pytest.mark.parametrize(
    ("sql", "mode"),
    [
        (HOURS, "append"),
        (HOURS, "update"),
        (DAYS, "append"),
        (f"SELECT e.user, m FROM {E} JOIN {F} ON {RANGE}", "append"),
        ("SELECT count(*), max(n) FROM STREAM e", "complete"),  # one row of state
        ("SELECT n > 1, count(*) FROM STREAM e GROUP BY 1", "update"),  # three at most
        ("SELECT user FROM STREAM e WHERE n > 1", "append"),  # no state
        (f"SELECT DISTINCT ON (user, ts) * FROM {E}", "append"),
        ("SELECT * FROM STREAM e LIMIT 3", "append"),
    ],
)
def test_a_faultless_query_gets_none(sql: str, mode: str) -> None:
    assert rules(query(sql, mode)) == []


def of_golden(name: str) -> Query:
    return Query.of(parse_description(golden(name).description))


def test_what_golden_queries_get() -> None:
    names = """agg-key-count-update agg-key-count-complete-py gsets-rollup dedup-all-columns
    dedup-subset-no-watermark static-broadcast-then-agg sort-complete-after-agg
    join-key-array-floats ssjoin-inner-equality ssjoin-full-outer ssjoin-left-outer-py
    chain-dedup-agg-dedup"""
    found = Counter(rule for name in names.split() for rule in rules(of_golden(name)))
    assert found == {
        "never_evicted": 8,
        "all_state_each_batch": 2,
        "unbounded_join_side": 4,
        "surprising_keys": 1,
        "padded_rows_late": 3,
        "emitted_again": 1,
    }


def test_faultless_golden_queries_get_none() -> None:
    names = """agg-global-count-complete agg-global-several-update chain-agg-join-agg
    chain-dedup-window chain-join-window chain-window-of-window dedup-subset-watermark
    dedup-within-watermark limit-append nexmark-hot-items nexmark-selection nexmark-tumbling-join
    nexmark-user-sessions proj-select-star py-state-timeout sess-dynamic-gap sess-object-hash
    ssjoin-inner-time-range ssjoin-semi sub-cte-window union-then-window win-start-offset
    win-sliding-key-append-py win-tumbling-by-alias-update win-tumbling-count-append wm-renamed"""
    assert [name for name in names.split() if rules(of_golden(name))] == []


def test_stores_are_too_many_only_where_files_tell(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = {"schema": "user STRING, ts TIMESTAMP", "path": str(tmp_path / "in")}
    sql = HOURS.replace(" e ", " events ")

    def asked(stores: int) -> list[str]:
        conf = {"spark.sql.shuffle.partitions": str(stores)}
        return rules(stateplan.sql(sql, {"events": source}, conf=conf))

    assert asked(200) == []  # nothing is there yet
    (tmp_path / "in" / "1.json").write_text('{"user": "ann"}' * 100, encoding="utf-8")
    assert (asked(200), asked(4)) == (["stores_for_few_rows"], [])
    plan = query(HOURS).execution.executed_plan
    assert advice_on(Facts(plan, query(HOURS).conf, {"e": 10**9})) == ()


def test_explain_and_check_tell_it(tmp_path: Path) -> None:
    path = tmp_path / "query.yaml"
    sql = "SELECT user, count(*) FROM STREAM e GROUP BY user"
    path.write_text(f"sources: {{e: {{schema: user STRING}}}}\nsql: {sql}\noutput_mode: update\n")
    explained = [
        CliRunner().invoke(main, ["explain", str(path), *more, "--advice"]).stdout
        for more in ((), ("--mode", "json"))
    ]
    assert "(0) StateStoreSave, line 1: nothing ever evicts state" in explained[0]
    assert json.loads(explained[1])["advice"][0]["rule"] == "never_evicted"
    checkpoint = lay_checkpoint(tmp_path / "checkpoint", stateplan.load(path))
    arguments = ["check", str(path), "--checkpoint", str(checkpoint), "--json"]
    assert json.loads(CliRunner().invoke(main, arguments).stdout)["advice"] is None
    told = json.loads(CliRunner().invoke(main, [*arguments, "--advice"]).stdout)["advice"]
    assert [each["rule"] for each in told] == ["never_evicted"]
    asked = stateplan.load(path)
    report = advised(check_against(asked, read_checkpoint(checkpoint)), asked)
    assert "    change: give" in report_text(report)
    assert "- **0 StateStoreSave**: nothing ever evicts" in report_markdown(report)
