"""Variance, skewness, covariance, correlation, regression: moments merged in parallel.

Spark's aggregates over a batch give the moments directly (`regr_sxx(x, x)` is the second central
moment) or are turned back into them.
"""

from __future__ import annotations

from collections.abc import Callable

from ..conf import Conf
from ..expressions import Call, Expression, Literal
from ..registry import AggregateForms, Buffer, FunctionSpec, Merge
from ..types import DOUBLE, LONG, DataType, NullType, NumericType, StringType
from .aggregates_common import (
    always,
    doubles,
    not_nullable,
    nullable,
    require_count,
    with_arguments,
)
from .coercion import cast_unless_same
from .mismatch import unexpected_type

_M2 = "regr_sxx({0}, {0}){filter}"
_COUNT = "count({0}){filter}"
_MOMENTS = (
    (Buffer("n", DOUBLE), f"CAST({_COUNT} AS DOUBLE)"),
    (Buffer("avg", DOUBLE), "avg({0})"),
    (Buffer("m2", DOUBLE), _M2),
    (
        Buffer("m3", DOUBLE),
        f"CASE WHEN {_M2} > 0 THEN skewness({{0}}){{filter}} * sqrt({_M2} / {_COUNT}) * {_M2} "
        "ELSE 0D END",
    ),
    (
        Buffer("m4", DOUBLE),
        f"CASE WHEN {_M2} > 0 THEN (kurtosis({{0}}){{filter}} + 3) * {_M2} / {_COUNT} * {_M2} "
        "ELSE 0D END",
    ),
)
_CO_MOMENTS = (
    (Buffer("n", DOUBLE), "CAST(regr_count({0}, {1}){filter} AS DOUBLE)"),
    (Buffer("xAvg", DOUBLE), "regr_avgy({0}, {1})"),
    (Buffer("yAvg", DOUBLE), "regr_avgx({0}, {1})"),
    (Buffer("ck", DOUBLE), "regr_sxy({0}, {1})"),
    (Buffer("xMk", DOUBLE), "regr_syy({0}, {1})"),
    (Buffer("yMk", DOUBLE), "regr_sxx({0}, {1})"),
)

# Over one row: no distance from the mean, but for NaN and infinity.
_ROW = ("CAST({counted} AS DOUBLE)", "{0}", "{0} - {0}", "{0} - {0}", "{0} - {0}")
_BOTH = "IF({counted} = 0L, NULL, "
_ROW_PAIR = (
    "CAST({counted} AS DOUBLE)",
    f"{_BOTH}{{0}})",
    f"{_BOTH}{{1}})",
    f"{_BOTH}({{0}} - {{0}}) + ({{1}} - {{1}}))",
    f"{_BOTH}{{0}} - {{0}})",
    f"{_BOTH}{{1}} - {{1}})",
)


def _forms(
    parts: tuple[tuple[Buffer, str], ...],
    operation: str,
    final: str,
    row: tuple[str, ...],
    plan: tuple[Buffer, ...] | None = None,
) -> AggregateForms:
    return AggregateForms(
        buffers=tuple(buffer for buffer, _ in parts),
        partial=tuple(text for _, text in parts),
        merges=(Merge(operation, tuple(range(len(parts)))),),
        final=final,
        plan=plan,
        row=row,
    )


def _central(name: str, moments: int, final: str) -> FunctionSpec:
    """A function of one column; `final` over b0 = n, b2 = m2, b3 = m3, b4 = m4."""
    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=always(DOUBLE),
        nullable=nullable,
        check=doubles(1),
        forms=lambda call: _forms(_MOMENTS[: moments + 1], "moments", final, _ROW[: moments + 1]),
    )


def _paired(
    name: str, buffers: int, final: str, plan: tuple[Buffer, ...] | None = None
) -> FunctionSpec:
    """A function of two columns; `final` over b0 = n, b1, b2 = means, b3 = ck, b4, b5 = moments."""
    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=always(DOUBLE),
        nullable=nullable,
        check=doubles(2),
        forms=lambda call: _forms(
            _CO_MOMENTS[:buffers], "covariance", final, _ROW_PAIR[:buffers], plan
        ),
    )


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
    return with_arguments(call, *arguments)


def _null(data_type: DataType) -> Literal:
    return Literal(value=None, type_=data_type)


