"""Spark SQL's data types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..frozen import dataclass


def quote_if_needed(name: str) -> str:
    """A name part in backticks if it is no plain identifier."""
    plain = name.isascii() and name.replace("_", "a").isalnum() and not name[:1].isdigit()
    return name if plain else "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True)
class DataType:
    """A Spark SQL type. `simple` is Spark's simpleString, `sql` its upper-case SQL name."""

    name: ClassVar[str] = ""
    json_name: ClassVar[str] = ""

    @property
    def simple(self) -> str:
        """`simpleString`: the form of schemas and of `cast(x as ...)` in plans."""
        return self.name

    @property
    def sql(self) -> str:
        """The form of error messages and of SQL text."""
        return self.simple.upper()

    @property
    def catalyst(self) -> str:
        """The class name, as some plan texts show it (`TimestampType`)."""
        return type(self).__name__

    @property
    def json(self) -> object:
        """The `type` value of Spark's schema JSON."""
        return self.json_name or self.simple

    @property
    def parts(self) -> tuple[DataType, ...]:
        """The types of its elements, of its keys and values, or of its fields."""
        return ()


class AtomicType(DataType):
    """A type without parts."""


class NullType(AtomicType):
    name = "void"


class BooleanType(AtomicType):
    name = "boolean"


class StringType(AtomicType):
    name = "string"


@dataclass(frozen=True)
class CollatedStringType(StringType):
    """Text that compares by a collation of another kind than by its bytes (UTF8_BINARY)."""

    json_name = "string"  # the collation stands in the field's metadata

    collation: str

    @property
    def simple(self) -> str:
        return f"string collate {self.collation}"

    @property
    def sql(self) -> str:
        return f"STRING COLLATE {self.collation}"


class BinaryType(AtomicType):
    name = "binary"


class NumericType(AtomicType):
    """A number."""


class IntegralType(NumericType):
    """A whole number of `bits` bits."""

    bits: ClassVar[int] = 0


class ByteType(IntegralType):
    name = "tinyint"
    json_name = "byte"
    bits = 8


class ShortType(IntegralType):
    name = "smallint"
    json_name = "short"
    bits = 16


class IntegerType(IntegralType):
    name = "int"
    json_name = "integer"
    bits = 32


class LongType(IntegralType):
    name = "bigint"
    json_name = "long"
    bits = 64


class FractionalType(NumericType):
    """A float, double or decimal."""


class FloatType(FractionalType):
    name = "float"


class DoubleType(FractionalType):
    name = "double"


