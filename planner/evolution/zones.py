"""Which expressions give other values in another session time zone."""

from __future__ import annotations

from ..model.expressions.core import Call, Cast, Expression, Literal
from ..model.expressions.intervals import DAY_MICROS
from ..model.schemas.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    contains_type,
)

_WALL_CLOCK = (StringType, DateType, TimestampNTZType)


def cast_reads_clock(cast: Cast) -> bool:
    """Whether a cast goes between instants and what a clock shows."""
    source, target = cast.child.data_type, cast.type_
    if isinstance(source, ArrayType | MapType | StructType):
        return reads_instant(source)
    return any(isinstance(t, TimestampType) for t in (source, target)) and any(
        isinstance(t, _WALL_CLOCK) for t in (source, target)
    )


def call_reads_clock(call: Call) -> bool:
    """Whether a function's value depends on the zone: mostly where it has to do with instants."""
    spec = call.spec
    if spec.reads_clock == "always":
        return True
    if spec.kind != "scalar" or spec.reads_clock == "never":
        return False
    if spec.reads_clock == "of days":
        return any(_may_hold_days(a) for a in call.arguments)
    types = [a.data_type for a in call.arguments]
    return reads_instant(call.data_type) or any(map(reads_instant, types))


def _may_hold_days(interval: Expression) -> bool:
    match interval:
        case Literal(type_=DayTimeIntervalType(), value=int(micros)):
            return abs(micros) >= DAY_MICROS
        case Literal(type_=CalendarIntervalType(), value=(int(months), int(days), int())):
            return bool(months or days)
        case _:
            return isinstance(interval.data_type, DayTimeIntervalType | CalendarIntervalType)


def reads_instant(data_type: DataType) -> bool:
    """Whether values of a type are, or hold, instants."""
    return contains_type(data_type, TimestampType)
