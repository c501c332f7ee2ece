"""What this front end refuses, and says so."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.errors import AnalysisError, DescriptionError
from ..model.expressions.core import Origin
from ..model.text.quoting import SEARCH_PATH, to_sql_id
from .places import where


def unsupported(what: str, origin: Origin | None = None) -> AnalysisError:
    """PySpark has it, stateplan cannot plan it."""
    return AnalysisError.of("STATEPLAN_UNSUPPORTED_PYTHON", what=what, place=where(origin))


def table_not_found(parts: Sequence[str], hint: str) -> AnalysisError:
    """No table or view of that name."""
    return AnalysisError.of(
        "TABLE_OR_VIEW_NOT_FOUND",
        hint=hint,
        relationName=to_sql_id(parts),
        searchPath=SEARCH_PATH,
    )


class NotPlanned(AnalysisError):
    """Something that needs rows; `of_stream` where Spark would refuse it too."""

    of_stream = False


def not_planned(
    what: str, origin: Origin | None = None, *, of_stream: bool = False
) -> AnalysisError:
    """Something that needs rows: a planner runs nothing."""
    error = NotPlanned.of("STATEPLAN_NOTHING_IS_EXECUTED", what=what, place=where(origin))
    error.of_stream = of_stream
    return error


def not_started(origin: Origin | None = None) -> AnalysisError:
    """Rows of a stream, asked for without starting it: Spark's own refusal."""
    return AnalysisError.of(
        "_LEGACY_ERROR_TEMP_3102",
        hint=f"Start the stream with a sink{where(origin)}.",
        msg="Queries with streaming sources must be executed with writeStream.start(), or from a"
        " streaming table or flow definition within a Spark Declarative Pipeline.",
    )


def missing_schema(
    what: str, origin: Origin | None = None, *, subject: str = ""
) -> DescriptionError:
    """A table or directory whose columns only its data or a catalog has."""
    error = DescriptionError.of("STATEPLAN_SCHEMA_UNKNOWN", what=what, place=where(origin))
    error.subject = (subject,) if subject else ()
    return error
