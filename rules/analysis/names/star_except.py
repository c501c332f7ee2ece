"""`* EXCEPT (a, t.b, s.field)`: the columns of a star without some, or without fields of some."""

from __future__ import annotations

from collections.abc import Sequence

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Expression,
    GetStructField,
    lit,
    to_attribute,
)
from ....planner.model.expressions.unresolved import UnresolvedStar
from ....planner.model.schemas.types import StructType
from ..columns import Scope
from ..failures import failure, located
from .suggestions import nearest_in_order, unresolved

Path = tuple[int, ...]
"""The id of a column, then the place of the field in it, of the field in that, ..."""


def without_excepted(
    columns: Sequence[Expression], star: UnresolvedStar, case_sensitive: bool
) -> list[Expression]:
    """The star's columns but those that it excepts; of a struct with less fields a new one.

    A replacement stands where the column was. A column that is there several times goes each time.

    Raises:
        AnalysisError: a name means no column or several, or two names mean the same.
    """
    named = [to_attribute(c) for c in columns if isinstance(c, Alias | AttributeReference)]
    scope = Scope(named, case_sensitive=case_sensitive)
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
    type_ = struct.data_type
    assert isinstance(type_, StructType)
    parts: list[Expression] = []
    for place, field in enumerate(type_.fields):
        mine = [path[1:] for path in gone if path[0] == place]
        if () in mine:
            continue
        value: Expression = GetStructField(child=struct, ordinal=place, name=field.name)
        parts += [lit(field.name), _smaller(value, mine) if mine else value]
    return Call(name="named_struct", arguments=tuple(parts))
