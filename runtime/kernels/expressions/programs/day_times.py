"""Calendar intervals as day-time ones, which programs reckon with, where they say the same."""

from __future__ import annotations

from .....planner.model.expressions.base import Typed
from .....planner.model.expressions.core import Call, CaseWhen, Cast, Expression, Literal
from .....planner.model.frozen import dataclass
from .....planner.model.schemas.types import (
    DAY_TIME_FIELDS,
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    IntegralType,
    StringType,
)
from .....planner.model.text.time_zones import fixed_offset
from .....planner.model.tree import replace

_SECOND = DAY_TIME_FIELDS.index("second")
_SECONDS = DayTimeIntervalType(_SECOND, _SECOND)
_DAY = 86_400_000_000


@dataclass(frozen=True, kw_only=True)
class IntervalOfText(Typed):
    """`CAST(text AS INTERVAL)` as a day-time interval; null where the text is no interval.

    Attributes:
        child: the text.
        fixed: whether each day has 24 hours.
    """

    child_fields = ("child",)

    child: Expression
    fixed: bool
    type_: DataType = _SECONDS

    @property
    def nullable(self) -> bool:
        return True


def in_day_time(interval: Expression, zone: str) -> Expression:
    """An interval of months, days and microseconds as a day-time one, if it is constant; or itself.

    Also a cast of a text, `make_interval` of days and times, CASE over such intervals, and their
    negatives. A day-time interval's days are those of the calendar: where a zone's days differ
    in length, 24 hours stay as they are.
    """
    fixed = fixed_offset(zone) is not None
    match interval:
        case Literal(type_=CalendarIntervalType(), value=None):
            return Literal(value=None, type_=_SECONDS)
        case Literal(type_=CalendarIntervalType(), value=(0, int(days), int(us))) if fixed or (
            not days and abs(us) < _DAY
        ):
            return Literal(value=days * _DAY + us, type_=_SECONDS)
        case Cast(child=text, type_=CalendarIntervalType()) if isinstance(
            text.data_type, StringType
        ):
            return IntervalOfText(child=text, fixed=fixed)
        case Call(name="make_interval", arguments=(*dates, days, hours, minutes, seconds)) if all(
            map(is_zero, dates)
        ):
            times = (days, hours, minutes, seconds)
            no_time = is_zero(hours) and is_zero(minutes) and getattr(seconds, "value", None) == 0
            if fixed or no_time:
                return replace(interval, name="make_dt_interval", arguments=times)
        case Call(name="negative", arguments=(part,)):
            part = in_day_time(part, zone)
            if isinstance(part.data_type, DayTimeIntervalType):
                return replace(interval, arguments=(part,))
        case CaseWhen(data_type=CalendarIntervalType(), values=values, otherwise=otherwise):
            given = values if otherwise is None else (*values, otherwise)
            parts = tuple(in_day_time(part, zone) for part in given)
            if all(isinstance(part.data_type, DayTimeIntervalType) for part in parts):
                rest = None if otherwise is None else parts[-1]
                return replace(interval, values=parts[: len(values)], otherwise=rest)
    return interval


def is_zero(expression: Expression) -> bool:
    """Whether a number is a whole 0."""
    match expression:
        case Literal(value=0, type_=IntegralType()):
            return True
    return False
