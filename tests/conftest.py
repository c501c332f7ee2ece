"""One Spark session for all tests that need one; checks of the code run beside the tests."""

from __future__ import annotations

import gc
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import embedded_environment
import hypothesis
import jvm_archive
import preloaded_daemon
import pytest
from engines import EMBEDDED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A machine that runs other things beside may take its time over an example.
hypothesis.settings.register_profile("unhurried", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("unhurried")

# Every JVM that a test starts gets these, those of commands too.
os.environ.setdefault("SPARK_SUBMIT_OPTS", jvm_archive.options())

Checks = dict[str, subprocess.Popen[str]]
_CHECKS = pytest.StashKey[Checks]()


# pytest-xdist begins with the files that have most tests. These take longest; the first need no
# JVM while the archive is made that JVMs start faster with.
_FIRST = ("commit_protocol", "explain_files", "scenarios", "explain_what_is_missing")
_FIRST += ("random_streams", "shipping", "progress", "run_scripts", "quiet", "socket_examples")
# This one waits for what runs beside the others.
_LAST = "embedded_environment"
_BESIDE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
_ARCHIVE = pytest.StashKey[subprocess.Popen[bytes] | None]()


def pytest_configure(config: pytest.Config) -> None:
    """Let several processes take files in the order of the tests."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        config.stash[_BESIDE] = folder
        config.stash[_ARCHIVE] = jvm_archive.start_making()
        embedded_environment.announce(Path(folder.name))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Start the tests of the embedded engine beside all others, if these are to run."""
    first = node.gateway.id == "gw0"
    if first and any(f"test_{_LAST}.py" in name for name in ids):
        embedded_environment.start_beside()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest."""

    def place(item: pytest.Item) -> int:
        name = item.path.stem.removeprefix("test_")
        if name == _LAST:
            return len(_FIRST) + 1
        return _FIRST.index(name) if name in _FIRST else len(_FIRST)

    items.sort(key=place)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the checks of test_quality that were chosen: mypy alone takes a core for a minute."""
    # Thousands of tests stay to the end: without this, looking through them for cycles again and
    # again takes a process most of a minute.
    gc.freeze()
    started: Checks = {}
    session.config.stash[_CHECKS] = started
    if session.config.option.collectonly or hasattr(session.config, "workerinput"):
        return  # where several processes run the tests, the check starts with its test
    for item in session.items:
        if isinstance(item, pytest.Function) and item.originalname == "test_quality":
            name = item.callspec.params["name"]
            started[name] = item.module.start(name)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what nobody waited for."""
    for check in config.stash.get(_CHECKS, {}).values():
        check.kill()
    if (making := config.stash.get(_ARCHIVE, None)) is not None:
        making.wait()
    if (folder := config.stash.get(_BESIDE, None)) is not None:
        embedded_environment.end_beside()
        folder.cleanup()


@pytest.fixture
def started(request: pytest.FixtureRequest) -> Checks:
    """The checks that run, by name."""
    return request.config.stash[_CHECKS]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A small local Spark: two cores, UTC, no web page. Fails with one line if there is no Java."""
    from stateplan.planner.model.errors import StateplanError
    from stateplan.runtime.engines.spark_session import start_session

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        "spark.driver.memory": "3g",
        # What Spark keeps of past queries for its web page, plans and all, would fill the heap.
        "spark.sql.ui.retainedExecutions": "5",
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "200",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.python.worker.reuse": "true",
        **preloaded_daemon.SETTINGS,
        # Many tests run one query again: with other settings, or on the next files.
        "spark.sql.codegen.cache.maxEntries": "1000",
    }
    try:
        session = start_session("local[2]", "stateplan-tests", settings)
    except StateplanError as error:
        pytest.fail(str(error), pytrace=False)
    yield session
    session.stop()


@pytest.fixture(params=["spark", EMBEDDED])
def session(request: pytest.FixtureRequest) -> SparkSession:
    """Of both engines, or of the one that the test names (engines.py)."""
    if request.param == "spark":
        return request.getfixturevalue("spark")
    from stateplan.runtime.engines.embedded_session import session

    return session()
