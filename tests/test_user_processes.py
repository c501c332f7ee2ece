"""A user's functions in processes beside the embedded engine: state, errors, their end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stateplan.planner.model.errors import RuntimeFailure
from stateplan.runtime.engines import embedded_processes
from stateplan.testing import StreamTest

pytestmark = pytest.mark.embedded
KEYS = [(f"user {number}",) for number in range(20)]
Start = Callable[[Callable[[int], object]], StreamTest]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a query whose function tells the process that it runs in, after an act of a test's."""
    monkeypatch.setattr(embedded_processes, "MANY", 2)
    started: list[StreamTest] = []

    def one(act: Callable[[int], object]) -> StreamTest:
        def job(events: Any) -> Any:
            import pandas as pd

            def seen(key: Any, parts: Any, state: Any) -> Iterator[Any]:
                count = state.get[0] + 1 if state.exists else 1
                state.update((count,))
                act(count)
                yield pd.DataFrame({"user": [key[0]], "n": [count], "process": [os.getpid()]})

            schema = "user STRING, n LONG, process LONG"
            return events.groupBy("user").applyInPandasWithState(
                seen, schema, "n LONG", "update", "NoTimeout"
            )

        started.append(StreamTest(job, {"events": "user STRING"}, output_mode="update", tasks=2))
        return started[-1]

    yield one
    for test in started:
        test.close()


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core runs all tasks in this process")
def test_a_task_stays_in_its_process_which_ends_with_the_query(start: Start) -> None:
    test = start(lambda count: None)
    test.add("events", KEYS)
    first = {row[0]: row[2] for row in test.run()}
    test.add("events", KEYS)
    again = test.run()
    assert {row[0]: row[2] for row in again} == first
    assert {row[1] for row in again} == {2}
    assert len(set(first.values())) > 1
    assert os.getpid() not in first.values()
    test.add("events", KEYS[:1])
    (alone,) = test.run()  # too few rows for a process: the state is the same
    assert alone[1:] == (3, os.getpid())
    test.close()
    for process in set(first.values()):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


@pytest.mark.skipif(os.cpu_count() == 1, reason="one core runs all tasks in this process")
def test_what_fails_elsewhere_fails_the_batch(start: Start) -> None:
    def fail(count: int) -> None:
        if count == 2:
            raise ValueError("enough")

    test = start(fail)
    test.add("events", KEYS).run()
    with pytest.raises(RuntimeFailure, match=r"PYTHON_EXCEPTION.*ValueError: enough") as failure:
        test.add("events", KEYS).run()
    assert failure.value.place is not None
    assert failure.value.place.startswith("test_user_processes.py:")

    with pytest.raises(RuntimeFailure, match="has ended with status 7"):
        start(lambda count: os._exit(7)).add("events", KEYS).run()


def test_a_function_that_cannot_be_loaded_elsewhere_runs_here(start: Start) -> None:
    test = start(_OnlyHere())
    rows = test.add("events", KEYS).run()
    assert {row[2] for row in rows} == {os.getpid()}


class _OnlyHere:
    """An act that only this process can unpickle."""

    def __call__(self, count: int) -> None:
        pass

    def __reduce__(self) -> Any:
        return _made_in, (os.getpid(),)


def _made_in(process: int) -> _OnlyHere:
    if os.getpid() != process:
        raise ImportError("of another process")
    return _OnlyHere()
