"""The tests of the embedded engine, in an environment of their own and in one process."""

from __future__ import annotations

from pathlib import Path

import embedded_environment
import pytest


def test_the_embedded_engine(tmp_path: Path) -> None:
    """`pytest -m embedded` passes there; what fails there is shown here as it was printed.

    Where several processes run the tests it started with them (conftest.py), and is waited for.
    """
    folder = embedded_environment.started_beside()
    if folder is None:
        problem = embedded_environment.run_tests(tmp_path)
    else:
        problem = embedded_environment.result(folder)
    if problem:
        pytest.fail(problem, pytrace=False)
