"""Query descriptions: what is read, and what is said about what cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import stateplan
from stateplan.planner.description import load_description, load_scenario, parse_description
from stateplan.planner.model.errors import DescriptionError

GOOD = """
id: counts
title: Counts
sources:
  events: {schema: "user STRING, ts TIMESTAMP", path: in, options: {maxFilesPerTrigger: 4}}
  users: {schema: "user STRING", static: true, rows: [{user: a}]}
sql: SELECT user, count(*) FROM STREAM events GROUP BY user
output_mode: update
conf: {spark.sql.shuffle.partitions: 5, spark.sql.ansi.enabled: false}
sink: console
trigger: {processing_time: 10 seconds}
checkpoint: check
"""


def write(folder: Path, text: str, name: str = "query.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_description(tmp_path: Path) -> None:
    description = load_description(write(tmp_path, GOOD))
    assert description.sources["events"].options == {"maxFilesPerTrigger": "4"}
    assert description.sources["users"].rows == ({"user": "a"},)
    assert description.conf["spark.sql.ansi.enabled"] == "false"
    assert description.sink is not None and description.sink.format == "console"
    assert description.trigger == "10 seconds"


def test_json_says_the_same_as_yaml(tmp_path: Path) -> None:
    content = {"sources": {"e": {"schema": "a INT"}}, "sql": "SELECT a FROM STREAM e"}
    path = write(tmp_path, json.dumps(content), "query.json")
    assert load_description(path) == parse_description(content)


def test_dates_stay_as_written(tmp_path: Path) -> None:
    text = "sql: x\nsteps:\n  - batch: {e: [{d: 2026-01-31, t: 2026-01-31 10:00:00}]}\n"
    (step,) = load_scenario(write(tmp_path, text)).steps
    assert step.batch == {"e": ({"d": "2026-01-31", "t": "2026-01-31 10:00:00"},)}


def test_steps(tmp_path: Path) -> None:
    text = "sql: x\nsteps:\n  - {batch: {e: []}, crash: true}\n  - restart: true\n"
    first, second = load_scenario(write(tmp_path, text)).steps
    assert (first.crash, first.restart, second.restart) == (True, False, True)


@pytest.mark.parametrize(
    ("text", "condition", "words"),
    [
        ("sql: x\nsorces: {}\n", "STATEPLAN_UNKNOWN_KEY", "'sorces' is not a key"),
        (
            "sql: x\nsources: {e: {schema: a INT, optons: {}}}\n",
            "STATEPLAN_UNKNOWN_KEY",
            "'sources.e.optons'",
        ),
        ("sql: x\nsink: {path: y}\n", "STATEPLAN_MISSING_KEY", "'sink.format' is missing"),
        ("sql: x\nsources: [a]\n", "STATEPLAN_BAD_VALUE", "'sources'"),
        ("sql: x\noutput_mode: upsert\n", "STATEPLAN_BAD_VALUE", "'output_mode'"),
        ("title: x\n", "STATEPLAN_SQL_OR_PYTHON", "exactly one of 'sql' and 'python'"),
        ("sql: x\npython: y\n", "STATEPLAN_SQL_OR_PYTHON", "exactly one"),
        ("- a\n- b\n", "STATEPLAN_BAD_DESCRIPTION", "top level must be keys"),
        ("sql: [\n", "STATEPLAN_BAD_FILE", "not valid YAML"),
        ("a: b: c\n", "STATEPLAN_BAD_FILE", "line 1"),
    ],
)
def test_bad_description(tmp_path: Path, text: str, condition: str, words: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DescriptionError) as caught:
        load_description(path)
    assert caught.value.condition == condition
    assert words in caught.value.message and str(path) in caught.value.message
    assert caught.value.hint


def test_the_nearest_known_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_description(write(tmp_path, "sql: x\nsources: {e: {shema: a INT}}\n"))
    assert caught.value.hint.startswith("Did you mean 'schema'?")


def test_broken_json_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_description(write(tmp_path, '{"sql": }', "query.json"))
    assert "not valid JSON" in caught.value.message and "column 9" in caught.value.message


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_description(tmp_path / "none.yaml")
    assert caught.value.condition == "STATEPLAN_FILE_NOT_FOUND"
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00sql")
    for path in (tmp_path, binary):
        with pytest.raises(DescriptionError) as caught:
            load_description(path)
        assert caught.value.condition == "STATEPLAN_FILE_UNREADABLE"


def test_a_scenario_needs_steps(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_scenario(write(tmp_path, "sql: x\n"))
    assert caught.value.condition == "STATEPLAN_MISSING_KEY"


@pytest.mark.parametrize(
    ("expect", "condition", "words"),
    [
        ("{batches: [{rows: []}]}", "STATEPLAN_MISSING_KEY", "'expect.batches.0.id'"),
        (
            "{batches: [{id: 0, rows: [], row: []}]}",
            "STATEPLAN_UNKNOWN_KEY",
            "'expect.batches.0.row'",
        ),
        ("{batchez: []}", "STATEPLAN_UNKNOWN_KEY", "'expect.batchez'"),
        ("{error: {phase: start}}", "STATEPLAN_MISSING_KEY", "'expect.error.condition'"),
        ("{batches: [{id: 0, rows: 3}]}", "STATEPLAN_BAD_VALUE", "'expect.batches.0.rows'"),
    ],
)
def test_a_bad_expectation(tmp_path: Path, expect: str, condition: str, words: str) -> None:
    with pytest.raises(DescriptionError) as caught:
        load_scenario(write(tmp_path, f"sql: x\nsteps: [restart: true]\nexpect: {expect}\n"))
    assert caught.value.condition == condition and words in caught.value.message


def test_a_source_without_schema_is_refused_when_planned() -> None:
    query = stateplan.sql("SELECT * FROM STREAM e", sources={"e": {"path": "x"}})
    with pytest.raises(DescriptionError) as caught:
        query.explain()
    assert caught.value.condition == "STATEPLAN_SOURCE_SCHEMA_MISSING"


def test_settings_and_output_mode_of_the_caller_win(tmp_path: Path) -> None:
    query = stateplan.load(
        write(tmp_path, GOOD),
        output_mode="complete",
        conf={"spark.sql.shuffle.partitions": 7, "spark.sql.timestampType": "TIMESTAMP_NTZ"},
    )
    assert query.output_mode == "complete"
    assert query.conf.shuffle_partitions == 7
    assert not query.conf.ansi
    with pytest.raises(DescriptionError) as caught:
        stateplan.sql("SELECT 1", output_mode="upsert")
    assert caught.value.condition == "STATEPLAN_UNKNOWN_OUTPUT_MODE"
