"""Constant folding: the value of an expression without columns, where we know it exactly."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..registry import NotFolded
from ..schemas.types import StructType
from .core import Call, CaseWhen, Cast, Expression, GetStructField, Literal


def evaluate(expression: Expression) -> Literal | None:
    """The literal that the optimizer puts in an expression's place, or None if we cannot tell."""
    try:
        return Literal(value=_value(expression), type_=expression.data_type)
    except NotFolded:
        return None


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
    function = spec.evaluate or _values().get(spec.name)
    if spec.replacement is not None and function is None:
        return _value(spec.replacement(call))
    if function is None and not spec.null_for_null:
        raise NotFolded
    if spec.name in _LAZY:
        return _LAZY[spec.name](call)
    values = [_value(argument) for argument in call.arguments]
    if (spec.null_intolerant or spec.null_for_null) and any(value is None for value in values):
        return None
    if function is None:
        raise NotFolded
    try:
        return function(call, *values)
    except (ArithmeticError, ValueError, LookupError):
        raise NotFolded from None


@cache
def _values() -> dict[str, Callable[..., object]]:
    # Imported late: the functions' modules import this one.
    from ..functions.constant_json import JSON_VALUES
    from ..functions.constant_values import VALUES

    return VALUES | JSON_VALUES


def _lazy_if(call: Call) -> object:
    condition, yes, no = call.arguments
    return _value(yes) if _value(condition) is True else _value(no)


def _lazy_coalesce(call: Call) -> object:
    for argument in call.arguments:
        value = _value(argument)
        if value is not None:
            return value
    return None


_LAZY = {"if": _lazy_if, "coalesce": _lazy_coalesce}
