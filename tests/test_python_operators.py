"""Operators that run Python functions, from PySpark code."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateplan.planner.description import parse_description
from stateplan.planner.model.errors import AnalysisError, PlanningError, StreamingCheckError
from stateplan.planner.query import Query

SOURCES = {
    "events": {"schema": "user STRING, ts TIMESTAMP, qty INT"},
    "users": {"schema": "user STRING, age INT", "static": True},
}
PROCESSOR = """
from pyspark.sql.streaming import StatefulProcessor

class Count(StatefulProcessor):
    def init(self, handle):
        pass

    def handleInputRows(self, key, rows, timers):
        yield from rows

    def handleInitialState(self, key, state, timers):
        pass

    def close(self):
        pass
"""
WATERMARK = "events.withWatermark('ts', '10 minutes')"


@pytest.fixture(autouse=True)
def processors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user's with a processor."""
    (tmp_path / "processors_of_a_user.py").write_text(PROCESSOR)
    monkeypatch.syspath_prepend(str(tmp_path))


def query(code: str, mode: str = "append") -> Query:
    code = code.replace("Count()", "__import__('processors_of_a_user').Count()")
    content = {"sources": SOURCES, "python": code, "output_mode": mode}
    return Query.of(parse_description(content))


def lines(code: str, mode: str = "append") -> list[str]:
    """The operators' names and what stands before their columns, from the sink."""
    return [line.strip(" :+-") for line in query(code, mode).explain().splitlines()[1:]]


@pytest.mark.parametrize(
    ("method", "rows"),
    [("transformWithStateInPandas", "pandas"), ("transformWithState", "python_row")],
)
def test_a_processor(method: str, rows: str) -> None:
    plan = lines(f"events.groupBy('user').{method}(Count(), 'n LONG', 'update', 'None')", "update")
    assert plan[0].startswith("!TransformWithStateInPySpark transformWithStateUDF(user#")
    assert ", Update, NoTime, state info [ checkpoint" in plan[0]
    assert f", {rows}, true, false, [user#" in plan[0]
    assert plan[1].startswith("*(2) Sort [user#")
    assert plan[2].startswith("Exchange hashpartitioning(user#")
    assert plan[-1] == "PlanLater LocalRelation <empty>"


def test_a_processor_with_an_initial_state() -> None:
    plan = lines(
        "events.groupBy('user').transformWithState(Count(), 'n LONG', 'append', 'None',"
        " initialState=users.groupBy('user'))"
    )
    assert "transformWithStateWithInitStateUDF" in plan[0]
    assert plan[0].endswith(
        "[StructField(user,StringType,true), StructField(age,IntegerType,true)]"
    )
    assert sum(line.startswith("Exchange hashpartitioning(user#") for line in plan) == 2


