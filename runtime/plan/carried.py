"""How columns travel through a kernel: what Arrow cannot take, or takes slowly, goes in parts.

A time window that is never null goes as its bounds, not as a struct: Spark's Arrow writer takes as
long for a struct of two times as for six plain columns. Where all windows have one length the start
alone goes. A year-month interval goes as its months, for which Arrow has a type.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...planner.model.expressions.core import (
    Alias,
    AttributeReference,
    Call,
    Cast,
    Expression,
    GetStructField,
    lit,
)
from ...planner.model.expressions.literal import Literal
from ...planner.model.expressions.windows import PreciseTimestampConversion
from ...planner.model.frozen import dataclass
from ...planner.model.schemas.types import (
    INT,
    LONG,
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    StructField,
    StructType,
    TimestampType,
    YearMonthIntervalType,
    as_nullable,
)
from ...planner.model.tree import replace


@dataclass(frozen=True, kw_only=True)
class Carried:
    """A column on its way through a kernel.

    Attributes:
        column: as the plan knows it.
        parts: the columns that travel.
        size: of a window in parts, the length of all windows in microseconds, if it is one: only
            their start travels.
    """

    column: AttributeReference
    parts: tuple[AttributeReference, ...]
    size: int | None = None

    @property
    def is_window(self) -> bool:
        """Whether it travels as the bounds of a window."""
        return self.size is not None or len(self.parts) > 1

    @property
    def seen(self) -> AttributeReference:
        """The column as the kernel sees it."""
        data_type = as_nullable(carrier(self.column.data_type))
        return replace(self.column, type_=data_type, is_nullable=True)

    def split(self, value: Expression) -> Iterator[Expression]:
        """The parts of a value of the column."""
        if self.is_window:
            for i, part in enumerate(self.parts):
                yield _named(field_of(value, i), part)
        elif isinstance(self.column.data_type, YearMonthIntervalType):
            yield _named(months(value), self.parts[0])
        else:
            yield _named(value, self.parts[0])

    @property
    def ends(self) -> tuple[Expression, Expression]:
        """The start and the end of a window, over its parts."""
        first, *rest = self.parts
        return (first, rest[0]) if rest else (first, self._later(first))

    def _later(self, start: Expression) -> Expression:
        assert self.size is not None
        data_type = self.column.data_type
        assert isinstance(data_type, StructType)
        kind = data_type.fields[1].data_type
        number = PreciseTimestampConversion(child=start, from_type=start.data_type, to_type=LONG)
        later = Call(name="+", arguments=(number, Literal(value=self.size, type_=LONG)), ansi=False)
        return PreciseTimestampConversion(child=later, from_type=LONG, to_type=kind)

    @property
    def hashed(self) -> tuple[Expression, ...]:
        """What is hashed for it, over its parts.

        Spark's hash of a struct is that of its fields, of an interval that of its number.
        """
        return self.ends if self.is_window else self.parts

    @property
    def restored(self) -> Expression:
        """The column, made of its parts, under its own id."""
        kind = self.column.data_type
        value: Expression = self.parts[0]
        if self.is_window:
            assert isinstance(kind, StructType)
            pairs = zip(kind.fields, self.ends, strict=True)
            fields = [e for field, end in pairs for e in (lit(field.name), end)]
            value = Call(name="named_struct", arguments=tuple(fields))
        elif isinstance(kind, YearMonthIntervalType):
            made = Call(name="make_ym_interval", arguments=(lit(0), value))
            value = Cast(child=made, type_=kind)
        elif carrier(kind) != as_nullable(kind):
            value = Cast(child=value, type_=kind)
        return _named(value, self.column)


def plain(column: AttributeReference) -> Carried:
    """A column that travels as what it is, or as the type that carries it."""
    if isinstance(column.data_type, YearMonthIntervalType):
        return Carried(column=column, parts=(_fresh(f"{column.name}.months", INT),))
    return Carried(column=column, parts=(column,))


def window(column: AttributeReference, size: int | None = None) -> Carried:
    """A window that is never null; `size`: the one length of all windows in microseconds."""
    assert isinstance(column.data_type, StructType)
    fields = column.data_type.fields[: 1 if size is not None else 2]
    parts = tuple(_fresh(f"{column.name}.{f.name}", f.data_type) for f in fields)
    return Carried(column=column, parts=parts, size=size)


def key(column: AttributeReference, size: int | None = None) -> Carried:
    """A column that may be a time window; `size` as in `window`."""
    if column.metadata.window is None or not isinstance(column.data_type, StructType):
        return plain(column)
    # A window whose length is known was made below as a struct, so it is not null.
    return plain(column) if column.nullable and size is None else window(column, size)


def field_of(value: Expression, ordinal: int) -> Expression:
    """A field of a struct; of a struct that is made on the spot, what it is made of."""
    match value:
        case Call(name="named_struct", arguments=arguments):
            return arguments[2 * ordinal + 1]
        case Alias(child=child):
            return field_of(child, ordinal)
    kind = value.data_type
    assert isinstance(kind, StructType)
    return GetStructField(child=value, ordinal=ordinal, name=kind.fields[ordinal].name)


def months(value: Expression) -> Expression:
    """The months of a year-month interval."""

    def part(name: str) -> Expression:
        found = Call(name=f"extractansiinterval{name}", arguments=(value,))
        return Cast(child=found, type_=INT)

    years = Call(name="*", arguments=(part("years"), lit(12)))
    return Call(name="+", arguments=(years, part("months")))


def carrier(data_type: DataType) -> DataType:
    """The type whose Arrow form carries another: months as numbers, intervals as DAY TO SECOND."""
    match data_type:
        case YearMonthIntervalType():
            return INT
        case DayTimeIntervalType():
            return DayTimeIntervalType()
        case ArrayType(element_type=element):
            return ArrayType(_inner(element))
        case MapType(key_type=key_type, value_type=value):
            return MapType(_inner(key_type), _inner(value))
        case StructType(fields=fields):
            return StructType(tuple(StructField(f.name, _inner(f.data_type)) for f in fields))
        case _:
            return data_type


def _inner(data_type: DataType) -> DataType:
    # Inside other types there is no cheap way to change months into numbers.
    return data_type if isinstance(data_type, YearMonthIntervalType) else carrier(data_type)


def _fresh(name: str, data_type: DataType) -> AttributeReference:
    return AttributeReference(name=name, type_=data_type)


def _named(value: Expression, column: AttributeReference) -> Expression:
    if isinstance(value, AttributeReference) and value.expr_id == column.expr_id:
        return value
    return Alias(
        child=value, name=column.name, expr_id=column.expr_id, explicit_metadata=column.metadata
    )


def constant_length(window_value: Expression) -> int | None:
    """The microseconds between the bounds of `named_struct(start, t, end, t + constant)`."""
    match window_value:
        case Call(name="named_struct", arguments=(_, start, _, end)):
            first, last = _plain(start), _plain(end)
        case _:
            return None
    match last:
        case Call(name="+" | "timestamp_add_interval", arguments=(time, length)) if time == first:
            return _constant(length) if isinstance(start.data_type, TimestampType) else None
    return None


def _plain(bound: Expression) -> Expression:
    """A bound without conversions between a time and its microseconds."""
    match bound:
        case PreciseTimestampConversion(child=child):
            return _plain(child)
        case Call(name="knownnullable", arguments=(child,)):
            return _plain(child)
        case _:
            return bound


def _constant(length: Expression) -> int | None:
    """A constant number of microseconds; days and months are longer or shorter at times."""
    match length:
        case Literal(value=int(value), type_=kind) if kind == LONG:
            return value
        case Literal(value=(0, 0, int(micros))):
            return micros
        case _:
            return None
