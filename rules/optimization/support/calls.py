"""Small constructors and tests for the expressions that rules build and look for."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    FALSE,
    TRUE,
    Call,
    Cast,
    Expression,
    GetStructField,
    Literal,
)
from ....planner.model.expressions.windows import PreciseTimestampConversion
from ....planner.model.schemas.types import BOOLEAN, BooleanType, DataType


def call(name: str, *arguments: Expression) -> Call:
    """A call of that function or operator."""
    return Call(name=name, arguments=arguments)


def is_call(expression: Expression, name: str) -> bool:
    """Whether it is a call of that name."""
    return isinstance(expression, Call) and expression.name == name


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


def value_over_no_rows(function: Call) -> Literal:
    """What an aggregate function gives over no rows: null for most."""
    return Literal(value=function.spec.over_no_rows, type_=function.data_type)


def null_of(data_type: DataType) -> Literal:
    """The null of a type."""
    return Literal(value=None, type_=data_type)


def truth(value: bool) -> Literal:
    """The literal true or false."""
    return TRUE if value else FALSE


NULL_BOOLEAN = null_of(BOOLEAN)


def negate(expression: Expression) -> Call:
    """NOT expression."""
    return call("not", expression)


def null_intolerant(expression: Expression) -> bool:
    """Whether a null operand makes the result null."""
    if isinstance(expression, Call):
        return expression.spec.null_intolerant
    return isinstance(expression, Cast | GetStructField | PreciseTimestampConversion)
