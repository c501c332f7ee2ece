"""The pytest plugin: collects `*.scenario.yaml` files, and has the fixture `stream_test`.

Loaded by pytest wherever stateplan is installed: it imports nothing heavy before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stateplan.planner.model.errors import StateplanError

if TYPE_CHECKING:
    from stateplan.runtime.testing.stream_test import StreamTest

SUFFIXES = (".scenario.yaml", ".scenario.yml", ".scenario.json")


class ScenarioFailure(Exception):
    """A scenario emitted something else than it expects; the message is the report."""


class ScenarioFile(pytest.File):
    """A file with one scenario."""

    def collect(self) -> Iterable[pytest.Item]:
        yield ScenarioItem.from_parent(self, name=self.path.name.split(".scenario.")[0])


class ScenarioItem(pytest.Item):
    """A scenario: passes if it emits what it expects."""

    def runtest(self) -> None:
        from stateplan.planner.description import load_scenario
        from stateplan.runtime.engines.opening import open_session
        from stateplan.runtime.testing.checked import check_scenario

        scenario = load_scenario(self.path)
        if scenario.expect is None:
            command = f"stateplan test --update {self.path}"
            raise ScenarioFailure(
                f"The scenario expects nothing. '{command}' writes what it emits."
            )
        session, _ = open_session(self.config.getoption("stateplan_engine"), "test")
        found = check_scenario(session, scenario)
        if found.found:
            raise ScenarioFailure("\n".join(found.report))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Reports and stateplan's errors without a traceback."""
        if isinstance(excinfo.value, ScenarioFailure | StateplanError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"scenario {self.name}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--stateplan-engine`."""
    parser.getgroup("stateplan").addoption(
        "--stateplan-engine",
        choices=["auto", "embedded", "spark"],
        default="auto",
        help="what runs scenarios and stream_test: by default Sail where it is installed",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects scenario files."""
    if file_path.name.endswith(SUFFIXES):
        return ScenarioFile.from_parent(parent, path=file_path)
    return None


@pytest.fixture
def stream_test(request: pytest.FixtureRequest) -> Iterator[Callable[..., StreamTest]]:
    """Starts a query under test: `stream_test(query, sources, ...)`, see `StreamTest`.

    Several may be started; they end with the test.
    """
    from stateplan.testing import StreamTest

    started: list[StreamTest] = []

    def start(*arguments: Any, **options: Any) -> StreamTest:
        if "spark" not in options:
            options.setdefault("engine", request.config.getoption("stateplan_engine"))
        started.append(StreamTest(*arguments, **options))
        return started[-1]

    yield start
    for test in started:
        test.close()
