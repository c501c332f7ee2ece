"""`+ - * / % div`, bits, signs, and what they become over dates, times and intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..conf import Conf
from ..expressions import Call, Expression, Literal
from ..registry import FunctionSpec, Show, null_if_any, register
from ..types import (
    CALENDAR_INTERVAL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    TIMESTAMP,
    CalendarIntervalType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)
from . import coercion
from . import operator_values as values
from .casts import decimal_for
from .coercion import adjusted_decimal, cast_to, decimal_of_literal, tightest_common_type
from .inputs import parameter
from .mismatch import binary_diff_types, binary_wrong_type, unexpected_type
from .shapes import always_null, conf_of, resolve, scalar, with_arguments

_INTERVALS = '"INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH" or "INTERVAL"'
_TIMES = (
    '("(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)" or '
    '"(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])")'
)
_NUMERIC = "numeric"
_WITH_INTERVALS = "numeric|daytime|yearmonth|interval"
_DAY = DayTimeIntervalType(0, 0)


# --------------------------------------------------------------------- coercion of two operands


def _common_string(left: DataType, right: DataType) -> DataType | None:
    """The type that a string operand gives way to in ANSI mode."""
    if not (isinstance(left, StringType) or isinstance(right, StringType)):
        return None
    if left == right:
        return None
    other = right if isinstance(left, StringType) else left
    if isinstance(other, NullType):
        return left if isinstance(left, StringType) else right
    return coercion.ansi_string_promotion(left, right)


def promote(expression: Expression, data_type: DataType, conf: Conf) -> Expression:
    """A cast, but a bare null becomes a null of the type."""
    if isinstance(expression.data_type, NullType):
        return Literal(value=None, type_=data_type)
    return cast_to(expression, data_type, conf)


def with_decimals(call: Call, conf: Conf) -> Call:
    """Numbers beside a decimal: whole numbers become decimals, decimals beside floats doubles."""
    left, right = call.arguments
    a, b = left.data_type, right.data_type
    if a == b:
        return call
    match a, b:
        case (IntegralType(), DecimalType()):
            return with_arguments(call, (_as_decimal(left, conf), right))
        case (DecimalType(), IntegralType()):
            return with_arguments(call, (left, _as_decimal(right, conf)))
        case (FloatType() | DoubleType(), DecimalType()):
            return with_arguments(call, (left, cast_to(right, DOUBLE, conf)))
        case (DecimalType(), FloatType() | DoubleType()):
            return with_arguments(call, (cast_to(left, DOUBLE, conf), right))
        case _:
            return call


def _as_decimal(expression: Expression, conf: Conf) -> Expression:
    if isinstance(expression, Literal) and expression.value is not None:
        return cast_to(expression, decimal_of_literal(expression), conf)
    return cast_to(expression, decimal_for(expression.data_type), conf)


def coerce_operands(call: Call, conf: Conf, takes: str) -> Call:
    """Both operands of an operator at one type, if there is one that it takes."""
    left, right = call.arguments
    if conf.ansi:
        promoted = _common_string(left.data_type, right.data_type)
        if promoted is not None:
            call = with_arguments(
                call, (promote(left, promoted, conf), promote(right, promoted, conf))
            )
    else:
        call = _strings_as_doubles(call, conf)
    call = with_decimals(call, conf)
    left, right = call.arguments
    if left.data_type != right.data_type and not (
        isinstance(left.data_type, DecimalType) and isinstance(right.data_type, DecimalType)
    ):
        common = tightest_common_type(left.data_type, right.data_type, conf)
        if common is not None and parameter(takes).implicit(common, ansi=True) == common:
            call = with_arguments(call, (cast_to(left, common, conf), cast_to(right, common, conf)))
    return call


def _strings_as_doubles(call: Call, conf: Conf) -> Call:
    """Without ANSI a string operand of arithmetic is a double (or a decimal's double)."""
    left, right = call.arguments
    a, b = left.data_type, right.data_type
    skip = CalendarIntervalType | DayTimeIntervalType | YearMonthIntervalType
    if isinstance(a, StringType) and not isinstance(b, skip):
        left = cast_to(left, DOUBLE, conf)
    if isinstance(b, StringType) and not isinstance(a, skip):
        right = cast_to(right, DOUBLE, conf)
    return with_arguments(call, (left, right))


def check_operands(call: Call, takes: str) -> Call:
    """The call itself.

    Raises:
        AnalysisError: BINARY_OP_DIFF_TYPES or BINARY_OP_WRONG_TYPE.
    """
    left, right = (a.data_type for a in call.arguments)
    both_decimal = isinstance(left, DecimalType) and isinstance(right, DecimalType)
    same_intervals = isinstance(left, _ANSI_INTERVAL) and type(left) is type(right)
    if left != right and not both_decimal and not same_intervals:
        raise binary_diff_types(call)
    kind = parameter(takes)
    if kind.implicit(left, ansi=True) != left or isinstance(left, NullType):
        raise binary_wrong_type(call, kind.sql)
    return call


_ANSI_INTERVAL = DayTimeIntervalType | YearMonthIntervalType


# ------------------------------------------------------------------- dates, times and intervals


def _to_timestamp(expression: Expression, conf: Conf) -> Expression:
    return cast_to(expression, TIMESTAMP, conf)


def _call(like: Call, name: str, *arguments: Expression) -> Call:
    return replace(like, name=name, arguments=arguments, options=())


def _negated(call: Call, expression: Expression) -> Call:
    return _call(call, "negative", expression)


def _add_datetime(call: Call, conf: Conf) -> Expression | None:
    left, right = call.arguments
    match left.data_type, right.data_type:
        case (DateType(), DayTimeIntervalType() as interval):
            return _date_plus(call, left, right, interval, conf)
        case (DayTimeIntervalType() as interval, DateType()):
            return _date_plus(call, right, left, interval, conf)
        case (DateType(), YearMonthIntervalType()):
            return _call(call, "date_add_ym_interval", left, right)
        case (YearMonthIntervalType(), DateType()):
            return _call(call, "date_add_ym_interval", right, left)
        case (TimestampType() | TimestampNTZType(), YearMonthIntervalType()):
            return _call(call, "timestamp_add_ym_interval", left, right)
        case (YearMonthIntervalType(), TimestampType() | TimestampNTZType()):
            return _call(call, "timestamp_add_ym_interval", right, left)
        case (CalendarIntervalType(), CalendarIntervalType()):
            return None
        case (DayTimeIntervalType(), DayTimeIntervalType()):
            return None
        case (YearMonthIntervalType(), _) | (_, YearMonthIntervalType()):
            return None
        case (DateType(), CalendarIntervalType()):
            return _call(call, "date_add_interval", left, right)
        case (CalendarIntervalType(), DateType()):
            return _call(call, "date_add_interval", right, left)
        case (NullType(), DayTimeIntervalType()) | (DayTimeIntervalType(), NullType()):
            return None
        case (_, CalendarIntervalType() | DayTimeIntervalType()):
            return _time_plus(call, left, right, conf)
        case (CalendarIntervalType() | DayTimeIntervalType(), _):
            return _time_plus(call, right, left, conf)
        case (DateType(), StringType()) | (StringType(), DateType()):
            return None
        case (DateType(), _):
            return resolve("date_add", (left, right), conf)
        case (_, DateType()):
            return resolve("date_add", (right, left), conf)
        case _:
            return None


def _date_plus(
    call: Call, date: Expression, interval: Expression, kind: DayTimeIntervalType, conf: Conf
) -> Expression:
    if kind == _DAY:
        return _call(call, "date_add", date, _call(call, "extractansiintervaldays", interval))
    return _call(call, "timestamp_add_interval", _to_timestamp(date, conf), interval)


def _time_plus(call: Call, time: Expression, interval: Expression, conf: Conf) -> Expression:
    if isinstance(time.data_type, StringType | NullType):
        target = time.data_type
        moved = _call(call, "timestamp_add_interval", _to_timestamp(time, conf), interval)
        return coercion.implicit(moved, target, conf)
    if not isinstance(time.data_type, TimestampType | TimestampNTZType):
        raise binary_diff_types(call)
    moved = _call(call, "timestamp_add_interval", time, interval)
    return coercion.implicit(moved, time.data_type, conf)


def _subtract_datetime(call: Call, conf: Conf) -> Expression | None:
    left, right = call.arguments
    match left.data_type, right.data_type:
        case (DateType(), DayTimeIntervalType() as interval) if interval == _DAY:
            days = _call(call, "extractansiintervaldays", right)
            return _call(call, "date_add", left, _negated(call, days))
        case (
            DateType() | TimestampType() | TimestampNTZType(),
            DayTimeIntervalType() | YearMonthIntervalType() | CalendarIntervalType(),
        ):
            return _datetime_sub(call, left, right, conf)
        case (CalendarIntervalType(), _) | (DayTimeIntervalType(), _):
            return None
        case (YearMonthIntervalType(), _) | (_, YearMonthIntervalType()):
            return None
        case (StringType(), DayTimeIntervalType() | CalendarIntervalType()):
            return coercion.implicit(
                _call(call, "datetime_sub", _to_timestamp(left, conf), right), left.data_type, conf
            )
        case (TimestampType() | TimestampNTZType(), _) | (_, TimestampType() | TimestampNTZType()):
            return _subtract_times(call, conf)
        case (DateType(), StringType()) if not conf.ansi:
            doubles = _strings_as_doubles(call, conf).arguments
            return resolve("date_sub", doubles, conf)
        case (_, DateType()):
            return _call(call, "subtract_dates", *(cast_to(s, DATE, conf) for s in call.arguments))
        case (DateType(), StringType()):
            dates = (left, cast_to(right, DATE, conf))
            return _call(call, "subtract_dates", *dates)
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
    """Two moments; a date or string beside a timestamp becomes one."""
    sides = []
    for position, side in enumerate(call.arguments):
        if isinstance(side.data_type, StringType) and not conf.ansi:
            raise unexpected_type(call, position, _TIMES)
        if isinstance(side.data_type, DateType | StringType | NullType):
            side = _to_timestamp(side, conf)
        sides.append(side)
    if not all(isinstance(s.data_type, TimestampType | TimestampNTZType) for s in sides):
        raise binary_diff_types(call)
    if sides[0].data_type != sides[1].data_type:
        sides = [_to_timestamp(side, conf) for side in sides]
    return _call(call, "subtract_timestamps", *sides)


def sub_replacement(call: Call) -> Expression:
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
        time = _to_timestamp(time, conf_of(call))
    return _call(call, "timestamp_add_interval", time, minus)


def _interval_times(call: Call, name: str, conf: Conf) -> Expression | None:
    """`interval * number` and `interval / number`."""
    left, right = call.arguments
    kinds = CalendarIntervalType | DayTimeIntervalType | YearMonthIntervalType
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


# --------------------------------------------------------------------------------- result types


def _sum_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return adjusted_decimal(whole + scale + 1, scale)


def _product_type(left: DecimalType, right: DecimalType) -> DecimalType:
    return adjusted_decimal(left.precision + right.precision + 1, left.scale + right.scale)


def _quotient_type(left: DecimalType, right: DecimalType) -> DecimalType:
    whole = left.precision - left.scale + right.scale
    scale = max(6, left.scale + right.precision + 1)
    return adjusted_decimal(whole + scale, scale)


def _remainder_type(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    whole = min(left.precision - left.scale, right.precision - right.scale)
    return adjusted_decimal(whole + scale, scale)


def _result(decimal: Callable[[DecimalType, DecimalType], DecimalType]) -> Callable[..., DataType]:
    def result(call: Call) -> DataType:
        left, right = (a.data_type for a in call.arguments)
        if isinstance(left, DecimalType) and isinstance(right, DecimalType):
            return decimal(left, right)
        if isinstance(left, DayTimeIntervalType) and isinstance(right, DayTimeIntervalType):
            return DayTimeIntervalType(min(left.start, right.start), max(left.end, right.end))
        if isinstance(left, YearMonthIntervalType) and isinstance(right, YearMonthIntervalType):
            return YearMonthIntervalType(min(left.start, right.start), max(left.end, right.end))
        return left

    return result


def interval_product_type(call: Call) -> DataType:
    """A scaled interval has all fields of its kind."""
    match call.arguments[0].data_type:
        case DayTimeIntervalType():
            return DayTimeIntervalType()
        case YearMonthIntervalType():
            return YearMonthIntervalType()
        case _:
            return CALENDAR_INTERVAL


def _decimal_nullable(call: Call) -> bool:
    """A decimal result that overflows is null where that is no error."""
    lenient = not call.ansi and isinstance(call.data_type, DecimalType)
    return null_if_any(call) or lenient or "TRY" in call.options


# ------------------------------------------------------------------------------------ operators


def infix(call: Call, show: Show) -> str:
    """`(a + b)`."""
    left, right = call.arguments
    return f"({show(left)} {call.name} {show(right)})"


_TRY_NAMES = {
    "+": "try_add",
    "-": "try_subtract",
    "*": "try_multiply",
    "/": "try_divide",
    "%": "try_mod",
}


def _infix_sql(call: Call, show: Show) -> str:
    """The operator, or where it must not fail its try_ function."""
    if "TRY" in call.options:
        return f"{_TRY_NAMES[call.name]}({', '.join(show(a) for a in call.arguments)})"
    return infix(call, show)


def _two(call: Call) -> None:
    from .mismatch import wrong_argument_count

    if len(call.arguments) != 2:
        raise wrong_argument_count(call.name, "2", len(call.arguments))


def _check_plus(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) == 1:
        return resolve("positive", call.arguments, conf)
    _two(call)
    found = _add_datetime(call, conf)
    if found is None:
        typed = coerce_operands(call, conf, _WITH_INTERVALS)
        if any(isinstance(a.data_type, DateType) for a in typed.arguments):
            # A string beside a date became a date too: then it is date_add, which refuses it.
            return resolve("date_add", typed.arguments, conf)
        return check_operands(typed, _WITH_INTERVALS)
    return found


def _check_minus(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) == 1:
        return resolve("negative", call.arguments, conf)
    _two(call)
    found = _subtract_datetime(call, conf)
    if found is None:
        return check_operands(coerce_operands(call, conf, _WITH_INTERVALS), _WITH_INTERVALS)
    return found


def _check_times(call: Call, conf: Conf) -> Expression:
    _two(call)
    found = _interval_times(call, "*", conf)
    return found or check_operands(coerce_operands(call, conf, _NUMERIC), _NUMERIC)


def _check_divide(call: Call, conf: Conf) -> Expression:
    _two(call)
    found = _interval_times(call, "/", conf)
    if found is not None:
        return found
    typed = coerce_operands(call, conf, "double|decimal")
    left, right = (a.data_type for a in typed.arguments)
    decimals = isinstance(left, DecimalType) and isinstance(right, DecimalType)
    numbers = all(isinstance(t, NumericType | NullType) for t in (left, right))
    if numbers and not decimals:
        typed = with_arguments(typed, [cast_to(a, DOUBLE, conf) for a in typed.arguments])
    return check_operands(typed, "double|decimal")


def _check_div(call: Call, conf: Conf) -> Expression:
    _two(call)
    takes = "bigint|decimal|yearmonth|daytime"

    def widened(side: Expression) -> Expression:
        small = isinstance(side.data_type, IntegralType) and side.data_type != LONG
        return cast_to(side, LONG, conf) if small else side

    typed = call if conf.ansi else _strings_as_doubles(call, conf)
    typed = coerce_operands(typed, conf, takes)
    typed = with_arguments(typed, [widened(side) for side in typed.arguments])
    typed = coerce_operands(typed, conf, takes)
    return check_operands(typed, takes)


def _check_numeric(call: Call, conf: Conf) -> Expression:
    _two(call)
    return check_operands(coerce_operands(call, conf, _NUMERIC), _NUMERIC)


def _check_bits(call: Call, conf: Conf) -> Expression:
    _two(call)
    return check_operands(coerce_operands(call, conf, "integral"), "integral")


def _operator(
    name: str,
    check: Callable[[Call, Conf], Expression],
    result: Callable[[Call], DataType],
    *,
    nullable: Callable[[Call], bool] = null_if_any,
    aliases: tuple[str, ...] = (),
) -> FunctionSpec:
    return FunctionSpec(
        name=name,
        kind="scalar",
        data_type=result,
        nullable=nullable,
        check=check,
        text=infix,
        pretty=infix,
        sql=_infix_sql,
        null_intolerant=True,
        evaluate=values.ARITHMETIC.get(name),
        aliases=aliases,
    )


def _first(call: Call) -> DataType:
    return call.arguments[0].data_type


def _long(call: Call) -> DataType:
    return LONG


register(
    _operator("+", _check_plus, _result(_sum_type), nullable=_decimal_nullable),
    _operator("-", _check_minus, _result(_sum_type), nullable=_decimal_nullable),
    _operator("*", _check_times, _result(_product_type), nullable=_decimal_nullable),
    _operator("/", _check_divide, _result(_quotient_type), nullable=always_null),
    _operator("%", _check_numeric, _result(_remainder_type), nullable=always_null),
    _operator("div", _check_div, _long, nullable=always_null),
    _operator("&", _check_bits, _first),
    _operator("|", _check_bits, _first),
    _operator("^", _check_bits, _first),
    scalar(
        "~",
        "integral",
        0,
        text="~{0}",
        pretty="~{0}",
        sql="(~{0})",
        evaluate=lambda call, value: ~value,
    ),
    scalar(
        "negative",
        "numeric|daytime|yearmonth|interval",
        0,
        text="-{0}",
        pretty="(- {0})",
        sql="(- {0})",
        evaluate=values.negative,
    ),
    scalar(
        "positive",
        "numeric|daytime|yearmonth|interval",
        0,
        text="positive({0})",
        pretty="(+ {0})",
        sql="(+ {0})",
        replacement=lambda call: call.arguments[0],
    ),
    scalar("abs", "numeric|daytime|yearmonth", 0, evaluate=values.absolute),
    # What dates, times and intervals make of the operators.
    scalar(
        "timestamp_add_interval",
        "anytimestamp, daytime|interval",
        0,
        text="{0} + {1}",
        pretty="{0} + {1}",
        sql="({0} + {1})",
        evaluate=values.add_interval,
    ),
    scalar(
        "timestamp_add_ym_interval",
        "anytimestamp, yearmonth",
        0,
        text="{0} + {1}",
        pretty="{0} + {1}",
        sql="({0} + {1})",
        evaluate=values.add_interval,
    ),
    scalar(
        "date_add_ym_interval",
        "date, yearmonth",
        DATE,
        text="{0} + {1}",
        pretty="{0} + {1}",
        sql="({0} + {1})",
        evaluate=values.add_to_date,
    ),
    scalar(
        "date_add_interval",
        "date, interval",
        DATE,
        text="{0} + {1}",
        pretty="{0} + {1}",
        sql="({0} + {1})",
        evaluate=values.add_to_date,
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
        replacement=sub_replacement,
    ),
    scalar(
        "extractansiintervaldays",
        "daytime",
        INT,
        sql="extract(day FROM {0})",
        evaluate=values.days_of_interval,
    ),
    scalar(
        "subtract_dates",
        "date, date",
        _DAY,
        text="({0} - {1})",
        pretty="({0} - {1})",
        sql="({0} - {1})",
        evaluate=values.subtract_dates,
    ),
    scalar(
        "subtract_timestamps",
        "anytimestamp, anytimestamp",
        DayTimeIntervalType(),
        text="({0} - {1})",
        pretty="({0} - {1})",
        sql="({0} - {1})",
        evaluate=values.subtract_times,
    ),
    scalar(
        "multiply_interval",
        "daytime|yearmonth|interval, numeric",
        interval_product_type,
        text="({0} * {1})",
        pretty="({0} * {1})",
        sql="({0} * {1})",
        evaluate=values.scale_interval,
    ),
    scalar(
        "divide_interval",
        "daytime|yearmonth|interval, numeric",
        interval_product_type,
        text="({0} / {1})",
        pretty="({0} / {1})",
        sql="({0} / {1})",
        evaluate=values.scale_interval,
    ),
)
