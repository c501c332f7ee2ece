"""Whole queries over files: wherever a run ends, a restart gives each row's effect once."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from engines import some_on_spark

from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source as CatalogSource
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse
from stateplan.runtime.checkpoint import Checkpoint
from stateplan.runtime.claim import Holder
from stateplan.runtime.failures import BatchFailure
from stateplan.runtime.files import corrupt
from stateplan.runtime.progress import StreamingQueryProgress
from stateplan.runtime.sinks import FileSink, ForeachBatchSink, NoopSink, Sink
from stateplan.runtime.sources import FileSource
from stateplan.runtime.streaming import StartRequest, run_to_completion, start
from stateplan.runtime.triggers import AVAILABLE_NOW, MANUAL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "user STRING, ts TIMESTAMP, n INT"
WINDOWS = """
SELECT window(ts, '10 seconds').start AS w, count(*) AS c, sum(n) AS s
FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS GROUP BY window(ts, '10 seconds')
"""
# The row of 00:00:03 in the last step is late; 00:01:40 drives out what came before.
STEPS = (
    [("a", 1, 1), ("b", 8, 2)],
    [("a", 16, 3), ("c", 2, 4)],
    [("a", 27, 5)],
    [("b", 3, 100), ("z", 100, 0)],
)
EXPECTED = [("00:00:00", 3, 7), ("00:00:10", 1, 3), ("00:00:20", 1, 5)]


@dataclass
class Job:
    """One query over a directory of JSON files, with a checkpoint and an output directory."""

    spark: SparkSession
    root: Path
    sql: str = WINDOWS
    mode: Any = "append"
    conf: Mapping[str, str] = field(default_factory=lambda: {"spark.sql.shuffle.partitions": "2"})

    def __post_init__(self) -> None:
        (self.root / "in").mkdir()

    def feed(self, number: int, rows: list[tuple[str, int, int]]) -> None:
        path = self.root / "in" / f"{number}.json"
        path.write_text(
            "".join(
                json.dumps({"user": u, "ts": f"2026-01-01 00:{s // 60:02}:{s % 60:02}", "n": n})
                + "\n"
                for u, s, n in rows
            )
        )
        os.utime(path, (number, number))

    def feed_all(self) -> None:
        for number, rows in enumerate(STEPS):
            self.feed(number, rows)

    def request(self, sink: Sink | None = None, **settings: Any) -> StartRequest:
        schema = parse_schema(SCHEMA)
        source = FileSource("json", str(self.root / "in"), schema, {"maxFilesPerTrigger": "1"})
        conf = Conf(dict(self.conf))
        execution = IncrementalExecution(
            parse(self.sql, conf),
            catalog={"events": CatalogSource(name="events", schema=schema)},
            output_mode=self.mode,
            conf=conf,
            ids=itertools.count(),
        )
        settings.setdefault("checkpoint", self.root / "checkpoint")
        return StartRequest(
            execution=execution,
            sources={"events": source},
            sink=sink or FileSink("json", str(self.root / "out")),
            **settings,
        )

    def run(self, sink: Sink | None = None) -> list[StreamingQueryProgress]:
        request = self.request(sink, trigger=AVAILABLE_NOW)
        query = run_to_completion(self.spark, request)
        return query.recent_progress

    def output(self) -> list[tuple[str, int, int]]:
        frame = self.spark.read.schema("w TIMESTAMP, c BIGINT, s BIGINT").json(
            str(self.root / "out")
        )
        rows = frame.selectExpr("date_format(w, 'HH:mm:ss') AS w", "c", "s").collect()
        return sorted((r.w, r.c, r.s) for r in rows)


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path) -> Job:
    return Job(spark, tmp_path)


@pytest.fixture
def job_anywhere(session: SparkSession, tmp_path: Path) -> Job:
    return Job(session, tmp_path)


class Crash(BaseException):
    """The process dies here, as far as the query can tell."""


def dies(before: bool, function: Callable[..., Any], at_call: int) -> Callable[..., Any]:
    """The function, but its n-th call dies before or behind its work."""
    calls = itertools.count()

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        last = next(calls) == at_call
        if last and before:
            raise Crash
        result = function(*args, **kwargs)
        if last:
            raise Crash
        return result

    return wrapped


def test_without_a_failure(job: Job) -> None:
    job.feed_all()
    progress = job.run()
    assert job.output() == EXPECTED
    late = sum(o["numRowsDroppedByWatermark"] for p in progress for o in p["stateOperators"])
    assert late == 1
    assert sum(p["numInputRows"] for p in progress) == 7
    assert [sorted(p["durationMs"]) for p in job.run()] == [["latestOffset", "triggerExecution"]]


DEATHS = [
    (Checkpoint, "add_offsets", True, 0),
    (Checkpoint, "add_offsets", False, 2),
    (FileSink, "write", False, 3),
    (FileSink, "publish", True, 2),
    (FileSink, "publish", False, 4),
    (Checkpoint, "add_commit", True, 2),
    (Checkpoint, "add_commit", False, 0),
]


@some_on_spark("owner,name,before,at_call", DEATHS, DEATHS[1::3])
def test_a_run_that_dies_anywhere_is_continued(
    job_anywhere: Job,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    name: str,
    before: bool,
    at_call: int,
) -> None:
    job_anywhere.feed_all()
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dies(before, getattr(owner, name), at_call))
        with pytest.raises(Crash):
            job_anywhere.run()
    job_anywhere.run()
    assert job_anywhere.output() == EXPECTED


def test_a_restart_after_every_file(job: Job) -> None:
    for number, rows in enumerate(STEPS):
        job.feed(number, rows)
        job.run()
    assert job.output() == EXPECTED


def test_another_number_of_tasks_at_each_restart(job: Job) -> None:
    job.conf = {"spark.sql.shuffle.partitions": "6"}
    for number, (rows, tasks) in enumerate(zip(STEPS, (1, 3, 2, 5), strict=True)):
        job.feed(number, rows)
        run_to_completion(job.spark, job.request(trigger=AVAILABLE_NOW, tasks=tasks))
    assert job.output() == EXPECTED


def test_a_row_that_fails_fails_its_batch_whole(job: Job) -> None:
    job.sql = "SELECT user, 10 / n AS q FROM STREAM events"
    job.feed(0, [("a", 1, 1)])
    job.feed(1, [("b", 1, 2), ("c", 1, 0)])
    with pytest.raises(BatchFailure) as caught:
        job.run()
    assert caught.value.condition == "DIVIDE_BY_ZERO"
    assert caught.value.batch_id == 1
    assert caught.value.message.startswith("[DIVIDE_BY_ZERO] Division by zero.")
    assert "\n" not in caught.value.message
    found = job.spark.read.json(str(job.root / "out")).collect()
    assert [r.user for r in found] == ["a"]
    assert sorted(os.listdir(job.root / "checkpoint" / "commits"))[-1] == "0"


def test_an_overflow_in_a_kernel_has_sparks_condition(job: Job) -> None:
    job.sql = "SELECT user, sum(n * 9000000000000000000L) AS s FROM STREAM events GROUP BY user"
    job.mode = "update"
    job.feed(0, [("a", 1, 1)])
    job.feed(1, [("a", 1, 1)])
    with pytest.raises(StateplanError) as caught:
        job.run(NoopSink())
    assert caught.value.condition == "ARITHMETIC_OVERFLOW"
    assert caught.value.phase == "batch"


def test_a_checkpoint_of_another_query_is_refused(job: Job) -> None:
    job.feed(0, STEPS[0])
    job.run(NoopSink())
    job.sql = "SELECT DISTINCT user, ts FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 SECONDS"
    job.feed(1, STEPS[1])
    with pytest.raises(StateplanError) as caught:
        job.run(NoopSink())
    assert caught.value.condition == "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"
    job.sql = "SELECT user FROM STREAM events"
    with pytest.raises(StateplanError) as caught:
        job.run(NoopSink())
    assert caught.value.condition == "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"


def test_the_store_count_stays_as_the_checkpoint_began(job: Job) -> None:
    job.feed(0, STEPS[0])
    job.run(NoopSink())
    job.conf = {"spark.sql.shuffle.partitions": "5"}
    job.feed(1, STEPS[1])
    (progress, *_) = job.run(NoopSink())
    assert progress["stateOperators"][0]["numShufflePartitions"] == 2


def test_a_function_that_looks_at_nothing_still_moves_the_state(job: Job) -> None:
    job.sql = "SELECT user, count(*) AS c FROM STREAM events GROUP BY user"
    job.mode = "update"
    job.feed(0, STEPS[0])
    job.run(ForeachBatchSink(lambda frame, batch_id: None))
    job.feed(1, STEPS[0])
    seen: list[list[tuple[str, int]]] = []

    def function(frame: DataFrame, batch_id: int) -> None:
        assert not frame.isEmpty()
        seen.append(sorted((r.user, r.c) for r in frame.collect()))

    job.run(ForeachBatchSink(function))
    assert seen == [[("a", 2), ("b", 2)]]


def test_a_function_may_put_partitions_together(job: Job) -> None:
    job.sql = "SELECT user, count(*) AS c FROM STREAM events GROUP BY user"
    job.mode = "update"
    seen: list[list[tuple[str, int]]] = []

    def function(frame: DataFrame, batch_id: int) -> None:
        once = sorted((r.user, r.c) for r in frame.coalesce(1).collect())
        twice = sorted((r.user, r.c) for r in frame.union(frame).collect())
        assert twice == sorted([*once, *once])
        seen.append(once)

    for number in range(2):
        job.feed(number, STEPS[number])
        job.run(ForeachBatchSink(function))
    assert seen == [[("a", 1), ("b", 1)], [("a", 2), ("c", 1)]]


def test_one_source_read_at_two_places_has_two_offset_lines(job: Job) -> None:
    job.sql = "SELECT user FROM STREAM events UNION ALL SELECT user FROM STREAM events"
    job.feed(0, STEPS[0])
    job.run()
    lines = (job.root / "checkpoint" / "offsets" / "0").read_text().split("\n")
    assert lines[2:] == ['{"logOffset":0}'] * 2
    assert sorted(os.listdir(job.root / "checkpoint" / "sources")) == ["0"]
    assert job.spark.read.json(str(job.root / "out")).count() == 4
    job.feed(1, STEPS[1])
    job.run()
    assert job.spark.read.json(str(job.root / "out")).count() == 8


def test_spark_goes_on_from_our_files_and_we_from_sparks(job: Job) -> None:
    job.sql = "SELECT user FROM STREAM events"
    for number in range(11):  # one compaction of each log
        job.feed(number, [(str(number), 1, 1)])
    job.run()
    job.feed(11, [("11", 1, 1)])
    stream = job.spark.readStream.schema(SCHEMA).json(str(job.root / "in")).select("user")
    writer = stream.writeStream.format("json").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(job.root / "checkpoint"))
    native = writer.start(str(job.root / "out"))
    native.awaitTermination()
    assert [p.batchId for p in native.recentProgress] == [11]
    job.feed(12, [("12", 1, 1)])
    assert [p.batch_id for p in job.run()] == [12]
    rows = job.spark.read.schema("user STRING").json(str(job.root / "out")).collect()
    assert sorted(int(r.user) for r in rows) == list(range(13))


def test_state_that_spark_wrote_is_refused(job: Job) -> None:
    job.sql, job.mode = "SELECT user, count(*) AS c FROM STREAM events GROUP BY user", "update"
    job.feed(0, STEPS[0])
    stream = job.spark.readStream.schema(SCHEMA).json(str(job.root / "in"))
    writer = stream.groupBy("user").count().writeStream.format("noop").outputMode("update")
    writer = writer.option("checkpointLocation", str(job.root / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    job.feed(1, STEPS[1])
    with pytest.raises(StateplanError, match="only Spark can go on with it") as caught:
        job.run(NoopSink())
    assert caught.value.condition == "STATEPLAN_STATE_OF_SPARK"


def test_the_users_session_stays_as_it_was(job: Job) -> None:
    before = job.spark.conf.get("spark.sql.adaptive.enabled")
    job.conf = {"spark.sql.session.timeZone": "Asia/Tokyo", "spark.sql.ansi.enabled": "false"}
    job.sql = "SELECT date_format(ts, 'HH') AS h, 1 / 0 AS q FROM STREAM events"
    job.feed(0, STEPS[0])
    seen: list[Any] = []
    job.run(ForeachBatchSink(lambda frame, _: seen.extend(frame.collect())))
    assert [tuple(row) for row in seen] == [("00", None), ("00", None)]
    assert job.spark.conf.get("spark.sql.adaptive.enabled") == before
    assert job.spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_a_batch_that_runs_again_has_the_same_time(job: Job) -> None:
    job.sql = "SELECT unix_millis(current_timestamp()) AS t FROM STREAM events"
    job.feed(0, STEPS[0])
    seen: list[int] = []

    def function(frame: DataFrame, batch_id: int) -> None:
        seen.extend(r.t for r in frame.collect())
        if len(seen) == 2:
            raise ValueError

    with pytest.raises(StateplanError):
        job.run(ForeachBatchSink(function))
    job.run(ForeachBatchSink(function))
    first = json.loads((job.root / "checkpoint/offsets/0").read_text().split("\n")[1])
    assert seen == [first["batchTimestampMs"]] * 4


def test_a_temporary_checkpoint_goes_with_the_query(job: Job) -> None:
    job.feed(0, STEPS[0])
    query = start(job.spark, job.request(NoopSink(), trigger=MANUAL, checkpoint=None))
    root = query._execution.checkpoint.root
    query.process_all_available()
    assert root.exists()
    query.stop()
    assert not root.exists()


@pytest.mark.parametrize("superseded", [False, True])
def test_a_log_that_goes_from_under_a_superseded_run_is_not_called_corrupt(
    job: Job, superseded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job.feed(0, STEPS[0])
    query = start(job.spark, job.request(NoopSink(), trigger=MANUAL))
    query.process_all_available()
    root = query._execution.checkpoint.root
    if superseded:
        claim = root / "claims" / "9999999999-newer"
        claim.put(Holder(run_id="newer").to_json().encode())

    def compacted(*_: object, **__: object) -> None:
        raise corrupt(root / "sources/0/0", "it is missing")

    monkeypatch.setattr(FileSource, "latest_offset", compacted)
    condition = "CONCURRENT_STREAM_LOG_UPDATE" if superseded else "STATEPLAN_CHECKPOINT_CORRUPT"
    with pytest.raises(StateplanError) as failed:
        query.process_all_available()
    assert failed.value.condition == condition
    query.stop()
