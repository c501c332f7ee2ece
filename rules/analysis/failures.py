"""Analysis errors in Spark's words, and the expressions that wait for their error to be told.

Spark's analyzer refuses some things at once, without a plan, and others only in a last walk over
the plan as far as it could be analyzed, which it then prints under the message. `InvalidCall`
carries an error of the second kind to that walk.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property

from ...planner.model.errors import AnalysisError
from ...planner.model.expressions.core import Call, CaseWhen, Cast, Origin
from ...planner.model.expressions.windows import SessionWindow, TimeWindow, WindowTime

FUNCTION_DOCS = "https://spark.apache.org/docs/latest/sql-ref-functions.html"
SEARCH_PATH = "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"


@dataclass(frozen=True, kw_only=True)
class InvalidCall(Call):
    """A call whose arguments have wrong types or values; `error` says so."""

    error: AnalysisError = field(compare=False)

    @cached_property
    def resolved(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class InvalidCast(Cast):
    """A cast between types that cannot be cast."""

    error: AnalysisError = field(compare=False)

    @cached_property
    def resolved(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class InvalidCase(CaseWhen):
    """CASE whose branches do not fit together."""

    error: AnalysisError = field(compare=False)

    @cached_property
    def resolved(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class InvalidTimeWindow(TimeWindow):
    """A time window over the wrong type or with durations that make no sense."""

    error: AnalysisError = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class InvalidSessionWindow(SessionWindow):
    """A session window over the wrong type."""

    error: AnalysisError = field(compare=False)


@dataclass(frozen=True, kw_only=True)
class InvalidWindowTime(WindowTime):
    """`window_time` of something that is no window."""

    error: AnalysisError = field(compare=False)


# Spark's types refuse these, which know of no query.
_WITHOUT_PLACE = ("UNSUPPORTED_TIME_TYPE",)


def quoted(parts: Iterable[str]) -> str:
    """A name as messages show it: each part in backticks."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def position(origin: Origin | None) -> str:
    """What Spark appends to a message to say where in the query's text, not in code."""
    return "" if origin is None or origin.file else f"; line {origin.line} pos {origin.position}"


def failure(
    condition: str | None,
    message: str,
    *,
    state: str | None = None,
    origin: Origin | None = None,
    hint: str = "",
    subject: tuple[str, ...] = (),
) -> AnalysisError:
    """An error whose message is laid out as Spark does: condition, text, SQLSTATE, position."""
    text = message
    if condition is not None and not condition.startswith("_LEGACY"):
        text = f"[{condition}] {text}"
    if state is not None:
        text = f"{text} SQLSTATE: {state}"
    error = AnalysisError(condition, text + position(origin), hint=hint)
    error.subject = subject
    return error


def missing_group_by(origin: Origin | None) -> AnalysisError:
    """A column beside aggregate functions that nothing is grouped by."""
    return failure(
        "MISSING_GROUP_BY",
        "The query does not include a GROUP BY clause. Add GROUP BY or turn it into the window"
        " functions using OVER clauses.",
        state="42803",
        origin=origin,
    )


def located(error: AnalysisError, origin: Origin | None) -> AnalysisError:
    """The error with a position, unless its message has one already."""
    if getattr(error, "placeless", False):
        return error
    if error.condition in _WITHOUT_PLACE:
        return error
    if origin is None or origin.file or "; line " in error.message or " (line " in error.message:
        return error
    placed = copy(error)
    placed.message += position(origin)
    return placed


def unresolved_routine(name: str, origin: Origin | None) -> AnalysisError:
    """No function of that name."""
    return failure(
        "UNRESOLVED_ROUTINE",
        f"Cannot resolve routine {quoted(name.split('.'))} on search path {SEARCH_PATH}.",
        state="42883",
        origin=origin,
        hint="Check the function's spelling; user-defined functions are not known here.",
    )


def routine_not_found(name: str, origin: Origin | None) -> AnalysisError:
    """No generator of that name, behind LATERAL VIEW."""
    shown = quoted(("default", *name.split(".")))
    return failure(
        "ROUTINE_NOT_FOUND",
        f"The routine {shown} cannot be found. Verify the spelling and correctness of the schema"
        " and catalog.\nIf you did not qualify the name with a schema and catalog, verify the"
        " current_schema() output, or qualify the name with the correct schema and catalog.\nTo"
        " tolerate the error on drop use DROP ... IF EXISTS.",
        state="42883",
        origin=origin,
    )


def unsupported_function(name: str, origin: Origin | None) -> AnalysisError:
    """One of Spark's functions that stateplan lacks."""
    return AnalysisError(
        "STATEPLAN_UNSUPPORTED_FUNCTION",
        f"Spark has the function {quoted((name,))}, stateplan does not{position(origin)}.",
        hint="Write the query with other functions.",
    )


def unsupported_syntax(name: str, syntax: str, origin: Origin | None) -> AnalysisError:
    """A function with a clause that it does not take."""
    return failure(
        "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
        f"Invalid SQL syntax: The function `{name}` does not support {syntax}.",
        state="42000",
        origin=origin,
    )


def wrong_argument_count(
    name: str, wanted: str, actual: int, origin: Origin | None
) -> AnalysisError:
    """A function with too many or too few arguments."""
    return failure(
        "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        f"The `{name}` requires {wanted} parameters but the actual number is {actual}."
        f" Please, refer to '{FUNCTION_DOCS}' for a fix.",
        state="42605",
        origin=origin,
    )


def mismatch(kind: str, sql: str, reason: str, origin: Origin | None) -> AnalysisError:
    """An expression over types or values that it does not take (DATATYPE_MISMATCH)."""
    return failure(
        f"DATATYPE_MISMATCH.{kind}",
        f'Cannot resolve "{sql}" due to data type mismatch: {reason}',
        state="42K09",
        origin=origin,
    )


def ambiguous(
    name: Iterable[str], candidates: Iterable[str], origin: Origin | None
) -> AnalysisError:
    """A column name that several columns have."""
    return failure(
        "AMBIGUOUS_REFERENCE",
        f"Reference {quoted(name)} is ambiguous, could be: [{', '.join(sorted(candidates))}].",
        state="42704",
        origin=origin,
        hint="Write the table's name before the column's.",
    )
