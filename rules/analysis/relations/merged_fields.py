"""UNION BY NAME reaches into structs: their fields are matched by name too.

A struct of other fields, or of the same in another order, is made anew field by field. Where
missing columns are allowed so are missing fields: they are null, and those that only the other
side has come last.
"""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    lit,
)
from ....planner.model.ids import fresh_id
from ....planner.model.schemas.types import ArrayType, DataType, StructField, StructType
from ....planner.model.text.quoting import to_sql_id
from ..context import Context
from ..failures import failure


def conformed(
    value: Expression, target: DataType, context: Context, *, allow_missing: bool
) -> Expression:
    """The value with the fields of another type, in that one's order; itself if it has them.

    Raises:
        AnalysisError: FIELD_NOT_FOUND where fields may not be missing.
    """
    source = value.data_type
    if _alike(source, target, context):
        return value
    match source, target:
        case StructType(), StructType():
            return _rebuilt(value, source, target, context, allow_missing)
        case ArrayType(), ArrayType():
            number = fresh_id()
            variable = LambdaVariable(
                name=f"x_{number}",
                type_=source.element_type,
                is_nullable=source.contains_null,
                expr_id=number,
            )
            wanted = target.element_type
            body = conformed(variable, wanted, context, allow_missing=allow_missing)
            if body is variable:
                return value
            function = LambdaFunction(body=body, parameters=(variable,))
            return context.call("transform", value, function)
        case _:
            return value


def _rebuilt(
    value: Expression, source: StructType, target: StructType, context: Context, missing: bool
) -> Expression:
    fold = context.fold
    ordinals = {fold(field.name): i for i, field in enumerate(source.fields)}
    parts: list[Expression] = []
    for wanted in target.fields:
        ordinal = ordinals.pop(fold(wanted.name), None)
        item: Expression
        if ordinal is None:
            if not missing:
                raise _no_field(wanted, source)
            item = Literal(value=None, type_=wanted.data_type)
        else:
            name = source.fields[ordinal].name
            own = GetStructField(child=value, ordinal=ordinal, name=name)
            item = conformed(own, wanted.data_type, context, allow_missing=missing)
        parts += [lit(wanted.name), item]
    for ordinal in ordinals.values():
        name = source.fields[ordinal].name
        parts += [lit(name), GetStructField(child=value, ordinal=ordinal, name=name)]
    made = context.call("named_struct", *parts)
    if not value.nullable:
        return made
    null = Literal(value=None, type_=made.data_type)
    return context.call("if", context.call("isnull", value), null, made)


def _no_field(wanted: StructField, source: StructType) -> AnalysisError:
    names = ", ".join(to_sql_id(field.name) for field in source.fields)
    return failure("FIELD_NOT_FOUND", fieldName=to_sql_id(wanted.name), fields=names)


def _alike(one: DataType, other: DataType, context: Context) -> bool:
    """Whether structs in them have fields of the same names, in the same order."""
    match one, other:
        case StructType(fields=left), StructType(fields=right):
            return len(left) == len(right) and all(
                context.fold(a.name) == context.fold(b.name)
                and _alike(a.data_type, b.data_type, context)
                for a, b in zip(left, right, strict=True)
            )
        case ArrayType(element_type=left_element), ArrayType(element_type=right_element):
            return _alike(left_element, right_element, context)
        case _:
            return True
