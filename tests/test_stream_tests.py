"""Tests of users: StreamTest, the pytest plugin, and what `stateplan test` writes and shows."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

import stateplan
from stateplan.planner.cli import main
from stateplan.planner.model.errors import AnalysisError, DescriptionError, RuntimeFailure
from stateplan.testing import StreamTest

pytestmark = pytest.mark.embedded
ROOT = Path(__file__).resolve().parent.parent
SCENARIO = ROOT / "tests" / "scenarios" / "update-by-key.yaml"
EVENTS = {"events": "user STRING, ts TIMESTAMP"}
COUNTS = "SELECT user, count(*) AS n FROM STREAM events GROUP BY user"
WINDOWS = """
    SELECT window.start AS w, user, count(*) AS n
    FROM STREAM events WATERMARK ts DELAY OF INTERVAL 5 MINUTES
    GROUP BY window(ts, '10 minutes'), user"""
Start = Callable[..., StreamTest]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[StreamTest] = []

    def one(*arguments: Any, **options: Any) -> StreamTest:
        started.append(StreamTest(*arguments, **options))
        return started[-1]

    yield one
    for test in started:
        test.close()


# ------------------------------------------------------------------------------------ StreamTest


def test_windows_leave_once_the_watermark_has_passed_them(start: Start) -> None:
    test = start(WINDOWS, EVENTS)
    test.add("events", [("ann", "2026-01-01 00:01"), {"ts": "2026-01-01T00:02:00Z"}])
    assert test.run() == []
    test.expect_state([{"user": "ann", "count": 1}, {"user": None, "count": 1}])
    test.restart()
    test.add("events", [("ann", dt.datetime(2026, 1, 1, 0, 9))])
    test.run(crash=True)
    assert test.watermark == "2026-01-01T00:04:00.000Z"
    assert ("2026-01-01T00:00:00Z", "ann", 2) in test.advance_watermark("2026-01-01 00:10")
    test.expect([("2026-01-01 00:00", None, 1), (dt.datetime(2026, 1, 1), "ann", 2)])
    test.expect([]).expect_state([])
    test.add("events", [("late", "2026-01-01 00:03")]).run()
    assert test.handle.last_progress is not None
    assert test.handle.last_progress["stateOperators"][0]["numRowsDroppedByWatermark"] == 1


def test_a_watermark_that_was_advanced_outlives_a_restart(start: Start) -> None:
    test = start(WINDOWS, EVENTS).add("events", [("ann", "2026-01-01 00:01")])
    test.run()
    test.advance_watermark("2026-01-01 00:30")
    test.restart()
    assert test.watermark == "2026-01-01T00:30:00.000Z"
    test.advance_watermark("2026-01-01 00:20")
    assert test.watermark == "2026-01-01T00:30:00.000Z"


def test_pyspark_code_is_tested_as_it_stands(start: Start) -> None:
    def job(events: Any, users: Any) -> Any:
        from pyspark.sql import functions as F

        return events.join(users, "user").groupBy("team").agg(F.count("*").alias("n"))

    tables = {"user": "STRING", "team": "STRING"}
    schema = ", ".join(f"{name} {kind}" for name, kind in tables.items())
    sources = {**EVENTS, "users": {"schema": schema, "static": True}}
    test = start(job, sources, output_mode="complete", tables={"users": [("ann", "x")]})
    test.add("events", [("ann", None), ("bob", None)]).run()
    test.add("events", [("ann", None)]).run()
    test.expect([("x", 2)])  # the whole result, as the last batch gave it


def test_timers_of_users_go_by_the_tests_clock(start: Start) -> None:
    def job(events: Any) -> Any:
        import pandas as pd
        from pyspark.sql.streaming.state import GroupStateTimeout

        def count(key: Any, parts: Any, state: Any) -> Iterator[Any]:
            if state.hasTimedOut:
                yield pd.DataFrame({"user": [key[0]], "n": [state.get[0]]})
                state.remove()
                return
            before = state.get[0] if state.exists else 0
            state.update((before + sum(map(len, parts)),))
            state.setTimeoutDuration(600_000)

        timeout = GroupStateTimeout.ProcessingTimeTimeout
        schemas = ("user STRING, n LONG", "n LONG")
        return events.groupBy("user").applyInPandasWithState(count, *schemas, "update", timeout)

    test = start(job, EVENTS, output_mode="update", clock="2026-01-01 00:00")
    assert test.add("events", [("ann", None), ("bob", None)]).run() == []
    assert test.advance_clock(dt.timedelta(minutes=5)) == []
    assert test.add("events", [("ann", None)]).run() == []
    test.advance_clock("2026-01-01 00:11")
    test.add("events", [("eve", None)]).run()
    test.expect([("bob", 1)])
    test.expect_state(
        [{"user": "ann", "groupState": {"n": 2}}, {"user": "eve", "groupState": {"n": 1}}]
    )
    with pytest.raises(DescriptionError, match="the test runs by the real one"):
        start(COUNTS, EVENTS, output_mode="update").advance_clock("2026-01-01")


def test_a_failure_shows_steps_rows_state_and_plan(start: Start) -> None:
    test = start(COUNTS, EVENTS, output_mode="update")
    test.add("events", [("ann", None), ("bob", None)]).run()
    with pytest.raises(AssertionError) as failure:
        test.expect([("ann", 1), ("bob", 2)])
    shown = str(failure.value)
    assert (
        textwrap.dedent(
            """
            step 0: add 2 rows to events
            step 1: run: batch 0, 2 rows
        --> step 2: expect 2 rows
        columns: ["user", "n"]
        expected     emitted
        ["ann", 1]   ["ann", 1]
        ["bob", 2] ! ["bob", 1]
        state of operator 0 (stateStoreSave), 2 rows: user, count
          ["ann", 1]
          ["bob", 1]
        plan:
          == Physical Plan ==
        """
        )
        in shown
    )
    with pytest.raises(AssertionError, match="step 3: expect 1 rows of state"):
        test.expect_state([("ann", 1)])


def test_a_limits_state_is_its_count(start: Start) -> None:
    test = start("SELECT user FROM STREAM events LIMIT 3", EVENTS)
    test.add("events", [("ann", None), ("bob", None)]).run()
    test.expect_state([(2,)])
    with pytest.raises(AssertionError, match=r"1 rows: value\n  \[2\]\n"):
        test.expect([("ann",)])


def test_order_counts_where_it_is_asked_for(start: Start) -> None:
    test = start(f"{COUNTS} ORDER BY n", EVENTS, output_mode="complete", ordered=True)
    test.add("events", [("b", None), ("a", None), ("a", None)]).run()
    with pytest.raises(AssertionError):
        test.expect([("a", 2), ("b", 1)])
    test.expect([("b", 1), ("a", 2)]).expect([("a", 2), ("b", 1)], ordered=False)


def test_a_crash_needs_a_batch(start: Start) -> None:
    with pytest.raises(AssertionError, match="no batch ran"):
        start(COUNTS, EVENTS, output_mode="update").run(crash=True)


def test_a_failed_batch_names_its_steps(start: Start) -> None:
    test = start("SELECT CAST(user AS INT) AS n FROM STREAM events", EVENTS)
    with pytest.raises(RuntimeFailure, match="CAST_INVALID_INPUT") as failure:
        test.add("events", [("x", None)]).run()
    assert failure.value.__notes__[-1] == "--> step 1: run"


def test_a_query_may_change_at_a_restart(start: Start) -> None:
    test = start(COUNTS, EVENTS, output_mode="update").add("events", [("ann", None)])
    test.run()
    test.restart(COUNTS.replace("count(*)", "count(*) * 10")).add("events", [("ann", None)])
    assert test.run() == [("ann", 20)]


TYPES = """b BOOLEAN, i INT, d DOUBLE, n DECIMAL(5,2), s STRING, x BINARY, day DATE, t TIMESTAMP,
    z TIMESTAMP_NTZ, a ARRAY<INT>, m MAP<STRING, INT>, r STRUCT<p: INT, q: STRING>"""


def test_values_of_every_type_come_back(start: Start) -> None:
    test = start("SELECT * FROM STREAM events", {"events": TYPES})
    row = (
        *(True, 1, 2, "1.50", "s", b"\0", dt.date(2026, 1, 2), "2026-01-02 03:04", "2026-01-02"),
        *([1, None], {"k": 1}, {"p": 1}),
    )
    nothing = (None,) * len(row)
    test.add("events", [row, nothing]).run()
    expected = (*row[:3], Decimal("1.5"), *row[4:-1], (1, None))
    test.expect([nothing, expected])


def test_rows_come_from_arrow_and_pandas_too(start: Start) -> None:
    import pandas as pd
    import pyarrow as pa

    test = start(COUNTS, EVENTS, output_mode="update")
    test.add("events", pa.table({"user": ["ann"]}))
    test.add("events", pd.DataFrame({"user": ["ann"], "ts": [pd.Timestamp("2026-01-01")]}))
    assert test.run() == [("ann", 2)]


def add(rows: Any, test: StreamTest) -> object:
    return test.add("events", rows)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (lambda test: test.add("event", []), "the query reads no stream of that name"),
        (partial(add, "ann"), "The rows of the source 'events' are a str"),
        (partial(add, [("ann",)]), "has 1 values for 2 columns"),
        (partial(add, [{"usr": "ann"}]), "Did you mean 'user'"),
        (partial(add, [(7, None)]), "7 is no value of 'user', a column of type STRING"),
        (partial(add, [("ann", "soon")]), "'soon' is no value of 'ts'"),
        (lambda test: test.expect([("ann", "1")]), "'1' is no value of 'n'"),
        (lambda test: test.advance_watermark("2026-01-01"), "the query has none"),
    ],
)
def test_mistakes_are_named(start: Start, step: Callable[[StreamTest], object], text: str) -> None:
    test = start(COUNTS, EVENTS, output_mode="update")
    with pytest.raises(DescriptionError, match=re.escape(text)):
        step(test)


def test_functions_and_tables_that_do_not_fit_are_refused(start: Start) -> None:
    with pytest.raises(DescriptionError, match="parameter 'event', but there is no such source"):
        start(lambda event: event, EVENTS)
    with pytest.raises(AnalysisError, match="ValueError: no"):
        start(partial(_raises), EVENTS)
    with pytest.raises(DescriptionError, match="'users' is given, which the query does not"):
        start(COUNTS, EVENTS, output_mode="update", tables={"users": []})


def _raises(events: Any) -> Any:
    raise ValueError("no")


# ------------------------------------------------------------------------------------ the plugin


@pytest.fixture
def run_pytest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., int]:
    """Runs pytest in this process, over files in a directory of its own."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    # Where it is a plugin of this pytest too, its module is there before it can be rewritten.
    usual = ["-p", "stateplan.pytest_plugin", "-p", "no:cacheprovider", "--assert=plain"]
    return lambda *more: int(
        pytest.main([*usual, "--tb=short", "--rootdir", str(tmp_path), *more, str(tmp_path)])
    )


