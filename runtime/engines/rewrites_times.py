"""Exact forms of functions of dates and times (rewrites.py)."""

from __future__ import annotations

from ...planner.model.expressions.core import Call, Cast, Expression, Literal
from ...planner.model.schemas.types import LongType, TimestampType
from .exact import text


def days(expression: Expression, time_zone: str) -> str | None:
    """Days added as whole numbers, which run over as in Spark."""
    if not isinstance(expression, Call) or expression.name not in ("date_add", "date_sub"):
        return None
    sign = "+" if expression.name == "date_add" else "-"
    return f"date_from_unix_date(unix_date({{0}}) {sign} CAST({{1}} AS INT))"


_UNITS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 10**6, "MINUTE": 60 * 10**6}
_UTC_UNITS = {"HOUR": 3600 * 10**6, "DAY": 86_400 * 10**6, "DD": 86_400 * 10**6}
_DATE_UNITS = {
    **dict.fromkeys(("WEEK",), "WEEK"),
    **dict.fromkeys(("MONTH", "MON", "MM"), "MONTH"),
    **dict.fromkeys(("QUARTER",), "QUARTER"),
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
}
UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


def truncated(expression: Expression, time_zone: str) -> str | None:
    """date_trunc as arithmetic on microseconds, which no year is too far away for."""
    if not isinstance(expression, Call) or expression.name != "date_trunc":
        return None
    unit, _ = expression.arguments
    if not isinstance(unit, Literal) or not isinstance(unit.value, str):
        return None
    name = unit.value.upper()
    size = _UNITS.get(name) or (_UTC_UNITS.get(name) if time_zone in UTC else None)
    micros = "unix_micros({1})"
    if size is not None:
        return f"timestamp_micros({micros} - pmod({micros}, {size}L))"
    if name in _DATE_UNITS:
        return f"CAST(trunc(CAST({{1}} AS DATE), '{_DATE_UNITS[name]}') AS TIMESTAMP)"
    if name in ("DAY", "DD"):
        return "CAST(CAST({1} AS DATE) AS TIMESTAMP)"
    return None


_LOCAL = frozenset(
    ("date_format", "hour", "minute", "second", "secondwithfraction", "cast", "date_trunc")
)


def local(expression: Expression, time_zone: str) -> str | None:
    """A time read as what clocks show in the session's time zone."""
    name = expression.name if isinstance(expression, Call) else "cast"
    if name not in _LOCAL or time_zone in UTC:
        return None
    shifted = f"from_utc_timestamp({{0}}, {text(time_zone)})"
    if isinstance(expression, Call) and expression.name == "date_format":
        return f"date_format({shifted}, {{1}})"
    if isinstance(expression, Call) and len(expression.arguments) == 1:
        return f"{name}({shifted})" if name in ("hour", "minute", "second") else None
    return None


def epoch(expression: Expression, time_zone: str) -> str | None:
    """The whole numbers that times are, by plain arithmetic that rounds down as Spark's does."""
    micros = "unix_micros({0})"
    if isinstance(expression, Cast):
        seconds = isinstance(expression.child.data_type, TimestampType)
        whole = isinstance(expression.type_, LongType)
        return (
            f"(({micros} - pmod({micros}, 1000000L)) div 1000000L)" if seconds and whole else None
        )
    if not isinstance(expression, Call):
        return None
    match expression.name:
        case "unix_seconds" | "unix_millis":
            size = 10**6 if expression.name == "unix_seconds" else 1000
            return f"(({micros} - pmod({micros}, {size}L)) div {size}L)"
        case "unix_timestamp" | "to_unix_timestamp" if isinstance(
            expression.arguments[0].data_type, TimestampType
        ):
            return f"(({micros} - pmod({micros}, {10**6}L)) div {10**6}L)"
        case "knownnullable" | "knownnotnull" | "knownnotcontainsnull":
            return "{0}"
    return None
