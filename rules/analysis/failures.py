"""Analysis errors in Spark's words, and the expressions that carry an error to the last walk.

Spark's analyzer refuses some things at once, without a plan, and others only in a last walk over
the plan as far as it could be analyzed, which it then prints under the message. `Invalid`
expressions carry an error of the second kind to that walk.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import field, fields
from functools import cache
from typing import Any, TypeVar, cast

from ...planner.model.errors import AnalysisError
from ...planner.model.expressions.core import Expression, Origin
from ...planner.model.expressions.unresolved import Unresolved
from ...planner.model.frozen import dataclass
from ...planner.model.text.quoting import SEARCH_PATH, in_quotes, to_sql_id

E = TypeVar("E", bound=Expression)


@dataclass(frozen=True, kw_only=True)
class Invalid(Unresolved):
    """What cannot be resolved: `error` says why."""

    error: AnalysisError = field(compare=False)


@cache
def _invalid_kind(kind: type) -> Any:
    """The class of expressions of a kind that cannot be resolved: `InvalidCast` for Cast."""
    made = type(f"Invalid{kind.__name__}", (Invalid, kind), {})
    return dataclass(frozen=True, kw_only=True)(made)


def invalid(node: E, error: AnalysisError) -> E:
    """The expression as an `Invalid` one of its kind, which carries its error."""
    own = {field.name: getattr(node, field.name) for field in fields(node)}
    kind: type = type(node)
    return cast(E, _invalid_kind(kind)(**own, error=error))


# Spark's types refuse these, which know of no query.
_WITHOUT_PLACE = ("UNSUPPORTED_TIME_TYPE",)


def catalyst_class(name: str) -> str:
    """The class that Spark names for a function."""
    return f"org.apache.spark.sql.catalyst.expressions.{name}"


def position(origin: Origin | None) -> str:
    """What Spark appends to a message to say where in the query's text, not in code."""
    return "" if origin is None or origin.file else f"; line {origin.line} pos {origin.position}"


def failure(
    condition: str,
    /,
    *,
    origin: Origin | None = None,
    hint: str = "",
    subject: tuple[str, ...] = (),
    **parameters: Any,
) -> AnalysisError:
    """An error with its position, as the analyzer lays it out."""
    error = AnalysisError.of(condition, hint=hint, **parameters)
    error.message += position(origin)
    error.subject = subject
    return error


def missing_group_by(origin: Origin | None) -> AnalysisError:
    """A column beside aggregate functions that nothing is grouped by."""
    return failure("MISSING_GROUP_BY", origin=origin)


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
        origin=origin,
        subject=(name,),
        routineName=to_sql_id(name.split(".")),
        searchPath=SEARCH_PATH,
    )


def routine_not_found(name: str, origin: Origin | None) -> AnalysisError:
    """No generator of that name, behind LATERAL VIEW."""
    shown = to_sql_id(("default", *name.split(".")))
    return failure("ROUTINE_NOT_FOUND", origin=origin, routineName=shown)


def unsupported_function(name: str, origin: Origin | None) -> AnalysisError:
    """One of Spark's functions that stateplan lacks."""
    return AnalysisError.of(
        "STATEPLAN_UNSUPPORTED_FUNCTION", name=to_sql_id(name), place=position(origin)
    )


def unsupported_syntax(name: str, syntax: str, origin: Origin | None) -> AnalysisError:
    """A function with a clause that it does not take."""
    return failure(
        "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
        origin=origin,
        prettyName=to_sql_id(name),
        syntax=syntax,
    )


def wrong_argument_count(
    name: str, wanted: str, actual: int, origin: Origin | None
) -> AnalysisError:
    """A function with too many or too few arguments."""
    return failure(
        "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
        origin=origin,
        functionName=to_sql_id(name),
        expectedNum=wanted,
        actualNum=actual,
    )


def mismatch(kind: str, sql: str, origin: Origin | None, /, **parameters: Any) -> AnalysisError:
    """An expression over types or values that it does not take (DATATYPE_MISMATCH)."""
    return failure(f"DATATYPE_MISMATCH.{kind}", origin=origin, sqlExpr=in_quotes(sql), **parameters)


def ambiguous(
    name: Iterable[str], candidates: Iterable[str], origin: Origin | None
) -> AnalysisError:
    """A column name that several columns have."""
    return failure(
        "AMBIGUOUS_REFERENCE",
        origin=origin,
        name=to_sql_id(name),
        referenceNames=f"[{', '.join(sorted(candidates))}]",
    )
