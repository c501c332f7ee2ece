"""What the message about an unknown name proposes: the nearest names, as Spark orders them."""

from __future__ import annotations

from collections.abc import Iterable

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import AttributeReference, Origin
from ....planner.model.schemas.types import quote_if_needed
from ....planner.model.text.quoting import to_sql_id
from ..context import full_name
from ..failures import failure

MOST = 5


def unresolved_column(
    parts: tuple[str, ...],
    columns: Iterable[AttributeReference],
    origin: Origin | None,
    *,
    ordered: bool = True,
) -> AnalysisError:
    """A name that no column has, with the columns that there are, nearest first if `ordered`."""
    columns = tuple(columns)
    proposals = nearest(parts, columns) if ordered else [to_sql_id(c.name) for c in columns]
    return unresolved(parts, proposals, origin)


def unresolved(
    parts: tuple[str, ...], proposals: list[str], origin: Origin | None
) -> AnalysisError:
    """A name that no column has, with what may have been meant."""
    name = to_sql_id(parts)
    if not proposals:
        return failure(
            "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION", origin=origin, subject=parts, objectName=name
        )
    return failure(
        "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        origin=origin,
        hint=f"The nearest column is {proposals[0]}.",
        subject=parts,
        objectName=name,
        proposal=", ".join(proposals),
    )


def nearest(parts: tuple[str, ...], columns: Iterable[AttributeReference]) -> list[str]:
    """At most five column names in backticks by edit distance from the name as written.

    Table names are left out where all columns are of one table and none was written.
    """
    known = {c.expr_id: c for c in columns}
    return nearest_in_order(parts, sorted(known.values(), key=lambda c: (c.name, c.expr_id)))


def nearest_in_order(parts: tuple[str, ...], columns: Iterable[AttributeReference]) -> list[str]:
    """As `nearest`; of names equally far the one that comes first.

    The name that a subquery got for want of one counts for the distance, but is not shown.
    """
    known = [((*c.qualifier, c.name), full_name(c)) for c in columns]
    if len(parts) == 1 and len({whole[:-1] for whole, _ in known}) == 1:
        known = [(whole[-1:], shown[-1:]) for whole, shown in known]
    written = ".".join(quote_if_needed(part) for part in parts)
    nearest = sorted(known, key=lambda names: distance(written, to_sql_id(names[0])))
    return [to_sql_id(shown) for _, shown in nearest[:MOST]]


def distance(one: str, other: str) -> int:
    """The Levenshtein distance of two strings."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            above, row[j] = row[j], min(above + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]
