"""Streams from a seed on either engine, beside Structured Streaming itself: the same batches.

compare_random_streams.py runs as many as one likes. Here both engines are compared with Spark's
answers in a file, of which some are asked for again; the engines change at every restart of a
stream through each operator.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import embedded_environment
import pytest
from stream_comparison.cases import ANSWERS, OPERATORS, SHAPES, SUITE, Name, what
from stream_comparison.native import Answers, derived
from stream_comparison.runs import run_in_turns, run_part, run_whole
from stream_comparison.verdicts import Verdict, reason, verdict
from stream_comparison.worker import Worker

from stateplan.runtime.comparison import differences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Answers(ANSWERS, None)
EQUAL = Verdict(kind="equal")
REFUSED = {
    "limited": "a limit right above a watermark: how many rows it reads decides the watermark"
}
"""Why the embedded engine refuses the streams of some shapes."""
UNCOMPARED = {
    "streams": ("sessions", "chained", "whole"),
    "tables": ("joined", "asking", "typed"),
    "joins": tuple(SHAPES["joins"]),
    "operators": ("lists",),
    "user state": (),
    "variety": tuple(SHAPES["variety"]),
    "compositions": ("over_aggregates", "over_rows"),
    "large": (),
}
"""Shapes with what the table need not have: they are equal, or refused by name."""


def uncompared(name: Name) -> bool:
    return name.shape in UNCOMPARED[name.family]


def judged(name: Name, got: dict[str, Any], **how: bool) -> Verdict:
    """What came of a stream, beside the recorded answer."""
    return verdict(RECORDED.of(name), got, ordered="ordered" in name.case(), **how)


def test_a_recorded_answer_is_sparks(spark: SparkSession) -> None:
    """One of them: compare_random_streams.py asks for all."""
    name = SUITE[0]
    assert differences(RECORDED.of(name), derived(spark, name)) == []


@pytest.mark.parametrize("name", SUITE[::3], ids=str)
def test_streams_on_spark(spark: SparkSession, name: Name) -> None:
    found = judged(name, run_whole(partial(run_part, spark), name), may_refuse=False)
    assert found == EQUAL, "\n".join([what(name.case()), *found.texts])


@pytest.mark.embedded
@pytest.mark.parametrize("name", SUITE, ids=str)
def test_streams_on_the_embedded_engine(name: Name) -> None:
    from stateplan.runtime.engines.embedded_session import session

    found = judged(name, run_whole(partial(run_part, session()), name), may_refuse=True)
    refused = REFUSED.get(name.shape)
    if refused is None and uncompared(name):
        assert found.kind != "differs", "\n".join([what(name.case()), *found.texts])
        return
    expected = EQUAL if refused is None else Verdict(kind="refused", texts=(refused,))
    assert found == expected, "\n".join([what(name.case()), *found.texts])


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    """The embedded engine in its own environment."""
    try:
        started = Worker(embedded_environment.python())
    except embedded_environment.NotMade as error:
        pytest.fail(str(error), pytrace=False)
    yield started
    started.stop()


@pytest.mark.parametrize("name", OPERATORS, ids=str)
def test_a_checkpoint_changes_the_engine_at_each_restart(
    spark: SparkSession, worker: Worker, name: Name
) -> None:
    runners = [partial(run_part, spark), worker.run]
    if name.shape in AT_FIRST_EMBEDDED:
        runners.reverse()
    found = judged(name, run_in_turns(runners, name), may_refuse=uncompared(name))
    assert found.kind != "differs", "\n".join([what(name.case()), *found.texts])


AT_FIRST_EMBEDDED = SHAPES["operators"][::2]


# ------------------------------------------------------------------------------ the comparison


def emitted(*rows: list[Any], error: dict[str, Any] | None = None) -> dict[str, Any]:
    """What one batch has emitted."""
    batch = {"id": 0, "step": 0, "watermark": "1970-01-01T00:00:00.000Z", "rows": list(rows)}
    found: dict[str, Any] = {"columns": [["n", "int"]], "batches": [batch]}
    return found if error is None else {**found, "error": error}


def test_every_difference_counts() -> None:
    for other in (
        emitted([2]),
        emitted(),
        {**emitted([1]), "columns": [["m", "int"]]},
        {**emitted([1]), "batches": []},
        {**emitted([1]), "batches": [{**emitted([1])["batches"][0], "watermark": "x"}]},
        {**emitted([1]), "batches": [{**emitted([1])["batches"][0], "state": [{"rows_total": 1}]}]},
        emitted([1], error={"phase": "batch", "batch": 1, "condition": "DIVIDE_BY_ZERO"}),
    ):
        for want, got in ((emitted([1]), other), (other, emitted([1]))):
            assert verdict(want, got, ordered=False, may_refuse=True).kind == "differs"
    assert verdict(emitted([1]), emitted([1]), ordered=False, may_refuse=True) == EQUAL


def test_a_refused_stream_must_be_right_up_to_there() -> None:
    message = "The embedded engine does not compute the expression f(a) as Spark does: f(int) no."
    error = {"phase": "batch", "batch": 1, "condition": "STATEPLAN_NOT_EXACT", "message": message}
    found = verdict(emitted([1]), emitted([1], error=error), ordered=False, may_refuse=True)
    assert found == Verdict(kind="refused", texts=("f(int) no",))
    for got, refuses in ((emitted([2], error=error), True), (emitted([1], error=error), False)):
        assert verdict(emitted([1]), got, ordered=False, may_refuse=refuses).kind == "differs"
    message = "The embedded engine does not compute a limit as Spark does: no."
    assert reason(message) == "a limit: no"


def test_a_name_makes_its_case_again() -> None:
    for name in (*SUITE, *OPERATORS):
        assert Name.parse(str(name)) == name
        again, case = Name.parse(str(name)).case(), name.case()
        assert [again[k] for k in ("steps", "conf")] == [case[k] for k in ("steps", "conf")]


def test_a_worker_that_ends_is_told(tmp_path: Path) -> None:
    from stream_comparison.runs import Part
    from stream_comparison.worker import WorkerEnded

    python = tmp_path / "python"
    python.write_text(f"#!{os.path.realpath('/bin/sh')}\nread line; exit 3\n")
    python.chmod(0o755)
    with pytest.raises(WorkerEnded, match="3"):
        Worker(python).run(Part(name=SUITE[0], folder=tmp_path))
