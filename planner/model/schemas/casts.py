"""Which casts exist, which may give null, and which lose nothing."""

from __future__ import annotations

from collections.abc import Callable

from .types import (
    AnsiIntervalType,
    AnyTimestampType,
    ArrayType,
    AtomicType,
    BinaryType,
    BooleanType,
    ByteType,
    CalendarIntervalType,
    DataType,
    DatetimeType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    NullType,
    NumericType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    same_type,
)

_INTEGRAL_DIGITS = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 20}
NUMERIC_ORDER: tuple[type[DataType], ...] = (
    ByteType,
    ShortType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
)


def decimal_for(data_type: DataType) -> DecimalType:
    """The decimal that holds every value of a number type (Spark's DecimalType.forType)."""
    match data_type:
        case DecimalType():
            return data_type
        case FloatType():
            return DecimalType(14, 7)
        case DoubleType():
            return DecimalType(30, 15)
        case _:
            return DecimalType(_INTEGRAL_DIGITS[type(data_type)], 0)  # type: ignore[index]


def decimal_is_wider(decimal: DecimalType, other: DataType) -> bool:
    """Whether the decimal holds every value of a whole-number or decimal type."""
    if not isinstance(other, DecimalType | IntegralType):
        return False
    inner = decimal_for(other)
    whole = decimal.precision - decimal.scale
    return whole >= inner.precision - inner.scale and decimal.scale >= inner.scale


def may_be_null(from_type: DataType, to_type: DataType, mode: str) -> bool:
    """Whether a cast can make null of a value (Spark's Cast.forceNullable, and try_cast)."""
    if mode == "TRY":
        return not can_up_cast(from_type, to_type)
    match from_type, to_type:
        case (NullType(), _):
            return False
        case _ if from_type == to_type:
            return False
        case (StringType(), BinaryType() | StringType()) | (_, StringType()):
            return False
        case (StringType(), _):
            return True
        case (TimestampType(), ByteType() | ShortType() | IntegerType()):
            return True
        case (FloatType() | DoubleType(), TimestampType()):
            return True
        case (AnyTimestampType(), DateType()):
            return isinstance(from_type, TimestampNTZType)
        case (_, DateType()):
            return True
        case (DateType(), AnyTimestampType()):
            return isinstance(to_type, TimestampNTZType)
        case (DateType(), _) | (_, CalendarIntervalType()):
            return True
        case (_, DecimalType()):
            return not _null_safe_to_decimal(from_type, to_type)
        case (FractionalType(), IntegralType()):
            return True
        case _:
            return False


def _null_safe_to_decimal(from_type: DataType, to_type: DecimalType) -> bool:
    match from_type:
        case BooleanType():
            return decimal_is_wider(to_type, DecimalType(1, 0))
        case IntegralType() | DecimalType():
            return decimal_is_wider(to_type, from_type)
        case _:
            return False


def can_up_cast(from_type: DataType, to_type: DataType) -> bool:
    """Whether a cast loses nothing and never fails (Spark's UpCastRule)."""
    match from_type, to_type:
        case _ if from_type == to_type:
            return True
        case (NullType(), _):
            return True
        case (NumericType(), DecimalType()):
            return decimal_is_wider(to_type, from_type)
        case (DecimalType(), NumericType()):
            return isinstance(to_type, FloatType | DoubleType) or (
                from_type.scale == 0 and _digits(from_type) < _digits(to_type)
            )
        case (NumericType(), NumericType()):
            order = NUMERIC_ORDER
            return order.index(type(from_type)) < order.index(type(to_type))
        case (DateType(), AnyTimestampType()):
            return True
        case (TimestampNTZType(), TimestampType()) | (TimestampType(), TimestampNTZType()):
            return True
        case (AtomicType(), StringType()):
            return not isinstance(from_type, BinaryType)
        case (AnsiIntervalType(), AnsiIntervalType()) if type(from_type) is type(to_type):
            return to_type.start <= from_type.start and to_type.end >= from_type.end
        case _:
            return _parts_fit(from_type, to_type, can_up_cast)


