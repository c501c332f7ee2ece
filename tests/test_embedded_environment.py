"""The tests of the embedded engine, in an environment of their own and in one process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from embedded_environment import ROOT, NotMade, embedded_tests, python


def test_the_embedded_engine(tmp_path: Path) -> None:
    """Runs `pytest -m embedded` there; what fails there is shown here as it was printed."""
    try:
        executable = python()
    except NotMade as error:
        pytest.fail(str(error), pytrace=False)
    modules = [str(module.relative_to(ROOT)) for module in embedded_tests()]
    command = [str(executable), "-m", "pytest", "-m", "embedded", "-q", "-p", "no:cacheprovider"]
    # Without Java: nothing here may need it. What is compiled is kept for the tests' processes.
    environment = {**os.environ, "JAVA_HOME": "", "PYTHONPYCACHEPREFIX": str(tmp_path)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [*command, *modules], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)
