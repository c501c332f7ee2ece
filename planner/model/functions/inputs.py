"""What types a function's parameters take, and the implicit casts that bring arguments there.

A parameter is written as Spark names types, in lower case: `string`, `int|smallint|tinyint`, `any`,
`numeric`, `array`, ... The first of several types that an argument can be cast to is taken.
"""

from __future__ import annotations

from functools import cache

from ..frozen import dataclass
from ..schemas.casts import can_store_assign, decimal_for
from ..schemas.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NULL,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AnyTimestampType,
    ArrayType,
    AtomicType,
    DataType,
    DatetimeType,
    DayTimeIntervalType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    YearMonthIntervalType,
)

_EXACT: dict[str, DataType] = {
    t.simple: t
    for t in (
        BOOLEAN,
        STRING,
        BINARY,
        BYTE,
        SHORT,
        INT,
        LONG,
        FLOAT,
        DOUBLE,
        DATE,
        TIMESTAMP,
        TIMESTAMP_NTZ,
        CALENDAR_INTERVAL,
        NULL,
    )
}
# Families of types: the class that is accepted, the type taken if a cast is needed, the name.
_FAMILIES: dict[str, tuple[tuple[type[DataType], ...], DataType, str]] = {
    "any": ((DataType,), NULL, "ANY"),
    "numeric": ((NumericType,), DOUBLE, "NUMERIC"),
    "integral": ((IntegralType,), INT, "INTEGRAL"),
    "fractional": ((FractionalType,), DOUBLE, "FRACTIONAL"),
    "decimal": ((DecimalType,), DecimalType(38, 18), "DECIMAL"),
    "anytimestamp": (
        (AnyTimestampType,),
        TIMESTAMP,
        "(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)",
    ),
    "array": ((ArrayType,), ArrayType(NULL, True), "ARRAY"),
    "map": ((MapType,), MapType(NULL, NULL, True), "MAP"),
    "struct": ((StructType,), StructType(()), "STRUCT"),
    "daytime": ((DayTimeIntervalType,), DayTimeIntervalType(), "INTERVAL DAY TO SECOND"),
    "yearmonth": ((YearMonthIntervalType,), YearMonthIntervalType(), "INTERVAL YEAR TO MONTH"),
    # Named in messages only: no column here has a time of day or nanoseconds.
    "time": ((), NULL, "TIME"),
    "nanos": ((), NULL, "(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])"),
}


@dataclass(frozen=True)
class Accepts:
    """One type that a parameter takes, or a family of types.

    An array is named as a type, or as an array of a family.
    """

    name: str
    exact: DataType | None = None
    element: Accepts | None = None
    is_type: bool = False

    @property
    def sql(self) -> str:
        """Its name in messages, without quotes."""
        if self.element is not None:
            one = self.element.sql
            return f"ARRAY<{one}>" if self.is_type else f'ARRAY" of "{one}'
        return self.exact.sql if self.exact is not None else _FAMILIES[self.name][2]

    @property
    def default(self) -> DataType:
        """The type to cast to where the family has several."""
        if self.element is not None:
            return ArrayType(self.element.default, True)
        return self.exact if self.exact is not None else _FAMILIES[self.name][1]

    def accepts(self, data_type: DataType) -> bool:
        """Whether an argument of that type needs no cast."""
        if self.element is not None:
            return isinstance(data_type, ArrayType) and self.element.accepts(data_type.element_type)
        if self.exact is not None:
            return data_type == self.exact
        return isinstance(data_type, _FAMILIES[self.name][0])

    def implicit(self, data_type: DataType, *, ansi: bool) -> DataType | None:
        """The type that an argument of that type is cast to, or None."""
        if self.accepts(data_type):
            return data_type
        if self.exact is None and self.element is None and not _FAMILIES[self.name][0]:
            return None
        if self.name == "decimal" and isinstance(data_type, NumericType):
            return decimal_for(data_type)
        if self.element is not None and isinstance(data_type, ArrayType):
            inner = self.element.implicit(data_type.element_type, ansi=ansi)
            return None if inner is None else ArrayType(inner, True)
        return self._ansi(data_type) if ansi else self._legacy(data_type)

    def _ansi(self, data_type: DataType) -> DataType | None:
        if isinstance(data_type, FractionalType) and self.name == "integral":
            return None
        if isinstance(data_type, StringType):
            atomic = isinstance(self.exact, AtomicType)
            if atomic or self.name in ("numeric", "decimal", "anytimestamp"):
                return self.default
            return None
        return self.default if can_store_assign(data_type, self.default) else None

    def _legacy(self, data_type: DataType) -> DataType | None:
        target = self.default
        match data_type, target:
            case (NullType(), _):
                return target
            case (StringType(), NumericType() | DatetimeType()):
                return None if self.name in ("integral", "fractional") else target
            case (StringType(), _) if target in (BINARY, CALENDAR_INTERVAL):
                return target
            case (AtomicType(), StringType()):
                return target
            case (DatetimeType(), DatetimeType()):
                return target
            case (NumericType(), NumericType()) if self.exact is not None:
                return target
            case _:
                return None


@dataclass(frozen=True)
class Parameter:
    """What one parameter takes: the first of the choices that fits, or can be cast to.

    A strict one takes no casts, but for a bare null's.
    """

    choices: tuple[Accepts, ...]
    strict: bool = False

    @property
    def sql(self) -> str:
        """`"STRING"`, or `("INT" or "BIGINT")`."""
        names = " or ".join(f'"{choice.sql}"' for choice in self.choices)
        return f"({names})" if '" or "' in names else names

    def implicit(self, data_type: DataType, *, ansi: bool) -> DataType | None:
        """The type that an argument is cast to (its own where it fits), or None."""
        if any(choice.accepts(data_type) for choice in self.choices):
            return data_type
        if self.strict:
            return self.choices[0].default if isinstance(data_type, NullType) else None
        for choice in self.choices:
            found = choice.implicit(data_type, ansi=ansi)
            if found is not None:
                return found
        return None


def _accepts(text: str) -> Accepts:
    if text.startswith("array<"):
        return Accepts(text, element=_accepts(text[6:-1]))
    if text.startswith("array=<"):
        return Accepts(text, element=_accepts(text[7:-1]), is_type=True)
    if text not in _EXACT and text not in _FAMILIES:
        raise ValueError(f"no such parameter type: {text}")
    return Accepts(text, exact=_EXACT.get(text))


@cache
def parameter(text: str) -> Parameter:
    """Read `string`, `int|smallint|tinyint`, or `!int` for a strict one."""
    kinds = text.removeprefix("!").split("|")
    return Parameter(tuple(_accepts(part.strip()) for part in kinds), text.startswith("!"))
