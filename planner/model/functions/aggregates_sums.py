"""sum, avg and their try_ forms over numbers and intervals.

Sums of whole numbers are bigint and overflow; decimals grow by ten digits, their averages by four
in precision and scale. Year-month intervals travel as whole months (Arrow has no type for them).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expressions.core import Call, Cast, EvalMode, Expression, lit
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, one_function, register
from ..schemas.types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LONG,
    AnsiIntervalType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    FractionalType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
    TimestampType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from ..tree import replace
from .aggregates_common import COUNT_BUFFER, NUMERIC_OR_INTERVAL, aggregate, counted
from .build import call as build
from .build import cast_as, double, if_else, long, when
from .coercion import bounded_decimal, cast_unless_same
from .mismatch import require_count, unexpected_type
from .shapes import first_type, with_arguments


def _months(value: Expression) -> Expression:
    """A year-month interval as a number of months."""
    years = build("*", build("extractansiintervalyears", value), lit(12))
    rest = cast_as(build("extractansiintervalmonths", value), INT)
    return cast_as(build("+", years, rest), LONG)


def _of_months(months: Expression, data_type: DataType) -> Expression:
    """The year-month interval of a number of months, an INT."""
    return cast_as(build("make_ym_interval", lit(0), months), data_type)


def _row_double(value: Expression) -> Expression:
    # A sum begins with 0.0: that of one -0.0 is 0.0.
    return build("+", cast_as(value, DOUBLE), double(0.0))


def _check(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    argument = call.arguments[0]
    data_type = argument.data_type
    if isinstance(data_type, NumericType | AnsiIntervalType):
        return call
    if isinstance(data_type, StringType | NullType | TimestampType):
        return with_arguments(call, [cast_unless_same(argument, DOUBLE, conf)])
    raise unexpected_type(call, 0, NUMERIC_OR_INTERVAL)


def _sum_type(call: Call) -> DataType:
    match first_type(call):
        case DecimalType(precision=precision, scale=scale):
            return bounded_decimal(precision + 10, scale)
        case IntegralType():
            return LONG
        case FractionalType():
            return DOUBLE
        case interval:
            return interval


def _avg_type(call: Call) -> DataType:
    match first_type(call):
        case DecimalType(precision=precision, scale=scale):
            return bounded_decimal(precision + 4, scale + 4)
        case NumericType():
            return DOUBLE
        case interval:
            return interval


def _is_try(call: Call) -> bool:
    return call.name.startswith("try_")


def _sum_forms(call: Call) -> AggregateForms:
    result, value = call.data_type, call.arguments[0]
    plan: tuple[Buffer, ...] = (Buffer("sum", result),)
    if isinstance(result, DecimalType) or (_is_try(call) and result != DOUBLE):
        plan = (*plan, Buffer("isEmpty", BOOLEAN, False))
    if isinstance(result, YearMonthIntervalType):
        return _month_sum(call, plan)
    if result != DOUBLE and (_is_try(call) or (isinstance(result, DecimalType) and not call.ansi)):
        return AggregateForms(
            buffers=(Buffer("sum", result), Buffer("isEmpty", BOOLEAN, empty=True)),
            merges=(Merge("try_sum", (0, 1)),),
            partial=lambda over: (
                over(replace(call, name="try_sum")),
                over(build("every", build("isnull", value))),
            ),
            row=lambda: (cast_as(value, result), build("isnull", value)),
            plan=plan,
        )
    wraps = isinstance(result, type(LONG)) and not call.ansi
    return AggregateForms(
        buffers=(Buffer("sum", result),),
        merges=(Merge("sum_wrap" if wraps else "sum", (0,)),),
        partial=lambda over: (over(replace(call, name="sum")),),
        row=lambda: (_row_double(value) if result == DOUBLE else cast_as(value, result),),
        plan=plan,
    )


def _month_sum(call: Call, plan: tuple[Buffer, ...]) -> AggregateForms:
    # 2^31 months at most fit an interval, so that a bigint sum never overflows in practice and
    # the cast down at the end finds what is too much.
    def final(columns: Sequence[Expression]) -> Expression:
        mode: EvalMode = "TRY" if _is_try(call) else "ANSI"
        return _of_months(Cast(child=columns[0], type_=INT, mode=mode), call.data_type)

    return AggregateForms(
        buffers=(Buffer("sum", LONG),),
        merges=(Merge("sum", (0,)),),
        partial=lambda over: (over(build("sum", _months(call.arguments[0]))),),
        row=lambda: (_months(call.arguments[0]),),
        final=final,
        plan=plan,
    )


def _avg_forms(call: Call) -> AggregateForms:
    value = call.arguments[0]
    match value.data_type:
        case DecimalType() as decimal:
            return _decimal_avg(call, decimal)
        case DayTimeIntervalType() as interval:
            return AggregateForms(
                buffers=(Buffer("sum", interval), COUNT_BUFFER),
                merges=_LENIENT if _is_try(call) else _STRICT,
                partial=lambda over: (
                    over(build("try_sum" if _is_try(call) else "sum", value)),
                    over(build("count", value)),
                ),
                row=lambda: (value, counted(call.arguments)),
                final=lambda columns: _mean(columns, build("divide_interval", *columns)),
            )
        case YearMonthIntervalType() as interval:
            return AggregateForms(
                buffers=(Buffer("sum", LONG), COUNT_BUFFER),
                merges=_LENIENT if _is_try(call) else _STRICT,
                partial=lambda over: (
                    over(build("sum", _months(value))),
                    over(build("count", value)),
                ),
                row=lambda: (_months(value), counted(call.arguments)),
                final=lambda columns: _mean(columns, _month_mean(columns, interval)),
                plan=(Buffer("sum", interval), COUNT_BUFFER),
            )
        case _:
            return AggregateForms(
                buffers=(Buffer("sum", DOUBLE), COUNT_BUFFER),
                merges=_STRICT,
                partial=lambda over: (
                    over(build("sum", cast_as(value, DOUBLE))),
                    over(build("count", value)),
                ),
                row=lambda: (_row_double(value), counted(call.arguments)),
                final=lambda columns: _mean(
                    columns, build("/", columns[0], cast_as(columns[1], DOUBLE))
                ),
            )


_STRICT = (Merge("sum", (0,)), Merge("sum_wrap", (1,)))
_LENIENT = (Merge("try_sum_count", (0, 1)),)


def _mean(columns: Sequence[Expression], mean: Expression) -> Expression:
    return when(build(">", columns[1], long(0)), mean)


def _month_mean(columns: Sequence[Expression], interval: DataType) -> Expression:
    """Whole months, halves away from zero: (2x + n) div 2n."""
    total, count = columns
    twice = build("*", total, long(2))
    below = build("<", total, long(0))
    half = if_else(below, build("-", twice, count), build("+", twice, count))
    rounded = build("div", half, build("*", count, long(2)))
    return _of_months(cast_as(rounded, INT), interval)


def _decimal_avg(call: Call, decimal: DecimalType) -> AggregateForms:
    value = call.arguments[0]
    total = bounded_decimal(decimal.precision + 10, decimal.scale)
    lenient = _is_try(call) or not call.ansi
    result = call.data_type
    assert isinstance(result, DecimalType)
    return AggregateForms(
        buffers=(Buffer("sum", total), COUNT_BUFFER),
        merges=_LENIENT if lenient else _STRICT,
        partial=lambda over: (
            over(build("try_sum" if lenient else "sum", value)),
            over(build("count", value)),
        ),
        row=lambda: (cast_as(value, total), counted(call.arguments)),
        finish=Finish("decimal_average", (result.precision, result.scale, lenient)),
    )


def _sum(name: str) -> FunctionSpec:
    return aggregate(name, _sum_type, _check, forms=_sum_forms, order_irrelevant="exact")


def _avg(name: str) -> FunctionSpec:
    return aggregate(
        name,
        _avg_type,
        _check,
        forms=_avg_forms,
        order_irrelevant="exact",
        state="sum and count",
        in_doubles=True,
    )


register(_sum("sum"), _sum("try_sum"), _avg("try_avg"), *one_function(_avg("avg"), _avg("mean")))
