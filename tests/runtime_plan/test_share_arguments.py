"""The embedded engine's exact forms, nested: their text grows with the depth, not by a factor."""

from __future__ import annotations

import itertools

import pytest

from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.runtime.engines.embedded_exactness import EMBEDDED
from stateplan.runtime.engines.render import named, sql_of
from stateplan.runtime.plan.facts import BatchFacts
from stateplan.runtime.plan.make import runtime_plan
from stateplan.runtime.plan.nodes import Select

QUERIES = {
    "column": "SELECT md5(k) AS h, {} AS v FROM STREAM events",
    "condition": "SELECT md5(k) AS h FROM STREAM events WHERE b > 0 AND {} > 3",
    "case": "SELECT md5(k) AS h, CASE WHEN b > 0 THEN {} WHEN {} > 1 THEN a ELSE {} END AS v "
    "FROM STREAM events",
    "lazy": "SELECT md5(k) AS h, (b > 0 AND {} > 1) OR coalesce({}, {}) > 1 AS v "
    "FROM STREAM events",
}


def selects(sql: str) -> list[Select]:
    ids = itertools.count()
    with id_scope(ids):
        logical = parse(sql, Conf())
    source = Source(name="events", schema=parse_schema("k STRING, a BIGINT, b BIGINT"))
    execution = IncrementalExecution(
        logical, catalog={"events": source}, output_mode="append", conf=Conf(), ids=ids
    )
    return runtime_plan(execution.executed_plan, BatchFacts(engine=EMBEDDED)).root.collect(Select)


def length(sql: str) -> int:
    """The letters of the SQL that the engine gets."""
    found = selects(sql)
    assert not any(select.in_arrow for select in found)
    texts = [t for s in found for t in (*map(named, s.columns), *map(sql_of, s.conditions))]
    return sum(map(len, texts))


def nested(depth: int) -> str:
    text = "a"
    for step in range(depth):
        text = f"({text} {'+*-'[step % 3]} b)"
    return text


@pytest.mark.parametrize("query", QUERIES)
def test_the_text_is_linear_in_the_depth(query: str) -> None:
    six, twelve, twenty_four = (
        length(QUERIES[query].replace("{}", nested(depth))) for depth in (6, 12, 24)
    )
    assert twelve - six < 1200 * 6 * QUERIES[query].count("{}")
    assert twenty_four - twelve < 2.3 * (twelve - six)


def test_what_is_not_nested_stays_one_select() -> None:
    assert len(selects(QUERIES["case"].replace("{}", nested(1)))) == 1
