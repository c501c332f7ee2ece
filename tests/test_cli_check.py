"""`stateplan check` and `stateplan diff`: what they print, and their exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from evolutions import lay_checkpoint

import stateplan
from stateplan.planner.cli import main

QUERY = """
sources: {events: {schema: "user STRING, ts TIMESTAMP, n INT"}}
sql: SELECT user, sum(n) AS total FROM STREAM events GROUP BY user
output_mode: update
conf: {spark.sql.shuffle.partitions: 3}
"""
CHANGED = QUERY.replace("sum(n)", "sum(n * 2)")


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.yaml"
    path.write_text(QUERY, encoding="utf-8")
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.yaml"
    path.write_text(CHANGED, encoding="utf-8")
    return path


@pytest.fixture
def checkpoint(tmp_path: Path, old: Path) -> Path:
    return lay_checkpoint(tmp_path / "checkpoint", stateplan.load(old))


def test_the_same_query(old: Path, checkpoint: Path) -> None:
    result = call("check", old, "--checkpoint", checkpoint, "--was", old)
    assert result.exit_code == 0
    assert result.stdout.startswith("same: ")


def test_a_change_is_explained(new: Path, old: Path, checkpoint: Path) -> None:
    result = call("check", new, "--checkpoint", checkpoint, "--was", old)
    assert result.exit_code == 1
    for text in ("differs: aggregates", "was: sum(n)", "now: sum((n * 2))", "new checkpoint"):
        assert text in result.stdout
    allowed = call("check", new, "--checkpoint", checkpoint, "--was", old, "--allow", "differs")
    assert allowed.exit_code == 0


def test_json_and_markdown(new: Path, old: Path, checkpoint: Path) -> None:
    arguments = ("check", new, "--checkpoint", checkpoint, "--was", old)
    report = json.loads(call(*arguments, "--json").stdout)
    assert (report["version"], report["verdict"], report["condition"]) == (1, "differs", None)
    assert report["operators"][0]["name"] == "stateStoreSave"
    markdown = call(*arguments, "--markdown").stdout
    assert "| 🔴 0 stateStoreSave | aggregates | sum(n) | sum((n \\* 2)) |" in markdown


def test_python_gives_the_same_report(new: Path, old: Path, checkpoint: Path) -> None:
    report = stateplan.check(new, checkpoint, old)
    assert report == stateplan.check(stateplan.load(new), checkpoint, stateplan.load(old))
    assert report.verdict == "differs"


def test_a_query_that_is_none(new: Path, old: Path, checkpoint: Path) -> None:
    new.write_text(CHANGED.replace("output_mode: update", "output_mode: append"), encoding="utf-8")
    result = call("check", new, "--checkpoint", checkpoint, "--was", old)
    assert result.exit_code == 1
    assert "when the query starts" in result.stdout


@pytest.mark.parametrize("missing", ["query", "was", "checkpoint"])
def test_bad_input(missing: str, old: Path, checkpoint: Path, tmp_path: Path) -> None:
    none = tmp_path / "none.yaml"
    query, was = (none if missing == name else old for name in ("query", "was"))
    place = none if missing == "checkpoint" else checkpoint
    result = call("check", query, "--checkpoint", place, "--was", was)
    assert result.exit_code == 2


def test_plans_as_json_are_queries(new: Path, old: Path, checkpoint: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(stateplan.load(old).explain("json"), encoding="utf-8")
    assert call("check", plan, "--checkpoint", checkpoint, "--was", old).exit_code == 0
    assert call("check", new, "--checkpoint", checkpoint, "--was", plan).exit_code == 1


def test_one_of_a_scripts_streams(checkpoint: Path, old: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text(
        "from pyspark.sql import SparkSession, functions as F\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "events = spark.readStream.schema('user STRING, n INT').json('events')\n"
        "for name, f in (('sums', F.sum), ('peaks', F.max)):\n"
        "    by = events.groupBy('user').agg(f('n').alias('total'))\n"
        "    by.writeStream.queryName(name).outputMode('update').format('noop').start()\n"
    )
    arguments = ("check", job, "--checkpoint", checkpoint)
    assert call(*arguments, "--query", "sums").exit_code == 0
    assert call(*arguments, "--query", "peaks").exit_code == 1
    assert "sums, peaks" in call(*arguments).stderr


def test_diff(new: Path, old: Path, tmp_path: Path) -> None:
    assert call("diff", old, old).exit_code == 0
    page = tmp_path / "page.html"
    result = call("diff", old, new, "--html", page)
    assert result.exit_code == 1 and "effect on a checkpoint: differs" in result.stdout
    assert "StateStoreSave" in page.read_text(encoding="utf-8")
    assert json.loads(call("diff", old, new, "--json").stdout)["verdict"] == "differs"
    assert "aggregates of operator 0" in call("diff", old, new, "--markdown").stdout
