"""ruff and mypy --strict over the whole project, as part of the one test command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("planner", "rules", "physical", "runtime")


def lay_links(root: Path) -> None:
    """`.typing/stateplan` shows type checkers and editors the package under its import name."""
    links = root / ".typing" / "stateplan"
    links.mkdir(parents=True, exist_ok=True)
    targets = {floor: f"../../{floor}" for floor in FLOORS}
    for name in ("__init__.py", "py.typed"):
        targets[name] = f"../../planner/_stateplan/{name}"
    for name, target in targets.items():
        link = links / name
        if not link.is_symlink():
            link.symlink_to(target)


def run(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)


def test_ruff_check() -> None:
    run("ruff", "check", ".")


def test_ruff_format() -> None:
    run("ruff", "format", "--check", ".")


def test_mypy_strict() -> None:
    lay_links(ROOT)
    run("mypy")
