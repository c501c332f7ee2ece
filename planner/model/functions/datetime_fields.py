"""Fields of dates, times and intervals: `year(d)`, `extract(hour FROM ts)`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, Show, one_function, register
from ..schemas.types import (
    BYTE,
    DATE,
    INT,
    STRING,
    AnsiIntervalType,
    DataType,
    DecimalType,
    TimestampNTZType,
)
from ..settings.conf import Conf
from ..text.literal_text import session_time_zone
from ..text.quoting import to_sql_expr, to_sql_id
from ..text.text import pretty
from ..tree import replace
from .cast_values import MICROS, local_micros
from .mismatch import non_foldable_argument, wrong_argument_count
from .operator_values import last_day
from .shapes import check_types, conf_of, like_call, named, replaced, resolve, scalar
from .time_values import EPOCH, interval_part, second


def _part(name: str, of: Callable[[date], object], result: DataType = INT) -> FunctionSpec:
    """A field of a date."""
    return scalar(
        name,
        "date",
        result,
        evaluate=lambda call, days: of(EPOCH + timedelta(days=days)),
        pushed_into_branches=True,
    )


def _time_part(name: str, unit: int, limit: int) -> FunctionSpec:
    """A field of the time of day, in the session's zone."""

    def evaluate(call: Call, micros: int) -> int:
        ntz = isinstance(call.arguments[0].data_type, TimestampNTZType)
        local = micros if ntz else local_micros(micros, call.time_zone or session_time_zone())
        return local // unit % limit

    def check(call: Call, conf: Conf) -> Expression:
        if not call.arguments:
            raise wrong_argument_count(name, "> 0", 0)
        # Spark reads the first argument and drops the others.
        return check_types(replace(call, arguments=call.arguments[:1]), ["anytimestamp"], conf)

    return scalar(name, "any...", INT, check=check, text="{name}({0}, {zone})", evaluate=evaluate)


_FIELDS: dict[str, str] = {
    **dict.fromkeys(("year", "y", "years", "yr", "yrs"), "year"),
    "yearofweek": "yearofweek",
    **dict.fromkeys(("quarter", "qtr"), "quarter"),
    **dict.fromkeys(("month", "mon", "mons", "months"), "month"),
    **dict.fromkeys(("week", "w", "weeks"), "weekofyear"),
    **dict.fromkeys(("day", "d", "days"), "dayofmonth"),
    **dict.fromkeys(("dayofweek", "dow"), "dayofweek"),
    **dict.fromkeys(("dayofweek_iso", "dow_iso"), "weekday"),
    "doy": "dayofyear",
    **dict.fromkeys(("hour", "h", "hours", "hr", "hrs"), "hour"),
    **dict.fromkeys(("minute", "m", "min", "mins", "minutes"), "minute"),
    **dict.fromkeys(("second", "s", "sec", "seconds", "secs"), "secondwithfraction"),
}


_INTERVAL_FIELDS = {
    "year": "year",
    "month": "month",
    "dayofmonth": "day",
    "hour": "hour",
    "minute": "minute",
    "secondwithfraction": "second",
}


def _extract(call: Call) -> Expression:
    """The function that gives the field: `extract(hour FROM ts)` is `hour(ts)`."""
    field, source = call.arguments
    if not field.foldable:
        raise non_foldable_argument(call.name, "field", "STRING")
    word = str(field.value).lower() if isinstance(field, Literal) else ""
    function = _FIELDS.get(word)
    kind, of_interval = source.data_type, _INTERVAL_FIELDS.get(function or "")
    fields = kind.fields if isinstance(kind, AnsiIntervalType) else None
    if function is None or (fields is not None and of_interval not in fields):
        raise AnalysisError.of(
            "INVALID_EXTRACT_FIELD", field=to_sql_id(pretty(field)), expr=to_sql_expr(source)
        )
    if fields is not None:
        return like_call(call, f"extractansiinterval{of_interval}s", source)
    result = resolve(function, (source,), conf_of(call))
    if function == "weekday":
        return like_call(call, "+", result, lit(1))
    return result


def _extract_from(call: Call, show: Show) -> str:
    field, source = map(show, call.arguments)
    return f"{call.name}({field} FROM {source})"


register(
    # Parts.
    _part("year", lambda d: d.year),
    replace(_part("yearofweek", lambda d: d.isocalendar().year), written=False),
    _part("quarter", lambda d: (d.month + 2) // 3),
    _part("month", lambda d: d.month),
    _part("weekofyear", lambda d: d.isocalendar().week),
    *named(_part("dayofmonth", lambda d: d.day), "day"),
    _part("dayofweek", lambda d: d.isoweekday() % 7 + 1),
    _part("weekday", lambda d: d.weekday()),
    _part("dayofyear", lambda d: d.timetuple().tm_yday),
    _part("monthname", lambda d: d.strftime("%b"), STRING),
    _part("dayname", lambda d: d.strftime("%a"), STRING),
    scalar("last_day", "date", DATE, evaluate=last_day, pushed_into_branches=True),
    _time_part("hour", 3600 * MICROS, 24),
    _time_part("minute", 60 * MICROS, 60),
    _time_part("second", MICROS, 60),
    scalar(
        "secondwithfraction",
        "anytimestamp",
        DecimalType(8, 6),
        text="secondwithfraction({0}, {zone})",
        evaluate=second,
        written=False,
        sql="extract(second FROM {0})",
    ),
    replaced("extract", "any, any", _extract, pretty=_extract_from, parsed_operands=(2, 2)),
    *one_function(
        replaced("date_part", "any, any", _extract),
        replaced("datepart", "any, any", _extract, pretty=_extract_from),
    ),
    *(
        scalar(
            f"extractansiinterval{field}",
            "daytime|yearmonth",
            result,
            sql=f"extract({field.removesuffix('s')} FROM {{0}})",
            evaluate=interval_part,
            written=False,
        )
        for field, result in (
            ("years", INT),
            ("months", BYTE),
            ("hours", BYTE),
            ("minutes", BYTE),
            ("seconds", DecimalType(8, 6)),
        )
    ),
)
