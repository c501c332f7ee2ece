"""The micro-batch loop on its own: batches that pass rows through stand for the real ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stateplan.physical.basic import EventTimeWatermarkExec, StreamingRelationExec
from stateplan.physical.plan import SparkPlan
from stateplan.planner.model.errors import StateplanError
from stateplan.planner.model.expressions.core import AttributeReference
from stateplan.planner.model.schemas.types import LONG, TIMESTAMP, StructField, StructType
from stateplan.planner.model.settings.conf import Conf
from stateplan.runtime.batch_progress import RunIdentity
from stateplan.runtime.checkpoint import Checkpoint
from stateplan.runtime.engines.context import BatchContext, BatchResults, EventTimeStats
from stateplan.runtime.engines.spark import SparkEngine
from stateplan.runtime.listeners import Listeners
from stateplan.runtime.micro_batch import MicroBatchExecution
from stateplan.runtime.offsets import recover
from stateplan.runtime.query import StreamingQuery
from stateplan.runtime.sinks import ForeachBatchSink, Sink
from stateplan.runtime.sources import MemorySource
from stateplan.runtime.task_choice import TaskChoice
from stateplan.runtime.triggers import AVAILABLE_NOW, DEFAULT, MANUAL, ONCE, Trigger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = StructType((StructField("seconds", LONG),))
TS = AttributeReference(name="ts", type_=TIMESTAMP, expr_id=1)


@dataclass
class Planned:
    """A query with a watermark of no delay that wants a no-data batch when the watermark moved."""

    batches: list[tuple[int, int, int]] = field(default_factory=list)

    def for_batch(self, batch_id: int, late_ms: int, eviction_ms: int) -> SparkPlan:
        self.batches.append((batch_id, late_ms, eviction_ms))
        relation = StreamingRelationExec(name="events", format="memory", attributes=(TS,))
        return EventTimeWatermarkExec(
            child=relation,
            event_time=TS,
            delay=(0, 0, 0),
            delay_text="0 seconds",
            delay_ms=0,
            node_id="w",
            attributes=(TS,),
        )

    def should_run_another_batch(
        self, new_watermark_ms: int, executed: SparkPlan | None = None
    ) -> bool:
        return new_watermark_ms > self.batches[-1][2]


@dataclass
class PassThrough:
    """A batch: the source's rows; `seconds` are event times."""

    context: BatchContext
    log: list[str]

    @property
    def dataframe(self) -> DataFrame:
        return self.context.sources["events"]

    def results(self) -> BatchResults:
        rows = [row[0] for row in self.dataframe.collect()]
        stats = None
        if rows:
            low, high = min(rows) * 1000, max(rows) * 1000
            stats = EventTimeStats(max_ms=high, min_ms=low, avg_ms=high, count=len(rows))
        return BatchResults(operators=(), event_times={"w": stats})

    def commit_state(self) -> None:
        self.log.append(f"state {self.context.batch_id}")

    @property
    def state_attempt(self) -> str | None:
        return None

    def clean_up(self) -> None:
        self.log.append(f"clean {self.context.batch_id}")

    def abort(self) -> None:
        self.log.append(f"abort {self.context.batch_id}")


