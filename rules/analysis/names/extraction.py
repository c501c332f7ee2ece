"""`base.field` and `base[key]`: fields of structs, items of arrays, values of maps."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AttributeReference,
    Call,
    Expression,
    GetStructField,
    Literal,
    Origin,
)
from ....planner.model.schemas.open_schemas import ELEMENT
from ....planner.model.schemas.types import (
    ArrayType,
    IntegralType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)
from ....planner.model.text.quoting import to_sql_expr, to_sql_id, to_sql_type
from ..context import Context
from ..failures import failure


def extract(
    base: Expression, extraction: Expression, context: Context, origin: Origin | None
) -> Expression:
    """The part of the base that the extraction names.

    Raises:
        AnalysisError: the base has no parts, or not that one.
    """
    name = _text(extraction)
    match base.data_type:
        case StructType(fields=fields) if name is not None:
            return _field(base, fields, name, context, origin)
        case ArrayType(element_type=StructType(fields=fields)) if name is not None:
            return _field(base, fields, name, context, origin)
        case StructType():
            raise failure(
                "INVALID_EXTRACT_FIELD_TYPE", origin=origin, extraction=to_sql_expr(extraction)
            )
        case ArrayType():
            return context.call("get_array_item", base, extraction, origin=origin or base.origin)
        case MapType():
            return context.call("get_map_value", base, extraction, origin=origin or base.origin)
        case NullType():
            return base
        case other:
            raise failure(
                "INVALID_EXTRACT_BASE_FIELD_TYPE",
                origin=origin,
                subject=_asked(base, ELEMENT if name is None else name, extraction),
                base=to_sql_expr(base),
                other=to_sql_type(other),
            )


def _text(extraction: Expression) -> str | None:
    if isinstance(extraction, Literal) and isinstance(extraction.type_, StringType):
        return extraction.value if isinstance(extraction.value, str) else None
    return None


def _asked(base: Expression, part: str, extraction: Expression) -> tuple[str, ...]:
    """The path of a part of a column, by its name or, in an array, by a number."""
    above = field_path(base)
    if part != ELEMENT:
        return (*above, part)
    numbered = above and isinstance(extraction.data_type, IntegralType)
    return (*above, part) if numbered else ()


def field_path(base: Expression) -> tuple[str, ...]:
    """The parts by which a field is reached from its column; none where it is computed."""
    match base:
        case AttributeReference(name=name):
            return (name,)
        case GetStructField(child=child, name=str(name)):
            inner = field_path(child)
            return (*inner, name) if inner else ()
        case Call(name="get_array_item", arguments=(child, _)):
            inner = field_path(child)
            return (*inner, ELEMENT) if inner else ()
    return ()


def _field(
    base: Expression,
    fields: tuple[StructField, ...],
    name: str,
    context: Context,
    origin: Origin | None,
) -> Expression:
    scope = context.scope(())
    found = [i for i, f in enumerate(fields) if scope.same(f.name, name)]
    if not found:
        known = ", ".join(to_sql_id(f.name) for f in fields)
        raise failure(
            "FIELD_NOT_FOUND",
            origin=origin,
            subject=(*field_path(base), name),
            fieldName=to_sql_id(name),
            fields=known,
        )
    if len(found) > 1:
        raise failure(
            "AMBIGUOUS_REFERENCE_TO_FIELDS", origin=origin, field=to_sql_id(name), count=len(found)
        )
    return GetStructField(child=base, ordinal=found[0], name=name, origin=origin)
