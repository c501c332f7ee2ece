"""Common types of several expressions, and the casts that bring them there.

Two rule books, Spark's own: in ANSI mode a string gives way to the other side's type, without it
most things give way to strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import reduce

from ..expressions.core import Cast, Expression, Literal
from ..schemas.casts import NUMERIC_ORDER, decimal_for, decimal_is_wider, may_be_null
from ..schemas.types import (
    DOUBLE,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AnsiIntervalType,
    ArrayType,
    AtomicType,
    BinaryType,
    BooleanType,
    DataType,
    DatetimeType,
    DecimalType,
    FloatType,
    FractionalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
    same_type,
)
from ..settings.conf import Conf
from ..tree import replace

Finder = Callable[[DataType, DataType], DataType | None]


def cast_to(expression: Expression, data_type: DataType, conf: Conf) -> Expression:
    """The expression under an implicit cast, unless it already has that type exactly."""
    if expression.data_type == data_type:
        return expression
    return implicit(expression, data_type, conf)


def cast_unless_same(expression: Expression, data_type: DataType, conf: Conf) -> Expression:
    """The expression under an implicit cast, unless the types differ in nullability only."""
    if same_type(expression.data_type, data_type):
        return expression
    return implicit(expression, data_type, conf)


def implicit(expression: Expression, data_type: DataType, conf: Conf) -> Cast:
    """An implicit cast in the session's mode and zone."""
    return Cast(
        child=expression,
        type_=data_type,
        mode="ANSI" if conf.ansi else "LEGACY",
        time_zone=conf.time_zone,
        implicit=True,
    )


def tightest_common_type(left: DataType, right: DataType, conf: Conf) -> DataType | None:
    """The common type of two types that loses nothing (findTightestCommonType)."""
    match left, right:
        case _ if left == right:
            return left
        case (NullType(), _):
            return right
        case (_, NullType()):
            return left
        case (IntegralType(), DecimalType()):
            return right if decimal_is_wider(right, left) else None
        case (DecimalType(), IntegralType()):
            return left if decimal_is_wider(left, right) else None
        case (DecimalType(), _) | (_, DecimalType()):
            return None
        case (NumericType(), NumericType()):
            widest = max(left, right, key=lambda t: NUMERIC_ORDER.index(type(t)))
            # A whole number and a float meet at double in ANSI mode, to keep its digits.
            return DOUBLE if conf.ansi and isinstance(widest, FloatType) else widest
        case (DatetimeType(), DatetimeType()):
            return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
        case (AnsiIntervalType(), AnsiIntervalType()) if type(left) is type(right):
            return with_fields_of(left, right)
        case _:
            return _common_complex(left, right, lambda a, b: tightest_common_type(a, b, conf), conf)


def with_fields_of(left: AnsiIntervalType, right: AnsiIntervalType) -> AnsiIntervalType:
    """The interval type with the fields of two of its kind and all between them."""
    return replace(left, start=min(left.start, right.start), end=max(left.end, right.end))


def _common_complex(left: DataType, right: DataType, find: Finder, conf: Conf) -> DataType | None:
    mode = "ANSI" if conf.ansi else "LEGACY"

    def forced(target: DataType, *sources: DataType) -> bool:
        return any(may_be_null(source, target, mode) for source in sources)

    match left, right:
        case (ArrayType(), ArrayType()):
            element = find(left.element_type, right.element_type)
            if element is None:
                return None
            nulls = left.contains_null or right.contains_null
            nulls = nulls or forced(element, left.element_type, right.element_type)
            return ArrayType(element, nulls)
        case (MapType(), MapType()):
            key = find(left.key_type, right.key_type)
            value = find(left.value_type, right.value_type)
            if key is None or value is None or forced(key, left.key_type, right.key_type):
                return None
            nulls = left.value_contains_null or right.value_contains_null
            nulls = nulls or forced(value, left.value_type, right.value_type)
            return MapType(key, value, nulls)
        case (StructType(), StructType()) if len(left.fields) == len(right.fields):
            fields, fold = [], conf.fold
            for a, b in zip(left.fields, right.fields, strict=True):
                if fold(a.name) != fold(b.name):
                    return None
                inner = find(a.data_type, b.data_type)
                if inner is None:
                    return None
                nulls = a.nullable or b.nullable or forced(inner, a.data_type, b.data_type)
                fields.append(StructField(a.name, inner, nulls))
            return StructType(tuple(fields))
        case _:
            return None


def bounded_decimal(precision: int, scale: int) -> DecimalType:
    """A decimal cut to 38 digits at both ends (DecimalType.bounded)."""
    return DecimalType(min(precision, 38), min(scale, 38))


def adjusted_decimal(precision: int, scale: int) -> DecimalType:
    """A decimal of at most 38 digits that gives up scale first (adjustPrecisionScale)."""
    if precision <= 38:
        return DecimalType(precision, scale)
    whole = precision - scale
    return DecimalType(38, max(38 - whole, min(scale, 6)))