@dataclass
class Rig:
    """A query over one memory source that can be stopped and started again."""

    spark: SparkSession
    root: Path
    conf: Mapping[str, str] = field(default_factory=dict)
    source: MemorySource = field(default_factory=lambda: MemorySource(SCHEMA, 1))
    planned: Planned = field(default_factory=Planned)
    emitted: list[tuple[int, list[int]]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    crash: bool = False

    def sink(self, frame: DataFrame, batch_id: int) -> None:
        self.emitted.append((batch_id, sorted(row[0] for row in frame.collect())))
        if self.crash:
            self.crash = False
            raise ValueError("the sink fails")

    def start(self, trigger: Trigger = MANUAL, sink: Sink | None = None) -> StreamingQuery:
        checkpoint = Checkpoint.open(self.root)
        position, conf = recover(checkpoint, ["events"], Conf(dict(self.conf)))
        if trigger is AVAILABLE_NOW:
            self.source.prepare_for_available_now()
        engine = SparkEngine(self.spark)
        engine.configure(conf, 2)
        execution = MicroBatchExecution(
            engine=engine,
            identity=RunIdentity(id=checkpoint.id, run_id="run", name="rig"),
            planned=self.planned,
            prepare=lambda plan, context: PassThrough(context, self.log),
            sources={"events": self.source},
            tables={},
            readers={},
            sink=sink or ForeachBatchSink(self.sink),
            checkpoint=checkpoint,
            position=position,
            conf=conf,
            tasks=TaskChoice(most=2),
            unlimited=trigger is ONCE,
        )
        return StreamingQuery(execution, trigger, Listeners([], execution.identity), lambda: None)


@pytest.fixture
def rig(spark: SparkSession, tmp_path: Path) -> Rig:
    return Rig(spark, tmp_path / "checkpoint")


def figures(query: StreamingQuery, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(p[name] for name in names) for p in query.recent_progress]


def test_a_no_data_batch_follows_a_watermark_move_and_late_rows_go_by_the_one_before(
    rig: Rig,
) -> None:
    query = rig.start()
    rig.source.add([(5,)])
    query.process_all_available()
    rig.source.add([(4,)])
    query.process_all_available()
    assert rig.emitted == [(0, [5]), (1, []), (2, [4])]
    assert rig.planned.batches == [(0, 0, 0), (1, 0, 5000), (2, 5000, 5000)]
    assert figures(query, "batchId", "numInputRows") == [(0, 1), (1, 0), (2, 1)]
    assert [p["eventTime"]["watermark"] for p in query.recent_progress] == [
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:05.000Z",
        "1970-01-01T00:00:05.000Z",
    ]


def test_no_data_batches_can_be_switched_off(rig: Rig) -> None:
    rig.conf = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
    query = rig.start()
    rig.source.add([(5,)])
    query.process_all_available()
    assert rig.emitted == [(0, [5])]


def test_a_step_without_rows_still_makes_a_batch(rig: Rig) -> None:
    query = rig.start()
    rig.source.add([])
    query.process_all_available()
    assert rig.emitted == [(0, [])]


def test_a_failed_batch_runs_again_with_the_same_offsets_time_and_watermark(rig: Rig) -> None:
    query = rig.start()
    rig.source.add([(5,)])
    rig.crash = True
    with pytest.raises(StateplanError) as caught:
        query.process_all_available()
    assert caught.value.condition == "FOREACH_BATCH_USER_FUNCTION_ERROR"
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.phase == "batch"
    assert query.exception() is caught.value
    assert not query.is_active
    assert rig.log == ["abort 0"]
    written = (rig.root / "offsets" / "0").read_bytes()
    rig.source.add([(7,)])
    query = rig.start()
    query.process_all_available()
    assert rig.emitted == [(0, [5]), (0, [5]), (1, [7]), (2, [])]
    assert rig.log == ["abort 0"] + [f"{step} {n}" for n in range(3) for step in ("state", "clean")]
    assert (rig.root / "offsets" / "0").read_bytes() == written


def test_a_restart_asks_for_no_data_batches_only_after_its_first_batch(rig: Rig) -> None:
    query = rig.start()
    rig.source.add([(5,)])
    rig.conf = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
    query.process_all_available()
    query.stop()
    (rig.root / "commits" / "1").unlink()
    (rig.root / "commits" / ".1.crc").unlink()
    query = rig.start()
    query.process_all_available()
    assert rig.planned.batches[-1] == (1, 0, 5000)
    query.stop()
    query = rig.start()
    query.process_all_available()
    assert figures(query, "batchId", "numInputRows") == [(2, 0)]
    assert query.next_batch == 2


def test_the_offset_log_pins_settings(rig: Rig) -> None:
    rig.conf = {"spark.sql.shuffle.partitions": "6", "spark.sql.ansi.enabled": "false"}
    query = rig.start()
    rig.source.add([(1,)])
    query.process_all_available()
    changed = Conf({"spark.sql.shuffle.partitions": "8", "spark.sql.ansi.enabled": "true"})
    _, conf = recover(Checkpoint.open(rig.root), ["events"], changed)
    assert conf.shuffle_partitions == 6
    assert conf.ansi


def test_available_now_reads_what_was_there_in_batches_within_the_limit(rig: Rig) -> None:
    rig.source.add([(1,)])
    rig.source.add([(2,)])
    query = rig.start(AVAILABLE_NOW)
    rig.source.add([(3,)])
    query.run()
    assert rig.emitted == [(0, [1]), (1, [2]), (2, [])]
    assert not query.is_active
    assert query.await_termination()


def test_once_takes_everything_in_one_batch(rig: Rig) -> None:
    rig.source.add([(1,)])
    rig.source.add([(2,)])
    query = rig.start(ONCE)
    query.run()
    assert rig.emitted == [(0, [1, 2])]


def test_in_the_background_until_stopped(rig: Rig) -> None:
    query = rig.start(DEFAULT)
    query.run_in_background()
    rig.source.add([(1,)])
    query.process_all_available()
    assert rig.emitted == [(0, [1]), (1, [])]
    assert query.is_active
    assert query.status["message"]
    assert not query.await_termination(0.01)
    query.stop()
    assert not query.is_active
    assert query.await_termination()
    assert query.exception() is None
    assert query.status["message"] == "Stopped"


def test_a_failure_in_the_background_reaches_whoever_waits(rig: Rig) -> None:
    query = rig.start(DEFAULT)
    rig.crash = True
    query.run_in_background()
    rig.source.add([(1,)])
    with pytest.raises(StateplanError, match="the sink fails"):
        query.process_all_available()
    with pytest.raises(StateplanError, match="the sink fails"):
        query.await_termination()
    assert query.status["message"].startswith("Terminated with exception")


def test_progress_has_sparks_fields(rig: Rig) -> None:
    query = rig.start()
    rig.source.add([(1,), (2,)])
    query.process_all_available()
    progress = query.recent_progress[0]
    assert list(progress) == [
        *("id", "runId", "name", "timestamp", "batchId", "batchDuration", "numInputRows"),
        *("inputRowsPerSecond", "processedRowsPerSecond", "durationMs", "eventTime"),
        *("stateOperators", "sources", "sink", "observedMetrics"),
    ]
    assert list(progress["durationMs"]) == [
        *("addBatch", "commitOffsets", "getBatch", "latestOffset", "queryPlanning"),
        *("triggerExecution", "walCommit"),
    ]
    source = progress["sources"][0]
    assert (source["startOffset"], source["endOffset"], source["numInputRows"]) == (None, 1, 2)
    assert progress["sink"] == {"description": "ForeachBatchSink", "numOutputRows": -1}
