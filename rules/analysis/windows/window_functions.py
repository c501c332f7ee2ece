"""window, session_window and window_time as calls: arguments read and checked.

The expressions they become are expanded by `time_windows`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Call, Expression, Literal
from ....planner.model.expressions.intervals import DAY_MICROS, parse_interval
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.expressions.windows import SessionWindow, TimeWindow, WindowTime
from ....planner.model.functions.mismatch import input_of
from ....planner.model.schemas.types import (
    CALENDAR_INTERVAL,
    TIMESTAMP,
    WINDOW,
    AnyTimestampType,
    CalendarIntervalType,
    DataType,
    DateType,
    IntegralType,
    NullType,
    StringType,
    StructType,
)
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.text.text import plain_text, pretty
from ....planner.model.tree import replace
from ..context import Context
from ..failures import (
    Invalid,
    failure,
    invalid,
    located,
    mismatch,
    wrong_argument_count,
)

TIME_TYPES = (
    '("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" or "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"'
    ' or "STRUCT<start: TIMESTAMP_NTZ, end: TIMESTAMP_NTZ>")'
)


def _window(function: UnresolvedFunction, context: Context) -> Expression:
    count = len(function.arguments)
    if count not in (2, 3, 4):
        raise wrong_argument_count("window", "[2, 3, 4]", count, function.origin)
    durations = [_duration(a, function) for a in function.arguments[1:]]
    size = durations[0]
    return TimeWindow(
        time=function.arguments[0],
        size=size,
        slide=durations[1] if count > 2 else size,
        start=durations[2] if count > 3 else 0,
        origin=function.origin,
    )


def _duration(argument: Expression, function: UnresolvedFunction) -> int:
    """A constant duration in microseconds."""
    negative = isinstance(argument, Call) and argument.name == "negative"
    literal = argument.arguments[0] if isinstance(argument, Call) and negative else argument
    if isinstance(literal, Literal):
        value = literal.value
        if isinstance(literal.type_, IntegralType) and isinstance(value, int):
            return -value if negative else value
        if isinstance(value, str) and isinstance(literal.type_, StringType):
            return _interval_micros(value, function)
    raise failure("_LEGACY_ERROR_TEMP_1207", origin=function.origin)


def _interval_micros(text: str, function: UnresolvedFunction) -> int:
    try:
        months, days, micros = parse_interval(text)
    except AnalysisError as error:
        raise located(error, function.origin) from None
    if months:
        raise failure("_LEGACY_ERROR_TEMP_3231", interval=text)
    return days * DAY_MICROS + micros


def _session(function: UnresolvedFunction, context: Context) -> Expression:
    if len(function.arguments) != 2:
        raise wrong_argument_count("session_window", "2", len(function.arguments), function.origin)
    time, gap = function.arguments
    return SessionWindow(time=time, gap=gap, origin=function.origin)


def _window_time(function: UnresolvedFunction, context: Context) -> Expression:
    if len(function.arguments) != 1:
        raise wrong_argument_count("window_time", "1", len(function.arguments), function.origin)
    return WindowTime(window=function.arguments[0], origin=function.origin)


WINDOW_FUNCTIONS: dict[str, Callable[[UnresolvedFunction, Context], Expression]] = {
    "window": _window,
    "session_window": _session,
    "window_time": _window_time,
}


def is_window(data_type: DataType) -> bool:
    """Whether a type is that of a time window: a struct of start and end."""
    return isinstance(data_type, StructType) and [f.name for f in data_type.fields] == [
        f.name for f in WINDOW.fields
    ]


def check_time_window(window: TimeWindow, context: Context) -> TimeWindow:
    """The window over a timestamp: dates and texts are cast; wrong ones keep their error."""
    if isinstance(window, Invalid) or not window.time.resolved:
        return window
    window = replace(window, time=_as_time(window.time, context))
    if not _is_time(window.time.data_type):
        return _invalid(window, "UNEXPECTED_INPUT_TYPE", **input_of(0, window.time, TIME_TYPES))
    for name, value in (("window_duration", window.size), ("slide_duration", window.slide)):
        if value <= 0:
            return _invalid(
                window,
                "VALUE_OUT_OF_RANGE",
                exprName=to_sql_id(name),
                valueRange="(0, 9223372036854775807]",
                currentValue=f"{value}L",
            )
    slide, size = ("slide_duration", window.slide), ("window_duration", window.size)
    start = ("abs(start_time)", abs(window.start))
    for fits, left, constraint, right in (
        (window.slide <= window.size, slide, "<=", size),
        (abs(window.start) < window.slide, start, "<", slide),
    ):
        if not fits:
            return _invalid(
                window,
                "PARAMETER_CONSTRAINT_VIOLATION",
                leftExprName=to_sql_id(left[0]),
                leftExprValue=f"{left[1]}L",
                constraint=constraint,
                rightExprName=to_sql_id(right[0]),
                rightExprValue=f"{right[1]}L",
            )
    return window


def _as_time(time: Expression, context: Context) -> Expression:
    if isinstance(time.data_type, StringType | DateType | NullType):
        return context.cast(time, TIMESTAMP)
    return time


def _is_time(data_type: DataType) -> bool:
    return isinstance(data_type, AnyTimestampType) or is_window(data_type)


def _invalid(window: TimeWindow, kind: str, /, **parameters: Any) -> TimeWindow:
    sql = f"window({plain_text(window.time)}, {window.size}, {window.slide}, {window.start})"
    return invalid(window, mismatch(kind, sql, window.origin, **parameters))


def check_session_window(window: SessionWindow, context: Context) -> SessionWindow:
    """The session over a timestamp with its gap as an interval.

    Raises:
        AnalysisError: the gap is neither an interval nor a text.
    """
    if isinstance(window, Invalid):
        return window
    time = _as_time(window.time, context)
    gap = window.gap
    if isinstance(gap.data_type, StringType | NullType):
        gap = context.cast(gap, CALENDAR_INTERVAL)
    elif not isinstance(gap.data_type, CalendarIntervalType):
        raise failure("_LEGACY_ERROR_TEMP_1040", dt=_interval_class(gap.data_type))
    if not _is_time(time.data_type):
        sql = f"sessionwindow({plain_text(time)}, {plain_text(gap)})"
        given = input_of(0, time, TIME_TYPES)
        error = mismatch("UNEXPECTED_INPUT_TYPE", sql, window.origin, **given)
        return invalid(replace(window, time=time), error)
    if time is window.time and gap is window.gap:
        return window
    return replace(window, time=time, gap=gap)


def check_window_time(time: WindowTime) -> WindowTime:
    """`window_time` over a struct; anything else keeps its error."""
    window = time.window
    if isinstance(window.data_type, StructType) or isinstance(time, Invalid):
        return time
    given = input_of(0, window, '"STRUCT"')
    error = mismatch("UNEXPECTED_INPUT_TYPE", pretty(time), time.origin, **given)
    return invalid(time, error)


def _interval_class(data_type: DataType) -> str:
    start, end = getattr(data_type, "start", None), getattr(data_type, "end", None)
    return data_type.catalyst if start is None else f"{data_type.catalyst}({start},{end})"
