"""Casts that do nothing, and case conversions that are overwritten."""

from __future__ import annotations

from ....planner.model.expressions.core import Call, Cast, Expression
from ....planner.model.schemas.casts import can_up_cast
from ....planner.model.schemas.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    NumericType,
)
from ....planner.model.tree import replace


def simplify_casts(expression: Expression) -> Expression:
    """`cast(a as its own type)` -> `a`; of two widening casts of a number the inner one goes."""
    assert isinstance(expression, Cast)
    child, target = expression.child, expression.type_
    source = child.data_type
    if source == target or _only_nullability(source, target):
        return child
    if (
        isinstance(child, Cast)
        and isinstance(target, NumericType)
        and isinstance(source, NumericType)
        and is_wider(child.child.data_type, source)
        and is_wider(source, target)
    ):
        return replace(expression, child=child.child)
    return expression


def _only_nullability(source: DataType, target: DataType) -> bool:
    match source, target:
        case ArrayType(element_type=a, contains_null=False), ArrayType(element_type=b):
            return a == b
        case (
            MapType(key_type=k, value_type=v, value_contains_null=False),
            MapType(key_type=k2, value_type=v2),
        ):
            return k == k2 and v == v2
    return False


def is_wider(source: DataType, target: DataType) -> bool:
    """Whether a number type holds all values of another; a double does not for any decimal."""
    if isinstance(source, DecimalType) and isinstance(target, FloatType | DoubleType):
        return False
    return isinstance(source, NumericType) and can_up_cast(source, target)


def simplify_case_conversions(expression: Expression) -> Expression:
    """Of nested upper and lower only the outer one counts: `upper(lower(a))` -> `upper(a)`."""
    assert isinstance(expression, Call)
    inner = expression.arguments[0]
    if isinstance(inner, Call) and inner.name in ("upper", "lower"):
        return replace(expression, arguments=inner.arguments)
    return expression


def remove_positive(expression: Expression) -> Expression:
    """`+a` -> `a`."""
    return expression.children[0]


def combine_concats(expression: Expression) -> Expression:
    """Nested concatenations become one: `concat(concat(a, b), c)` -> `concat(a, b, c)`."""
    assert isinstance(expression, Call)
    if not any(isinstance(a, Call) and a.name == "concat" for a in expression.arguments):
        return expression
    flat: list[Expression] = []
    for argument in expression.arguments:
        if isinstance(argument, Call) and argument.name == "concat":
            flat.extend(argument.arguments)
        else:
            flat.append(argument)
    return replace(expression, arguments=tuple(flat))
