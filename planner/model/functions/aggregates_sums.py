"""sum, avg and their try_ forms over numbers and intervals.

Sums of whole numbers are bigint and overflow; decimals grow by ten digits, their averages by four
in precision and scale. Year-month intervals travel as whole months (Arrow has no type for them).
"""

from __future__ import annotations

from ..conf import Conf
from ..expressions import Call, Expression
from ..registry import AggregateForms, Buffer, FunctionSpec, Merge
from ..types import (
    BOOLEAN,
    DOUBLE,
    LONG,
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
from .aggregates_common import (
    COUNT_BUFFER,
    NUMERIC_OR_INTERVAL,
    first_type,
    is_ansi_interval,
    nullable,
    require_count,
    with_arguments,
)
from .coercion import bounded_decimal, cast_unless_same
from .mismatch import unexpected_type

_MONTHS = "CAST(EXTRACT(YEAR FROM {0}) * 12 + EXTRACT(MONTH FROM {0}) AS BIGINT)"

# A sum begins with 0.0: that of one -0.0 is 0.0.
_ROW_DOUBLE = "CAST({0} AS DOUBLE) + 0D"


def _as(data_type: DataType) -> str:
    return f"CAST({{0}} AS {data_type.sql})"


def _check(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    argument = call.arguments[0]
    data_type = argument.data_type
    if isinstance(data_type, NumericType) or is_ansi_interval(data_type):
        return call
    if isinstance(data_type, StringType | NullType | TimestampType):
        return with_arguments(call, cast_unless_same(argument, DOUBLE, conf))
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
    result = call.data_type
    plan: tuple[Buffer, ...] = (Buffer("sum", result),)
    if isinstance(result, DecimalType) or (_is_try(call) and result != DOUBLE):
        plan = (*plan, Buffer("isEmpty", BOOLEAN, False))
    if result == DOUBLE:
        return AggregateForms(
            buffers=plan,
            partial=("sum({0})",),
            merges=(Merge("sum", (0,)),),
            final="{b0}",
            row=(_ROW_DOUBLE,),
        )
    if isinstance(result, YearMonthIntervalType):
        return _month_sum(call, plan)
    if _is_try(call) or (isinstance(result, DecimalType) and not call.ansi):
        return AggregateForms(
            buffers=(Buffer("sum", result), Buffer("isEmpty", BOOLEAN)),
            partial=("try_sum({0})", "every({0} IS NULL)"),
            merges=(Merge("try_sum", (0, 1)),),
            final="{b0}",
            plan=plan,
            row=(_as(result), "{0} IS NULL"),
        )
    wraps = isinstance(result, type(LONG)) and not call.ansi
    return AggregateForms(
        buffers=(Buffer("sum", result),),
        partial=("sum({0})",),
        merges=(Merge("sum_wrap" if wraps else "sum", (0,)),),
        final="{b0}",
        plan=plan,
        row=(_as(result),),
    )


def _month_sum(call: Call, plan: tuple[Buffer, ...]) -> AggregateForms:
    # 2^31 months at most fit an interval, so that a bigint sum never overflows in practice and
    # the cast down at the end finds what is too much.
    cast = "try_cast({b0} AS INT)" if _is_try(call) else "CAST({b0} AS INT)"
    return AggregateForms(
        buffers=(Buffer("sum", LONG),),
        partial=(f"sum({_MONTHS})",),
        merges=(Merge("sum", (0,)),),
        final=_interval(call.data_type, f"make_ym_interval(0, {cast})"),
        plan=plan,
        row=(_MONTHS,),
    )


def _interval(data_type: DataType, sql: str) -> str:
    return f"CAST({sql} AS {data_type.sql})"


def _avg_forms(call: Call) -> AggregateForms:
    match first_type(call):
        case DecimalType() as decimal:
            return _decimal_avg(call, decimal)
        case DayTimeIntervalType() as interval:
            total = "try_sum({0})" if _is_try(call) else "sum({0})"
            return _avg(call, total, interval, _as(interval))
        case YearMonthIntervalType() as interval:
            forms = _avg(call, f"sum({_MONTHS})", LONG, _MONTHS)
            mean = "make_ym_interval(0, CAST(ROUND(CAST({b0} AS DECIMAL(20, 0)) / {b1}) AS INT))"
            return AggregateForms(
                buffers=forms.buffers,
                partial=forms.partial,
                merges=forms.merges,
                final=f"CASE WHEN {{b1}} > 0 THEN {_interval(interval, mean)} END",
                plan=(Buffer("sum", interval), COUNT_BUFFER),
                row=forms.row,
            )
        case _:
            return _avg(call, "sum(CAST({0} AS DOUBLE))", DOUBLE, _ROW_DOUBLE)


def _avg(call: Call, partial: str, sum_type: DataType, row: str) -> AggregateForms:
    lenient = _is_try(call) and sum_type != DOUBLE
    return AggregateForms(
        buffers=(Buffer("sum", sum_type), COUNT_BUFFER),
        partial=(partial, "count({0})"),
        merges=(Merge("try_sum_count" if lenient else "sum", (0, 1) if lenient else (0,)),)
        + (() if lenient else (Merge("sum_wrap", (1,)),)),
        final="CASE WHEN {b1} > 0 THEN {b0} / {b1} END",
        row=(row, "{counted}"),
    )


def _decimal_avg(call: Call, decimal: DecimalType) -> AggregateForms:
    total = bounded_decimal(decimal.precision + 10, decimal.scale)
    lenient = _is_try(call) or not call.ansi
    result = call.data_type
    assert isinstance(result, DecimalType)
    strict = (Merge("sum", (0,)), Merge("sum_wrap", (1,)))
    return AggregateForms(
        buffers=(Buffer("sum", total), COUNT_BUFFER),
        partial=("try_sum({0})" if lenient else "sum({0})", "count({0})"),
        merges=(Merge("try_sum_count", (0, 1)),) if lenient else strict,
        final="{b0}",
        finish=f"decimal_average:{result.precision}:{result.scale}:{int(lenient)}",
        row=(_as(total), "{counted}"),
    )


def _spec(name: str) -> FunctionSpec:
    is_sum = name.endswith("sum")
    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=_sum_type if is_sum else _avg_type,
        nullable=nullable,
        check=_check,
        forms=_sum_forms if is_sum else _avg_forms,
    )


SPECS = tuple(_spec(name) for name in ("sum", "try_sum", "avg", "mean", "try_avg"))
