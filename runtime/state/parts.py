"""Names of the parts of a processor's state: one for each variable, one for its timers."""

from __future__ import annotations

from urllib.parse import quote, unquote

from .marks import GONE, MATCHED

VARIABLE = "var-"
"""Before the name of a variable; what cannot be in a file's name is escaped."""
TIMERS = "timers"


def variable_part(name: str) -> str:
    """The part that has the rows of a variable."""
    return f"{VARIABLE}{quote(name, safe='')}"


def is_variable(part: str) -> bool:
    """Whether a part has the rows of a variable."""
    return part.startswith(VARIABLE)


def shown_part(part: str) -> str:
    """What people call a part: a variable by its own name."""
    if part == TIMERS:
        return "$timers"  # no variable's name begins so
    return unquote(part.removeprefix(VARIABLE)) if is_variable(part) else part


def is_added_to(part: str) -> bool:
    """Whether a batch's rows of a key are added to the earlier ones, not put in their place."""
    replaced = part in ("", TIMERS) or is_variable(part)
    return not (replaced or part.endswith((GONE, MATCHED)))
