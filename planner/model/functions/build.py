"""Short ways to build resolved expressions, for rewrites and for the forms of aggregates."""

from __future__ import annotations

from ..expressions.core import Call, CaseWhen, Cast, Expression, Literal
from ..expressions.predicates import disjunction
from ..schemas.types import DOUBLE, LONG, STRING, DataType


def call(name: str, *arguments: Expression, options: tuple[object, ...] = ()) -> Call:
    """A function or operator over typed arguments."""
    return Call(name=name, arguments=arguments, options=options)


def null(data_type: DataType) -> Literal:
    """NULL of a type."""
    return Literal(value=None, type_=data_type)


def long(value: int) -> Literal:
    """A BIGINT constant."""
    return Literal(value=value, type_=LONG)


def double(value: float) -> Literal:
    """A DOUBLE constant."""
    return Literal(value=value, type_=DOUBLE)


def cast_as(value: Expression, data_type: DataType) -> Expression:
    """The value as another type, or as it is if it has the type."""
    return value if value.data_type == data_type else Cast(child=value, type_=data_type)


def if_else(condition: Expression, value: Expression, otherwise: Expression) -> Call:
    """`if(condition, value, otherwise)`: null counts as false."""
    return call("if", condition, value, otherwise)


def when(condition: Expression, value: Expression, otherwise: Expression | None = None) -> CaseWhen:
    """`CASE WHEN condition THEN value [ELSE otherwise] END`."""
    return CaseWhen(conditions=(condition,), values=(value,), otherwise=otherwise)


def is_any_null(values: tuple[Expression, ...]) -> Expression | None:
    """Whether any of the values is null; None if none of them ever is."""
    tests = [call("isnull", value) for value in values if value.nullable]
    return disjunction(tests) if tests else None


def struct(**fields: Expression) -> Call:
    """A struct of named values."""
    parts = [(Literal(value=name, type_=STRING), value) for name, value in fields.items()]
    return call("named_struct", *(part for pair in parts for part in pair))
