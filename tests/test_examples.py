"""Every example is explained as a live Spark plans it (derive_examples.py)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from example_cases import CATALOG, GUIDE, NEXMARK, PLANS, SEPARATOR, SETTINGS, mode_of

from stateplan.physical.explain.normalise import normalise
from stateplan.planner.cli import main

CONF = [part for key, value in SETTINGS.items() for part in ("--conf", f"{key}={value}")]
MARK = "== script "
# All scripts in one process: importing PySpark takes longest.
RUN_ALL = f"""\
import runpy, sys
from pyspark.sql import SparkSession
for script in sys.argv[1:]:
    print("{MARK}" + script, flush=True)
    runpy.run_path(script, run_name="__main__")
    SparkSession.getActiveSession().stop()
"""


def kept(name: str) -> str:
    return (PLANS / f"{name}.plan").read_text(encoding="utf-8").rstrip("\n")


@pytest.mark.parametrize("query", NEXMARK, ids=lambda path: path.stem)
def test_nexmark(query: Path) -> None:
    arguments = ["explain", str(query), "--catalog", str(CATALOG), "--output-mode", mode_of(query)]
    result = CliRunner().invoke(main, [*arguments, *CONF])
    if result.exit_code == 0:
        assert normalise(result.stdout) == kept(query.stem)
        return
    condition, phase, message = kept(query.stem).split("\n", 2)
    assert phase == "phase: streaming-check" and condition.split()[1] in result.stderr
    assert message.removeprefix("message: ").split("\n")[0] in result.stderr


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What `stateplan explain` prints for each script."""
    folder = tmp_path_factory.mktemp("examples")
    runner = folder / "run_all.py"
    runner.write_text(RUN_ALL, encoding="utf-8")
    command = [sys.executable, "-m", "stateplan.planner.cli", "explain", str(runner), "--"]
    done = subprocess.run([*command, *map(str, GUIDE)], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    parts = done.stdout.split(MARK)[1:]
    return {Path(part.split("\n", 1)[0]).stem: part.split("\n", 1)[1] for part in parts}


@pytest.mark.parametrize("script", GUIDE, ids=lambda path: path.stem)
def test_guide(script: Path, explained: dict[str, str]) -> None:
    queries = explained[script.stem].split("\n-- ")
    plans = [normalise(query.split("\n", 1)[1]) for query in queries if "Physical Plan" in query]
    assert plans == kept(script.stem).split(SEPARATOR)
    assert all(query.removeprefix("-- ").startswith(f"{script.name}:") for query in queries)


def test_no_plan_is_orphaned() -> None:
    names = {path.stem for path in (*GUIDE, *NEXMARK)} | {"pipeline"}  # test_jobs.py's
    assert {path.stem for path in PLANS.glob("*.plan")} == names
