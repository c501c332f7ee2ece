"""Errors for people: condition, what was attempted, what to do."""

from __future__ import annotations

from typing import Literal

Phase = Literal["analysis", "streaming-check", "planning", "description", "runtime", "batch"]


class StateplanError(Exception):
    """Base of every error that a user can cause or mend.

    Attributes:
        condition: Spark's error condition in UPPER_SNAKE (`A.B` with a sub-condition) where Spark
            has one, else our own, starting with `STATEPLAN_`.
        message: one clear sentence or more. For Spark's conditions it is Spark's own text as it
            prints it, with `[CONDITION] `, `SQLSTATE` and position where Spark prints them.
        hint: what to do about it, or an empty string.
        phase: the step that refused.
        tree: the logical plan that Spark appends to an analysis error's text, if any.
    """

    phase: Phase = "description"

    def __init__(
        self, condition: str | None, message: str, *, hint: str = "", tree: str | None = None
    ) -> None:
        super().__init__(message)
        self.condition = condition
        self.message = message
        self.hint = hint
        self.tree = tree

    def __str__(self) -> str:
        return f"{self.message}\nHint: {self.hint}" if self.hint else self.message


class DescriptionError(StateplanError):
    """A query description, configuration or scenario file is unusable."""

    phase = "description"


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
        super().__init__(
            "STATEPLAN_INTERNAL", message, hint="This is a bug of stateplan: please report it."
        )
