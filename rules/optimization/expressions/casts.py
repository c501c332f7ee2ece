"""Casts and conversions that do nothing; comparisons of a cast column with a constant."""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Decimal

from ....planner.model.expressions.core import Call, Cast, Expression, Literal
from ....planner.model.expressions.intervals import DAY_MICROS
from ....planner.model.expressions.literal import lit
from ....planner.model.functions.build import NULL_BOOLEAN, call, is_call, is_null, negate
from ....planner.model.schemas.casts import can_up_cast
from ....planner.model.schemas.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    NumericType,
    TimestampNTZType,
    TimestampType,
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


Number = bool | int | float | Decimal


def unwrap_casts(expression: Expression) -> Expression:
    """`cast(a as bigint) > 5L` -> `a > 5`, where casting the constant back loses nothing.

    A constant outside of the column's range decides the comparison (but for nulls), one between
    two values of the column's type moves the bound; IN lists are treated value by value.
    """
    assert isinstance(expression, Call)
    if expression.name in ("in", "inset"):
        return _unwrap_in(expression)
    if expression.name == "isnotnull":
        return _unwrap_check(expression)
    left, right = expression.arguments
    if isinstance(left, Cast) and isinstance(right, Literal):
        return _unwrap(expression.name, left, right) or expression
    if isinstance(right, Cast) and isinstance(left, Literal):
        assert expression.spec.mirror is not None
        turned = _unwrap(expression.spec.mirror, right, left)
        return expression if turned is None else _mirrored(turned)
    return expression


def _unwrap_check(check: Call) -> Expression:
    """`isnotnull(cast(a as bigint))` -> `isnotnull(a)`, where the cast widens a number."""
    cast = check.arguments[0]
    if not isinstance(cast, Cast) or not isinstance(cast.type_, NumericType):
        return check
    return call("isnotnull", cast.child) if is_wider(cast.child.data_type, cast.type_) else check


def _mirrored(expression: Expression) -> Expression:
    if isinstance(expression, Call) and expression.spec.mirror is not None:
        left, right = expression.arguments
        return call(expression.spec.mirror, right, left)
    return expression


def _unwrap(name: str, cast: Cast, literal: Literal) -> Expression | None:
    column, target = cast.child, cast.type_
    if literal.value is None or column.foldable or literal.type_ != target:
        return None
    source = column.data_type
    match source, target:
        case TimestampType() | TimestampNTZType(), DateType():
            return _compare_days(name, column, literal)
        case DateType(), TimestampType() | TimestampNTZType():
            return _compare_date(name, column, literal)
    if not _is_safe(source, target):
        return None
    value = literal.value
    assert isinstance(value, bool | int | float | Decimal)
    return _compare(name, column, value)


def _is_safe(source: DataType, target: DataType) -> bool:
    if not isinstance(target, NumericType):
        return False
    match source, target:
        case BooleanType(), _:
            return True
        case (IntegerType() | LongType(), FloatType()) | (LongType(), DoubleType()):
            return False
    return is_wider(source, target)


def _compare(name: str, column: Expression, value: Number) -> Expression | None:
    source = column.data_type
    bounds = _range(source)
    if bounds is not None:
        low, high = bounds
        if _is_below(value, low) or _is_below(high, value):
            return _beyond(name, column, above=_is_below(high, value))
        for end in (high, low):
            if not _is_below(value, end) and not _is_below(end, value):
                return _at_end(name, column, Literal(value=end, type_=source), above=end is high)
    narrow = _narrowed(value, source)
    if narrow is None:
        return None
    literal = Literal(value=narrow, type_=source)
    if narrow == value:
        return call(name, column, literal)
    if name == "=":
        return _false_unless_null(column)
    if name == "<=>":
        return lit(False)
    # The constant lies between two values of the column's type, `narrow` being one of them.
    if narrow > value:
        return call(">=" if name in (">", ">=") else "<", column, literal)
    return call(">" if name in (">", ">=") else "<=", column, literal)


