"""Small batches: how many tasks they get, and rows that come without the network's timers."""

from __future__ import annotations

import os
import socket
from types import SimpleNamespace
from typing import cast

import pytest

from stateplan.physical.plan import SparkPlan
from stateplan.runtime.kernels.prompt import prompt
from stateplan.runtime.task_choice import SMALL_INPUT, SMALL_STATE, TaskChoice


def plan(mode: str) -> SparkPlan:
    """A plan of one stateful operator, as far as the rule looks at it."""
    writer = SimpleNamespace(output_mode=mode)
    return cast(SparkPlan, SimpleNamespace(collect=lambda kind: [writer]))


@pytest.mark.parametrize(
    ("inputs", "state", "mode", "expected"),
    [
        ([], None, "append", 1),
        ([SMALL_INPUT], 1 << 40, "update", 1),
        ([SMALL_INPUT // 2, SMALL_INPUT // 2 + 1], 0, "update", 4),
        ([0, None], 0, "append", 4),
        ([10], None, "complete", 4),
        ([10], SMALL_STATE, "complete", 1),
        ([10], SMALL_STATE + 1, "complete", 4),
    ],
)
def test_small_batches_run_in_one_task(
    inputs: list[int | None], state: int | None, mode: str, expected: int
) -> None:
    assert TaskChoice(most=4).tasks(plan(mode), inputs, state) == expected


def test_the_users_number_of_tasks_holds_for_every_batch() -> None:
    assert TaskChoice(most=4, fixed=True).tasks(plan("append"), [10], 0) == 4


def test_batches_come_as_they_are_and_no_connection_stays_open() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()),
    ):
        before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        assert list(prompt(iter(range(5)))) == [0, 1, 2, 3, 4]
        after = len(os.listdir("/proc/self/fd")) if before else 0
    assert after == before
