"""Grouping keys with floats in them: one form of NaN and of zero, so that equal keys are equal.

Spark does this while planning a streaming aggregate; elsewhere it is an optimizer rule.
"""

from __future__ import annotations

from ..model.expressions.core import (
    Alias,
    Call,
    CaseWhen,
    Expression,
    LambdaFunction,
    LambdaVariable,
    Literal,
    to_attribute,
)
from ..model.functions.build import call, fields_of, if_else, null, struct_of
from ..model.schemas.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
)
from ..model.tree import replace


def normalize_floats(key: Expression) -> Expression:
    """A named grouping key with its floats normalised; itself if it has none.

    A bare column becomes an alias of its normalised value under its own id.
    """
    if not _has_floats(key.data_type):
        return key
    if isinstance(key, Alias):
        return replace(key, child=normalize_float_values(key.child))
    column = to_attribute(key)
    return Alias(
        child=normalize_float_values(key),
        name=column.name,
        expr_id=column.expr_id,
        explicit_metadata=column.metadata,
        qualifier=column.qualifier,
    )


def _has_floats(data_type: DataType) -> bool:
    """Whether values of the type may differ and be equal; keys of maps are normalised already."""
    match data_type:
        case FloatType() | DoubleType():
            return True
        case StructType(fields=fields):
            return any(_has_floats(field.data_type) for field in fields)
        case ArrayType(element_type=inner) | MapType(value_type=inner):
            return _has_floats(inner)
        case _:
            return False


def normalize_float_values(value: Expression) -> Expression:
    """A value with its floats normalised; itself if it has none."""
    data_type = value.data_type
    if not _has_floats(data_type):
        return value
    if isinstance(data_type, FloatType | DoubleType):
        return _known(call("normalizenanandzero", value))
    if isinstance(value, Call) and (value.spec.constructor or value.spec.conditional):
        # A struct is no longer the one that was written.
        options = () if value.name == "named_struct" else value.options
        return replace(
            value, options=options, arguments=tuple(map(normalize_float_values, value.arguments))
        )
    if isinstance(value, CaseWhen):
        return _normalized_case(value)
    match data_type:
        case StructType() if isinstance(value, Literal):
            return value  # it is folded again
        case StructType():
            normal = struct_of((name, normalize_float_values(e)) for name, e in fields_of(value))
            null_test = call("isnull", value)
            return _known(if_else(null_test, null(normal.data_type), normal))
        case ArrayType(element_type=element, contains_null=nullable):
            variable = LambdaVariable(name="arg", type_=element, is_nullable=nullable)
            body = LambdaFunction(body=normalize_float_values(variable), parameters=(variable,))
            return _known(call("transform", value, body))
        case MapType(key_type=kind, value_type=inner, value_contains_null=nullable):
            key = LambdaVariable(name="arg", type_=kind, is_nullable=False)
            variable = LambdaVariable(name="arg", type_=inner, is_nullable=nullable)
            body = LambdaFunction(body=normalize_float_values(variable), parameters=(key, variable))
            return _known(call("transform_values", value, body))
    return value


def _normalized_case(case: CaseWhen) -> CaseWhen:
    otherwise = None if case.otherwise is None else normalize_float_values(case.otherwise)
    return replace(
        case, values=tuple(map(normalize_float_values, case.values)), otherwise=otherwise
    )


def _known(value: Expression) -> Call:
    return call("knownfloatingpointnormalized", value)
