"""A process that runs tasks for another one, which asks it through a pipe.

Pickled objects go there and back: a `Question`, and the `Answer`.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from .errors import KernelError
from .kernel import Input
from .reports import TaskReport
from .task import TaskSpec, start_task


@dataclass(frozen=True)
class Question:
    """A task to run.

    Attributes:
        path: where Python looks for the modules of the user's function.
    """

    spec: TaskSpec
    task: int
    rows: Input
    path: Sequence[str]


@dataclass(frozen=True)
class Answer:
    """What a task came to.

    Attributes:
        output: the batches that the kernel emits.
        report: what the task did; None if it failed, or was not begun.
        error: why it failed.
        trace: where, as text.
        loads: whether the user's function can be loaded here.
    """

    output: Sequence[Any] = ()
    report: TaskReport | None = None
    error: BaseException | None = None
    trace: str = ""
    loads: bool = True


def answer(question: Question) -> Answer:
    """Run a task to its end."""
    sys.path[:] = question.path
    spec = question.spec
    assert spec.kernel.users_function is not None
    try:
        spec.kernel.users_function.load()
    except KernelError:
        return Answer(loads=False)
    try:
        with ThreadPoolExecutor(1) as writer:
            started = start_task(spec, question.task, question.rows, writer)
            return Answer(started.output, started.report.result())
    except BaseException as error:  # sys.exit in a user's function is the asking process' matter
        return Answer(error=_picklable(error), trace=traceback.format_exc())


def _picklable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Answer until the other process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asks decides what Ctrl-C ends
    read, write = map(int, sys.argv[1:])
    with os.fdopen(read, "rb") as questions, os.fdopen(write, "wb") as answers:
        while True:
            try:
                question = pickle.load(questions)
            except EOFError:
                return
            pickle.dump(answer(question), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
