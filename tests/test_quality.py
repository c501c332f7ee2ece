"""ruff and mypy --strict over the whole project, as part of the one test command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("planner", "rules", "physical", "runtime")


def lay_links(root: Path) -> None:
    """`.typing/stateplan` shows type checkers and editors the package under its import name."""
    links = root / ".typing" / "stateplan"
    links.mkdir(parents=True, exist_ok=True)
    targets = {floor: f"../../{floor}" for floor in FLOORS}
    for path in (root / "planner" / "_stateplan").glob("*.py*"):
        targets[path.name] = f"../../planner/_stateplan/{path.name}"
    for name, target in targets.items():
        link = links / name
        if not link.is_symlink():
            link.symlink_to(target)


CHECKS = {
    "ruff check": ("ruff", "check", "."),
    "ruff format": ("ruff", "format", "--check", "."),
    "mypy": ("mypy",),
}


def start(name: str) -> subprocess.Popen[str]:
    """Start a check: it works while other tests wait for Spark (see conftest)."""
    lay_links(ROOT)
    command = [sys.executable, "-m", *CHECKS[name]]
    return subprocess.Popen(command, cwd=ROOT, stdout=PIPE, stderr=STDOUT, text=True)


@pytest.mark.parametrize("name", CHECKS)
def test_quality(name: str, started: dict[str, subprocess.Popen[str]]) -> None:
    check = started.pop(name, None) or start(name)
    output, _ = check.communicate()
    if check.returncode:
        pytest.fail(f"{name}\n{output}", pytrace=False)