def _beyond(name: str, column: Expression, *, above: bool) -> Expression | None:
    if name == "<=>":
        return lit(False)
    smaller = name in ("<", "<=")
    if name != "=" and smaller == above:
        return _true_unless_null(column)
    return _false_unless_null(column)


def _at_end(name: str, column: Expression, end: Literal, *, above: bool) -> Expression:
    outward, inward = (">", "<") if above else ("<", ">")
    if name == outward:
        return _false_unless_null(column)
    if name == inward + "=":
        return _true_unless_null(column)
    if name == inward:
        return negate(call("=", column, end))
    return call("<=>" if name == "<=>" else "=", column, end)


def _false_unless_null(column: Expression) -> Expression:
    return call("and", call("isnull", column), NULL_BOOLEAN)


def _true_unless_null(column: Expression) -> Expression:
    return call("or", call("isnotnull", column), NULL_BOOLEAN)


def _range(source: DataType) -> tuple[Number, Number] | None:
    match source:
        case BooleanType():
            return False, True
        case IntegralType():
            return -(1 << source.bits - 1), (1 << source.bits - 1) - 1
        case FloatType():
            return -math.inf, math.nan
    return None


def _is_below(one: Number, other: Number) -> bool:
    """Whether a number stands before another in Spark's order: NaN is the largest."""
    return one < other or (math.isnan(other) and not math.isnan(one))


def _narrowed(value: Number, source: DataType) -> Number | None:
    if isinstance(value, float) and not math.isfinite(value):
        return value if isinstance(source, FloatType | DoubleType) else None
    match source:
        case IntegralType():
            return int(value)
        case FloatType():
            return float(struct.unpack("f", struct.pack("f", float(value)))[0])
        case DoubleType():
            return float(value)
        case DecimalType(precision=precision, scale=scale):
            exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
            rounded = exact.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)
            return rounded if abs(rounded) < Decimal(10) ** (precision - scale) else None
    return None


def _compare_days(name: str, column: Expression, literal: Literal) -> Expression | None:
    """`cast(ts as date) = day` -> `ts >= day AND ts < day + 1`, and the like."""
    assert isinstance(literal.value, int)
    begin = Literal(value=literal.value * DAY_MICROS, type_=column.data_type)
    end = Literal(value=(literal.value + 1) * DAY_MICROS, type_=column.data_type)
    match name:
        case ">":
            return call(">=", column, end)
        case ">=":
            return call(">=", column, begin)
        case "<":
            return call("<", column, begin)
        case "<=":
            return call("<", column, end)
        case "=":
            return call("and", call(">=", column, begin), call("<", column, end))
    return None


def _compare_date(name: str, column: Expression, literal: Literal) -> Expression | None:
    """`cast(day as timestamp) > t` -> `day > date of t`."""
    assert isinstance(literal.value, int)
    day, rest = divmod(literal.value, DAY_MICROS)
    date = Literal(value=day, type_=column.data_type)
    if rest == 0:
        return call(name, column, date)
    if name == "=":
        return _false_unless_null(column)
    if name == "<=>":
        return lit(False)
    return call(">" if name in (">", ">=") else "<=", column, date)


def _unwrap_in(expression: Call) -> Expression:
    cast, *items = expression.arguments
    if not isinstance(cast, Cast) or not isinstance(cast.type_, NumericType):
        return expression
    nulls: list[Expression] = []
    kept: list[Expression] = []
    impossible = False
    for item in items:
        if not isinstance(item, Literal):
            return expression
        if is_null(item):
            nulls.append(Literal(value=None, type_=cast.child.data_type))
            continue
        single = _unwrap("=", cast, item)
        if single is None:
            return expression
        if is_call(single, "="):
            kept.append(single.children[1])
        else:
            impossible = True
    if not kept and not impossible:
        return expression
    if not nulls and not kept:
        return _false_unless_null(cast.child)
    return replace(expression, arguments=(cast.child, *nulls, *kept))
