"""`*`, `t.*`, `struct.*` and `* EXCEPT (...)` in a select list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Expression,
    to_attribute,
)
from ....planner.model.expressions.unresolved import UnresolvedStar
from ....planner.model.functions.build import fields_of, struct_of
from ....planner.model.schemas.types import StructType, quote_if_needed
from ....planner.model.text.quoting import to_sql_id
from ..context import Scope
from ..failures import failure, located
from .names import nearest_in_order, unresolved

Path = tuple[int, ...]
"""The id of a column, then the place of the field in it, of the field in that, ..."""


def without_excepted(
    columns: Sequence[Expression], star: UnresolvedStar, fold: Callable[[str], str]
) -> list[Expression]:
    """The star's columns but those that it excepts; of a struct with less fields a new one.

    A replacement stands where the column was. A column that is there several times goes each time.

    Raises:
        AnalysisError: a name means no column or several, or two names mean the same.
    """
    named = [to_attribute(c) for c in columns if isinstance(c, Alias | AttributeReference)]
    scope = Scope(named, fold)
    paths = [_path(parts, scope, star) for parts in star.except_names]
    for number, path in enumerate(paths):
        if any(path[: len(o)] == o or o[: len(path)] == path for o in paths[:number]):
            listed = ", ".join(".".join(parts) for parts in star.except_names)
            raise failure("EXCEPT_OVERLAPPING_COLUMNS", origin=star.origin, columns=listed)
    kept: list[Expression] = []
    for place, column in enumerate(columns):
        mine = [path[1:] for path in paths if path[0] == named[place].expr_id]
        if not mine:
            kept.append(column)
        elif star.replacement is not None:
            kept.append(star.replacement)
        elif () not in mine:
            name = named[place].name
            kept.append(Alias(child=_smaller(column, mine), name=name))
    return kept


def _path(parts: tuple[str, ...], scope: Scope, star: UnresolvedStar) -> Path:
    try:
        found = scope.find(parts)
    except AnalysisError as error:
        raise located(error, star.origin) from None
    if found is None:
        raise unresolved(parts, nearest_in_order(parts, scope.columns), star.origin)
    column, fields = found
    path, type_ = [column.expr_id], column.type_
    for field in fields:
        names = type_.fields if isinstance(type_, StructType) else ()
        inner = next((i for i, f in enumerate(names) if scope.same(f.name, field)), None)
        if inner is None:
            raise unresolved(parts, nearest_in_order(parts, scope.columns), star.origin)
        path.append(inner)
        type_ = names[inner].data_type
    return tuple(path)


def _smaller(struct: Expression, gone: Sequence[Path]) -> Expression:
    """The struct made again of the fields that are left."""
    kept: list[tuple[str, Expression]] = []
    for place, (name, value) in enumerate(fields_of(struct)):
        mine = [path[1:] for path in gone if path[0] == place]
        if () not in mine:
            kept.append((name, _smaller(value, mine) if mine else value))
    return struct_of(kept)


if TYPE_CHECKING:
    from ..expressions.expressions import Resolver


def refuse_table_in_count(arguments: Sequence[Expression], scope: Scope) -> None:
    """`count(t.*)`: it would count the rows without a null in any column.

    Raises:
        AnalysisError: INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT.
    """
    match arguments:
        case [UnresolvedStar(target=target)] if target and scope.of_table(target):
            raise failure(
                "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT", tableName=to_sql_id(target)
            )


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
        columns = [*scope.of_table(star.target)] or _fields(star, resolver)
    if star.except_names:
        return without_excepted(columns, star, scope.fold)
    return columns


def _fields(star: UnresolvedStar, resolver: Resolver) -> list[Expression]:
    base = resolver.column(star.target, star)
    if base is not None and isinstance(base.data_type, StructType):
        return [Alias(child=value, name=name) for name, value in fields_of(base)]
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
