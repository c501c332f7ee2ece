"""Constant folding: the value of an expression without columns, where we know it exactly."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from ..registry import NotFolded
from ..schemas.types import StructType
from .core import Call, CaseWhen, Cast, Expression, GetStructField, Literal

T = TypeVar("T")


def evaluate(expression: Expression) -> Literal | None:
    """The literal that the optimizer puts in an expression's place, or None if we cannot tell."""
    try:
        return Literal(value=_value(expression), type_=expression.data_type)
    except NotFolded:
        return None


def constant_of(expression: Expression, kind: type[T]) -> T | None:
    """The value of a constant of that Python type, where it is known."""
    known = evaluate(expression)
    return known.value if known is not None and isinstance(known.value, kind) else None


def _value(expression: Expression) -> object:
    match expression:
        case Literal(value=value):
            return value
        case Cast(child=child, type_=target, mode=mode):
            from ..functions.cast_values import cast_value

            inner = _value(child)
            zone = expression.time_zone
            return None if inner is None else cast_value(inner, child.data_type, target, mode, zone)
        case Call():
            return _call(expression)
        case CaseWhen(conditions=conditions, values=values, otherwise=otherwise):
            for condition, value in zip(conditions, values, strict=True):
                if _value(condition) is True:
                    return _value(value)
            return None if otherwise is None else _value(otherwise)
        case GetStructField(child=child, ordinal=ordinal) if isinstance(
            child.data_type, StructType
        ):
            row = _value(child)
            return row[ordinal] if isinstance(row, tuple) else None
        case _:
            raise NotFolded


def _call(call: Call) -> object:
    spec = call.spec
    if spec.kind != "scalar" or not spec.deterministic:
        raise NotFolded
    function = spec.evaluate
    if spec.replacement is not None and function is None:
        return _value(spec.replacement(call))
    if function is None and not spec.null_for_null:
        raise NotFolded
    if function is not None and spec.conditional:
        return function(call, *(partial(_value, argument) for argument in call.arguments))
    values = [_value(argument) for argument in call.arguments]
    if (spec.null_intolerant or spec.null_for_null) and any(value is None for value in values):
        return None
    if function is None:
        raise NotFolded
    try:
        return function(call, *values)
    except (ArithmeticError, ValueError, LookupError):
        raise NotFolded from None
