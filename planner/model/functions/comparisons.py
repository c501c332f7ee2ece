"""Comparisons: both sides at one type, decimals and constants included."""

from __future__ import annotations

import math
from typing import Any

from ..expressions.core import FALSE, TRUE, Call, Expression, Literal
from ..registry import FunctionSpec, null_if_any, register
from ..schemas.types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    AnsiIntervalType,
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    same_shape,
)
from ..settings.conf import Conf
from . import coercion
from . import operator_values as values
from .coercion import cast_to, tightest_common_type, wider_decimal
from .mismatch import binary_diff_types, require_count, require_orderable
from .operands import infix, promote, with_decimals
from .shapes import like_call, never_null, resolve, with_arguments

# What no string is compared with, outside ANSI.
_NO_TEXT = ArrayType | MapType | StructType | AnsiIntervalType


def coerce_comparison(call: Call, conf: Conf) -> Expression:
    """Both sides of a comparison at one type, decimals and constants included.

    Raises:
        AnalysisError: BINARY_OP_DIFF_TYPES or INVALID_ORDERING_TYPE.
    """
    require_count(call, 2)
    if not conf.ansi and call.name in ("=", "<=>"):
        found = _boolean_and_number(call, conf)
        if found is not None:
            return found
    typed = _promote_strings(call, conf)
    typed = _compare_decimals(typed, conf)
    rounded = _against_decimal_constant(typed)
    if isinstance(rounded, Literal):
        return rounded
    typed = with_decimals(rounded, conf) if rounded is typed else rounded
    typed = _compare_decimals(typed, conf)
    left, right = typed.arguments
    if left.data_type != right.data_type:
        common = tightest_common_type(left.data_type, right.data_type, conf)
        if common is not None:
            typed = with_arguments(typed, [cast_to(a, common, conf) for a in typed.arguments])
    left, right = typed.arguments
    if not same_shape(left.data_type, right.data_type):
        raise binary_diff_types(typed)
    require_orderable(typed, 0)
    return typed


def _boolean_and_number(call: Call, conf: Conf) -> Expression | None:
    """Outside ANSI a boolean equals 1 or 0: the constants 1 and 0 are true and false."""
    for boolean, number in (call.arguments, call.arguments[::-1]):
        if not isinstance(boolean.data_type, BooleanType):
            continue
        if not isinstance(number.data_type, NumericType):
            continue
        constant = number.value if isinstance(number, Literal) else None
        if constant not in (0, 1):
            cast = coercion.implicit(boolean, number.data_type, conf)
            sides = [cast if side is boolean else side for side in call.arguments]
            return with_arguments(call, sides)
        test = boolean if constant == 1 else like_call(call, "not", boolean)
        if call.name == "=":
            return test
        return like_call(call, "and", like_call(call, "isnotnull", boolean), test)
    return None


def _promote_strings(call: Call, conf: Conf) -> Call:
    a, b = (argument.data_type for argument in call.arguments)
    if a == b or not (isinstance(a, StringType) or isinstance(b, StringType)):
        return call
    other = b if isinstance(a, StringType) else a
    target: DataType | None
    if isinstance(other, NullType):
        target = STRING
    elif conf.ansi:
        target = coercion.ansi_string_promotion(a, b)
    elif isinstance(other, DecimalType):
        target = DOUBLE
    elif isinstance(other, _NO_TEXT):
        target = None
    else:
        target = other
    if target is None:
        return call
    return with_arguments(call, [promote(a, target, conf) for a in call.arguments])


def _compare_decimals(call: Call, conf: Conf) -> Call:
    a, b = (argument.data_type for argument in call.arguments)
    if isinstance(a, DecimalType) and isinstance(b, DecimalType) and a != b:
        common = wider_decimal(a, b)
        return with_arguments(call, [cast_to(a, common, conf) for a in call.arguments])
    return call


def _against_decimal_constant(call: Call) -> Call | Literal:
    """A whole number against a decimal constant is compared with the constant rounded."""
    left, right = call.arguments
    if call.spec.negation is None:  # = and <=>
        return call
    for position, (number, constant) in enumerate(((left, right), (right, left))):
        value = coercion.decimal_literal(constant)
        if value is None or not isinstance(number.data_type, IntegralType):
            continue
        # Turned so that the number stands on the left.
        name = call.name if position == 0 else call.spec.mirror
        if value < -(2**63):
            return TRUE if name in (">", ">=") else FALSE
        if value > 2**63 - 1:
            return FALSE if name in (">", ">=") else TRUE
        whole = math.floor(value) if name in ("<=", ">") else math.ceil(value)
        rounded = Literal(value=whole, type_=LONG)
        sides = (number, rounded) if position == 0 else (rounded, number)
        return with_arguments(call, sides)
    return call


def _comparison(name: str, **fields: Any) -> FunctionSpec:
    null_safe = name == "<=>"
    return FunctionSpec(
        name=name,
        data_type=lambda call: BOOLEAN,
        nullable=never_null if null_safe else null_if_any,
        check=coerce_comparison,
        text=infix,
        pretty=infix,
        sql=infix,
        null_intolerant=not null_safe,
        evaluate=values.COMPARISONS[name],
        predicate=True,
        ansi_free=True,
        pushed_into_branches=True,
        reads_clock="never",
        parsed_operands=(2, 2),
        constant_text="data",
        **fields,
    )


def _not_equal(call: Call, conf: Conf) -> Expression:
    equal = resolve("=", call.arguments, conf)
    return Call(name="not", arguments=(equal,), ansi=conf.ansi, time_zone=conf.time_zone)


register(
    _comparison("=", aliases=("==",), mirror="=", commutative=True, source_filter="EqualTo"),
    _comparison("<=>", mirror="<=>", commutative=True, source_filter="EqualNullSafe"),
    _comparison("<", mirror=">", negation=">=", source_filter="LessThan"),
    _comparison("<=", mirror=">=", negation=">", source_filter="LessThanOrEqual"),
    _comparison(">", mirror="<", negation="<=", source_filter="GreaterThan"),
    _comparison(">=", mirror="<=", negation="<", source_filter="GreaterThanOrEqual"),
    FunctionSpec(
        name="<>",
        data_type=lambda call: BOOLEAN,
        check=_not_equal,
        aliases=("!=",),
        reads_clock="never",
    ),
)