@dataclass(frozen=True)
class DecimalType(FractionalType):
    """A decimal of at most 38 digits."""

    precision: int = 10
    scale: int = 0

    MAX_PRECISION: ClassVar[int] = 38

    @property
    def simple(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    @property
    def catalyst(self) -> str:
        return f"DecimalType({self.precision},{self.scale})"


class DatetimeType(AtomicType):
    """A date or a timestamp."""


class DateType(DatetimeType):
    name = "date"


class AnyTimestampType(DatetimeType):
    """A timestamp, with a time zone or without."""


class TimestampType(AnyTimestampType):
    name = "timestamp"


class TimestampNTZType(AnyTimestampType):
    name = "timestamp_ntz"


class CalendarIntervalType(AtomicType):
    name = "interval"


DAY_TIME_FIELDS = ("day", "hour", "minute", "second")
YEAR_MONTH_FIELDS = ("year", "month")


@dataclass(frozen=True)
class AnsiIntervalType(AtomicType):
    """`INTERVAL start TO end`, fields by their number."""

    field_names: ClassVar[tuple[str, ...]] = ()

    start: int = 0
    end: int = 0

    @property
    def fields(self) -> tuple[str, ...]:
        """Those that it has."""
        return self.field_names[self.start : self.end + 1]

    @property
    def simple(self) -> str:
        first, last = self.field_names[self.start], self.field_names[self.end]
        return f"interval {first}" if first == last else f"interval {first} to {last}"


@dataclass(frozen=True)
class DayTimeIntervalType(AnsiIntervalType):
    """Values are microseconds; fields are day, hour, minute, second."""

    field_names = DAY_TIME_FIELDS

    end: int = 3


@dataclass(frozen=True)
class YearMonthIntervalType(AnsiIntervalType):
    """Values are months."""

    field_names = YEAR_MONTH_FIELDS

    end: int = 1


@dataclass(frozen=True)
class ArrayType(DataType):
    """A list of one element type."""

    element_type: DataType
    contains_null: bool = True

    @property
    def parts(self) -> tuple[DataType, ...]:
        return (self.element_type,)

    @property
    def simple(self) -> str:
        return f"array<{self.element_type.simple}>"

    @property
    def sql(self) -> str:
        return f"ARRAY<{self.element_type.sql}>"

    @property
    def json(self) -> object:
        return {
            "type": "array",
            "elementType": self.element_type.json,
            "containsNull": self.contains_null,
        }


@dataclass(frozen=True)
class MapType(DataType):
    """Keys to values."""

    key_type: DataType
    value_type: DataType
    value_contains_null: bool = True

    @property
    def parts(self) -> tuple[DataType, ...]:
        return (self.key_type, self.value_type)

    @property
    def simple(self) -> str:
        return f"map<{self.key_type.simple},{self.value_type.simple}>"

    @property
    def sql(self) -> str:
        return f"MAP<{self.key_type.sql}, {self.value_type.sql}>"

    @property
    def json(self) -> object:
        return {
            "type": "map",
            "keyType": self.key_type.json,
            "valueType": self.value_type.json,
            "valueContainsNull": self.value_contains_null,
        }


COLLATIONS = "__COLLATIONS"
"""The key of a field's metadata in schema JSON: place of a string in the field -> its collation,
such as `tags.element` -> `icu.UNICODE_CI`."""


def _collations(data_type: DataType, place: str) -> Iterator[tuple[str, str]]:
    match data_type:
        case CollatedStringType(collation=collation):
            provider = "spark" if collation.startswith("UTF8_") else "icu"
            yield place, f"{provider}.{collation}"
        case ArrayType(element_type=element):
            yield from _collations(element, f"{place}.element")
        case MapType(key_type=key, value_type=value):
            yield from _collations(key, f"{place}.key")
            yield from _collations(value, f"{place}.value")


@dataclass(frozen=True)
class StructField:
    """One field of a struct."""

    name: str
    data_type: DataType
    nullable: bool = True

    @property
    def json(self) -> dict[str, object]:
        collations = dict(_collations(self.data_type, self.name))
        return {
            "name": self.name,
            "type": self.data_type.json,
            "nullable": self.nullable,
            "metadata": {COLLATIONS: collations} if collations else {},
        }


@dataclass(frozen=True)
class StructType(DataType):
    """Named fields in order."""

    fields: tuple[StructField, ...] = ()

    @property
    def parts(self) -> tuple[DataType, ...]:
        return tuple(f.data_type for f in self.fields)

    @property
    def simple(self) -> str:
        return "struct<" + ",".join(f"{f.name}:{f.data_type.simple}" for f in self.fields) + ">"

    @property
    def sql(self) -> str:
        parts = (
            f"{quote_if_needed(f.name)}: {f.data_type.sql}{'' if f.nullable else ' NOT NULL'}"
            for f in self.fields
        )
        return "STRUCT<" + ", ".join(parts) + ">"

    @property
    def json(self) -> object:
        return {"type": "struct", "fields": [f.json for f in self.fields]}


NULL = NullType()
BOOLEAN = BooleanType()
STRING = StringType()
BINARY = BinaryType()
BYTE = ByteType()
SHORT = ShortType()
INT = IntegerType()
LONG = LongType()
FLOAT = FloatType()
DOUBLE = DoubleType()
DATE = DateType()
TIMESTAMP = TimestampType()
TIMESTAMP_NTZ = TimestampNTZType()
CALENDAR_INTERVAL = CalendarIntervalType()
WINDOW = StructType((StructField("start", TIMESTAMP), StructField("end", TIMESTAMP)))


def as_nullable(data_type: DataType) -> DataType:
    """The type with every part of it nullable (Spark's `asNullable`)."""
    match data_type:
        case ArrayType(element_type=element):
            return ArrayType(as_nullable(element), True)
        case MapType(key_type=key, value_type=value):
            return MapType(as_nullable(key), as_nullable(value), True)
        case StructType(fields=fields):
            return StructType(
                tuple(StructField(f.name, as_nullable(f.data_type), True) for f in fields)
            )
        case _:
            return data_type


def contains_type(data_type: DataType, *kinds: type[DataType]) -> bool:
    """Whether a type is, or holds in any part, one of these kinds."""
    return isinstance(data_type, kinds) or any(contains_type(p, *kinds) for p in data_type.parts)


def is_orderable(data_type: DataType) -> bool:
    """Whether values of the type can be compared: no map or calendar interval in it."""
    return not contains_type(data_type, MapType, CalendarIntervalType)


def is_collated(data_type: DataType) -> bool:
    """Whether a type is, or holds in any part, a string with a collation of its own."""
    return contains_type(data_type, CollatedStringType)


def same_type(left: DataType, right: DataType) -> bool:
    """Whether two types are equal but for the nullability of their parts."""
    return left == right or as_nullable(left) == as_nullable(right)


def same_shape(left: DataType, right: DataType) -> bool:
    """Whether two types are equal but for the nullability of their parts and names of fields."""
    one, other = left.parts, right.parts
    if not one or type(left) is not type(right):
        return left == right
    return len(one) == len(other) and all(map(same_shape, one, other))
