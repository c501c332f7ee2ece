"""Grouping keys with floats in them: one form of NaN and of zero, so that equal keys are equal.

Spark does this while planning a streaming aggregate; elsewhere it is an optimizer rule.
"""

from __future__ import annotations

from ..model.expressions import (
    Alias,
    Call,
    Expression,
    GetStructField,
    LambdaFunction,
    LambdaVariable,
    Literal,
    to_attribute,
)
from ..model.tree import replace
from ..model.types import (
    STRING,
    ArrayType,
    DoubleType,
    FloatType,
    StructType,
    contains_type,
)


def normalize_floats(key: Expression) -> Expression:
    """A named grouping key with its floats normalised; itself if it has none.

    A bare column becomes an alias of its normalised value under its own id.
    """
    if not contains_type(key.data_type, FloatType, DoubleType):
        return key
    if isinstance(key, Alias):
        return replace(key, child=_normalized(key.child))
    column = to_attribute(key)
    return Alias(
        child=_normalized(key),
        name=column.name,
        expr_id=column.expr_id,
        explicit_metadata=column.metadata,
        qualifier=column.qualifier,
    )


def normalize_float_values(key: Expression) -> Expression:
    """A join key with its floats normalised; itself if it has none."""
    if not contains_type(key.data_type, FloatType, DoubleType):
        return key
    return _normalized(key)


def _normalized(value: Expression) -> Expression:
    match value.data_type:
        case StructType(fields=fields) if contains_type(value.data_type, FloatType, DoubleType):
            parts: list[Expression] = []
            for i, field in enumerate(fields):
                parts.append(Literal(value=field.name, type_=STRING))
                parts.append(_normalized(GetStructField(child=value, ordinal=i, name=field.name)))
            struct = Call(name="named_struct", arguments=tuple(parts))
            null = Literal(value=None, type_=struct.data_type)
            is_null = Call(name="isnull", arguments=(value,))
            return _known(Call(name="if", arguments=(is_null, null, struct)))
        case ArrayType(element_type=element, contains_null=nullable) if contains_type(
            element, FloatType, DoubleType
        ):
            variable = LambdaVariable(name="arg", type_=element, is_nullable=nullable)
            body = LambdaFunction(body=_normalized(variable), parameters=(variable,))
            return _known(Call(name="transform", arguments=(value, body)))
        case FloatType() | DoubleType():
            return _known(Call(name="normalizenanandzero", arguments=(value,)))
        case _:
            return value


def _known(value: Expression) -> Call:
    return Call(name="knownfloatingpointnormalized", arguments=(value,))
