"""The fields of each batch's progress are those of Structured Streaming, times and memory aside.

Not compared: what a function of `foreachBatch` reads twice counts twice natively, what it does not
read, not at all; here a batch has the rows that it has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from progress_job import CASES, Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JOB = Path(__file__).parent / "progress_job.py"
_ANSWERS = Path(__file__).parent / "progress_answers.jsonl"
_OURS = ("-m", "stateplan.planner.cli", "run", "--engine")


def _progress(*command: str) -> dict[str, Any]:
    python = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    ended = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **python},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return _cases(ended.stdout)


def _cases(text: str) -> dict[str, Any]:
    found = map(json.loads, text.splitlines())
    return {one["case"]: one["progress"] for one in found}


def _recorded() -> dict[str, Any]:
    return _cases(_ANSWERS.read_text(encoding="utf-8"))


@pytest.mark.embedded
def test_progress_is_sparks_on_the_embedded_engine(tmp_path: Path) -> None:
    found = _progress(*_OURS, "embedded", str(_JOB), "--", str(tmp_path))
    want = _recorded()
    assert found.keys() == want.keys()
    for case, progress in want.items():
        assert found[case] == progress, case


_ON_SPARK = ("observed", "left join")


@pytest.mark.parametrize("case", _ON_SPARK)
def test_the_recorded_progress_is_sparks(spark: SparkSession, case: str, tmp_path: Path) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "UTC")
    found = CASES[case](Job(own, tmp_path / case))
    # As lines of JSON have it: tuples are lists.
    assert json.loads(json.dumps(found)) == _recorded()[case]


def test_progress_is_sparks_on_spark(tmp_path: Path) -> None:
    ours = (*_OURS, "spark", "--master", "local[2]", str(_JOB), "--", str(tmp_path))
    recorded = _recorded()
    assert _progress(*ours, *_ON_SPARK) == {case: recorded[case] for case in _ON_SPARK}
