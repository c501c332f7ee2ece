"""Percentiles: Spark keeps how often each value came, or a summary of them, as an object."""

from __future__ import annotations

from ..expressions.core import Call, Expression, Literal, lit
from ..registry import Show
from ..schemas.types import DOUBLE, ArrayType, DataType
from ..settings.conf import Conf
from .aggregates_common import is_ansi_interval, object_aggregate, with_arguments
from .aggregates_counts import (
    approximate_forms,
    discrete_forms,
    discrete_sql,
    percentile_forms,
    percentile_sql,
)
from .mismatch import require_count
from .percentages import (
    number,
    ordered,
    require_accuracy,
    require_integral,
    require_shares,
    shares,
)
from .shapes import first_type, named

ARRAYS = '"ARRAY<DOUBLE>"'
VALUES_OR_ARRAYS = '("DOUBLE" or "ARRAY<DOUBLE>")'


def _check_percentile(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    given = call.arguments if len(call.arguments) == 3 else (*call.arguments, lit(1))
    call = with_arguments(call, *given)
    value = number(call, conf)
    require_integral(call, 2)
    typed = with_arguments(call, value, shares(call, ARRAYS, conf), given[2])
    require_shares(typed)
    return typed


def _check_approximate(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    given = call.arguments if len(call.arguments) == 3 else (*call.arguments, lit(10000))
    call = with_arguments(call, *given)
    value = ordered(call, conf)
    require_integral(call, 2)
    typed = with_arguments(call, value, shares(call, VALUES_OR_ARRAYS, conf), given[2])
    require_accuracy(typed)
    require_shares(typed)
    return typed


def _check_median(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    return with_arguments(call, number(call, conf))


def _is_reversed(call: Call) -> str:
    """Whether WITHIN GROUP orders downwards."""
    return "true" if call.options and call.options[0] else "false"


def _percentile_text(call: Call, show: Show) -> str:
    shown = ", ".join(show(a) for a in call.arguments)
    return f"{call.name}({shown}, 0, 0, {_is_reversed(call)})"


def _discrete_text(call: Call, show: Show) -> str:
    shown = ", ".join(show(a) for a in call.arguments)
    return f"{call.name}({shown}, {_is_reversed(call)}, 0, 0, false)"


def _ordered_pretty(call: Call, show: Show) -> str:
    value, *rest = (show(a) for a in call.arguments)
    direction = " DESC" if call.options and call.options[0] else ""
    return f"{call.name}({', '.join(rest)}) WITHIN GROUP (ORDER BY {value}{direction})"


def _check_ordered_percentile(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    return with_arguments(call, number(call, conf), shares(call, ARRAYS, conf))


def _continuous(call: Call) -> Expression:
    return Call(name="percentile", arguments=(*call.arguments, lit(1)), options=call.options)


def _median(call: Call) -> Expression:
    half = Literal(value=0.5, type_=DOUBLE)
    return Call(name="percentile", arguments=(call.arguments[0], half, lit(1)))


def _per_share(value: DataType, call: Call) -> DataType:
    several = len(call.arguments) > 1 and isinstance(call.arguments[1].data_type, ArrayType)
    return ArrayType(value, False) if several else value


def _percentile_type(call: Call) -> DataType:
    value = first_type(call)
    return _per_share(value if is_ansi_interval(value) else DOUBLE, call)


def _approximate_type(call: Call) -> DataType:
    return _per_share(first_type(call), call)


SPECS = (
    object_aggregate(
        "percentile",
        data_type=_percentile_type,
        check=_check_percentile,
        text=_percentile_text,
        sql=percentile_sql,
        forms=percentile_forms,
        state="counts",
        used_at_the_end=(1,),
        state_object="counts",
        by_width=True,
    ),
    object_aggregate(
        "percentile_cont",
        data_type=_percentile_type,
        check=_check_ordered_percentile,
        replacement=_continuous,
        text=_ordered_pretty,
        pretty=_ordered_pretty,
        state="counts",
        used_at_the_end=(1,),
        state_object="counts",
        by_width=True,
    ),
    object_aggregate(
        "percentile_disc",
        data_type=_percentile_type,
        check=_check_ordered_percentile,
        text=_discrete_text,
        pretty=_ordered_pretty,
        sql=discrete_sql,
        forms=discrete_forms,
        state="counts",
        used_at_the_end=(1,),
        state_object="counts",
        by_width=True,
    ),
    *named(
        object_aggregate(
            "percentile_approx",
            data_type=_approximate_type,
            check=_check_approximate,
            forms=approximate_forms,
            used_at_the_end=(1,),
            state_object="quantiles",
        ),
        "approx_percentile",
    ),
    object_aggregate(
        "median",
        data_type=_percentile_type,
        check=_check_median,
        replacement=_median,
        text=None,
        state="counts",
        state_object="counts",
        by_width=True,
    ),
)
