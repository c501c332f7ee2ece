"""Variance, skewness, covariance, correlation, regression: moments merged in parallel.

Spark's aggregates over a batch give the moments directly (`regr_sxx(x, x)` is the second central
moment) or are turned back into them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ..expressions.core import Call, Expression
from ..expressions.predicates import conjunction
from ..registry import AggregateForms, Buffer, FunctionSpec, Merge, Over, one_function, register
from ..schemas.types import DOUBLE, LONG, NullType, NumericType, StringType
from ..settings.conf import Conf
from .aggregates_common import aggregate, doubles
from .build import call as call_of
from .build import cast_as, double, if_else, is_any_null, null, when
from .coercion import cast_unless_same
from .mismatch import require_count, unexpected_type
from .shapes import each, never_null, template, with_arguments

_MOMENTS = (
    Buffer("n", DOUBLE, empty=0.0),
    *(Buffer(name, DOUBLE) for name in ("avg", "m2", "m3", "m4")),
)
_CO_MOMENTS = (
    Buffer("n", DOUBLE, empty=0.0),
    *(Buffer(name, DOUBLE) for name in ("xAvg", "yAvg", "ck", "xMk", "yMk")),
)

Columns = Sequence[Expression]
Final = Callable[[Columns], Expression]


def _moments_over(value: Expression, over: Over) -> tuple[Expression, ...]:
    """n, the mean, and the sums of the powers of the distances from it."""
    n = cast_as(over(call_of("count", value)), DOUBLE)
    m2 = over(call_of("regrreplacement", value))
    spread = call_of(">", m2, double(0.0))
    deviation = call_of("sqrt", _ratio(m2, n))
    m3 = _product(over(call_of("skewness", value)), deviation, m2)
    kurtosis = call_of("+", over(call_of("kurtosis", value)), double(3.0))
    m4 = _product(_ratio(_product(kurtosis, m2), n), m2)
    return (
        n,
        over(call_of("avg", value)),
        m2,
        when(spread, m3, double(0.0)),
        when(spread, m4, double(0.0)),
    )


def _moments_of_row(value: Expression) -> tuple[Expression, ...]:
    """No distance from the mean, but for NaN and infinity."""
    distance = call_of("-", value, value)
    return (_counted((value,)), value, distance, distance, distance)


def _co_moments_over(call: Call, over: Over) -> tuple[Expression, ...]:
    names = ("regr_avgy", "regr_avgx", "regr_sxy", "regr_syy", "regr_sxx")
    count = over(call_of("regr_count", *call.arguments))
    others = (over(call_of(name, *call.arguments)) for name in names)
    return (cast_as(count, DOUBLE), *others)


def _co_moments_of_row(call: Call) -> tuple[Expression, ...]:
    one, other = call.arguments
    first, second = (call_of("-", value, value) for value in (one, other))
    values: tuple[Expression, ...] = (one, other, call_of("+", first, second), first, second)
    missing = is_any_null(call.arguments)
    if missing is not None:
        values = tuple(if_else(missing, null(DOUBLE), value) for value in values)
    return (_counted(call.arguments), *values)


def _counted(values: tuple[Expression, ...]) -> Expression:
    missing = is_any_null(values)
    return double(1.0) if missing is None else if_else(missing, double(0.0), double(1.0))


def _ratio(one: Expression, other: Expression) -> Expression:
    return call_of("/", one, other)


def _product(*factors: Expression) -> Expression:
    return reduce(lambda one, other: call_of("*", one, other), factors)


def _above(value: Expression, bound: float) -> Expression:
    return call_of(">", value, double(bound))


def _differs(value: Expression) -> Expression:
    return call_of("not", call_of("=", value, double(0.0)))


def _less_one(value: Expression) -> Expression:
    return call_of("-", value, double(1.0))


def _central(name: str, moments: int, final: Final, **fields: Any) -> FunctionSpec:
    """A function of one column; `final` over n, mean, m2, m3, m4, as many as there are."""
    size = moments + 1

    def forms(call: Call) -> AggregateForms:
        value = call.arguments[0]
        return AggregateForms(
            buffers=_MOMENTS[:size],
            merges=(Merge("moments", tuple(range(size))),),
            partial=lambda over: _moments_over(value, over)[:size],
            row=lambda: _moments_of_row(value)[:size],
            final=final,
        )

    return aggregate(name, DOUBLE, doubles(1), forms=forms, order_irrelevant="exact", **fields)


def _paired(
    name: str, size: int, final: Final, plan: tuple[Buffer, ...] | None = None, **fields: Any
) -> FunctionSpec:
    """A function of two columns; `final` over n, the means, ck and the moments of both."""

    def forms(call: Call) -> AggregateForms:
        return AggregateForms(
            buffers=_CO_MOMENTS[:size],
            merges=(Merge("covariance" if plan is None else "regression", tuple(range(size))),),
            partial=lambda over: _co_moments_over(call, over)[:size],
            row=lambda: _co_moments_of_row(call)[:size],
            final=final,
            plan=plan,
        )

    return aggregate(name, DOUBLE, doubles(2), forms=forms, **fields)


# --------------------------------------------------------------------------------- regression


def _check_numbers(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    arguments = []
    for position, argument in enumerate(call.arguments):
        if isinstance(argument.data_type, StringType | NullType):
            argument = cast_unless_same(argument, DOUBLE, conf)
        elif not isinstance(argument.data_type, NumericType):
            raise unexpected_type(call, position, '"NUMERIC"')
        arguments.append(argument)
    return with_arguments(call, arguments)


def _mean_of(call: Call, position: int) -> Expression:
    """avg of one side over the pairs without nulls."""
    value = call.arguments[position]
    both = call_of("and", *(call_of("isnotnull", side) for side in call.arguments))
    chosen = if_else(both, value, null(value.data_type))
    return Call(name="avg", arguments=(chosen,), ansi=call.ansi)


def _spread_of(call: Call, position: int) -> Expression:
    """The second moment of one side over the pairs without nulls."""
    value = call.arguments[position]
    either = call_of("or", *(call_of("isnull", side) for side in call.arguments))
    return call_of("regrreplacement", if_else(either, null(value.data_type), value))


_FIT_BUFFERS = (
    *(Buffer(name, DOUBLE) for name in ("n", "xAvg", "yAvg", "ck")),
    *(Buffer(name, DOUBLE) for name in ("n", "avg", "m2")),
)


def _population(c: Columns) -> Expression:
    return when(_above(c[0], 0), _ratio(c[2], c[0]))


def _sample(c: Columns) -> Expression:
    return when(_above(c[0], 1), _ratio(c[2], _less_one(c[0])))


def _root(of: Final) -> Final:
    return lambda c: call_of("sqrt", of(c))


def _skewness(c: Columns) -> Expression:
    value = _ratio(_product(call_of("sqrt", c[0]), c[3]), call_of("sqrt", _product(*[c[2]] * 3)))
    return when(conjunction((_above(c[0], 0), _differs(c[2]))), value)


def _kurtosis(c: Columns) -> Expression:
    value = _ratio(_product(c[0], c[4]), _product(c[2], c[2]))
    excess = call_of("-", value, double(3.0))
    return when(conjunction((_above(c[0], 0), _differs(c[2]))), excess)


def _correlation(c: Columns) -> Expression:
    value = _ratio(c[3], call_of("sqrt", _product(c[4], c[5])))
    return when(conjunction((_above(c[0], 1), _differs(c[4]), _differs(c[5]))), value)


def _determination(c: Columns) -> Expression:
    correlation = _ratio(c[3], call_of("sqrt", _product(c[4], c[5])))
    value = _product(correlation, correlation)
    fit = when(call_of("=", c[4], double(0.0)), double(1.0), value)
    return when(conjunction((_above(c[0], 0), _differs(c[5]))), fit)


def _slope(c: Columns) -> Expression:
    return when(conjunction((_above(c[0], 0), _differs(c[5]))), _ratio(c[3], c[5]))


def _intercept(c: Columns) -> Expression:
    value = call_of("-", c[1], _product(_ratio(c[3], c[5]), c[2]))
    return when(conjunction((_above(c[0], 0), _differs(c[5]))), value)


def _spread(at: int) -> Final:
    return lambda c: when(_above(c[0], 0), c[at])


register(
    *one_function(
        *(
            _central(name, 2, _root(_sample), state="second moment")
            for name in ("stddev_samp", "stddev", "std")
        )
    ),
    *one_function(
        *(_central(name, 2, _sample, state="second moment") for name in ("var_samp", "variance"))
    ),
    _central("stddev_pop", 2, _root(_population), state="second moment"),
    _central("var_pop", 2, _population, state="second moment"),
    # What the optimizer makes of regr_sxx and regr_syy; SQL has no name of its own for it.
    _central("regrreplacement", 2, _spread(2), sql=template("regr_sxx({0}, {0})"), written=False),
    _central("skewness", 3, _skewness),
    _central("kurtosis", 4, _kurtosis),
    *each(
        _paired("covar_pop", 4, lambda c: when(_above(c[0], 0), _ratio(c[3], c[0]))),
        _paired("covar_samp", 4, lambda c: when(_above(c[0], 1), _ratio(c[3], _less_one(c[0])))),
        state="covariance",
    ),
    _paired("corr", 6, _correlation, state="correlation"),
    _paired("regr_r2", 6, _determination, state="correlation"),
    _paired("regr_sxy", 4, _spread(3)),
    _paired("regr_slope", 6, _slope, _FIT_BUFFERS, state="regression"),
    _paired("regr_intercept", 6, _intercept, _FIT_BUFFERS, state="regression"),
    aggregate(
        "regr_count",
        LONG,
        _check_numbers,
        nullable=never_null,
        replacement=lambda call: call_of("count", *call.arguments),
        over_no_rows=0,
    ),
    aggregate("regr_avgx", DOUBLE, _check_numbers, replacement=lambda call: _mean_of(call, 1)),
    aggregate("regr_avgy", DOUBLE, _check_numbers, replacement=lambda call: _mean_of(call, 0)),
    aggregate("regr_sxx", DOUBLE, doubles(2), replacement=lambda call: _spread_of(call, 1)),
    aggregate("regr_syy", DOUBLE, doubles(2), replacement=lambda call: _spread_of(call, 0)),
)
