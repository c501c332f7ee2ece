"""A changed query at a restart on our runtime: it goes on only where state keeps its meaning."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import stateplan
from stateplan.planner.evolution.reading import DOCUMENT
from stateplan.planner.model.errors import RuntimeFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = "SELECT user, sum(n) AS total FROM STREAM events GROUP BY user"
Start = Callable[..., list[tuple[str, int]]]


@pytest.fixture
def start(spark: SparkSession, tmp_path: Path) -> Start:
    """Feed rows and run a query until they are done; gives what it emits."""
    files = iter(range(100))

    def run(sql: str, *rows: tuple[str, int], **settings: object) -> list[tuple[str, int]]:
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        lines = (json.dumps({"user": user, "n": n}) for user, n in rows)
        (folder / f"{next(files)}.json").write_text("\n".join(lines))
        source = {"schema": "user STRING, n BIGINT", "path": str(folder)}
        query = stateplan.sql(sql, sources={"events": source}, output_mode="update")
        emitted: list[tuple[str, int]] = []
        query.run(
            spark,
            foreach_batch=lambda frame, _: emitted.extend(map(tuple, frame.collect())),
            trigger="available_now",
            checkpoint=tmp_path / "checkpoint",
            **settings,
        ).await_termination()
        return sorted(emitted)

    return run


def test_state_that_means_something_else_stops_the_start(start: Start, tmp_path: Path) -> None:
    assert start(SQL, ("a", 1), ("b", 2)) == [("a", 1), ("b", 2)]
    changed = SQL.replace("sum(n)", "max(n)")
    with pytest.raises(RuntimeFailure, match="differs: aggregates") as failure:
        start(changed, ("a", 5))
    assert failure.value.condition == "STATEPLAN_QUERY_CHANGED"
    # The refused query has not taken the place of the old one.
    assert start(SQL) == [("a", 6)]
    assert start(changed, ("a", 3), allow=["differs"]) == [("a", 6)]
    assert start(changed, ("b", 9)) == [("b", 9)]


def test_what_spark_refuses_stops_before_a_batch(start: Start, tmp_path: Path) -> None:
    start(SQL, ("a", 1))
    with pytest.raises(RuntimeFailure, match="state value") as failure:
        start(SQL.replace("sum(n)", "avg(n)"), ("a", 5))
    assert failure.value.condition == "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"
    assert not (tmp_path / "checkpoint" / "offsets" / "1").exists()


def test_a_stale_sink_and_a_renamed_column_go_on(start: Start, tmp_path: Path) -> None:
    start(SQL, ("a", 1))
    assert start(SQL.replace("total", "t"), ("a", 1)) == [("a", 2)]
    assert start(SQL + " HAVING sum(n) > 2", ("a", 1)) == [("a", 3)]


def test_a_check_uses_the_stored_query(start: Start, tmp_path: Path) -> None:
    start(SQL, ("a", 1))
    source = {"schema": "user STRING, n BIGINT", "path": str(tmp_path / "in")}
    changed = stateplan.sql(
        SQL.replace("sum(n)", "sum(n + 1)"), sources={"events": source}, output_mode="update"
    )
    report = stateplan.check(changed, tmp_path / "checkpoint")
    assert (report.verdict, report.compared_with) == ("differs", "stored plan")
    (tmp_path / "checkpoint" / DOCUMENT).unlink()  # as an earlier version of ours left it
    report = stateplan.check(changed, tmp_path / "checkpoint")
    assert (report.verdict, report.compared_with) == ("same", "checkpoint")