def test_a_processor_gives_the_event_time_of_what_follows() -> None:
    plan = lines(
        f"{WATERMARK}.groupBy('user').transformWithState(Count(), 't TIMESTAMP', 'append',"
        " 'EventTime', eventTimeColumnName='t').groupBy(F.window('t', '5 minutes')).count()"
    )
    marked = [line for line in plan if line.startswith("UpdateEventTimeColumn")]
    assert marked[0].split("#")[0] == "UpdateEventTimeColumn t"
    assert marked[0].endswith("timestamp, 10 minutes, -9223372036854775808")
    assert "opId = 1" in next(line for line in plan if "TransformWithState" in line)


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [
        ("'n LONG', 'append', 'Never'", "STATEFUL_PROCESSOR_UNKNOWN_TIME_MODE"),
        ("'n LONG', 'never', 'None'", "STREAMING_OUTPUT_MODE.INVALID"),
        (
            "'t TIMESTAMP', 'append', 'EventTime', eventTimeColumnName='t'",
            "CANNOT_ASSIGN_EVENT_TIME_COLUMN_WITHOUT_WATERMARK",
        ),
    ],
)
def test_processors_that_are_refused(arguments: str, condition: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        query(f"events.groupBy('user').transformWithState(Count(), {arguments})").explain()
    assert refused.value.condition == condition


def test_state_needs_a_key() -> None:
    call = "applyInPandasWithState(lambda k, p, s: p, 'n LONG', 'c LONG', 'append', 'NoTimeout')"
    with pytest.raises(PlanningError, match="should not be Nil"):
        query(f"events.groupBy().{call}").explain()


def test_a_key_of_state_is_a_column() -> None:
    call = "applyInPandasWithState(lambda k, p, s: p, 'n LONG', 'c LONG', 'append', 'NoTimeout')"
    field = "events.withColumn('s', F.struct('user')).groupBy('s.user')"
    with pytest.raises(StreamingCheckError, match=r"groups by columns, and s\.user is none"):
        query(f"{field}.{call}").explain()


@pytest.mark.parametrize(
    ("mode", "timeout", "below", "message"),
    [
        ("complete", "NoTimeout", "events", "should be append or update"),
        ("append", "Soon", "events", "The timeout is one of"),
        ("append", "EventTimeTimeout", "events", "Watermark must be specified"),
        ("update", "NoTimeout", "events", "in update mode is not supported with Append"),
    ],
)
def test_state_by_mode_and_timeout(mode: str, timeout: str, below: str, message: str) -> None:
    call = f"applyInPandasWithState(lambda k, p, s: p, 'n LONG', 'c LONG', '{mode}', '{timeout}')"
    with pytest.raises((AnalysisError, StreamingCheckError), match=message):
        query(f"{below}.groupBy('user').{call}").explain()


def test_state_after_an_aggregation_is_refused() -> None:
    call = "applyInPandasWithState(lambda k, p, s: p, 'n LONG', 'c LONG', 'append', 'NoTimeout')"
    with pytest.raises(StreamingCheckError, match="is not supported after aggregation"):
        query(f"events.groupBy('user').count().groupBy('user').{call}", "update").explain()


@pytest.mark.parametrize(
    ("code", "operator"),
    [
        ("events.mapInPandas(lambda rows: rows, 'user STRING')", "MapInPandas <lambda>(user#"),
        ("events.mapInArrow(lambda rows: rows, 'user STRING')", "MapInArrow <lambda>(user#"),
        ("events.select(F.udf(lambda q: q, 'int', useArrow=False)('qty'))", "BatchEvalPython ["),
        ("events.select(F.pandas_udf(lambda q: q, 'int')('qty'))", "ArrowEvalPython ["),
    ],
)
def test_operators_without_state(code: str, operator: str) -> None:
    assert any(line.startswith(operator) for line in lines(code))


@pytest.mark.parametrize("method", ["applyInPandas", "applyInArrow"])
def test_groups_are_shuffled_and_sorted(method: str) -> None:
    plan = lines(f"events.groupBy(F.upper('user')).{method}(lambda rows: rows, 'user STRING')")
    assert plan[0] == "AdaptiveSparkPlan isFinalPlan=false"
    assert plan[1].startswith(f"FlatMapGroups{method[5:]} ['upper('user)#")
    assert plan[2].startswith("Sort ['upper('user)#")


def test_groups_of_two_frames() -> None:
    plan = lines(
        "events.groupBy('user').cogroup(users.groupBy('user'))"
        ".applyInPandas(lambda one, other: one, 'user STRING')"
    )
    assert plan[1].startswith("FlatMapCoGroupsInPandas [user#")
    assert sum(line.startswith("Exchange hashpartitioning(user#") for line in plan) == 2


def test_a_function_of_both_sides_is_refused_in_an_outer_join() -> None:
    code = "events.join(users, F.udf(lambda a, b: True, 'boolean')(events.qty, users.age), 'left')"
    with pytest.raises(PlanningError) as refused:
        query(code).explain()
    assert refused.value.condition == "UNSUPPORTED_FEATURE.PYTHON_UDF_IN_ON_CLAUSE"
