"""The fixture `golden_plan`: a file a module, failures that tell the effect on state, orphans."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import stateplan
from stateplan.golden_plans import GoldenFile, GoldenPlanChanged

pytest_plugins = ["pytester"]
TESTS = """
import pytest
import stateplan

EVENTS = {"events": "user STRING, ts TIMESTAMP, n BIGINT"}
SQL = "SELECT user, sum(n) AS total FROM STREAM events GROUP BY user"

def test_totals(golden_plan):
    golden_plan(stateplan.sql(SQL, EVENTS, "update"))

@pytest.mark.parametrize("stores", [3, "a/b]"])
def test_two(golden_plan, stores):
    conf = {"spark.sql.shuffle.partitions": str(stores)[:1].replace("a", "4")}
    golden_plan(SQL, EVENTS, output_mode="update", conf=conf, name="sum")
    golden_plan("SELECT DISTINCT ON (user) * FROM STREAM events", EVENTS, name="first")
"""


@pytest.fixture(scope="module", autouse=True)
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each run of pytest within this one would import what is not imported here."""
    file = GoldenFile(tmp_path_factory.mktemp("warm") / "warm.golden.yaml", update=True)
    was, now = (
        stateplan.sql(f"SELECT {name}(n) FROM STREAM events", {"events": "n INT"}, "update")
        for name in ("sum", "max")
    )
    file.check("warm", was)
    file.update = False
    with pytest.raises(GoldenPlanChanged, match="differs"):
        file.check("warm", now)


@pytest.fixture
def module(pytester: pytest.Pytester) -> Path:
    """A test module with its golden plans."""
    path = pytester.makepyfile(test_jobs=TESTS)
    written = pytester.runpytest_inprocess("--update-golden")
    written.assert_outcomes(passed=3)
    return path


def golden(module: Path) -> dict[str, dict[str, object]]:
    text = module.with_suffix(".golden.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


def test_a_missing_plan_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_jobs=TESTS)
    result = pytester.runpytest_inprocess("-k", "totals")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*has no golden plan 'test_totals'; pytest --update-golden*"])


def test_the_file_is_readable_and_stays(pytester: pytest.Pytester, module: Path) -> None:
    text = module.with_suffix(".golden.yaml").read_text(encoding="utf-8")
    found = golden(module)
    assert list(found) == [
        "test_totals",
        *(f"test_two[{stores}]/{name}" for stores in ("3", "a/b]") for name in ("first", "sum")),
    ]
    entry = found["test_totals"]
    assert entry["mode"] == "update" and entry["settings"] == {}
    assert "evicted:     never: the query has no watermark" in str(entry["state"])
    assert str(entry["plan"]).startswith("*(4) HashAggregate(keys=[user#0]")
    pytester.runpytest_inprocess().assert_outcomes(passed=3)
    pytester.runpytest_inprocess("--update-golden").assert_outcomes(passed=3)
    assert module.with_suffix(".golden.yaml").read_text(encoding="utf-8") == text


def test_a_change_fails_with_its_effect_on_state(pytester: pytest.Pytester, module: Path) -> None:
    module.write_text(TESTS.replace("sum(n)", "max(n)"))
    result = pytester.runpytest_inprocess("-k", "totals")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(
        [
            "*The plan 'test_totals' is not the one in test_jobs.golden.yaml:",
            "*~ aggregates of operator 0*differs*",
            "*    - sum(n)",
            "*    [+] max(n)",
            "*effect on a checkpoint: differs*",
        ]
    )
    pytester.runpytest_inprocess("--update-golden").assert_outcomes(passed=3)
    pytester.runpytest_inprocess().assert_outcomes(passed=3)
    assert "max(n#" in str(golden(module)["test_totals"]["plan"])


def test_another_name_alone_is_told_as_such(pytester: pytest.Pytester, module: Path) -> None:
    module.write_text(TESTS.replace("AS total", "AS amount"))
    result = pytester.runpytest_inprocess("-k", "totals")
    result.assert_outcomes(failed=1, deselected=2)
    result.stdout.fnmatch_lines(["*The queries mean the same; their text differs:"])


def test_settings_and_mode_count(pytester: pytest.Pytester, module: Path) -> None:
    module.write_text(TESTS.replace('"update"))', '"complete"))'))
    result = pytester.runpytest_inprocess("-k", "totals")
    result.stdout.fnmatch_lines(["*~ output mode*", "*    - update", "*    [+] complete"])


def test_orphans_fail_until_they_are_taken_out(pytester: pytest.Pytester, module: Path) -> None:
    module.write_text(
        TESTS.replace("test_totals", "test_sums").replace('    golden_plan("SEL', "    #")
    )
    result = pytester.runpytest_inprocess("-k", "two or golden")
    result.assert_outcomes(failed=3, deselected=1)
    result.stdout.fnmatch_lines(
        ["*No test asks*: test_two[[]3]/first. *", "*No test asks*: test_totals. pytest --update*"]
    )
    part = pytester.runpytest_inprocess("test_jobs.py::test_sums")
    part.assert_outcomes(failed=1)  # has no plan yet; nothing is said of the others
    pytester.runpytest_inprocess("--update-golden").assert_outcomes(passed=4)
    assert list(golden(module)) == ["test_sums", "test_two[3]/sum", "test_two[a/b]]/sum"]
    pytester.runpytest_inprocess().assert_outcomes(passed=3)


def test_plans_of_a_module_that_is_gone_fail(pytester: pytest.Pytester, module: Path) -> None:
    module.unlink()
    pytester.runpytest_inprocess().assert_outcomes(failed=1)
    pytester.runpytest_inprocess("--update-golden").assert_outcomes(passed=1)
    assert not module.with_suffix(".golden.yaml").exists()


def test_a_failing_test_says_nothing_of_orphans(pytester: pytest.Pytester, module: Path) -> None:
    module.write_text(TESTS.replace("golden_plan):", "golden_plan):\n    assert False\n", 1))
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1, passed=2)
    assert "No test asks" not in result.stdout.str()


def test_several_processes_write_nothing(pytester: pytest.Pytester, module: Path) -> None:
    result = pytester.runpytest_inprocess("--update-golden", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--update-golden writes files: leave -n out.*"])
