"""The handle of a running query: PySpark's names, explain, listeners, several at once, stops."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import stateplan
from stateplan.planner.model.errors import StateplanError
from stateplan.runtime.sinks import MemorySink
from stateplan.runtime.sources import MemorySource

pytestmark = pytest.mark.embedded
SOURCES = {"events": "user STRING, ts TIMESTAMP"}
SQL = """SELECT user, count(*) AS n FROM STREAM events WATERMARK ts DELAY OF INTERVAL 1 MINUTE
    GROUP BY user"""


def running(rows: list[Any], sql: str = SQL, **given: Any) -> Any:
    query = stateplan.sql(sql, SOURCES, "update", {"spark.sql.shuffle.partitions": "2"})
    return query.run(sources={"events": rows}, **{"sink": MemorySink(), **given})


def test_the_handle_has_pysparks_names(capsys: pytest.CaptureFixture[str]) -> None:
    handle = running([("ann", "2026-01-01 00:10")], name="counts")
    handle.processAllAvailable()
    assert (handle.name, handle.runId, handle.isActive) == ("counts", handle.run_id, True)
    assert handle.status["message"] == "Waiting for data to arrive"
    assert handle.awaitTermination(0.01) is False
    assert [p.batchId for p in handle.recentProgress] == [0, 1]
    assert handle.lastProgress.eventTime == {"watermark": "2026-01-01T00:09:00.000Z"}
    assert '"batchId": 1' in handle.lastProgress.prettyJson
    assert not hasattr(handle.lastProgress, "batch")
    handle.explain()
    shown = capsys.readouterr().out
    assert shown.startswith("== Physical Plan ==\n") and f"runId = {handle.runId}" in shown
    assert "opId = 0, ver = 1, numPartitions = 2" in shown
    assert "Update, 0, 1767226140000" in shown
    handle.explain(True)
    assert capsys.readouterr().out.startswith("== Parsed Logical Plan ==\n")
    handle.stop()
    assert (handle.isActive, handle.exception(), handle.awaitTermination()) == (False, None, True)


def test_there_is_no_plan_before_the_first_batch() -> None:
    query = stateplan.sql(SQL, SOURCES, "update")
    empty = MemorySource(query.catalog["events"].schema)
    handle = query.run(sources={"events": empty}, sink="noop")
    handle.process_all_available()
    assert handle.explained() == "No physical plan. Waiting for data."
    handle.stop()


def test_pysparks_listeners_hear_of_every_event(caplog: pytest.LogCaptureFixture) -> None:
    from pyspark.sql.streaming import StreamingQueryListener, listener

    heard: list[Any] = []

    class Hears(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:
            heard.append(event)

        onQueryProgress = onQueryIdle = onQueryTerminated = onQueryStarted

    class Fails(Hears):
        def onQueryProgress(self, event: Any) -> None:
            raise ValueError("a listener's own")

    functions: list[int] = []
    listeners = [Fails(), Hears(), lambda progress: functions.append(progress["batchId"])]
    handle = running([("ann", "2026-01-01 00:10")], name="counts", listeners=listeners)
    handle.process_all_available()
    handle.stop()
    assert "a listener's own" in caplog.text and handle.exception() is None
    assert functions == [0, 1]
    started, *progress = heard[1:2] + [e for e in heard if hasattr(e, "progress")]
    assert isinstance(started, listener.QueryStartedEvent)
    assert (started.name, str(started.runId)) == ("counts", handle.run_id)
    assert [event.progress.batchId for event in progress] == [0, 1]
    assert progress[0].progress.stateOperators[0].numRowsTotal == 1
    ended = heard[-1]
    assert isinstance(ended, listener.QueryTerminatedEvent) and ended.exception is None


def test_listeners_hear_of_rest_and_of_failure() -> None:
    from pyspark.sql.streaming import StreamingQueryListener

    heard: list[str] = []

    class Hears(StreamingQueryListener):
        def onQueryStarted(self, event: Any) -> None:
            heard.append(f"started {event.name}")

        def onQueryProgress(self, event: Any) -> None:
            heard.append("progress")

        def onQueryIdle(self, event: Any) -> None:
            heard.append("idle")

        def onQueryTerminated(self, event: Any) -> None:
            heard.append(str(event.errorClassOnException))

    conf = {"spark.sql.streaming.noDataProgressEventInterval": "20"}
    query = stateplan.sql("SELECT CAST(user AS INT) AS n FROM STREAM events", SOURCES, conf=conf)
    source = MemorySource(query.catalog["events"].schema)
    source.add([("1", None)])
    handle = query.run(sources={"events": source}, sink=MemorySink(), listeners=[Hears()])
    handle.process_all_available()
    time.sleep(0.1)
    source.add([("x", None)])
    with pytest.raises(StateplanError, match="CAST_INVALID_INPUT"):
        handle.await_termination()
    while heard[-1] == "idle":
        time.sleep(0.01)
    assert heard[:2] == ["started None", "progress"] and set(heard[2:-1]) == {"idle"}
    assert heard[-1] == "CAST_INVALID_INPUT"
    with pytest.raises(StateplanError, match="7 is no listener"):
        running([], listeners=[7])


def test_several_queries_run_at_once() -> None:
    sinks = [MemorySink() for _ in range(4)]
    rows = [[(f"user {i}", f"2026-01-01 00:0{i}")] * (i + 1) for i in range(4)]
    handles = [running(r, sink=sink) for r, sink in zip(rows, sinks, strict=True)]
    for handle in handles:
        handle.process_all_available()
    assert [sink.rows() for sink in sinks] == [[(f"user {i}", i + 1)] for i in range(4)]
    for handle in handles:
        handle.stop()


def test_a_query_may_be_stopped_after_its_batch(tmp_path: Path) -> None:
    inside, release, seen = threading.Event(), threading.Event(), []

    def slow(frame: Any, batch_id: int) -> None:
        inside.set()
        release.wait(10)
        seen.append(batch_id)

    handle = running([("ann", "2026-01-01")], sink=slow, checkpoint=tmp_path / "checkpoint")
    inside.wait(10)
    stopping = threading.Thread(target=handle.stop_after_batch)
    stopping.start()
    release.set()
    stopping.join(10)
    assert (seen, handle.is_active) == ([0], False)
    assert (tmp_path / "checkpoint" / "commits" / "0").exists()


SCRIPT = """
import signal, sys, threading, time, traceback
from stateplan.planner.cli import main
from stateplan.runtime.sinks import simple

def waits():
    frame = sys._current_frames()[threading.main_thread().ident]
    return "await_termination" in [called.name for called in traceback.extract_stack(frame)]

def write(self, frame, batch_id):
    while not waits():
        time.sleep(0.01)
    print("inside", flush=True)
    time.sleep(1)
    return None

simple.NoopSink.write = write
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores it
main(["run", "query.yaml", "--engine", "embedded"])
"""


def test_ctrl_c_on_the_command_line_stops_after_the_batch(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"user": "ann"}\n')
    (tmp_path / "query.yaml").write_text(
        "sources: {events: {schema: user STRING, path: in}}\nsql: SELECT * FROM STREAM events\n"
        "sink: noop\ncheckpoint: checkpoint\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as run:
        try:
            assert run.stdout is not None and run.stdout.readline() == "inside\n"
            run.send_signal(signal.SIGINT)
            assert run.wait(30) == 0
        finally:
            run.kill()
    assert (tmp_path / "checkpoint" / "commits" / "0").exists()
