"""`base.field` and `base[key]`: fields of structs, items of arrays, values of maps."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AttributeReference,
    Expression,
    GetStructField,
    Literal,
    Origin,
)
from ....planner.model.schemas.types import (
    ArrayType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)
from ....planner.model.text.text import pretty
from ..context import Context
from ..failures import failure, quoted


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
                "INVALID_EXTRACT_FIELD_TYPE",
                "Field name should be a non-null string literal, but it's "
                f'"{pretty(extraction)}".',
                state="42000",
                origin=origin,
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
                f'Can\'t extract a value from "{pretty(base)}". Need a complex type'
                f' [STRUCT, ARRAY, MAP] but got "{other.sql}".',
                state="42000",
                origin=origin,
                subject=() if name is None else (*_path(base), name),
            )


def _text(extraction: Expression) -> str | None:
    if isinstance(extraction, Literal) and isinstance(extraction.type_, StringType):
        return extraction.value if isinstance(extraction.value, str) else None
    return None


def _path(base: Expression) -> tuple[str, ...]:
    """The names by which a field is reached from its column; none where it is computed."""
    match base:
        case AttributeReference(name=name):
            return (name,)
        case GetStructField(child=child, name=str(name)):
            inner = _path(child)
            return (*inner, name) if inner else ()
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
        known = ", ".join(quoted((f.name,)) for f in fields)
        raise failure(
            "FIELD_NOT_FOUND",
            f"No such struct field {quoted((name,))} in {known}.",
            state="42704",
            origin=origin,
            subject=(*_path(base), name),
        )
    if len(found) > 1:
        raise failure(
            "AMBIGUOUS_REFERENCE_TO_FIELDS",
            f"Ambiguous reference to the field {quoted((name,))}. It appears {len(found)} times in"
            " the schema.",
            state="42000",
            origin=origin,
        )
    return GetStructField(child=base, ordinal=found[0], name=name, origin=origin)
