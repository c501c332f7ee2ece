"""Dates and times: now, parts, arithmetic, reading and writing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, Show, null_if_any, register
from ..schemas.types import (
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    FractionalType,
    NullType,
    NumericType,
    StringType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from ..text.literal_text import session_time_zone
from ..tree import replace
from . import time_values as values
from .cast_values import MICROS, local_micros, utc_micros
from .coercion import cast_to
from .mismatch import ArgumentError, require_count, wrong_argument_count
from .operator_values import add_months
from .shapes import (
    always_null,
    check_types,
    each,
    like_call,
    named,
    never_null,
    resolve,
    scalar,
    template,
)

_UNIX_FORMAT = "yyyy-MM-dd HH:mm:ss"
_MOMENT = "!anytimestamp|nanos"


def _lenient(call: Call) -> bool:
    """Outside ANSI mode what cannot be read is null."""
    return not call.ansi or null_if_any(call)


def _unix_timestamp(name: str, *, now: bool) -> FunctionSpec:
    def check(call: Call, conf: Conf) -> Expression:
        given = list(call.arguments)
        if not given and now:
            given.append(resolve("current_timestamp", (), conf))
        if len(given) == 1:
            given.append(lit(_UNIX_FORMAT))
        if len(given) != 2:
            expected = "[0, 1, 2]" if now else "[1, 2]"
            raise wrong_argument_count(name, expected, len(given))
        full = like_call(call, name, *given)
        return check_types(full, ["!string|date|timestamp|timestamp_ntz|nanos", "string"], conf)

    return scalar(
        name,
        "any, any",
        LONG,
        check=check,
        nullable=_lenient,
        text="{name}({args}, {zone}, {ansi})",
        evaluate=values.unix_timestamp,
    )


def _current(name: str, result: DataType, shown: str, **fields: Any) -> FunctionSpec:
    return scalar(name, "", result, nullable=never_null, text=shown, current_time=True, **fields)


def _check_convert(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    if len(call.arguments) == 2:
        zone = resolve("current_timezone", (), conf)
        call = like_call(call, call.name, zone, *call.arguments)
    return check_types(call, ["string", "string", "timestamp_ntz"], conf)


def _make_timestamp(name: str, target: DataType, tried_as: str = "") -> FunctionSpec:
    """`tried_as` is what plans call one that never fails."""

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, 6, 7)
        given = list(call.arguments)
        if isinstance(given[5].data_type, NumericType | StringType | NullType):
            given[5] = cast_to(given[5], DecimalType(16, 6), conf)
        kinds = [*["int"] * 5, "decimal", *["string"] * (len(given) - 6)]
        return check_types(like_call(call, name, *given), kinds, conf)

    def show(call: Call, inner: Show) -> str:
        shown = ", ".join(inner(a) for a in call.arguments[:6])
        zone = f"Some({inner(call.arguments[6])})" if len(call.arguments) == 7 else "None"
        ansi = str(call.ansi and not tried_as).lower()
        called = tried_as or name
        return f"{called}({shown}, {zone}, Some({call.time_zone}), {ansi}, {target.catalyst})"

    return scalar(
        name,
        "any...",
        target,
        check=check,
        text=show,
        # Spark forgets the zone in the name.
        pretty="{name}({0}, {1}, {2}, {3}, {4}, {5})" if name == "try_make_timestamp" else None,
        nullable=lambda call: bool(tried_as) or _lenient(call),
        null_intolerant=not tried_as,
        evaluate=None if tried_as else values.make_timestamp,
    )


_ZERO_SECONDS = Literal(value=Decimal("0.000000"), type_=DecimalType(18, 6))


def _interval_maker(name: str, kinds: list[str], result: DataType, extra: str = "") -> FunctionSpec:
    """make_interval and kin: what is left out is zero."""

    def check(call: Call, conf: Conf) -> Expression:
        count = len(call.arguments)
        require_count(call, *range(len(kinds) + 1))
        rest = [_ZERO_SECONDS if k == "decimal" else lit(0) for k in kinds[count:]]
        full = like_call(call, name, *call.arguments, *rest)
        if "decimal" in kinds:
            seconds = cast_to(full.arguments[-1], DecimalType(18, 6), conf)
            full = like_call(call, name, *full.arguments[:-1], seconds)
        return check_types(full, kinds, conf)

    return scalar(
        name,
        "any...",
        result,
        check=check,
        text=f"{{name}}({{args}}{extra})",
        evaluate=_interval_value,
    )


def _check_date_add(call: Call, conf: Conf) -> Expression:
    """Days are whole numbers of at most 32 bits, or a string that says one."""
    require_count(call, 2)
    day, count = call.arguments
    if isinstance(count.data_type, StringType):
        call = like_call(call, call.name, day, cast_to(count, INT, conf))
    return check_types(call, ["date", "!int|smallint|tinyint"], conf)


def _check_bucket(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    if len(call.arguments) == 2:
        origin = Literal(value=0, type_=TIMESTAMP)
        call = like_call(call, "time_bucket", *call.arguments, origin)
    return check_types(call, ["daytime|yearmonth", "anytimestamp", "anytimestamp"], conf)


def _interval_value(call: Call, *parts: int) -> object:
    seconds = int(Decimal(parts[-1]) * MICROS) if len(parts) > 2 else 0
    match call.name:
        case "make_interval":
            years, months, weeks, days, hours, minutes, _ = parts
            micros = (hours * 3600 + minutes * 60) * MICROS + seconds
            return years * 12 + months, weeks * 7 + days, micros
        case "make_dt_interval":
            days, hours, minutes, _ = parts
            return ((days * 24 + hours) * 60 + minutes) * 60 * MICROS + seconds
        case _:
            return parts[0] * 12 + parts[1]


def _unit_function(
    name: str, takes: list[str], result: DataType | int, evaluate: Callable[..., int]
) -> FunctionSpec:
    """timestampadd and timestampdiff: the first argument is a unit."""

    def check(call: Call, conf: Conf) -> Expression:
        require_count(call, 3)
        try:
            return check_types(call, ["string", *takes], conf)
        except ArgumentError as error:
            # The unit does not count.
            for place, other in (("second", "first"), ("third", "second")):
                error.message = error.message.replace(
                    f"The {place} parameter", f"The {other} parameter"
                )
            raise

    def show_sql(call: Call, show: Show) -> str:
        unit, *rest = call.arguments
        word = str(unit.value) if isinstance(unit, Literal) else show(unit)
        return f"{name}({word}, {', '.join(show(a) for a in rest)})"

    return scalar(
        name,
        "any...",
        result,
        check=check,
        text="{name}({args}, {zone})",
        sql=show_sql,
        evaluate=evaluate,
    )


register(
    # Now. The optimizer puts the batch's time in their place.
    _current("current_timestamp", TIMESTAMP, "current_timestamp()", literal=True),
    _current("now", TIMESTAMP, "now()"),
    _current("localtimestamp", TIMESTAMP_NTZ, "localtimestamp({zone})", reads_clock="always"),
    _current(
        "current_date",
        DATE,
        "current_date({zone})",
        aliases=("curdate",),
        reads_clock="always",
        literal=True,
    ),
    scalar(
        "current_timezone",
        "",
        STRING,
        nullable=never_null,
        evaluate=lambda call: call.time_zone or session_time_zone(),
    ),
    # Arithmetic.
    *each(
        scalar(
            "date_add",
            "date, int",
            DATE,
            check=_check_date_add,
            evaluate=lambda call, d, n: d + n,
            aliases=("dateadd",),
        ),
        scalar(
            "date_sub", "date, int", DATE, check=_check_date_add, evaluate=lambda call, d, n: d - n
        ),
        *named(
            scalar("datediff", "date, date", INT, evaluate=lambda call, a, b: a - b), "date_diff"
        ),
        scalar("add_months", "date, int|yearmonth", DATE, evaluate=add_months),
        pushed_into_branches=True,
    ),
    scalar(
        "months_between",
        "timestamp, timestamp, [boolean=true]",
        DOUBLE,
        text="months_between({args}, {zone})",
        evaluate=values.months_between,
    ),
    scalar(
        "next_day",
        "date, string",
        DATE,
        text="next_day({args}, {ansi})",
        nullable=always_null,
        evaluate=values.next_day,
    ),
    scalar(
        "trunc",
        "date, string",
        DATE,
        nullable=always_null,
        null_for_null=True,
        evaluate=values.trunc,
        any_case=(1,),
    ),
    scalar(
        "date_trunc",
        "string, timestamp|nanos",
        TIMESTAMP,
        text="date_trunc({args}, {zone})",
        nullable=always_null,
        null_for_null=True,
        evaluate=values.date_trunc,
        any_case=(0,),
    ),
    _unit_function("timestampadd", ["bigint", "anytimestamp"], 2, values.timestampadd),
    _unit_function("timestampdiff", ["timestamp", "timestamp"], LONG, values.timestampdiff),
    *(
        scalar(
            name,
            "timestamp, string",
            TIMESTAMP,
            evaluate=lambda call, time, zone, to=to: to(time, zone),
        )
        for name, to in (("from_utc_timestamp", local_micros), ("to_utc_timestamp", utc_micros))
    ),
    scalar("convert_timezone", "any...", TIMESTAMP_NTZ, check=_check_convert),
    # Numbers.
    scalar("unix_date", "date", INT, evaluate=lambda call, d: d),
    scalar("date_from_unix_date", "int", DATE, evaluate=lambda call, n: n),
    *each(
        scalar("unix_micros", _MOMENT, LONG, evaluate=lambda call, t: t),
        scalar("unix_millis", _MOMENT, LONG, evaluate=lambda call, t: t // 1000),
        scalar("unix_seconds", _MOMENT, LONG, evaluate=lambda call, t: t // MICROS),
        scalar("timestamp_micros", "integral", TIMESTAMP, evaluate=lambda call, n: n),
        scalar("timestamp_millis", "integral", TIMESTAMP, evaluate=lambda call, n: n * 1000),
        scalar(
            "timestamp_seconds",
            "!numeric",
            TIMESTAMP,
            nullable=lambda call: (
                null_if_any(call) or isinstance(call.arguments[0].data_type, FractionalType)
            ),
            null_intolerant=True,
            evaluate=lambda call, n: int(n * MICROS),
        ),
        reads_clock="never",
    ),
    _unix_timestamp("unix_timestamp", now=True),
    _unix_timestamp("to_unix_timestamp", now=False),
    # Texts.
    *each(
        scalar(
            "date_format",
            "timestamp|time|nanos, string",
            STRING,
            text="date_format({args}, {zone})",
            evaluate=values.date_format,
        ),
        scalar(
            "from_unixtime",
            f"bigint, [string={_UNIX_FORMAT}]",
            STRING,
            text="from_unixtime({args}, {zone})",
            evaluate=values.from_unixtime,
            nullable=always_null,
        ),
        constant_text="time format",
    ),
    # Made of parts.
    scalar(
        "make_date",
        "int, int, int",
        DATE,
        text="make_date({args}, {ansi})",
        nullable=_lenient,
        null_intolerant=True,
        evaluate=lambda call, y, m, d: (date(y, m, d) - values.EPOCH).days,
    ),
    _make_timestamp("make_timestamp", TIMESTAMP),
    _make_timestamp("make_timestamp_ltz", TIMESTAMP),
    _make_timestamp("make_timestamp_ntz", TIMESTAMP_NTZ),
    _make_timestamp("try_make_timestamp", TIMESTAMP, "make_timestamp"),
    _make_timestamp("try_make_timestamp_ltz", TIMESTAMP, "try_make_timestamp_ltz"),
    _make_timestamp("try_make_timestamp_ntz", TIMESTAMP_NTZ, "try_make_timestamp_ntz"),
    _interval_maker("make_interval", [*["int"] * 6, "decimal"], CALENDAR_INTERVAL, ", {ansi}"),
    replace(
        _interval_maker("try_make_interval", [*["int"] * 6, "decimal"], CALENDAR_INTERVAL),
        text=template("make_interval({args}, false)"),
        nullable=always_null,
        evaluate=None,
    ),
    _interval_maker("make_dt_interval", [*["int"] * 3, "decimal"], DayTimeIntervalType()),
    _interval_maker("make_ym_interval", ["int", "int"], YearMonthIntervalType()),
    scalar(
        "time_bucket",
        "daytime|yearmonth, anytimestamp, anytimestamp",
        1,
        check=_check_bucket,
        text="time_bucket({args}, {zone})",
    ),
)