def _parts_fit(
    from_type: DataType, to_type: DataType, fits: Callable[[DataType, DataType], bool]
) -> bool:
    """Whether two arrays, maps or structs fit part by part, null never going where it may not."""
    match from_type, to_type:
        case (ArrayType(), ArrayType()):
            nulls = to_type.contains_null or not from_type.contains_null
            return nulls and fits(from_type.element_type, to_type.element_type)
        case (MapType(), MapType()):
            nulls = to_type.value_contains_null or not from_type.value_contains_null
            keys = fits(from_type.key_type, to_type.key_type)
            return nulls and keys and fits(from_type.value_type, to_type.value_type)
        case (StructType(), StructType()):
            return len(from_type.fields) == len(to_type.fields) and all(
                (b.nullable or not a.nullable) and fits(a.data_type, b.data_type)
                for a, b in zip(from_type.fields, to_type.fields, strict=True)
            )
        case _:
            return False


def _digits(data_type: DataType) -> int:
    if isinstance(data_type, DecimalType):
        return data_type.precision
    return _INTEGRAL_DIGITS[type(data_type)]  # type: ignore[index]


def can_cast(from_type: DataType, to_type: DataType, mode: str) -> bool:
    """Whether `CAST(from AS to)` is allowed, in ANSI (and TRY) or legacy mode."""
    match from_type, to_type:
        case _ if same_type(from_type, to_type):
            return True
        case (NullType(), _):
            return True
        case (MapType(), MapType()) if may_be_null(from_type.key_type, to_type.key_type, mode):
            return False
        case (ArrayType(), ArrayType()) | (MapType(), MapType()) | (StructType(), StructType()):
            return _parts_fit(from_type, to_type, lambda a, b: can_cast(a, b, mode))
        case (_, StringType()):
            return True
        case _:
            return _can_cast_atomic(from_type, to_type, ansi=mode != "LEGACY")


def _can_cast_atomic(from_type: DataType, to_type: DataType, *, ansi: bool) -> bool:
    match from_type, to_type:
        case (
            StringType(),
            NumericType()
            | BooleanType()
            | BinaryType()
            | DatetimeType()
            | CalendarIntervalType()
            | AnsiIntervalType(),
        ):
            return True
        case (NumericType() | BooleanType(), NumericType() | BooleanType()):
            return True
        case (NumericType(), TimestampType()):
            return True
        case (BooleanType(), TimestampType()) | (TimestampType(), BooleanType()):
            return not ansi
        case (TimestampType(), NumericType()):
            return True
        case (DateType(), NumericType() | BooleanType()):
            return not ansi
        case (DatetimeType(), DatetimeType()):
            return True
        case (IntegralType(), BinaryType()):
            return not ansi
        case (AnsiIntervalType(), AnsiIntervalType()):
            return type(from_type) is type(to_type)
        case (AnsiIntervalType(), IntegralType() | DecimalType()):
            return True
        case (IntegralType() | DecimalType(), AnsiIntervalType()):
            return True
        case _:
            return False


def can_store_assign(from_type: DataType, to_type: DataType) -> bool:
    """Whether ANSI lets a value be put where another type is wanted (canANSIStoreAssign)."""
    match from_type, to_type:
        case _ if same_type(from_type, to_type):
            return True
        case (NullType(), _):
            return True
        case (NumericType(), NumericType()) | (AtomicType(), StringType()):
            return True
        case (CalendarIntervalType(), StringType()):
            return True
        case (DatetimeType(), DatetimeType()):
            return True
        case _:
            return _parts_fit(from_type, to_type, can_store_assign)


def instead_of_cast(from_type: DataType, to_type: DataType) -> str | None:
    """The function that Spark recommends where ANSI has no such cast."""
    match from_type, to_type:
        case (DateType(), NumericType()):
            return "UNIX_DATE"
        case (NumericType(), DateType()):
            return "DATE_FROM_UNIX_DATE"
        case _:
            return None
