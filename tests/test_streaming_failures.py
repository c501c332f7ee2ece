"""What people are told when a batch fails, or Spark cannot start."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from stateplan.planner.model.errors import RuntimeFailure, StateplanError
from stateplan.runtime.engines.spark_session import start_session
from stateplan.runtime.failures import BatchFailure, batch_failure, innermost
from stateplan.runtime.kernels.errors import KernelError
from stateplan.runtime.progress import (
    ProgressLine,
    StreamingQueryProgress,
    json_lines,
    rate,
    timestamp_text,
)
from stateplan.runtime.triggers import Trigger, parse_trigger, processing_time

WORKER = """An exception was thrown from the Python worker: Traceback (most recent call last):
  File "kernel.py", line 3, in run
stateplan.runtime.kernels.errors.KernelError: [ARITHMETIC_OVERFLOW] overflow. SQLSTATE: 22003
 SQLSTATE: 38000"""


class Spark(Exception):
    """An error of Spark with a condition and JVM causes."""

    def __init__(self, condition: str | None, text: str, origin: object = None) -> None:
        super().__init__(text)
        self._condition = condition
        self._origin = origin

    def getCondition(self) -> str | None:
        return self._condition

    def getMessage(self) -> str:
        return str(self)

    def getCause(self) -> object:
        return self._origin


def test_the_innermost_condition_counts() -> None:
    inner = Spark("DIVIDE_BY_ZERO", "[DIVIDE_BY_ZERO] Division by zero.\n== SQL ==\n1 / 0")
    outer = Spark(
        "STREAM_FAILED", "[STREAM_FAILED] Query failed", Spark(None, "Job aborted", inner)
    )
    assert innermost(outer) == ("DIVIDE_BY_ZERO", "[DIVIDE_BY_ZERO] Division by zero.")


def test_a_kernels_condition_is_found_in_the_workers_traceback() -> None:
    error = Spark("PYTHON_EXCEPTION", f"[PYTHON_EXCEPTION] {WORKER}")
    condition, message = innermost(error)
    assert condition == "ARITHMETIC_OVERFLOW"
    assert message == "[ARITHMETIC_OVERFLOW] overflow. SQLSTATE: 22003"


def test_a_condition_is_found_behind_what_functions_say_that_read_from_others() -> None:
    raised = "RuntimeError: External error: KernelError: [DIVIDE_BY_ZERO] Division by zero."
    text = WORKER.split("stateplan.")[0] + raised + '\n== DataFrame ==\n"x" was called'
    assert innermost(Spark(None, text)) == ("DIVIDE_BY_ZERO", raised.split("KernelError: ")[1])


def test_a_legacy_condition_is_found_though_its_message_hides_it() -> None:
    error = KernelError("_LEGACY_ERROR_TEMP_3241", "CSV header does not conform.\n Header: a")
    text = f"{WORKER.split('stateplan.')[0]}stateplan.runtime.kernels.errors.KernelError: {error}"
    condition, message = innermost(Spark("PYTHON_EXCEPTION", text))
    assert (condition, message) == (error.condition, str(error).split("\n")[0])


def test_an_error_in_the_worker_is_its_last_line() -> None:
    raised = "ModuleNotFoundError: No module named 'elsewhere'"
    text = WORKER.split("stateplan.")[0].replace("An", "[PYTHON_EXCEPTION] An", 1)
    message = f"[PYTHON_EXCEPTION] An exception was thrown from the Python worker: {raised}"
    found = innermost(Spark("PYTHON_EXCEPTION", f"{text}{raised}\n SQLSTATE: 38000"))
    assert found == ("PYTHON_EXCEPTION", message)
    # PySpark's own exception has words in front, and its condition in the text alone.
    said = f"\n  An exception was thrown. Please see below.\n{text}{raised}\n SQLSTATE: 38000"
    assert innermost(Spark(None, said)) == found


def test_the_file_that_was_read_is_named() -> None:
    inner = Spark("CANNOT_PARSE", "[CANNOT_PARSE] Malformed.")
    outer = Spark("FAILED_READ_FILE", "[FAILED_READ_FILE] while reading file file:///a.json.  X")
    outer._origin = inner
    assert innermost(outer) == ("CANNOT_PARSE", "[CANNOT_PARSE] Malformed. (file file:///a.json)")


def test_of_a_malformed_record_it_is_said_that_the_file_cannot_be_read() -> None:
    text = "[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed."
    malformed = "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION"
    inner = Spark(malformed, text)
    of_file = KernelError(malformed, f"{text} (file file:///a.json)")
    outer = Spark("FAILED_READ_FILE", "[FAILED_READ_FILE] while reading file file:///a.json.  X")
    outer._origin = inner
    read = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a.json. "
    for error in (of_file, outer):
        condition, message = innermost(error)
        assert condition == "FAILED_READ_FILE.NO_HINT"
        assert message == f"{read} SQLSTATE: KD001\n{text}"
    assert innermost(inner) == (malformed, text)  # of a function: no file is read


def test_our_own_error_stands_as_it_is() -> None:
    own = RuntimeFailure("X", "told already")
    wrapper = ValueError("around")
    wrapper.__cause__ = own
    assert batch_failure(wrapper, 3) is own


def test_an_error_without_condition_keeps_its_text() -> None:
    failure = batch_failure(KeyError("gone"), 3)
    assert isinstance(failure, BatchFailure)
    assert (failure.condition, failure.batch_id) == ("STATEPLAN_BATCH_FAILED", 3)
    assert failure.message == "KeyError: 'gone'"
    assert "Batch 3 is not committed" in failure.hint


def test_no_java_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    with pytest.raises(StateplanError) as caught:
        start_session("local[1]")
    assert caught.value.condition == "STATEPLAN_NO_JAVA"
    assert "JDK 17" in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("master", ["foo", "local[x]", "local[2", ""])
def test_a_bad_master_starts_no_java(master: str) -> None:
    with pytest.raises(StateplanError, match="is no master URL") as caught:
        start_session(master)
    assert caught.value.condition == "STATEPLAN_SPARK_NOT_STARTED"


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("once", Trigger("once")),
        ("available-now", Trigger("available_now")),
        ("10 seconds", Trigger("processing_time", 10_000)),
        ("1 minute 30 seconds", Trigger("processing_time", 90_000)),
    ],
)
def test_triggers(text: str, trigger: Trigger) -> None:
    assert parse_trigger(text) == trigger


@pytest.mark.parametrize("text", ["soon", "10", "10 parsecs", "10 seconds or so"])
def test_bad_triggers_are_refused(text: str) -> None:
    with pytest.raises(StateplanError, match="is no interval"):
        parse_trigger(text)


def test_the_next_trigger_is_at_a_multiple_of_the_interval() -> None:
    assert processing_time("10 seconds").next_time_ms(12_345) == 20_000
    assert processing_time("interval 1 minute -29.5 seconds").interval_ms == 30_500


def test_figures_are_written_as_spark_writes_them() -> None:
    assert timestamp_text(0) == "1970-01-01T00:00:00.000Z"
    assert timestamp_text(1_767_225_601_005) == "2026-01-01T00:00:01.005Z"
    assert (rate(1, 6.549), rate(5, 0)) == (0.2, 0.0)


def test_progress_for_people_and_machines() -> None:
    progress = StreamingQueryProgress(
        batchId=3,
        numInputRows=1200,
        batchDuration=1500,
        stateOperators=[{"numRowsTotal": 7, "numRowsDroppedByWatermark": 2}],
        eventTime={"watermark": "2026-01-01T00:00:01.000Z"},
    )
    out = io.StringIO()
    ProgressLine(out)(progress)
    assert out.getvalue() == (
        "batch 3 | 1,200 rows in 1.5 s | 1,200 in all | state 7 | 2 late | "
        "watermark 2026-01-01 00:00:01\n"
    )
    out = io.StringIO()
    json_lines(out)(progress)
    assert out.getvalue().startswith('{"batchId": 3, "numInputRows": 1200')


def test_a_process_of_a_function_ends_with_the_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    from stateplan.runtime.connect import batch_worker

    parents, ended = iter([7, 7, 1]), []
    monkeypatch.setattr("os.getppid", lambda: next(parents))
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr("os._exit", ended.append)
    batch_worker.end_with(7)
    assert ended == [1]
    assert next(parents, None) is None
