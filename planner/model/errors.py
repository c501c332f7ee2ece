"""Errors for people: condition, what was attempted, what to do."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, Self

from .conditions import conditions

Phase = Literal["analysis", "streaming-check", "planning", "description", "runtime", "batch"]

_PHASE_HINTS: dict[Phase, str] = {
    "analysis": "Fix the query at that place.",
    "streaming-check": "Streaming queries cannot do this: write the query without it.",
    "planning": "Write the query without it.",
    "description": "Fix the description or the arguments.",
    "runtime": "Fix the cause, then start the query again.",
    "batch": "Fix the cause, then start the query again.",
}


class StateplanError(Exception):
    """Base of every error that a user can cause or fix.

    Attributes:
        condition: Spark's error condition in UPPER_SNAKE (`A.B` with a sub-condition) where Spark
            has one, else our own, starting with `STATEPLAN_`.
        message: one clear sentence or more. For Spark's conditions it is Spark's own text as it
            prints it, with `[CONDITION] `, `SQLSTATE` and position where Spark prints them.
        hint: what to do about it.
        phase: the step that refused.
        tree: the logical plan that Spark appends to an analysis error's text, if any.
        place: the line of Python code that it comes from (`job.py:12`), if that is known.
        subject: the parts of the name that is not known, where that is what is wrong.
        parameters: what the condition's template says of this case, by Spark's names.
    """

    phase: Phase = "description"
    place: str | None = None
    subject: tuple[str, ...] = ()
    parameters: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, condition: str | None, message: str, *, hint: str = "", tree: str | None = None
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.message = message
        self.hint = hint or _PHASE_HINTS[self.phase]
        self.tree = tree

    @classmethod
    def of(
        cls, condition: str, /, *, hint: str = "", tree: str | None = None, **parameters: Any
    ) -> Self:
        """The error for an entry of the table of conditions.

        Args:
            condition: the entry's name.
            hint: what to do here, where the entry's own hint says less.
            tree: see the class.
            parameters: a value for each parameter of the template, quoted as Spark quotes it.
        """
        entry = conditions()[condition]
        error = cls(condition, entry.message(parameters), hint=hint or entry.hint, tree=tree)
        error.parameters = {name.rstrip("_"): str(value) for name, value in parameters.items()}
        return error

    def __str__(self) -> str:
        return f"{self.message}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy all attributes, without the arguments of a subclass's `__init__`."""
        return _without_init, (type(self), self.args), vars(self)


def _without_init(kind: type[StateplanError], arguments: tuple[Any, ...]) -> StateplanError:
    return kind.__new__(kind, *arguments)


class DescriptionError(StateplanError):
    """A query description, configuration or scenario file is unusable."""

    phase: Phase = "description"


class SettingError(DescriptionError):
    """A setting has a value that Spark does not take: it says so before anything else."""

    phase = "analysis"


class AnalysisError(StateplanError):
    """The query cannot be parsed or analyzed: Spark's parser or analyzer refuses it."""

    phase = "analysis"


class StreamingCheckError(StateplanError):
    """The analyzed query is not supported on a stream in this output mode."""

    phase = "streaming-check"


class PlanningError(StateplanError):
    """No physical plan can be made."""

    phase = "planning"


class RuntimeFailure(StateplanError):
    """A batch, a checkpoint, a source or a sink failed."""

    phase: Phase = "runtime"


class InternalError(StateplanError):
    """Our own mistake: an invariant of a plan or a rule does not hold."""

    phase = "planning"

    def __init__(self, message: str) -> None:
        entry = conditions()["STATEPLAN_INTERNAL"]
        super().__init__(entry.name, message, hint=entry.hint)
