"""`+`, `-`, `*` and `/` over dates, times and intervals: the functions that stand for them."""

from __future__ import annotations

from collections.abc import Callable

from ..expressions.core import Call, Expression
from ..registry import register
from ..schemas.types import (
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INT,
    TIMESTAMP,
    AnsiIntervalType,
    AnyTimestampType,
    CalendarIntervalType,
    DataType,
    DatetimeType,
    DateType,
    DayTimeIntervalType,
    NullType,
    StringType,
    TimestampNTZType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from ..tree import replace
from . import coercion
from . import operator_values as values
from .coercion import cast_to, cast_unless_same
from .mismatch import unexpected_type
from .operands import strings_as_doubles
from .shapes import Result, conf_of, each, resolve, scalar, template

_TIMES = (
    '("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" or '
    '"(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])")'
)
_DAY = DayTimeIntervalType(0, 0)


def _call(like: Call, name: str, *arguments: Expression) -> Call:
    return replace(like, name=name, arguments=arguments, options=())


def _negated(call: Call, expression: Expression) -> Call:
    return replace(_call(call, "negative", expression), options=("-",))


def add_datetime(call: Call, conf: Conf) -> Expression | None:
    """What `+` is where one side is a date or a time; None where neither is."""
    left, right = call.arguments
    return _later(call, left, right, conf) or _later(call, right, left, conf)


def _later(call: Call, time: Expression, by: Expression, conf: Conf) -> Expression | None:
    match time.data_type, by.data_type:
        case (DateType(), DayTimeIntervalType() as interval):
            return _date_plus(call, time, by, interval, conf)
        case (DateType(), YearMonthIntervalType()):
            return _call(call, "date_add_ym_interval", time, by)
        case (AnyTimestampType(), YearMonthIntervalType()):
            return _call(call, "timestamp_add_ym_interval", time, by)
        case (DateType(), CalendarIntervalType()):
            return _call(call, "date_add_interval", time, by)
        case (CalendarIntervalType(), CalendarIntervalType()):
            return None
        case (DayTimeIntervalType() | NullType(), DayTimeIntervalType()):
            return None
        case (_, CalendarIntervalType() | DayTimeIntervalType()):
            return _time_plus(call, time, by, conf)
        case (DateType(), StringType()):
            return None
        case (DateType(), _):
            return resolve("date_add", (time, by), conf)
        case _:
            return None


def _date_plus(
    call: Call, date: Expression, interval: Expression, kind: DayTimeIntervalType, conf: Conf
) -> Expression:
    if kind == _DAY:
        return _call(call, "date_add", date, _call(call, "extractansiintervaldays", interval))
    return _call(call, "timestamp_add_interval", cast_to(date, TIMESTAMP, conf), interval)


def _time_plus(call: Call, time: Expression, interval: Expression, conf: Conf) -> Expression:
    if isinstance(time.data_type, StringType | NullType):
        target = time.data_type
        moved = _call(call, "timestamp_add_interval", cast_to(time, TIMESTAMP, conf), interval)
        return coercion.implicit(moved, target, conf)
    moved = _call(call, "timestamp_add_interval", time, interval)
    if not isinstance(time.data_type, AnyTimestampType):
        raise unexpected_type(moved, 0, _TIMES)
    return coercion.implicit(moved, time.data_type, conf)


def subtract_datetime(call: Call, conf: Conf) -> Expression | None:
    left, right = call.arguments
    match left.data_type, right.data_type:
        case (DateType(), DayTimeIntervalType() as interval) if interval == _DAY:
            days = _call(call, "extractansiintervaldays", right)
            return _call(call, "date_add", left, _negated(call, days))
        case (DatetimeType(), AnsiIntervalType() | CalendarIntervalType()):
            return _datetime_sub(call, left, right, conf)
        case (CalendarIntervalType(), _) | (DayTimeIntervalType(), _):
            return None
        case (StringType(), DayTimeIntervalType() | CalendarIntervalType()):
            return coercion.implicit(
                _call(call, "datetime_sub", cast_to(left, TIMESTAMP, conf), right),
                left.data_type,
                conf,
            )
        case (NullType(), DayTimeIntervalType() | CalendarIntervalType()):
            return None
        case (_, DayTimeIntervalType() | CalendarIntervalType()):
            moved = _call(call, "timestamp_add_interval", left, _negated(call, right))
            raise unexpected_type(moved, 0, _TIMES)
        case (YearMonthIntervalType(), _) | (_, YearMonthIntervalType()):
            return None
        case (AnyTimestampType(), _) | (_, AnyTimestampType()):
            return _subtract_times(call, conf)
        case (DateType(), StringType()) if not conf.ansi:
            doubles = strings_as_doubles(call, conf).arguments
            return resolve("date_sub", doubles, conf)
        case (DateType() | StringType() | NullType(), DateType()):
            return _call(call, "subtract_dates", cast_unless_same(left, DATE, conf), right)
        case (_, DateType()):
            raise unexpected_type(call, 0, '"DATE"')
        case (DateType(), StringType()):
            return _call(call, "subtract_dates", left, cast_to(right, DATE, conf))
        case (DateType(), _):
            return resolve("date_sub", (left, right), conf)
        case _:
            return None


def _datetime_sub(call: Call, time: Expression, interval: Expression, conf: Conf) -> Expression:
    is_date = isinstance(time.data_type, DateType)
    moved = _call(call, "datetime_sub", time, interval)
    if is_date or isinstance(interval.data_type, YearMonthIntervalType):
        return moved
    return coercion.implicit(moved, time.data_type, conf)


def _subtract_times(call: Call, conf: Conf) -> Expression:
    """Two moments; without a zone, if one is. A date or string beside one becomes one."""
    types = [side.data_type for side in call.arguments]
    moment = next((t for t in types if isinstance(t, TimestampNTZType)), TIMESTAMP)
    sides = []
    for position, side in enumerate(call.arguments):
        if isinstance(side.data_type, StringType) and not conf.ansi:
            raise unexpected_type(call, position, _TIMES)
        if isinstance(side.data_type, DatetimeType | StringType | NullType):
            side = cast_unless_same(side, moment, conf)
        sides.append(side)
    for position, side in enumerate(sides):
        if not isinstance(side.data_type, AnyTimestampType):
            raise unexpected_type(call, position, _TIMES)
    return _call(call, "subtract_timestamps", *sides)


def _sub_replacement(call: Call) -> Expression:
    """`time - interval` as the addition of the negated interval."""
    time, interval = call.arguments
    minus = _negated(call, interval)
    if isinstance(interval.data_type, YearMonthIntervalType):
        is_date = isinstance(time.data_type, DateType)
        name = "date_add_ym_interval" if is_date else "timestamp_add_ym_interval"
        return _call(call, name, time, minus)
    if isinstance(time.data_type, DateType):
        if isinstance(interval.data_type, CalendarIntervalType):
            return _call(call, "date_add_interval", time, minus)
        time = cast_to(time, TIMESTAMP, conf_of(call))
    return _call(call, "timestamp_add_interval", time, minus)


def interval_times(call: Call, name: str, conf: Conf) -> Expression | None:
    """`interval * number` and `interval / number`."""
    left, right = call.arguments
    kinds = CalendarIntervalType | AnsiIntervalType
    if name == "*" and isinstance(right.data_type, kinds):
        left, right = right, left
    if not isinstance(left.data_type, kinds):
        return None
    if isinstance(right.data_type, StringType | NullType) or (
        isinstance(left.data_type, CalendarIntervalType)
    ):
        right = cast_to(right, DOUBLE, conf)
    operation = "multiply_interval" if name == "*" else "divide_interval"
    return _call(call, operation, left, right)


def _whole_interval(call: Call) -> DataType:
    """A scaled interval has all fields of its kind."""
    match call.arguments[0].data_type:
        case DayTimeIntervalType():
            return DayTimeIntervalType()
        case YearMonthIntervalType():
            return YearMonthIntervalType()
        case _:
            return CALENDAR_INTERVAL


_SCALED = "daytime|yearmonth|interval, numeric"
_OPERATIONS: tuple[tuple[str, str, Result, str, Callable[..., object]], ...] = (
    ("subtract_dates", "date, date", _DAY, "({0} - {1})", values.subtract_dates),
    (
        "subtract_timestamps",
        "anytimestamp, anytimestamp",
        DayTimeIntervalType(),
        "({0} - {1})",
        values.subtract_times,
    ),
    ("multiply_interval", _SCALED, _whole_interval, "({0} * {1})", values.scale_interval),
    ("divide_interval", _SCALED, _whole_interval, "({0} / {1})", values.scale_interval),
)

register(
    # What dates, times and intervals make of the operators.
    *each(
        scalar(
            "timestamp_add_interval",
            "anytimestamp, daytime|interval",
            0,
            evaluate=values.add_interval,
            reads_clock="of days",
        ),
        scalar(
            "timestamp_add_ym_interval", "anytimestamp, yearmonth", 0, evaluate=values.add_interval
        ),
        scalar("date_add_ym_interval", "date, yearmonth", DATE, evaluate=values.add_to_date),
        scalar("date_add_interval", "date, interval", DATE, evaluate=values.add_to_date),
        text=template("{0} + {1}"),
        pretty=template("{0} + {1}"),
        sql=template("({0} + {1})"),
        pushed_into_branches=True,
        written=False,
    ),
    scalar(
        "datetime_sub",
        "date|anytimestamp, daytime|yearmonth|interval",
        lambda call: (
            TIMESTAMP
            if isinstance(call.arguments[0].data_type, DateType)
            and isinstance(call.arguments[1].data_type, DayTimeIntervalType)
            else call.arguments[0].data_type
        ),
        text="{0} - {1}",
        pretty="{0} - {1}",
        sql="({0} - {1})",
        replacement=_sub_replacement,
        reads_clock="of days",
        written=False,
    ),
    scalar(
        "extractansiintervaldays",
        "daytime",
        INT,
        sql="extract(day FROM {0})",
        evaluate=values.days_of_interval,
        written=False,
    ),
    *(
        scalar(
            name,
            takes,
            result,
            text=form,
            pretty=form,
            sql=form,
            evaluate=evaluate,
            written=False,
        )
        for name, takes, result, form, evaluate in _OPERATIONS
    ),
)
