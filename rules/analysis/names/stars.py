"""`*`, `t.*`, `struct.*` and `* EXCEPT (...)` in a select list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....planner.model.expressions.core import Alias, Expression, GetStructField
from ....planner.model.expressions.unresolved import UnresolvedStar
from ....planner.model.schemas.types import StructType, quote_if_needed
from ....planner.model.text.quoting import to_sql_id
from ..failures import failure
from .star_except import without_excepted

if TYPE_CHECKING:
    from ..expressions.expressions import Resolver


def expand_star(star: UnresolvedStar, resolver: Resolver) -> list[Expression]:
    """The columns that a star stands for.

    Raises:
        AnalysisError: no table or struct has the star's name (CANNOT_RESOLVE_STAR_EXPAND), or no
            column one that is excepted.
    """
    scope = resolver.scope
    columns: list[Expression]
    if star.given:
        columns = list(star.given)
    elif not star.target:
        columns = list(scope.columns)
    else:
        columns = [c for c in scope.columns if scope.qualifies(c, star.target)]
        if not columns:
            columns = _fields(star, resolver)
    if star.except_names:
        return without_excepted(columns, star, scope.case_sensitive)
    return columns


def _fields(star: UnresolvedStar, resolver: Resolver) -> list[Expression]:
    base = resolver.column(star.target, star)
    if base is not None and isinstance(base.data_type, StructType):
        return [
            Alias(child=GetStructField(child=base, ordinal=i, name=f.name), name=f.name)
            for i, f in enumerate(base.data_type.fields)
        ]
    if base is not None:
        raise failure(
            "_LEGACY_ERROR_TEMP_1050",
            origin=star.origin,
            attributes=f"List({', '.join(star.target)})",
            subject=tuple(star.target),
        )
    target = ".".join("`" + part + "`" for part in star.target)
    names = sorted({c.name for c in resolver.scope.columns})
    raise failure(
        "CANNOT_RESOLVE_STAR_EXPAND",
        origin=star.origin,
        subject=tuple(star.target),
        hint=f"Select * or one of: {', '.join(quote_if_needed(n) for n in names)}.",
        targetString=target,
        columns=", ".join(to_sql_id(n) for n in names),
    )
