"""What the state store raises: state that cannot be read or written."""

from __future__ import annotations

from .storage import Location

NOT_WRITTEN = "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"
FAILED = "STATEPLAN_FILE_SYSTEM_FAILED"


class StateError(Exception):
    """State cannot be read or written; `condition` names why, the text names the file."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(condition, message)
        self.condition = condition
        self.message = message

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message}"


def cannot_write(what: str, path: Location, problem: OSError) -> StateError:
    """The error for a state file that cannot be written."""
    return StateError(
        NOT_WRITTEN,
        f"{what} cannot be written to {path}: {problem.strerror or problem}.",
    )


def cannot_read(path: Location, problem: OSError) -> StateError:
    """The error for a state file that may be whole, but that the file system does not give."""
    return StateError(
        FAILED, f"The state file {path} cannot be read: {problem.strerror or problem}."
    )
