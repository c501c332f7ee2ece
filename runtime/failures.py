"""A failed batch as one error: the innermost condition that Spark or a kernel gives."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..planner.model.conditions import conditions
from ..planner.model.errors import Phase, RuntimeFailure, StateplanError
from .files import FILE_SYSTEM_HINT
from .kernels.errors import KernelError
from .state import StateError
from .state.errors import FAILED, NOT_WRITTEN

# The last line of a worker's traceback: `package.module.Error: [CONDITION] text`; where a function
# that runs in the engine reads from another, each says its `Error: ` before.
_WORKER_ERROR = re.compile(r"^(?:[\w.]+(?: error)?: )+(\[(_?[A-Z][A-Z0-9_.]*)\] .*)$", re.MULTILINE)
# The same of an error without a condition; the line above it names the place.
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception)(?:: .*)?)$", re.MULTILINE)
_FRAME = re.compile(r'^ *File "([^"]+)", line (\d+)', re.MULTILINE)
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_LIBRARIES = (
    *(os.path.join(_OWN, folder, "") for folder in ("runtime", "planner", "physical", "rules")),
    os.path.join(os.path.dirname(os.path.realpath(os.__file__)), ""),
)
_TRACEBACK = "Traceback (most recent call last)"
RESTORE = "Restore the checkpoint from a copy, or start the query on a new one."
DAMAGED = (
    "STATEPLAN_CORRUPT_STATE",
    "CANNOT_LOAD_STATE_STORE.CANNOT_READ_MISSING_STATE_FILE",
    "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE",
)
_SAID = re.compile(r"^\[([A-Z][A-Z0-9_.]*)\] ", re.M)
_READING = re.compile(r"while reading file (\S+?)\.?\s")
_OF_FILE = re.compile(r" \(file (.+)\)$")
_MALFORMED = "MALFORMED_RECORD_IN_PARSING"


class BatchFailure(RuntimeFailure):
    """A batch failed whole; the checkpoint stays at the batch before it.

    Attributes:
        batch_id: the batch that failed.
    """

    phase: Phase = "batch"

    def __init__(self, condition: str | None, message: str, *, batch_id: int, hint: str) -> None:
        super().__init__(condition, message, hint=hint)
        self.batch_id = batch_id


class UsersFunctionFailed(Exception):
    """What a function of the user's raised in a process of its own: `Error: text`.

    Args:
        reason: the last line of its traceback.
        trace: the whole of it.
    """

    def __init__(self, reason: str, trace: str) -> None:
        super().__init__(reason, trace)
        self.reason = reason
        self.trace = trace

    def __str__(self) -> str:
        return self.reason


def batch_failure(
    error: BaseException, batch_id: int, *, in_function: bool = False
) -> StateplanError:
    """The error for people behind an exception that ended a batch.

    Args:
        error: what was raised; one of our own errors stands as it is.
        batch_id: the batch that was running.
        in_function: whether a user's foreachBatch function was running.
    """
    own = next((e for e in _causes(error) if isinstance(e, StateplanError | StateError)), None)
    if own is not None:
        return state_failure(own) if isinstance(own, StateError) else own
    condition, message = innermost(error)
    if condition is None and in_function:
        condition = "FOREACH_BATCH_USER_FUNCTION_ERROR"
        from_worker = isinstance(error, UsersFunctionFailed)
        reason = str(error) if from_worker else f"{type(error).__name__}: {error}"
        message = conditions()[condition].message({"reason": reason})
    hint = f"Batch {batch_id} is not committed: fix the cause and start the query again; it goes "
    hint += "on from the last commit."
    if condition in DAMAGED:
        hint = f"Batch {batch_id} is not committed. {RESTORE}"
    failure = BatchFailure(
        condition or "STATEPLAN_BATCH_FAILED", message, batch_id=batch_id, hint=hint
    )
    failure.place = _users_line(error)
    return failure


def _users_line(error: BaseException) -> str | None:
    """`job.py:41`: the innermost line of the user's code that an error went through.

    A function's error comes with its traceback, of this process or in the text of a worker's.
    """
    lines: list[tuple[str, str]] = []
    for cause in _causes(error):
        frames = traceback.extract_tb(cause.__traceback__)
        lines += [(frame.filename, str(frame.lineno)) for frame in frames]
        lines += _FRAME.findall(f"{cause}\n{getattr(cause, 'trace', '')}")
    users = [(file, line) for file, line in lines if not _is_library(file)]
    return f"{os.path.basename(users[-1][0])}:{users[-1][1]}" if users else None


def _is_library(file: str) -> bool:
    """Whether a file of code is Python's, a package's or our own."""
    parts = file.split(os.sep)
    return (
        file.startswith(("<", *_LIBRARIES))
        or any(part in ("site-packages", "stateplan", "pyspark") for part in parts[:-1])
        or any(part.endswith(".zip") for part in parts)
    )


def cannot_run(operator: str) -> RuntimeFailure:
    """The error for an operator, by its name in plans, that there is no way to run."""
    return RuntimeFailure(
        "STATEPLAN_CANNOT_RUN",
        f"The operator {operator} can be planned, but not run.",
        hint="Leave it out of the query.",
    )


def state_failure(error: StateError) -> RuntimeFailure:
    """The error for people behind one of the state store."""
    return RuntimeFailure(
        error.condition,
        f"[{error.condition}] {error.message}",
        hint=FILE_SYSTEM_HINT if error.condition in (NOT_WRITTEN, FAILED) else RESTORE,
    )


def innermost(error: BaseException) -> tuple[str | None, str]:
    """The innermost condition in an exception's chain and its text.

    Spark wraps what fails in a task several times; a kernel's error arrives as the last line of a
    Python worker's traceback. Of a malformed record in a file Spark says that the file cannot be
    read, and why.
    """
    found: tuple[str | None, str] = (None, _plain(error))
    file = ""
    for cause in _causes(error):
        for condition, message in _conditions(cause):
            found = (condition, message)
            reading = _READING.search(message)
            file = reading[1] if reading else file
        if isinstance(cause, KernelError) and cause.condition == "PYTHON_EXCEPTION":
            break  # what the user's code has raised is a part of its text
    innermost_condition, text = found
    text = f"{text} (file {file})" if file not in text else text
    of_file = _OF_FILE.search(text)
    if of_file is not None and (innermost_condition or "").startswith(_MALFORMED):
        unread = KernelError.of("FAILED_READ_FILE.NO_HINT", path=of_file[1])
        return unread.condition, f"{unread.message}\n{text.removesuffix(of_file[0])}"
    return innermost_condition, text


def _plain(error: BaseException) -> str:
    """The text of an error without a condition, without the JVM's stack."""
    thrown: Any = getattr(error, "java_exception", None)
    if thrown is None:
        return f"{type(error).__name__}: {error}"
    while thrown.getCause() is not None:
        thrown = thrown.getCause()
    return str(thrown.toString()).strip().split("\n")[0]


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in seen:
        seen.append(current)
        yield current
        current = current.__cause__


