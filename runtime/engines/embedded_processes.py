"""Tasks that call a user's function key by key, in processes beside this one.

In one process such calls go one after another, whatever its threads: so a large batch's tasks run
in as many processes as there are cores, as Spark's do. `multiprocessing` would run the user's
script again in each of them.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import Future
from typing import IO

from ...planner.model.errors import RuntimeFailure
from ..kernels import task_process
from ..kernels.kernel import Input
from ..kernels.reports import TaskReport
from ..kernels.task import StartedTask, TaskSpec
from ..kernels.task_process import Answer, Question

_MAIN = f"from {task_process.__name__} import main; main()"
MANY = 5_000
"""Rows of a task that are worth the start of a process, about a second."""


class TaskProcesses:
    """The processes of a query, started when its first large batch comes."""

    def __init__(self) -> None:
        self._processes: dict[int, _Process] = {}
        self._starting = threading.Lock()
        self._loads = True

    def start(self, spec: TaskSpec, task: int, rows: Input) -> StartedTask | None:
        """Run a task in a process; None if it is better run in this one.

        Raises:
            KernelError, StateError, RuntimeError: as `start_task`.
            RuntimeFailure: the process has ended.
        """
        if (
            spec.kernel.users_function is None
            or len(rows.places) < MANY
            or min(spec.tasks, os.cpu_count() or 1) == 1
            or not self._loads
        ):
            return None
        answer = self._of(task).ask(Question(spec, task, rows, sys.path))
        if not answer.loads:
            self._loads = False
            return None
        if answer.error is not None:
            raise answer.error from _Elsewhere(answer.trace)
        assert answer.report is not None
        report = Future[TaskReport]()
        report.set_result(answer.report)
        return StartedTask(answer.output, report)

    def _of(self, task: int) -> _Process:
        """The process that runs a task in each batch: it may still have the task's state."""
        number = task % (os.cpu_count() or 1)
        with self._starting:
            if number not in self._processes:
                self._processes[number] = _Process()
            return self._processes[number]

    def close(self) -> None:
        """End the processes."""
        for process in self._processes.values():
            process.end()
        self._processes.clear()


class _Elsewhere(Exception):
    """Where in another process an error was raised."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _Process:
    """A process that runs one task at a time."""

    def __init__(self) -> None:
        (asked, ask), (answered, answer) = os.pipe(), os.pipe()
        self._asking = threading.Lock()
        self._questions: IO[bytes] = os.fdopen(ask, "wb")
        self._answers: IO[bytes] = os.fdopen(answered, "rb")
        path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, str(asked), str(answer)],
                env={**os.environ, **path},
                stdin=subprocess.DEVNULL,
                pass_fds=[asked, answer],
            )
        finally:
            os.close(asked)
            os.close(answer)

    def ask(self, question: Question) -> Answer:
        with self._asking:
            try:
                pickle.dump(question, self._questions, pickle.HIGHEST_PROTOCOL)
                self._questions.flush()
                found: Answer = pickle.load(self._answers)
            except (OSError, EOFError, pickle.UnpicklingError) as error:
                status = self._process.wait()
                raise RuntimeFailure(
                    "STATEPLAN_PYTHON_ENDED",
                    f"The process that ran task {question.task} of {question.spec.name} has ended "
                    f"with status {status}.",
                    hint="Look whether the function ends its process, or needs more memory than "
                    "there is. The query goes on from its last commit.",
                ) from error
        return found

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):  # what it did not read any more
            self._questions.close()
        self._answers.close()