def wider_decimal(left: DecimalType, right: DecimalType) -> DecimalType:
    """The decimal with room for both sides' whole digits and both scales; digits behind the point
    go first (DecimalType.boundedPreferIntegralDigits)."""
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return DecimalType(min(whole + scale, 38), max(0, min(scale, 38 - whole)))


def _wider_for_decimal(left: DataType, right: DataType) -> DataType | None:
    match left, right:
        case (DecimalType() | IntegralType(), DecimalType() | IntegralType()):
            if isinstance(left, DecimalType) or isinstance(right, DecimalType):
                return wider_decimal(decimal_for(left), decimal_for(right))
            return None
        case (FractionalType(), DecimalType()) | (DecimalType(), FractionalType()):
            return DOUBLE
        case _:
            return None


def ansi_string_promotion(left: DataType, right: DataType) -> DataType | None:
    """The type that a string gives way to in ANSI mode."""
    match left, right:
        case (StringType(), IntegralType()) | (IntegralType(), StringType()):
            return LONG
        case (StringType(), FractionalType()) | (FractionalType(), StringType()):
            return DOUBLE
        case (StringType(), AnsiIntervalType()):
            return None
        case (AnsiIntervalType(), StringType()):
            return None
        case (StringType(), AtomicType()):
            return right
        case (AtomicType(), StringType()):
            return left
        case _:
            return None


def _legacy_string_promotion(left: DataType, right: DataType) -> DataType | None:
    pair = (left, right)
    if not any(isinstance(t, StringType) for t in pair):
        return None
    kept = all(
        isinstance(t, AtomicType) and not isinstance(t, BinaryType | BooleanType) for t in pair
    )
    return STRING if kept else None


def wider_type(left: DataType, right: DataType, conf: Conf) -> DataType | None:
    """The common type of two types that may lose digits or promote strings."""
    return (
        tightest_common_type(left, right, conf)
        or _wider_for_decimal(left, right)
        or (ansi_string_promotion if conf.ansi else _legacy_string_promotion)(left, right)
        or _common_complex(left, right, lambda a, b: wider_type(a, b, conf), conf)
    )


def wider_without_strings(left: DataType, right: DataType, conf: Conf) -> DataType | None:
    """`wider_type` that promotes no strings (greatest, least)."""
    return (
        tightest_common_type(left, right, conf)
        or _wider_for_decimal(left, right)
        or _common_complex(left, right, lambda a, b: wider_without_strings(a, b, conf), conf)
    )


def _has_string(data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType):
        return _has_string(data_type.element_type)
    return isinstance(data_type, StringType)


def common_type(types: Sequence[DataType], conf: Conf, *, strings: bool = True) -> DataType | None:
    """The wider type of any number of types, or None if two of them have none."""
    find = wider_type if strings else wider_without_strings
    ordered = list(types)
    if not conf.ansi and strings:
        # Without ANSI the rule is not associative where strings are: they come first.
        ordered.sort(key=lambda t: not _has_string(t))

    def step(found: DataType | None, data_type: DataType) -> DataType | None:
        return None if found is None else find(found, data_type, conf)

    start: DataType | None = NULL
    return reduce(step, ordered, start)


def have_same_type(types: Sequence[DataType]) -> bool:
    """Whether all types are equal but for the nullability of their parts."""
    return all(same_type(types[0], data_type) for data_type in types[1:])


def coerce_to_common(
    expressions: Sequence[Expression], conf: Conf, *, strings: bool = True
) -> tuple[Expression, ...] | None:
    """The expressions cast to their common type; None if there is none."""
    types = [e.data_type for e in expressions]
    if have_same_type(types):
        return tuple(expressions)
    found = common_type(types, conf, strings=strings)
    if found is None:
        return None
    return tuple(cast_unless_same(e, found, conf) for e in expressions)


def merge_types(types: Sequence[DataType]) -> DataType:
    """One type out of several that differ in nullability only: null where any is."""
    return reduce(_merge_two, types)


def _merge_two(left: DataType, right: DataType) -> DataType:
    match left, right:
        case (ArrayType(), ArrayType()):
            element = _merge_two(left.element_type, right.element_type)
            return ArrayType(element, left.contains_null or right.contains_null)
        case (MapType(), MapType()):
            key = _merge_two(left.key_type, right.key_type)
            value = _merge_two(left.value_type, right.value_type)
            return MapType(key, value, left.value_contains_null or right.value_contains_null)
        case (StructType(), StructType()):
            pairs = zip(left.fields, right.fields, strict=True)
            return StructType(
                tuple(
                    StructField(
                        a.name, _merge_two(a.data_type, b.data_type), a.nullable or b.nullable
                    )
                    for a, b in pairs
                )
            )
        case _:
            return right if isinstance(left, NullType) else left


def decimal_of_literal(literal: Literal) -> DecimalType:
    """The smallest decimal that holds a whole-number constant."""
    return DecimalType(len(str(abs(int(str(literal.value))))), 0)


def decimal_literal(expression: Expression) -> Decimal | None:
    """The value of a decimal, float or double constant that comparisons may round."""
    if isinstance(expression, Literal) and isinstance(expression.type_, DecimalType):
        return expression.value if isinstance(expression.value, Decimal) else None
    return None
