"""What stands in the output of the command line: our lines, none of the JVM's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
      watermark_ms: null
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


def stateplan(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stateplan.planner.cli", *arguments, "--master", "local[1]"],
        capture_output=True,
        text=True,
        timeout=1800,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **environment},
    )


def test_a_test_prints_its_own_lines_alone(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(SCENARIO)
    done = stateplan("test", str(file))
    assert done.stderr == ""
    assert re.fullmatch(
        _ENGINE + r"ok    tiny: 1 batches, [\d.]+ s\n1 passed, 0 failed\n", done.stdout
    )


def test_a_run_prints_its_own_lines_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "1.json").write_text('{"k": "a"}\n{"k": "a"}\n')
    file = tmp_path / "tiny.yaml"
    file.write_text(QUERY)
    done = stateplan("run", str(file))
    assert done.stdout == TABLE
    assert re.fullmatch(
        _ENGINE + r"batch 0 \| 2 rows in [\d.]+ s \| 2 in all \| state 1\n", done.stderr
    )


def test_what_java_says_is_told_if_it_does_not_start(tmp_path: Path) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(SCENARIO)
    done = stateplan("test", str(file), JDK_JAVA_OPTIONS="--add-modules=no.such")
    assert (done.returncode, done.stdout) == (2, "")
    first, *rest = done.stderr.splitlines()
    assert first == "error: [STATEPLAN_SPARK_NOT_STARTED] Spark cannot be started: Java ended:"
    assert any("no.such" in line for line in rest)
    assert rest[-1].startswith("hint: ")
