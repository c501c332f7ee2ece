"""Reading dates and times from texts: to_date, to_timestamp and kin."""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, Cast, Expression
from ..registry import FunctionSpec, Show, null_if_any, register
from ..schemas.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType, NumericType, TimestampNTZType
from ..settings.conf import Conf
from ..text.literal_text import session_time_zone
from ..text.quoting import to_sql_expr
from ..text.text import pretty
from ..tree import replace
from .coercion import cast_to
from .shapes import conf_of, like_call, option_type, replaced, scalar
from .time_values import read_time


def _reader(name: str, target: DataType, *, date_only: bool = False) -> FunctionSpec:
    """to_date, to_timestamp and kin: a cast, or with a format a parse."""
    fails = "false" if name.startswith("try_") else "{ansi}"
    kind = "" if date_only else f"{target.catalyst}, "
    parser = "try_to_date" if date_only else "try_to_timestamp"

    def wanted_type(call: Call) -> DataType:
        return option_type(call) if call.options else target

    def mode(call: Call) -> bool:
        return call.ansi and not name.startswith("try_")

    def build(call: Call) -> Expression:
        source = call.arguments[0]
        wanted = TIMESTAMP if date_only else wanted_type(call)
        if len(call.arguments) == 2:
            if isinstance(source.data_type, NumericType):
                raise _unresolved(call)
            options = (wanted, parser, mode(call))
            parsed = like_call(call, "gettimestamp", *call.arguments, options=options)
            return cast_to(parsed, DATE, conf_of(call)) if date_only else parsed
        return Cast(
            child=source,
            type_=wanted_type(call),
            mode="ANSI" if mode(call) else "LEGACY",
            time_zone=call.time_zone,
            implicit=True,
        )

    # A number is a time in seconds where the time has a zone.
    numbers = "|numeric" if target == TIMESTAMP else ""
    takes = f"string|date|timestamp|timestamp_ntz{numbers}"
    spec = replaced(
        name,
        f"{takes}, [string]",
        build,
        text=f"{{name}}({{0}}, {{option1}}, {kind}{{zone}}, {fails})",
    )
    if name not in ("to_timestamp", "try_to_timestamp"):
        return spec
    zoneless = replaced(name, "string|date|timestamp|timestamp_ntz, [string]", build)

    def check(call: Call, conf: Conf) -> Expression:
        assert spec.check is not None and zoneless.check is not None
        if conf["spark.sql.timestampType"].upper() == "TIMESTAMP_NTZ":
            return zoneless.check(replace(call, options=(TIMESTAMP_NTZ,)), conf)
        return spec.check(call, conf)

    return replace(spec, check=check)


def _unresolved(call: Call) -> AnalysisError:
    """A number read by a format: the function takes it, what is in its place does not."""
    shown = ", ".join(pretty(a) for a in call.arguments)
    return AnalysisError.of(
        "INTERNAL_ERROR",
        message=f"Cannot resolve the runtime replaceable expression {to_sql_expr(call)}. The"
        f' replacement is unresolved: "gettimestamp({shown})".',
    )


def _parsed_text(call: Call, show: Show) -> str:
    _, parser, fails = call.options
    shown = ", ".join(map(show, call.arguments))
    kind, zone = option_type(call).catalyst, f"Some({call.time_zone})"
    return f"gettimestamp({shown}, {kind}, {parser}, {zone}, {str(fails).lower()})"


def _parsed_value(call: Call, text: object, pattern: str) -> int:
    if not isinstance(text, str):
        raise ValueError(text)
    is_local = isinstance(option_type(call), TimestampNTZType)
    return read_time(text, pattern, "UTC" if is_local else call.time_zone or session_time_zone())


def _parsed_sql(call: Call, show: Show) -> str:
    target, _, fails = call.options
    name = "to_timestamp_ntz" if isinstance(target, TimestampNTZType) else "to_timestamp"
    if name == "to_timestamp" and not fails:
        name = "try_to_timestamp"
    return f"{name}({', '.join(show(a) for a in call.arguments)})"


register(
    _reader("to_date", DATE, date_only=True),
    _reader("try_to_date", DATE, date_only=True),
    _reader("to_timestamp", TIMESTAMP),
    _reader("to_timestamp_ltz", TIMESTAMP),
    _reader("to_timestamp_ntz", TIMESTAMP_NTZ),
    _reader("try_to_timestamp", TIMESTAMP),
    scalar(
        "gettimestamp",
        "any, string",
        option_type,
        text=_parsed_text,
        sql=_parsed_sql,
        nullable=lambda call: not call.options[2] or null_if_any(call),
        null_for_null=True,
        evaluate=_parsed_value,
        written=False,
    ),
)
