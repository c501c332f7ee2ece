"""Percentiles: Spark keeps how often each value came, or a summary of them, as an object."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal, lit
from ..expressions.evaluation import evaluate
from ..registry import Show, register
from ..schemas.types import (
    DOUBLE,
    AnsiIntervalType,
    ArrayType,
    DataType,
    DatetimeType,
    IntegralType,
    NullType,
    NumericType,
    StringType,
)
from ..settings.conf import Conf
from .aggregates_common import object_aggregate
from .aggregates_counts import (
    approximate_forms,
    discrete_forms,
    discrete_sql,
    is_reversed,
    percentile_forms,
    percentile_sql,
)
from .coercion import cast_unless_same
from .mismatch import non_foldable, require_count, type_mismatch, unexpected_type
from .shapes import each, first_type, named, with_arguments

ARRAYS = '"ARRAY<DOUBLE>"'
VALUES_OR_ARRAYS = '("DOUBLE" or "ARRAY<DOUBLE>")'
_INTERVALS = '"INTERVAL DAY TO SECOND" or "INTERVAL YEAR TO MONTH"'
_NUMBERS = f'(("NUMERIC" or {_INTERVALS}) or "TIME")'
_ORDERED = (
    '("NUMERIC" or "DATE" or "TIMESTAMP" or "TIMESTAMP_NTZ" or "INTERVAL YEAR TO MONTH" or '
    '"INTERVAL DAY TO SECOND" or "TIME")'
)
MAX_INT = 2**31 - 1


def _number(call: Call, conf: Conf) -> Expression:
    """The first argument as a number or interval; strings are cast to double.

    Raises:
        AnalysisError: it is neither. Dates and times could be times of day, which Spark has not.
    """
    argument = call.arguments[0]
    data_type = argument.data_type
    if isinstance(data_type, NumericType | AnsiIntervalType):
        return argument
    if isinstance(data_type, StringType | NullType):
        return cast_unless_same(argument, DOUBLE, conf)
    if isinstance(data_type, DatetimeType) and conf.ansi:
        raise AnalysisError.of("UNSUPPORTED_TIME_TYPE")
    raise unexpected_type(call, 0, _NUMBERS)


def ordered(call: Call, conf: Conf) -> Expression:
    """The first argument as a number, date, time or interval; strings are cast to double."""
    value = call.arguments[0]
    data_type = value.data_type
    if isinstance(data_type, NumericType | DatetimeType | AnsiIntervalType):
        return value
    if isinstance(data_type, StringType | NullType):
        return cast_unless_same(value, DOUBLE, conf)
    raise unexpected_type(call, 0, _ORDERED)


def _shares(call: Call, wanted: str, conf: Conf) -> Expression:
    """The percentages, the second argument, as double or array of double.

    Raises:
        AnalysisError: an array of what are no numbers; `wanted` says which types there may be.
    """
    argument = call.arguments[1]
    target: DataType = DOUBLE
    if isinstance(argument.data_type, ArrayType):
        if not isinstance(argument.data_type.element_type, NumericType | NullType):
            raise unexpected_type(call, 1, wanted)
        target = ArrayType(DOUBLE, argument.data_type.contains_null)
    return cast_unless_same(argument, target, conf)


def require_constant(
    call: Call,
    position: int,
    name: str,
    kind: str,
    fits: Callable[[object], bool],
    allowed: str,
    show: Callable[[object], str] = str,
) -> None:
    """Check an argument of a typed call, as far as its value is known here.

    Raises:
        AnalysisError: it is no constant, null, or its value does not fit.
    """
    argument = call.arguments[position]
    if not argument.foldable:
        raise non_foldable(call, name, kind, argument)
    known = evaluate(argument)
    if known is None:
        return
    if known.value is None:
        raise type_mismatch("UNEXPECTED_NULL", call, exprName=name)
    if not fits(known.value):
        raise type_mismatch(
            "VALUE_OUT_OF_RANGE",
            call,
            exprName=name,
            valueRange=allowed,
            currentValue=show(known.value),
        )


def _each_share(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def _require_shares(call: Call) -> None:
    require_constant(
        call,
        1,
        "percentage",
        "DOUBLE",
        lambda value: all(isinstance(p, float) and 0.0 <= p <= 1.0 for p in _each_share(value)),
        "[0.0, 1.0]",
        lambda value: ",".join(f"{p}D" for p in _each_share(value)),
    )


def _with_third(call: Call, default: int) -> Call:
    """The call with its third argument, a whole number, which is never cast."""
    require_count(call, 2, 3)
    if len(call.arguments) == 2:
        call = with_arguments(call, [*call.arguments, lit(default)])
    return call


def _require_integral(call: Call) -> None:
    if not isinstance(call.arguments[2].data_type, IntegralType | NullType):
        raise unexpected_type(call, 2, '"INTEGRAL"')


def _check_percentile(call: Call, conf: Conf) -> Expression:
    call = _with_third(call, 1)
    value = _number(call, conf)
    _require_integral(call)
    typed = with_arguments(call, [value, _shares(call, ARRAYS, conf), call.arguments[2]])
    _require_shares(typed)
    return typed


def _check_approximate(call: Call, conf: Conf) -> Expression:
    call = _with_third(call, 10000)
    value = ordered(call, conf)
    _require_integral(call)
    typed = with_arguments(call, [value, _shares(call, VALUES_OR_ARRAYS, conf), call.arguments[2]])
    require_constant(
        typed,
        2,
        "accuracy",
        "INT",
        lambda value: isinstance(value, int) and 0 < value <= MAX_INT,
        f"(0, {MAX_INT}]",
        lambda value: f"{value}L",
    )
    _require_shares(typed)
    return typed


def _check_median(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    return with_arguments(call, [_number(call, conf)])


def _percentile_text(call: Call, show: Show) -> str:
    shown = ", ".join(map(show, call.arguments))
    return f"{call.name}({shown}, 0, 0, {str(is_reversed(call)).lower()})"


def _discrete_text(call: Call, show: Show) -> str:
    shown = ", ".join(map(show, call.arguments))
    return f"{call.name}({shown}, {str(is_reversed(call)).lower()}, 0, 0, false)"


def _ordered_pretty(call: Call, show: Show) -> str:
    value, *rest = map(show, call.arguments)
    direction = " DESC" if is_reversed(call) else ""
    return f"{call.name}({', '.join(rest)}) WITHIN GROUP (ORDER BY {value}{direction})"


def _check_ordered_percentile(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    return with_arguments(call, [_number(call, conf), _shares(call, ARRAYS, conf)])


def _median(call: Call) -> Expression:
    half = Literal(value=0.5, type_=DOUBLE)
    return Call(name="percentile", arguments=(call.arguments[0], half, lit(1)))


def _per_share(value: DataType, call: Call) -> DataType:
    several = len(call.arguments) > 1 and isinstance(call.arguments[1].data_type, ArrayType)
    return ArrayType(value, False) if several else value


def _percentile_type(call: Call) -> DataType:
    value = first_type(call)
    return _per_share(value if isinstance(value, AnsiIntervalType) else DOUBLE, call)


register(
    *each(
        object_aggregate(
            "percentile",
            _percentile_type,
            _check_percentile,
            text=_percentile_text,
            sql=percentile_sql,
            forms=percentile_forms,
            used_at_the_end=(1,),
            weight=2,
        ),
        object_aggregate(
            "percentile_cont",
            _percentile_type,
            _check_ordered_percentile,
            replacement=lambda call: Call(
                name="percentile", arguments=(*call.arguments, lit(1)), options=call.options
            ),
            text=_ordered_pretty,
            pretty=_ordered_pretty,
            used_at_the_end=(1,),
        ),
        object_aggregate(
            "percentile_disc",
            _percentile_type,
            _check_ordered_percentile,
            text=_discrete_text,
            pretty=_ordered_pretty,
            sql=discrete_sql,
            forms=discrete_forms,
            used_at_the_end=(1,),
        ),
        object_aggregate("median", _percentile_type, _check_median, replacement=_median, text=None),
        state="counts",
        state_object="counts",
        by_width=True,
    ),
    *named(
        object_aggregate(
            "percentile_approx",
            lambda call: _per_share(first_type(call), call),
            _check_approximate,
            forms=approximate_forms,
            used_at_the_end=(1,),
            state_object="quantiles",
        ),
        "approx_percentile",
    ),
)
