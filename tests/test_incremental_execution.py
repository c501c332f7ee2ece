"""One query through its phases and its batches."""

from __future__ import annotations

import itertools

import pytest

from stateplan.physical.plan import StatefulOperator, StateStoreWriter
from stateplan.planner.explaining import MODES, explain
from stateplan.planner.incremental_execution import IncrementalExecution
from stateplan.planner.model.catalog import Source
from stateplan.planner.model.errors import (
    AnalysisError,
    DescriptionError,
    PlanningError,
    StreamingCheckError,
)
from stateplan.planner.model.ids import id_scope
from stateplan.planner.model.schemas.ddl import parse_schema
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.sql import parse

SCHEMA = parse_schema("user STRING, ts TIMESTAMP, qty INT")
CATALOG = {"events": Source(name="events", schema=SCHEMA)}
WATERMARK = "STREAM events WATERMARK ts DELAY OF INTERVAL 10 MINUTES"
WINDOWED = f"SELECT window(ts, '5 minutes') AS w, count(*) AS n FROM {WATERMARK} GROUP BY 1"
CHAINED = (
    f"SELECT user, ts, count(*) AS n FROM (SELECT DISTINCT user, ts FROM {WATERMARK}) GROUP BY 1, 2"
)


def execution(sql: str, mode: str = "append", **arguments: object) -> IncrementalExecution:
    conf = Conf({"spark.sql.shuffle.partitions": "5"})
    ids = itertools.count()
    with id_scope(ids):
        logical = parse(sql, conf)
    return IncrementalExecution(
        logical, catalog=CATALOG, output_mode=mode, conf=conf, ids=ids, **arguments
    )


def test_phases_are_made_once() -> None:
    query = execution(WINDOWED)
    assert query.executed_plan is query.executed_plan
    assert query.analyzed is query.analyzed


@pytest.mark.parametrize("mode", MODES)
def test_the_same_query_gives_the_same_text(mode: str) -> None:
    assert explain(execution(WINDOWED), mode) == explain(execution(WINDOWED), mode)


def test_extended_shows_all_phases() -> None:
    text = explain(execution(WINDOWED), "extended")
    headings = [line for line in text.splitlines() if line.startswith("== ")]
    assert headings == [
        "== Parsed Logical Plan ==",
        "== Analyzed Logical Plan ==",
        "== Optimized Logical Plan ==",
        "== Physical Plan ==",
    ]
    assert "w: struct<start:timestamp,end:timestamp>, n: bigint" in text
    assert "output=[w#" in text


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(DescriptionError, match="no explain mode 'verbose'"):
        explain(execution(WINDOWED), "verbose")


@pytest.mark.parametrize(
    ("sql", "mode", "kind"),
    [
        ("SELECT nothing FROM STREAM events", "append", AnalysisError),
        ("SELECT user FROM STREAM events", "complete", StreamingCheckError),
        (
            f"SELECT session_window(ts, '5 minutes') AS s, count(*) FROM {WATERMARK} GROUP BY 1",
            "append",
            PlanningError,
        ),
    ],
)
def test_each_phase_refuses_with_its_own_error(sql: str, mode: str, kind: type) -> None:
    with pytest.raises(kind):
        _ = execution(sql, mode).executed_plan


def test_state_info_counts_from_the_sink() -> None:
    query = execution(CHAINED, checkpoint_location="/c/state", run_id="run", batch_id=4)
    infos = [w.state_info for w in query.executed_plan.collect(StateStoreWriter)]
    assert [i.operator_id for i in infos] == [0, 1]
    assert {(i.checkpoint_location, i.run_id, i.version) for i in infos} == {("/c/state", "run", 4)}
    assert {i.num_partitions for i in infos} == {5}
    assert query.next_stateful_operation_state_info().operator_id == 2


def test_another_batch_differs_in_state_and_watermarks_only() -> None:
    query = execution(CHAINED)
    plan = query.for_batch(3, late_ms=1000, eviction_ms=2000)
    for node in plan.collect(StatefulOperator):
        assert node.state_info.version == 3
        assert node.event_time_watermark_for_late_events == 1000
        assert node.event_time_watermark_for_eviction == 2000
    assert [n.node_name for n in plan.walk()] == [n.node_name for n in query.executed_plan.walk()]
    assert plan.output == query.executed_plan.output


def test_a_batch_without_data_runs_once_the_watermark_moved() -> None:
    query = execution(WINDOWED)
    plan = query.for_batch(1, late_ms=0, eviction_ms=1000)
    assert not query.should_run_another_batch(1000, plan)
    assert query.should_run_another_batch(1001, plan)


@pytest.mark.parametrize(
    ("sql", "mode"),
    [
        ("SELECT user, count(*) FROM STREAM events GROUP BY user", "complete"),
        ("SELECT user, count(*) FROM STREAM events GROUP BY user", "update"),
        (f"SELECT user FROM {WATERMARK} LIMIT 3", "append"),
        (f"SELECT user FROM {WATERMARK}", "append"),
    ],
)
def test_no_batch_without_data_where_nothing_can_leave(sql: str, mode: str) -> None:
    query = execution(sql, mode)
    plan = query.for_batch(1, late_ms=0, eviction_ms=1000)
    assert not query.should_run_another_batch(5000, plan)


def test_stateful_view_names_the_place_in_the_text() -> None:
    text = explain(execution(WINDOWED), "stateful")
    assert "(0) StateStoreSave (stateStoreSave), append mode" in text
    assert "evicted:     once window.end is at or below the watermark" in text
    assert "from:        line 1, position " in text
