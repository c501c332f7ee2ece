"""The two operands of an operator: brought to one type, or refused."""

from __future__ import annotations

from ..expressions.core import Call, Expression, Literal
from ..registry import Show
from ..schemas.casts import decimal_for
from ..schemas.types import (
    DOUBLE,
    AnsiIntervalType,
    CalendarIntervalType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NullType,
    StringType,
)
from ..settings.conf import Conf
from . import coercion
from .coercion import cast_to, decimal_of_literal, tightest_common_type
from .inputs import parameter
from .mismatch import binary_diff_types, binary_wrong_type
from .shapes import with_arguments


def _common_string(left: DataType, right: DataType) -> DataType | None:
    """The type that a string operand gives way to in ANSI mode."""
    if not (isinstance(left, StringType) or isinstance(right, StringType)):
        return None
    if left == right:
        return None
    other = right if isinstance(left, StringType) else left
    if isinstance(other, NullType):
        return left if isinstance(left, StringType) else right
    return coercion.ansi_string_promotion(left, right)


def promote(expression: Expression, data_type: DataType, conf: Conf) -> Expression:
    """A cast, but a bare null becomes a null of the type."""
    if isinstance(expression.data_type, NullType):
        return Literal(value=None, type_=data_type)
    return cast_to(expression, data_type, conf)


def with_decimals(call: Call, conf: Conf) -> Call:
    """Numbers beside a decimal: whole numbers become decimals, decimals beside floats doubles."""

    def beside(side: Expression, other: Expression) -> Expression:
        match side.data_type, other.data_type:
            case (IntegralType(), DecimalType()):
                return _as_decimal(side, conf)
            case (DecimalType(), FloatType() | DoubleType()):
                return cast_to(side, DOUBLE, conf)
        return side

    left, right = call.arguments
    return with_arguments(call, (beside(left, right), beside(right, left)))


def _as_decimal(expression: Expression, conf: Conf) -> Expression:
    if isinstance(expression, Literal) and expression.value is not None:
        return cast_to(expression, decimal_of_literal(expression), conf)
    return cast_to(expression, decimal_for(expression.data_type), conf)


def coerce_operands(call: Call, conf: Conf, takes: str) -> Call:
    """Both operands of an operator at one type, if there is one that it takes."""
    left, right = call.arguments
    if conf.ansi:
        promoted = _common_string(left.data_type, right.data_type)
        if promoted is not None:
            call = with_arguments(call, [promote(a, promoted, conf) for a in call.arguments])
    else:
        call = strings_as_doubles(call, conf)
    call = with_decimals(call, conf)
    left, right = call.arguments
    if left.data_type != right.data_type and not (
        isinstance(left.data_type, DecimalType) and isinstance(right.data_type, DecimalType)
    ):
        common = tightest_common_type(left.data_type, right.data_type, conf)
        if common is not None and parameter(takes).implicit(common, ansi=True) == common:
            call = with_arguments(call, [cast_to(a, common, conf) for a in call.arguments])
    return call


def strings_as_doubles(call: Call, conf: Conf) -> Call:
    """Without ANSI a string operand of arithmetic is a double (or a decimal's double)."""
    left, right = call.arguments
    a, b = left.data_type, right.data_type
    skip = CalendarIntervalType | AnsiIntervalType
    if isinstance(a, StringType) and not isinstance(b, skip):
        left = cast_to(left, DOUBLE, conf)
    if isinstance(b, StringType) and not isinstance(a, skip):
        right = cast_to(right, DOUBLE, conf)
    return with_arguments(call, (left, right))


def check_operands(call: Call, takes: str) -> Call:
    """The call itself.

    Raises:
        AnalysisError: BINARY_OP_DIFF_TYPES or BINARY_OP_WRONG_TYPE.
    """
    left, right = (a.data_type for a in call.arguments)
    both_decimal = isinstance(left, DecimalType) and isinstance(right, DecimalType)
    same_intervals = isinstance(left, AnsiIntervalType) and type(left) is type(right)
    if left != right and not both_decimal and not same_intervals:
        raise binary_diff_types(call)
    kind = parameter(takes)
    if kind.implicit(left, ansi=True) != left or isinstance(left, NullType):
        raise binary_wrong_type(call, kind.sql)
    return call


def infix(call: Call, show: Show) -> str:
    """`(a + b)`; of a sign that is not analyzed yet `-a`."""
    if len(call.arguments) == 1:
        shown = show(call.arguments[0])
        return f"-{shown}" if call.name == "-" else f"positive({shown})"
    left, right = call.arguments
    return f"({show(left)} {call.name} {show(right)})"
