"""Resolved expressions: short ways to build them, and to see what they are."""

from __future__ import annotations

from collections.abc import Iterable

from ..expressions.core import Call, CaseWhen, Cast, Expression, GetStructField, Literal
from ..expressions.literal import lit
from ..expressions.predicates import disjunction
from ..expressions.windows import PreciseTimestampConversion
from ..schemas.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    NULL,
    ArrayType,
    BooleanType,
    DataType,
    MapType,
    StructType,
)


def call(name: str, *arguments: Expression, options: tuple[object, ...] = ()) -> Call:
    """A function or operator over typed arguments."""
    return Call(name=name, arguments=arguments, options=options)


def null(data_type: DataType) -> Literal:
    """NULL of a type."""
    return Literal(value=None, type_=data_type)


NULL_BOOLEAN = null(BOOLEAN)


def long(value: int) -> Literal:
    """A BIGINT constant."""
    return Literal(value=value, type_=LONG)


def double(value: float) -> Literal:
    """A DOUBLE constant."""
    return Literal(value=value, type_=DOUBLE)


def cast_as(value: Expression, data_type: DataType) -> Expression:
    """The value as another type, or as it is if it has the type."""
    return value if value.data_type == data_type else Cast(child=value, type_=data_type)


def negate(expression: Expression) -> Call:
    """NOT expression."""
    return call("not", expression)


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


def struct_of(fields: Iterable[tuple[str, Expression]]) -> Call:
    """A struct of named values."""
    return call("named_struct", *(part for name, value in fields for part in (lit(name), value)))


def struct(**fields: Expression) -> Call:
    """The same of fields that are known."""
    return struct_of(fields.items())


def fields_of(value: Expression) -> list[tuple[str, Expression]]:
    """The fields of a struct with their names."""
    kind = value.data_type
    assert isinstance(kind, StructType)
    return [
        (field.name, GetStructField(child=value, ordinal=place, name=field.name))
        for place, field in enumerate(kind.fields)
    ]


def null_with(value: Expression, made: Expression) -> Expression:
    """What is made of a value: null where that is."""
    if not value.nullable:
        return made
    return if_else(call("isnull", value), null(made.data_type), made)


def value_over_no_rows(function: Call) -> Literal:
    """What an aggregate function gives over no rows: null for most."""
    return Literal(value=function.spec.over_no_rows, type_=function.data_type)


# ------------------------------------------------------------------------------- what they are


def array_of(value: Expression) -> ArrayType:
    """The type of an array; that of an array of nulls for what checks refuse, as it is none."""
    kind = value.data_type
    return kind if isinstance(kind, ArrayType) else ArrayType(NULL)


def map_of(value: Expression) -> MapType:
    """The type of a map; that of a map of nulls for what checks refuse, as it is none."""
    kind = value.data_type
    return kind if isinstance(kind, MapType) else MapType(NULL, NULL)


def is_call(expression: Expression, *names: str) -> bool:
    """Whether it is a call of one of the names."""
    return isinstance(expression, Call) and expression.name in names


def is_comparison(expression: Expression) -> bool:
    """Whether it is `=`, `<=>`, `<`, `<=`, `>` or `>=`."""
    return isinstance(expression, Call) and expression.spec.mirror is not None


def is_item_lookup(expression: Expression) -> bool:
    """Whether it takes a part out of an array or a map."""
    return isinstance(expression, Call) and expression.spec.extracts


def is_true(expression: Expression) -> bool:
    """Whether it is the literal true."""
    return isinstance(expression, Literal) and expression.value is True


def is_false(expression: Expression) -> bool:
    """Whether it is the literal false."""
    return isinstance(expression, Literal) and expression.value is False


def is_null(expression: Expression) -> bool:
    """Whether it is a null literal."""
    return isinstance(expression, Literal) and expression.value is None


def is_boolean(expression: Expression) -> bool:
    """Whether its type is BOOLEAN."""
    return isinstance(expression.data_type, BooleanType)


def null_intolerant(expression: Expression) -> bool:
    """Whether a null operand makes the result null."""
    if isinstance(expression, Call):
        return expression.spec.null_intolerant
    return isinstance(expression, Cast | GetStructField | PreciseTimestampConversion)