def test_the_plugin_runs_scenarios(
    run_pytest: Callable[..., int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    shutil.copy(SCENARIO, tmp_path / "good.scenario.yaml")
    assert run_pytest() == 0, capsys.readouterr().out
    text = SCENARIO.read_text()
    (tmp_path / "bad.scenario.yaml").write_text(
        re.sub(r"rows_total\": \d+", 'rows_total": 99', text)
    )
    (tmp_path / "empty.scenario.yaml").write_text(text.split("\nexpect:")[0])
    (tmp_path / "broken.scenario.yaml").write_text("steps: [")
    assert run_pytest() == 1
    shown = capsys.readouterr().out
    assert "rows_total: expected 99, got" in shown
    assert "stateplan test --update" in shown
    assert "is not valid YAML" in shown
    assert "3 failed, 1 passed" in shown


def test_the_plugin_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"stateplan": "stateplan.pytest_plugin"}


# -------------------------------------------------------------------------------- stateplan test


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    """A directory with a scenario as it should be, one that is not, and one that says nothing."""
    text = SCENARIO.read_text()
    (tmp_path / "a.yaml").write_text(text)
    head, expect = text.split("\nexpect:")
    wrong = re.sub(r"- \[", '- ["never", ', expect, count=2)
    (tmp_path / "b.yaml").write_text(
        f"# a note\n{head}\nexpect:{wrong}\n# kept\nnotes: stay\n".replace("update-by-key", "b")
    )
    (tmp_path / "c.yaml").write_text(head.replace("update-by-key", "c"))
    return tmp_path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["test", *map(str, arguments)])


