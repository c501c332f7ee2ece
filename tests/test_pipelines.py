"""Declarative Pipelines: what Spark completes is planned, and what it refuses refused likewise."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pipeline_cases import COMPLETED, comparable, define, events, load
from pyspark.errors import PySparkException

from stateplan.planner.connect.local import local_session
from stateplan.planner.connect.service import PlannerService
from stateplan.planner.model.errors import StateplanError

CASES = load()
NOT_THERE = "[TABLE_OR_VIEW_NOT_FOUND]"


def ours(case: dict[str, Any]) -> tuple[Any, str]:
    """What becomes of a case here, and the message of the error that ended it."""
    try:
        with local_session(PlannerService(scripted=case.get("reads", False))) as spark:
            graph = define(spark, case)
            assert list(events(spark, graph, dry=True, storage="file:///none")) == []
    except StateplanError as error:
        return error.message, error.hint
    except (PySparkException, AttributeError) as error:
        return str(error), "not ours"
    return COMPLETED, ""


def flow_errors(told: str) -> dict[str, str]:
    """The errors of flows on standard error, by flow."""
    parts = re.split(r"^error: flow '(.*?)': ", told, flags=re.MULTILINE)[1:]
    return {
        name: comparable(text.split("\nat: ")[0].split("\nhint: ")[0])
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    }


@pytest.mark.parametrize("name", CASES)
def test_as_spark_answers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES[name]
    expected = case["answer"]
    found, hint = ours(case)
    told = capsys.readouterr().err
    if expected == COMPLETED:
        assert found == COMPLETED, told
        return
    if NOT_THERE in expected["error"] and name.startswith(("step ", "wm over", "withColumn over")):
        # Spark's server analyses this step before the pipeline's tables are there.
        assert found == COMPLETED
        assert "refuses it until it is in the catalog (TABLE_OR_VIEW_NOT_FOUND)" in told
        return
    assert comparable(found) == comparable(expected["error"])
    assert hint
    flows = expected.get("flows", {})
    assert flow_errors(told) == {
        name.removeprefix("spark_catalog.default."): comparable(text)
        for name, text in flows.items()
    }


def test_no_case_lacks_an_answer() -> None:
    assert all("answer" in case for case in CASES.values())


def test_what_a_graph_is_refused_for_costs_no_other_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = """
    dp.create_streaming_table("unwritten")
    @dp.table(schema="a STRING")
    def wrong(): return spark.readStream.table("raw")
    @dp.table
    def above(): return spark.readStream.table("wrong")
    """
    found, hint = ours({"python": code})
    assert "DATASET_WITHOUT_FLOW" in found or "unwritten" in found, (found, hint)
    shown = capsys.readouterr().out
    assert "raw: streaming table" in shown and shown.count("== Physical Plan ==") == 2
