"""What this front end refuses, and says so."""

from __future__ import annotations

from ..model.errors import AnalysisError, DescriptionError
from ..model.expressions import Origin
from .places import where


def unsupported(what: str, origin: Origin | None = None) -> AnalysisError:
    """PySpark has it, stateplan cannot plan it."""
    return AnalysisError(
        "STATEPLAN_UNSUPPORTED_PYTHON",
        f"{what} is not supported by stateplan{where(origin)}.",
        hint="Write the query without it.",
    )


def not_planned(what: str, origin: Origin | None = None) -> AnalysisError:
    """Something that needs rows: a planner runs nothing."""
    return AnalysisError(
        "STATEPLAN_NOTHING_IS_EXECUTED",
        f"{what} needs the rows of a query{where(origin)}: this is a planner, no query is executed"
        " and no data is read.",
        hint="Explain the query with df.explain() or by starting its stream; leave the rest out.",
    )


def missing_schema(what: str, origin: Origin | None = None) -> DescriptionError:
    """A table or directory whose columns only its data or a catalog tells."""
    return DescriptionError(
        "STATEPLAN_SCHEMA_UNKNOWN",
        f"The columns of {what} are not known{where(origin)}: no data is read here.",
        hint="Give them with .schema('...') in the code, or in a file given with --catalog.",
    )