def test_chosen_scenarios_run_until_one_fails(scenarios: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    done = invoke(scenarios, "-k", "not a.yaml", "-x", "--junit-xml", report)
    assert done.exit_code == 1
    assert "0 passed, 1 failed, 1 not chosen, 1 not run" in done.output
    assert "-->" in done.output and "expected" in done.output and "plan:" in done.output
    (suite,) = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None and "-->" in (failure.text or "")
    assert invoke(scenarios, "-k", "a and (").exit_code == 2


def test_update_writes_what_is_emitted_and_keeps_the_rest(scenarios: Path) -> None:
    done = invoke(scenarios, "--update")
    assert "1 passed, 0 failed, 2 updated" in done.output
    assert (scenarios / "c.yaml").read_text().replace("id: c\n", "id: update-by-key\n") == (
        SCENARIO.read_text()
    )
    updated = (scenarios / "b.yaml").read_text()
    assert updated.startswith("# a note\n") and updated.endswith("\n# kept\nnotes: stay\n")
    assert invoke(scenarios).output.splitlines()[-1] == "3 passed, 0 failed"
    (scenarios / "c.yaml").write_text("{sql: SELECT 1, steps: []}")
    assert invoke(scenarios / "c.yaml", "--update").exit_code == 2


def test_a_query_in_a_test_does_not_disturb_the_query_itself(start: Start) -> None:
    query = stateplan.sql(COUNTS, EVENTS, "update")
    test = start(query)
    assert "numPartitions = 3" in test.explain()
    assert "numPartitions = 200" in query.explain()
