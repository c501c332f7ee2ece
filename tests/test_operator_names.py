"""Stateful operators with names: an operator that is added shifts the state of no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stateplan
from stateplan.planner.described_sources import described_sources
from stateplan.planner.evolution.names import CONDITION, NAMES_FILE
from stateplan.planner.evolution.printing import report_text
from stateplan.planner.model.errors import PlanningError, RuntimeFailure
from stateplan.planner.model.settings.conf import Conf
from stateplan.planner.query import Query
from stateplan.runtime import operator_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = "user STRING, n BIGINT"
TOTALS = "SELECT user, sum(n) AS total FROM STREAM events GROUP BY user"
ABOVE = f"SELECT DISTINCT ON (user) user, total FROM ({TOTALS})"
BELOW = TOTALS.replace("FROM STREAM events", "FROM (SELECT DISTINCT ON (n) * FROM STREAM events)")
CONF = {
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.streaming.statefulOperator.checkCorrectness.enabled": "false",
}
Run = Callable[..., list[tuple[str, int]]]


def query(folder: Path, sql: str, *names: str) -> Query:
    source = {"events": {"schema": EVENTS, "path": str(folder / "in")}}
    return stateplan.sql(sql, source, "update", CONF, names=names)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Feed rows and run a query until they are done; gives what it emits."""
    files = iter(range(100))
    (tmp_path / "in").mkdir()

    def start(asked: Query, *rows: tuple[str, int], **settings: object) -> list[tuple[str, int]]:
        if rows:
            lines = (json.dumps({"user": user, "n": n}) for user, n in rows)
            (tmp_path / "in" / f"{next(files)}.json").write_text("\n".join(lines))
        emitted: list[tuple[str, int]] = []
        asked.run(
            engine="embedded",
            foreach_batch=lambda frame, _: emitted.extend(map(tuple, frame.collect())),
            trigger="available_now",
            checkpoint=tmp_path / "checkpoint",
            **settings,
        ).await_termination()
        return sorted(emitted)

    return start


def stored(tmp_path: Path) -> dict[str, tuple[int, int]]:
    content = json.loads((tmp_path / "checkpoint" / NAMES_FILE).read_text())
    return {name: (one["id"], one["since"]) for name, one in content["names"].items()}


@pytest.mark.embedded
def test_an_operator_above_shifts_nothing(run: Run, tmp_path: Path) -> None:
    assert run(query(tmp_path, TOTALS, "totals"), ("a", 1), ("b", 2)) == [("a", 1), ("b", 2)]
    assert stored(tmp_path) == {"totals": (0, 0)}
    above = query(tmp_path, ABOVE, "first", "totals")
    with pytest.raises(RuntimeFailure, match="starts without state"):
        run(above, ("a", 10))
    assert run(query(tmp_path, TOTALS, "totals")) == [("a", 11)]  # nothing was written for it
    assert run(above, ("a", 100), allow=["differs"]) == [("a", 111)]
    assert stored(tmp_path) == {"totals": (0, 0), "first": (1, 2)}
    assert run(above, ("a", 1), ("b", 5)) == [("b", 7)]  # it remembers 'a', and 'totals' goes on
    table = stateplan.read_state_table(tmp_path / "checkpoint", 0).to_pylist()
    assert sorted((row["user"], row["sum"]) for row in table) == [("a", 112), ("b", 7)]
    table = stateplan.read_state_table(tmp_path / "checkpoint", 1).to_pylist()
    assert sorted(row["user"] for row in table) == ["a", "b"]


@pytest.mark.embedded
def test_an_operator_below_changes_what_the_other_counts(run: Run, tmp_path: Path) -> None:
    run(query(tmp_path, TOTALS, "totals"), ("a", 1))
    below = query(tmp_path, BELOW, "totals", "once")
    with pytest.raises(RuntimeFailure, match="differs: input"):
        run(below, ("a", 1))
    assert run(below, ("a", 5), allow=["differs"]) == [("a", 7)]
    assert run(below, ("b", 1), ("b", 3)) == [("b", 3)]


@pytest.mark.embedded
def test_operators_may_change_places(run: Run, tmp_path: Path) -> None:
    swapped = "SELECT user, sum(n) AS total FROM (SELECT DISTINCT ON (n) * FROM STREAM events)"
    swapped += " GROUP BY user"
    run(query(tmp_path, swapped, "totals", "once"), ("a", 1), ("a", 1))
    three = f"SELECT DISTINCT ON (total) * FROM ({swapped})"
    asked = query(tmp_path, three, "new", "totals", "once")
    assert run(asked, ("a", 1), ("a", 2), allow=["differs"]) == [("a", 3)]
    assert stored(tmp_path) == {"totals": (0, 0), "once": (1, 0), "new": (2, 1)}


@pytest.mark.embedded
def test_a_start_without_a_batch_leaves_no_name(run: Run, tmp_path: Path) -> None:
    run(query(tmp_path, TOTALS, "totals"), ("a", 1))

    def fails(frame: object, number: int) -> None:
        raise OSError("the sink is full")

    (tmp_path / "in" / "more.json").write_text('{"user": "b", "n": 2}')
    above = query(tmp_path, ABOVE, "first", "totals")
    settings = {"engine": "embedded", "trigger": "available_now", "allow": ["differs"]}
    with pytest.raises(RuntimeFailure):
        started = above.run(foreach_batch=fails, checkpoint=tmp_path / "checkpoint", **settings)
        started.await_termination()
    assert stored(tmp_path) == {"totals": (0, 0), "first": (1, 1)}
    assert run(query(tmp_path, TOTALS, "totals")) == [("b", 2)]
    assert stored(tmp_path) == {"totals": (0, 0)}
    assert not (tmp_path / "checkpoint" / "state" / "1").exists()
    assert run(above, ("b", 1), allow=["differs"]) == [("b", 3)]


