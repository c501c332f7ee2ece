"""The command line: what it prints, and its exit status."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stateplan.planner.cli import main, status_of
from stateplan.planner.model.errors import AnalysisError, InternalError, RuntimeFailure
from stateplan.runtime.failures import BatchFailure

QUERY = """
sources: {events: {schema: "user STRING, ts TIMESTAMP"}}
sql: SELECT user, count(*) AS n FROM STREAM events GROUP BY user
output_mode: update
conf: {spark.sql.shuffle.partitions: 3}
"""


@pytest.fixture
def query(tmp_path: Path) -> Path:
    path = tmp_path / "query.yaml"
    path.write_text(QUERY, encoding="utf-8")
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_explain_prints_the_plan(query: Path) -> None:
    result = call("explain", query)
    assert result.exit_code == 0
    assert result.stdout.startswith("== Physical Plan ==")
    assert "StateStoreSave [user" in result.stdout and "numPartitions = 3]" in result.stdout


@pytest.mark.parametrize("mode", ["extended", "formatted", "json", "stateful"])
def test_explain_modes(query: Path, mode: str) -> None:
    result = call("explain", query, "--mode", mode)
    assert result.exit_code == 0 and result.stdout


def test_explain_options(query: Path) -> None:
    conf = "spark.sql.shuffle.partitions=7"
    result = call("explain", query, "--output-mode", "complete", "--conf", conf)
    assert result.exit_code == 0
    assert "numPartitions = 7]" in result.stdout and "Complete" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--mode", "pretty"), "STATEPLAN_UNKNOWN_EXPLAIN_MODE"),
        (("--output-mode", "append"), "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"),
        (("--conf", "spark.sql.ansi.enabled=perhaps"), "INVALID_CONF_VALUE"),
        (("--conf", "nothing"), "KEY=VALUE"),
    ],
)
def test_bad_input_is_status_2_and_one_message(
    query: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = call("explain", query, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr and "Traceback" not in result.stderr


def test_a_missing_file() -> None:
    for command in ("explain", "run", "test"):
        result = call(command, "none.yaml")
        assert result.exit_code == 2
        assert "none.yaml" in result.stderr


def test_a_query_that_cannot_be_planned_starts_no_spark(query: Path) -> None:
    query.write_text(QUERY.replace("GROUP BY user", "GROUP user"), encoding="utf-8")
    result = call("run", query)
    assert result.exit_code == 2
    assert "[PARSE_SYNTAX_ERROR] Syntax error at or near 'user'" in result.stderr


def test_status_tells_bad_input_from_a_failed_run() -> None:
    assert status_of(AnalysisError("A", "a")) == 2
    assert status_of(RuntimeFailure("STATEPLAN_NO_JAVA", "a")) == 2
    assert status_of(RuntimeFailure("STATEPLAN_CHECKPOINT_CORRUPT", "a")) == 2
    assert status_of(BatchFailure("B", "b", batch_id=1, hint="c")) == 1
    assert status_of(BatchFailure("STATEPLAN_CORRUPT_STATE", "b", batch_id=1, hint="c")) == 2
    assert status_of(InternalError("b")) == 1


def test_without_java_there_is_one_clear_line(query: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_REMOTE")}
    command = [sys.executable, "-m", "stateplan.planner.cli", "run", str(query)]
    done = subprocess.run(
        command, env={**environment, "PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "JDK 17" in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""


def test_explain_imports_no_pyspark_and_no_drawing() -> None:
    program = (
        "import sys; import stateplan; "
        "q = stateplan.sql('SELECT a FROM STREAM e', sources={'e': 'a INT'}); q.explain(); "
        "import stateplan.planner.cli; "
        "print([m for m in ('pyspark', 'pyarrow', 'numpy', 'pandas', 'networkx', 'rich') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