def _test(name: str, *arguments: Expression) -> Call:
    return Call(name=name, arguments=arguments)


def _mean_of(position: int) -> Callable[[Call], Expression]:
    """avg of one side over the pairs without nulls."""

    def replacement(call: Call) -> Expression:
        y, x = call.arguments
        value = call.arguments[position]
        both = _test("and", _test("isnotnull", y), _test("isnotnull", x))
        chosen = Call(name="if", arguments=(both, value, _null(value.data_type)))
        return Call(name="avg", arguments=(chosen,), ansi=call.ansi)

    return replacement


def _spread_of(position: int) -> Callable[[Call], Expression]:
    """The second moment of one side over the pairs without nulls."""

    def replacement(call: Call) -> Expression:
        y, x = call.arguments
        value = call.arguments[position]
        either = _test("or", _test("isnull", y), _test("isnull", x))
        chosen = Call(name="if", arguments=(either, _null(value.data_type), value))
        return Call(name="regrreplacement", arguments=(chosen,))

    return replacement


def _replaced(
    name: str, data_type: DataType, replacement: Callable[[Call], Expression]
) -> FunctionSpec:
    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=always(data_type),
        nullable=not_nullable if data_type == LONG else nullable,
        check=_check_numbers if name in ("regr_count", "regr_avgx", "regr_avgy") else doubles(2),
        replacement=replacement,
    )


def _regr_count(call: Call) -> Expression:
    return Call(name="count", arguments=call.arguments)


_FIT_BUFFERS = (
    *(Buffer(name, DOUBLE) for name in ("n", "xAvg", "yAvg", "ck")),
    *(Buffer(name, DOUBLE) for name in ("n", "avg", "m2")),
)
_POPULATION = "CASE WHEN {b0} > 0 THEN {b2} / {b0} END"
_SAMPLE = "CASE WHEN {b0} > 1 THEN {b2} / ({b0} - 1) END"

SPECS = (
    *(_central(name, 2, f"sqrt({_SAMPLE})") for name in ("stddev", "stddev_samp", "std")),
    *(_central(name, 2, _SAMPLE) for name in ("variance", "var_samp")),
    _central("stddev_pop", 2, f"sqrt({_POPULATION})"),
    _central("var_pop", 2, _POPULATION),
    _central("regrreplacement", 2, "CASE WHEN {b0} > 0 THEN {b2} END"),
    _central(
        "skewness",
        3,
        "CASE WHEN {b0} > 0 AND {b2} <> 0 THEN sqrt({b0}) * {b3} / sqrt({b2} * {b2} * {b2}) END",
    ),
    _central(
        "kurtosis",
        4,
        "CASE WHEN {b0} > 0 AND {b2} <> 0 THEN {b0} * {b4} / ({b2} * {b2}) - 3 END",
    ),
    _paired("covar_pop", 4, "CASE WHEN {b0} > 0 THEN {b3} / {b0} END"),
    _paired("covar_samp", 4, "CASE WHEN {b0} > 1 THEN {b3} / ({b0} - 1) END"),
    _paired(
        "corr",
        6,
        "CASE WHEN {b0} > 1 AND {b4} <> 0 AND {b5} <> 0 THEN {b3} / sqrt({b4} * {b5}) END",
    ),
    _paired(
        "regr_r2",
        6,
        "CASE WHEN {b0} > 0 AND {b5} <> 0 THEN "
        "CASE WHEN {b4} = 0 THEN 1D ELSE {b3} * {b3} / ({b4} * {b5}) END END",
    ),
    _paired("regr_sxy", 4, "CASE WHEN {b0} > 0 THEN {b3} END"),
    _paired("regr_slope", 6, "CASE WHEN {b0} > 0 AND {b5} <> 0 THEN {b3} / {b5} END", _FIT_BUFFERS),
    _paired(
        "regr_intercept",
        6,
        "CASE WHEN {b0} > 0 AND {b5} <> 0 THEN {b1} - {b3} / {b5} * {b2} END",
        _FIT_BUFFERS,
    ),
    _replaced("regr_count", LONG, _regr_count),
    _replaced("regr_avgx", DOUBLE, _mean_of(1)),
    _replaced("regr_avgy", DOUBLE, _mean_of(0)),
    _replaced("regr_sxx", DOUBLE, _spread_of(1)),
    _replaced("regr_syy", DOUBLE, _spread_of(0)),
)