@pytest.mark.embedded
@pytest.mark.parametrize("step", ["replace_file", "save_version", "write_state_files"])
def test_a_start_that_ends_midway(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    run(query(tmp_path, TOTALS, "totals"), ("a", 1))
    above = query(tmp_path, ABOVE, "first", "totals")

    def ends(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(operator_names, step, ends)
        run(above, ("a", 2), allow=["differs"])
    old = query(tmp_path, TOTALS, "totals")
    assert stateplan.check(old, tmp_path / "checkpoint").verdict in ("same", "stale")
    assert run(old) == [("a", 3)]
    assert run(above, ("a", 3), allow=["differs"]) == [("a", 6)]


@pytest.mark.embedded
def test_names_may_come_later_and_then_stay(run: Run, tmp_path: Path) -> None:
    run(query(tmp_path, TOTALS), ("a", 1))
    assert not (tmp_path / "checkpoint" / NAMES_FILE).exists()
    assert run(query(tmp_path, TOTALS, "totals"), ("a", 1)) == [("a", 2)]
    for asked in (query(tmp_path, TOTALS), query(tmp_path, TOTALS, "sums")):
        with pytest.raises(RuntimeFailure, match="knows its stateful operators by name") as error:
            run(asked, allow=["differs", "refused"])
        assert error.value.condition == CONDITION


@pytest.mark.embedded
def test_check_says_what_the_change_does_here_and_on_spark(run: Run, tmp_path: Path) -> None:
    run(query(tmp_path, TOTALS, "totals"), ("a", 1))
    checkpoint = tmp_path / "checkpoint"
    report = stateplan.check(query(tmp_path, TOTALS, "totals"), checkpoint)
    assert (report.verdict, report.on_spark) == ("same", ("same", None))
    for was in (None, query(tmp_path, TOTALS, "totals")):
        report = stateplan.check(query(tmp_path, ABOVE, "first", "totals"), checkpoint, was)
        assert report.verdict == "differs"
        assert [f.operator for f in report.findings if f.verdict == "differs"] == [1]
        refused = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA"
        assert report.on_spark == ("refused", refused)
        assert f"on Spark, which knows no names: refused, {refused}" in report_text(report)
    report = stateplan.check(query(tmp_path, TOTALS, "sums"), checkpoint)
    assert (report.verdict, report.condition) == ("refused", CONDITION)
    assert stateplan.check(query(tmp_path, TOTALS), checkpoint).condition == CONDITION


def test_each_operator_needs_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(PlanningError, match="2 stateful operators and 1 names"):
        query(tmp_path, ABOVE, "totals").explain()
    with pytest.raises(stateplan.DescriptionError, match="not all different"):
        query(tmp_path, ABOVE, "totals", "totals")


def test_names_change_no_plan(tmp_path: Path) -> None:
    assert query(tmp_path, ABOVE, "b", "a").explain() == query(tmp_path, ABOVE).explain()


HINTED = ABOVE.replace("SELECT", "SELECT /*+ STATE_NAME(first) */", 1).replace(
    "(SELECT user", "(SELECT /*+ STATE_NAME('totals') */ user"
)


def test_hints_in_sql_name_operators(tmp_path: Path) -> None:
    hinted = query(tmp_path, HINTED)
    assert hinted.execution.state_names == ("first", "totals")
    assert hinted.explain() == query(tmp_path, ABOVE).explain()
    with pytest.raises(PlanningError, match="have none, totals"):
        query(tmp_path, HINTED.replace("/*+ STATE_NAME(first) */", "")).explain()
    with pytest.raises(stateplan.AnalysisError, match="no operator with state"):
        query(tmp_path, "SELECT /*+ STATE_NAME(x) */ user FROM STREAM events").explain()
    with pytest.raises(stateplan.AnalysisError, match="needs one name"):
        query(tmp_path, HINTED.replace("(first)", "")).explain()


def test_hints_on_dataframes_name_operators() -> None:
    def first_totals(events: DataFrame) -> DataFrame:
        totals = events.groupBy("user").sum("n").hint("STATE_NAME", "totals")
        return totals.dropDuplicates(["user"]).hint("state_name", "first")

    asked = Query(
        first_totals,
        sources=described_sources({"events": EVENTS}),
        output_mode="update",
        conf=Conf(CONF),
    )
    assert asked.execution.state_names == ("first", "totals")


@pytest.mark.embedded
def test_a_hinted_query_goes_on_by_name(run: Run, tmp_path: Path) -> None:
    one = TOTALS.replace("SELECT", "SELECT /*+ STATE_NAME(totals) */")
    run(query(tmp_path, one), ("a", 1))
    assert run(query(tmp_path, HINTED), ("a", 1), allow=["differs"]) == [("a", 2)]
    assert stored(tmp_path) == {"totals": (0, 0), "first": (1, 1)}
