"""The pytest plugin: collects `*.scenario.yaml`; the fixtures `stream_test` and `golden_plan`.

Loaded by pytest wherever stateplan is installed: it imports nothing heavy before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stateplan.planner.model.errors import StateplanError

if TYPE_CHECKING:
    from stateplan.golden_plans import GoldenFile, GoldenPlans
    from stateplan.runtime.testing.stream_test import StreamTest

_GOLDEN = ".golden.yaml"
_FILES: pytest.StashKey[dict[Path, GoldenFile]] = pytest.StashKey()
_PLANS: pytest.StashKey[GoldenPlans] = pytest.StashKey()
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


class GoldenOrphans(pytest.Item):
    """Fails where a file of golden plans has some that no test asks for; there only if it does."""

    orphans: tuple[str, ...]

    def runtest(self) -> None:
        _golden_file(self.config, self.path).remove_orphans(self.orphans)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone."""
        return str(excinfo.value)


class OrphanedFile(pytest.File):
    """A file of golden plans without its test module."""

    def collect(self) -> Iterable[pytest.Item]:
        item = GoldenOrphans.from_parent(self, name="golden plans")
        item.orphans = tuple(_golden_file(self.config, self.path).entries)
        yield item


def _golden_file(config: pytest.Config, path: Path) -> GoldenFile:
    """The golden plans in a file, read once."""
    from stateplan.golden_plans import GoldenFile

    files = config.stash.setdefault(_FILES, {})
    if path not in files:
        files[path] = GoldenFile(path, update=config.getoption("update_golden"))
    return files[path]


def pytest_configure(config: pytest.Config) -> None:
    """Refuses to write golden plans from several processes."""
    if config.getoption("update_golden") and config.getoption("numprocesses", None):
        raise pytest.UsageError("--update-golden writes files: leave -n out.")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Adds a failing test for golden plans of tests that are gone, where modules are whole."""
    if config.getoption("lf", False) or any("::" in argument for argument in config.args):
        return
    modules = {item.path: item for item in items if isinstance(item, pytest.Function)}
    for path, item in modules.items():
        golden = path.with_suffix(_GOLDEN)
        if golden.exists():
            from stateplan.golden_plans import test_of

            tests = {_test_name(i) for i in items if i.path == path}
            entries = _golden_file(config, golden).entries
            orphans = tuple(key for key in entries if test_of(key) not in tests)
            if orphans:
                added = GoldenOrphans.from_parent(item.session, name=golden.name, path=golden)
                added.orphans = orphans
                items.append(added)


def _test_name(item: pytest.Item) -> str:
    """`TestClass::test[parameter]`."""
    return item.nodeid.partition("::")[2]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """A test that passed has asked for all of its golden plans."""
    yield
    if _PLANS in item.stash:
        item.stash[_PLANS].check_orphans()


@pytest.fixture
def golden_plan(request: pytest.FixtureRequest) -> GoldenPlans:
    """Checks a query's plan against the file beside the test: `golden_plan(query)`.

    See `GoldenPlans`; `--update-golden` writes the file.
    """
    from stateplan.golden_plans import GoldenPlans

    file = _golden_file(request.config, request.node.path.with_suffix(_GOLDEN))
    plans = GoldenPlans(file, _test_name(request.node))
    request.node.stash[_PLANS] = plans
    return plans


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--stateplan-engine` and `--update-golden`."""
    group = parser.getgroup("stateplan")
    group.addoption(
        "--update-golden", action="store_true", help="write the plans that golden_plan compares"
    )
    group.addoption(
        "--stateplan-engine",
        choices=["auto", "embedded", "spark"],
        default="auto",
        help="what runs scenarios and stream_test: by default Sail where it is installed",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects scenario files, and golden plans whose module is gone."""
    if file_path.name.endswith(_GOLDEN):
        module = file_path.with_name(file_path.name.removesuffix(_GOLDEN) + ".py")
        return None if module.exists() else OrphanedFile.from_parent(parent, path=file_path)
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
