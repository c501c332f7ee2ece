"""Our own view of state: joins of streams, and state that Python functions keep."""

from __future__ import annotations

import pytest

import stateplan
from stateplan.physical.explain.plan_json import from_json, to_json
from stateplan.planner.description import parse_description
from stateplan.planner.query import Query

SOURCES = {"a": "k BIGINT, s STRING, t TIMESTAMP", "b": "k BIGINT, s STRING, u TIMESTAMP"}
A = "STREAM a WATERMARK t DELAY OF INTERVAL 10 SECONDS AS a"
B = "STREAM b WATERMARK u DELAY OF INTERVAL 20 SECONDS AS b"
LEFT_ROWS = "k bigint, s string, t timestamp, matched boolean"


def facts_of(text: str) -> list[tuple[str, str]]:
    """The first operator's facts, label and text."""
    lines = text.split("\n\n")[0].splitlines()[2:]
    return [(label.strip(), fact.strip()) for label, _, fact in (x.partition(":") for x in lines)]


def join_facts(on: str, **options: object) -> list[tuple[str, str]]:
    text = f"SELECT a.*, b.* FROM {A} LEFT JOIN {B} ON {on}"
    return facts_of(stateplan.sql(text, SOURCES, **options).explain("stateful"))


def test_a_join_tells_its_sides() -> None:
    facts = join_facts("a.k = b.k AND a.s = 'x' AND b.u BETWEEN a.t AND a.t + INTERVAL 1 HOUR")
    found = dict(facts)
    assert found["keyed on"] == "k"
    assert found["left if"] == "(s = x)"
    assert found["match if"].startswith("((u >= t) AND (u <= t + INTERVAL")
    assert found["evicted"] == (
        "left: once t is below the watermark less 1 hours; null times stay;"
        " right: once u is below the watermark; null times stay"
    )
    assert found["stores"] == "200 partitions of 4 stores, a row's by the hash of k"
    assert [fact for label, fact in facts if label == "state"][:2] == [
        "left-keyToNumValues: field0 bigint -> value bigint",
        f"left-keyWithIndexToValue: field0 bigint, index bigint -> {LEFT_ROWS}",
    ]


@pytest.mark.parametrize(
    ("on", "evicted"),
    [
        (
            "a.t = b.u",
            "left: once the key t is at or below the watermark; null times stay;"
            " right: once the key u is at or below the watermark; null times stay",
        ),
        (
            "a.k = b.k AND b.u > a.t - INTERVAL 5 SECONDS AND a.t > b.u",
            "left: once t is at or below the watermark; null times stay;"
            " right: once u is at or below the watermark less 5 seconds; null times stay",
        ),
    ],
)
def test_when_rows_leave(on: str, evicted: str) -> None:
    assert dict(join_facts(on))["evicted"] == evicted


def test_a_join_whose_rows_never_leave() -> None:
    text = f"SELECT a.k, b.u FROM STREAM a JOIN {B} ON a.k = b.k"
    found = dict(facts_of(stateplan.sql(text, SOURCES).explain("stateful")))
    assert found["evicted"] == (
        "left: never: the side has no event time; right: never: ON does not bound its event time"
        " from below by the other side's"
    )
    assert found["late rows"].startswith("left: none: there is no event time; right: dropped")


def test_state_format_three_has_column_families() -> None:
    conf = {"spark.sql.streaming.join.stateFormatVersion": "3"}
    found = dict(join_facts("a.t = b.u AND a.k = b.k", conf=conf))
    assert found["stores"].startswith("200 partitions of 4 column families")


def python_query(timeout: str) -> Query:
    call = f"applyInPandasWithState(lambda k, p, s: p, 'n LONG', 'c LONG', 'append', '{timeout}')"
    return Query.of(
        parse_description(
            {
                "sources": {"a": {"schema": SOURCES["a"]}},
                "python": f"a.withWatermark('t', '1 minute').groupBy('k').{call}",
            }
        )
    )


@pytest.mark.parametrize(
    ("timeout", "value", "evicted"),
    [
        ("NoTimeout", "groupState struct<c:bigint>", "it has no timeout"),
        (
            "EventTimeTimeout",
            "groupState struct<c:bigint>, timeoutTimestamp bigint",
            "it is called once the watermark has passed the time that it set",
        ),
    ],
)
def test_state_in_python(timeout: str, value: str, evicted: str) -> None:
    found = dict(facts_of(python_query(timeout).explain("stateful")))
    assert found["keyed on"] == "k"
    assert found["state value"] == value
    assert found["evicted"] == f"when the function removes it; {evicted}"


def test_plans_with_python_functions_are_json_too() -> None:
    plan = python_query("NoTimeout").execution.executed_plan
    assert from_json(to_json(plan)) == plan
