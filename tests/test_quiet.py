"""What stands in the output of the command line: our lines, none of the JVM's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

Processes = dict[str, subprocess.Popen[str]]

SCENARIO = """
id: tiny
sources: {events: {schema: "k STRING"}}
sql: SELECT k, count(*) AS n FROM STREAM events GROUP BY k
output_mode: update
steps: [{batch: {events: [{"k": "a"}, {"k": "a"}]}}]
expect:
  columns: [[k, string], [n, bigint]]
  batches:
    - step: 0
      id: 0
      rows: [["a", 2]]
      state:
        - operator: stateStoreSave
          rows_total: 1
          rows_updated: 1
          rows_removed: 0
          rows_dropped_by_watermark: 0
"""
QUERY = """
id: tiny
sources: {events: {schema: "k STRING", format: json, path: data}}
sql: SELECT k, count(*) AS n FROM STREAM events GROUP BY k
output_mode: complete
sink: {format: console}
trigger: available_now
"""
_ENGINE = r"engine: spark\. The master local\[1\] was given\.\n"
TABLE = """-------------------------------------------
Batch: 0
-------------------------------------------
+---+---+
|  k|  n|
+---+---+
|  a|  2|
+---+---+

"""


def stateplan(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "stateplan.planner.cli", *arguments, "--master", "local[1]"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **environment},
    )


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """All commands at once: most of their time the start of a JVM waits for something."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "data").mkdir()
    (folder / "data" / "1.json").write_text('{"k": "a"}\n{"k": "a"}\n')
    scenario, query = folder / "scenario.yaml", folder / "query.yaml"
    scenario.write_text(SCENARIO)
    query.write_text(QUERY)
    processes = {
        "test": stateplan("test", str(scenario)),
        "run": stateplan("run", str(query)),
        "no Java": stateplan("test", str(scenario), JDK_JAVA_OPTIONS="--add-modules=no.such"),
    }
    yield processes
    for process in processes.values():
        process.kill()
        process.wait()


def output(process: subprocess.Popen[str]) -> tuple[str, str]:
    return process.communicate(timeout=1800)


def test_a_test_prints_its_own_lines_alone(commands: Processes) -> None:
    stdout, stderr = output(commands["test"])
    assert stderr == ""
    assert re.fullmatch(_ENGINE + r"ok    tiny: 1 batches, [\d.]+ s\n1 passed, 0 failed\n", stdout)


def test_a_run_prints_its_own_lines_alone(commands: Processes) -> None:
    stdout, stderr = output(commands["run"])
    assert stdout == TABLE
    assert re.fullmatch(_ENGINE + r"batch 0 \| 2 rows in [\d.]+ s \| 2 in all \| state 1\n", stderr)


def test_what_java_says_is_told_if_it_does_not_start(commands: Processes) -> None:
    stdout, stderr = output(commands["no Java"])
    assert (commands["no Java"].returncode, stdout) == (2, "")
    first, *rest = stderr.splitlines()
    assert first == "error: [STATEPLAN_SPARK_NOT_STARTED] Spark cannot be started: Java ended:"
    assert any("no.such" in line for line in rest)
    assert rest[-1].startswith("hint: ")
