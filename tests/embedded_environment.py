"""The second environment: `.venv-embedded` beside pyproject.toml, with the embedded engine."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_ENVIRONMENT = ROOT / ".venv-embedded"
_EXTRAS = "embedded,test"
_BESIDE = "STATEPLAN_EMBEDDED_TESTS"
# Of a test's text; the last one is the fixture of either engine.
_EMBEDDED = ("mark.embedded", "on_embedded", "some_on_spark", "session: ")
_MOST_SECONDS = 3600
_MOST_SECONDS_A_TEST = 600
_running: list[subprocess.Popen[bytes]] = []


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
        install = [str(executable), "-m", "pip", "install", "-q"]
        # The pip that Python brings may be old, and take twice as long.
        _run([*install, "--upgrade", "pip"])
        # Compiled is what the tests import: they keep it in a place of their own.
        _run([*install, "--no-compile", "-e", f"{ROOT}[{_EXTRAS}]"])
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
    return [module for module in modules if any(w in module.read_text() for w in _EMBEDDED)]


def run_tests(folder: Path) -> str:
    """Run them there, and say what failed; nothing if all passed.

    Args:
        folder: for what is compiled, which the tests' processes then find, and for what they print.
    """
    try:
        executable = python()
    except NotMade as error:
        return str(error)
    modules = [str(module.relative_to(ROOT)) for module in embedded_tests()]
    command = [str(executable), "-m", "pytest", "-m", "embedded", "-q", "-p", "no:cacheprovider"]
    # A test that hangs ends them all, and is shown with what each thread waits for.
    for setting in (f"timeout={_MOST_SECONDS_A_TEST}", "exit_on_timeout=true"):
        command += ["-o", f"faulthandler_{setting}"]
    # Without Java: nothing here may need it.
    environment = {**os.environ, "JAVA_HOME": "", "PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # It is no worker of the processes that run beside it.
    environment = {k: v for k, v in environment.items() if not k.startswith("PYTEST_XDIST_")}
    # Not a pipe, whose end would be waited for: a process that a test left behind may hold it.
    printed = folder / "printed"
    with printed.open("w") as file:
        process = subprocess.Popen(
            [*command, *modules], cwd=ROOT, env=environment, stdout=file, stderr=file
        )
    _running.append(process)
    if process.wait() == 0:
        return ""
    return f"{' '.join(command)}\n{printed.read_text(errors='replace')}"


def announce(folder: Path) -> None:
    """Tell the processes that this one starts where it will put what failed."""
    os.environ[_BESIDE] = str(folder)


def start_beside() -> None:
    """Begin to run the tests beside all others: they wait often enough to leave time for them."""
    folder = started_beside()
    assert folder is not None

    def run() -> None:
        try:
            problem = run_tests(folder)
        except Exception:
            problem = traceback.format_exc()  # else it would be waited for in vain
        hidden = folder / ".result"
        hidden.write_text(problem, encoding="utf-8")
        hidden.rename(folder / "result")

    threading.Thread(target=run, daemon=True).start()


def end_beside() -> None:
    """End the tests that nobody waited for."""
    for process in _running:
        process.kill()


def started_beside() -> Path | None:
    """The folder for what failed where the tests run beside all others; None: they do not."""
    folder = os.environ.get(_BESIDE)
    return Path(folder) if folder else None


def result(folder: Path) -> str:
    """What failed of the tests that run beside all others; waits for it."""
    end = time.monotonic() + _MOST_SECONDS
    while time.monotonic() < end:
        if (folder / "result").exists():
            return (folder / "result").read_text(encoding="utf-8")
        time.sleep(0.1)
    return f"The tests of the embedded engine took more than {_MOST_SECONDS} s."
