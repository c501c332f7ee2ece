"""`query.run` from a program: what it takes as sources, sink and trigger, and refuses by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import MemorySource
from stateplan.runtime.triggers import AVAILABLE_NOW, DEFAULT, ONCE, parse_trigger, processing_time

SOURCES = {
    "events": "user STRING, ts TIMESTAMP",
    "users": {"schema": "user STRING", "static": True},
}
SQL = "SELECT e.user, ts FROM STREAM events AS e JOIN users ON e.user = users.user"


def run(sql: str = SQL, **given: Any) -> Any:
    sources = {"events": [("ann", None)], "users": [("ann",), ("bob",)], **given.pop("sources", {})}
    query = stateplan.sql(sql, SOURCES)
    handle = query.run(sources=sources, trigger=given.pop("trigger", "available_now"), **given)
    handle.await_termination()
    return handle


@pytest.mark.embedded
def test_rows_are_sources_and_a_function_is_a_sink() -> None:
    import pyarrow as pa

    seen: list[Any] = []

    def keep(frame: Any, batch_id: int) -> None:
        seen.append((batch_id, [row.user for row in frame.collect()]))

    run(sink=keep)
    run(sink=lambda frame, batch_id: keep(frame, batch_id), trigger={"availableNow": True})
    run(foreach_batch=keep, sources={"events": pa.table({"user": ["bob", "eve"]})})
    assert seen == [(0, ["ann"]), (0, ["ann"]), (0, ["bob"])]


@pytest.mark.embedded
def test_mappings_are_sources_and_sinks_as_in_a_description(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"user": "bob"}\n')
    events = {"format": "json", "path": str(tmp_path / "in"), "options": {"maxFilesPerTrigger": 1}}
    out = tmp_path / "out"
    run(sink={"format": "json", "path": str(out)}, sources={"events": events}, trigger="once")
    assert [f.read_text() for f in out.glob("*.json")] == ['{"user":"bob"}\n']
    kept = MemorySink()
    run(sink=kept)
    assert kept.rows() == [("ann", None)]


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"sink": 7}, "The sink is int: 7"),
        ({"sink": MemorySink}, "The sink is the class MemorySink"),
        ({"sink": "paper"}, "Failed to find the data source: paper"),
        ({"sink": {"format": "noop", "pth": "x"}}, "the sink: 'sink.pth' is not a key"),
        ({"sink": {"path": "x"}}, "the key 'sink.format' is missing"),
        ({"sink": {"format": "json"}}, "'path' is not specified"),
        ({"sink": lambda frame: None}, "The function '<lambda>' cannot be the sink"),
        ({"sink": "noop", "foreach_batch": print}, "More than one of sink, foreach_batch"),
        ({"sources": {"events": 7}}, "The source 'events' is int: 7"),
        ({"sources": {"events": MemorySource}}, "The source 'events' is the class MemorySource"),
        ({"sources": {"events": {"formt": "json"}}}, "'sources.events.formt' is not a key"),
        ({"sources": {"events": "json"}}, "'path' is not specified"),
        ({"sources": {"events": {"schema": "n INT", "path": "x"}}}, "the columns STRUCT<n: INT>"),
        ({"sources": {"events": [("ann", "soon")]}}, "'soon' is no value of 'ts'"),
        ({"sources": {"events": "rate"}}, "the columns STRUCT<timestamp: TIMESTAMP"),
        ({"sink": {}}, "the key 'sink.format' is missing"),
        ({"sources": {"users": "json"}}, "The source 'users' is str"),
        ({"sources": {"event": []}}, "'event' is given, which the query does not read"),
        ({"trigger": 10}, "10 is no trigger"),
        ({"trigger": {"continuous": "1 second"}}, "There is no trigger 'continuous' here"),
        ({"trigger": {"availableNow": False}}, "is no trigger"),
        ({"trigger": "10 parsecs"}, "The trigger interval '10 parsecs' is no interval"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(given: dict[str, Any], text: str) -> None:
    with pytest.raises(StateplanError, match=re.escape(text)) as error:
        run(**given)
    assert error.value.hint


def test_a_memory_source_takes_rows_by_the_names_of_columns() -> None:
    source = MemorySource(parse_schema("user STRING, n INT"))
    source.add([{"n": 1}, ("ann", 2)])
    assert source.batch_rows(None, 1) == 2
    with pytest.raises(StateplanError, match="Did you mean 'user'"):
        source.add([{"usr": "ann"}])


def test_triggers_in_words_and_in_pysparks_arguments() -> None:
    for given in ("available_now", "availableNow", {"availableNow": True}, {"available_now": True}):
        assert parse_trigger(given) == AVAILABLE_NOW
    assert parse_trigger({"once": True}) == parse_trigger("once") == ONCE
    assert parse_trigger({"processingTime": "10 seconds"}) == processing_time("10 seconds")
    assert parse_trigger("default") == DEFAULT
