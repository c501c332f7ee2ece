"""The second environment: `.venv-embedded` beside pyproject.toml, with the embedded engine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ENVIRONMENT = ROOT / ".venv-embedded"
_EXTRAS = "embedded,test"


class NotMade(Exception):
    """The environment could not be made; the message has pip's last lines."""


def python() -> Path:
    """The second environment's Python, where this checkout is installed in place.

    It is made (half a minute) when it is missing, or was made of another pyproject.toml; the
    environment variable STATEPLAN_EMBEDDED_PYTHON names another one.

    Raises:
        NotMade: pip failed.
    """
    if named := os.environ.get("STATEPLAN_EMBEDDED_PYTHON"):
        return Path(named)
    executable = _ENVIRONMENT / "bin" / "python"
    made_of = _ENVIRONMENT / "made-of"
    wanted = _digest()
    with _alone():
        if made_of.exists() and made_of.read_text() == wanted and executable.exists():
            return executable
        _run([sys.executable, "-m", "venv", "--clear", str(_ENVIRONMENT)])
        _run([str(executable), "-m", "pip", "install", "-q", "-e", f"{ROOT}[{_EXTRAS}]"])
        made_of.write_text(wanted)
    return executable


def _digest() -> str:
    text = (ROOT / "pyproject.toml").read_bytes() + sys.version.encode()
    return hashlib.sha256(text).hexdigest()


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time makes the environment."""
    folder = os.open(ROOT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _run(command: list[str]) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).splitlines()[-15:]
        raise NotMade("\n".join([f"{' '.join(command)} failed:", *lines]))


def embedded_tests() -> list[Path]:
    """The test modules that have tests for the embedded engine."""
    modules = sorted((ROOT / "tests").rglob("test_*.py"))
    return [module for module in modules if "mark.embedded" in module.read_text()]