def _conditions(error: BaseException) -> Iterator[tuple[str, str]]:
    """The conditions in one exception, from the outside in."""
    if isinstance(error, KernelError):  # of a kernel in this process
        yield error.condition, error.message
        return
    condition = _call(error, "getCondition")
    text = str(error)
    if condition is None and hasattr(error, "getCondition"):  # PySpark's may have it in words alone
        said = _SAID.search(text)
        condition = None if said is None else said[1]
    if condition:
        yield condition, _first_line(text, condition)
    # The JVM's exception as PySpark wraps it, or as Py4J alone does.
    origin: Any = getattr(error, "_origin", None) or getattr(error, "java_exception", None)
    while origin is not None:  # the JVM's causes, on a classic session
        inner, message = _call(origin, "getCondition"), _call(origin, "getMessage") or ""
        if inner:
            yield inner, _first_line(message, inner)
        text = f"{text}\n{message}"
        origin = _call(origin, "getCause")
    worker = _WORKER_ERROR.findall(text)
    if worker:
        message, condition = worker[-1]
        yield condition, message
    elif condition and _TRACEBACK in text and (raised := _RAISED.findall(text)):
        first = _first_line(text, condition).split(_TRACEBACK, 1)[0].strip()
        yield condition, f"{first} {raised[-1]}"


@contextmanager
def as_in_a_task() -> Iterator[None]:
    """For code of tasks that runs in this process: its `[CONDITION] text` keeps the condition."""
    try:
        yield
    except ValueError as error:
        found = re.match(r"\[([A-Z][A-Z0-9_.]*)\] ", str(error))
        if found is None:
            raise
        raise KernelError(found[1], str(error)) from error


def _call(target: object, method: str) -> Any:
    """A method's answer; None where there is no such method, or it fails."""
    try:
        return getattr(target, method)()
    except Exception:
        return None


def _first_line(text: str, condition: str) -> str:
    """A message without the query context and the stack that Spark puts behind it."""
    lines = text.strip().split("\n")
    line = next((item for item in lines if f"[{condition}]" in item), lines[0]).strip()
    start = line.find(f"[{condition}]")
    return line[start:] if start > 0 else line
