"""Percentiles, modes, listagg, histograms and sketches: Spark keeps their state as an object.

Histograms and sketches are planned as Spark plans them; running them gives an error that names
them.
"""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal, lit
from ..expressions.evaluation import evaluate
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Show, Start
from ..schemas.types import (
    BINARY,
    DOUBLE,
    INT,
    LONG,
    STRING,
    ArrayType,
    BinaryType,
    DataType,
    NullType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from .aggregates_common import (
    always,
    first_type,
    gathered_forms,
    is_ansi_interval,
    mismatch,
    not_nullable,
    nullable,
    planned_only,
    present,
    require_count,
    typed_text,
    with_arguments,
)
from .aggregates_counts import (
    approximate_forms,
    discrete_forms,
    discrete_sql,
    listagg_forms,
    listagg_sql,
    mode_forms,
    mode_sql,
    percentile_forms,
    percentile_sql,
)
from .coercion import cast_unless_same
from .inputs import parameter
from .mismatch import diff_types, unexpected_type
from .percentages import (
    number,
    ordered,
    require_accuracy,
    require_bins,
    require_integral,
    require_shares,
    shares,
)
from .shapes import check_types, named

_OBJECT = planned_only(Buffer("buf", BINARY))


def _object_forms(call: Call) -> AggregateForms:
    return _OBJECT


# --------------------------------------------------------------------------------- percentiles

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


# ----------------------------------------------------------------------------- mode, histogram


def _check_mode(call: Call, conf: Conf) -> Expression:
    """`mode(x, false)`, as PySpark writes it, is `mode(x)`."""
    require_count(call, 1, 2)
    last = call.arguments[-1]
    if len(call.arguments) == 2 and isinstance(last, Literal) and last.value is False:
        return with_arguments(call, call.arguments[0])
    return call


def _mode_text(call: Call, show: Show) -> str:
    chosen = "None" if len(call.arguments) == 1 else "Some(true)"
    if call.options:  # the order of WITHIN GROUP
        chosen = "Some(true)" if call.options[0] else "Some(false)"
    return f"mode({show(call.arguments[0])}, 0, 0, {chosen})"


def _check_histogram(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    value, bins = ordered(call, conf), call.arguments[1]
    if parameter("int").implicit(bins.data_type, ansi=conf.ansi) is None:
        raise unexpected_type(call, 1, '"INT"')
    typed = with_arguments(call, value, cast_unless_same(bins, INT, conf))
    require_bins(typed)
    return typed


def _histogram_forms(call: Call) -> AggregateForms:
    value, bins = call.arguments
    known = evaluate(bins)
    most = None if known is None else known.value
    if not isinstance(most, int) or isinstance(value.data_type, YearMonthIntervalType):
        return _OBJECT
    return gathered_forms(
        value,
        present(value),
        Merge("histograms", (0,), (most,)),
        buffer=ArrayType(StructType((StructField("x", DOUBLE), StructField("y", DOUBLE))), False),
        start=Start("histogram", (most,), value.data_type),
        finish=Finish("histogram_points", ()),
        plan=_OBJECT.plan_buffers,
    )


def _histogram_type(call: Call) -> DataType:
    point = StructType((StructField("x", first_type(call)), StructField("y", DOUBLE)))
    return ArrayType(point, True)


# ------------------------------------------------------------------------------------- listagg


def _check_listagg(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    value = call.arguments[0]
    separator = call.arguments[1] if len(call.arguments) == 2 else lit_null()
    call = with_arguments(call, value, separator)
    if not isinstance(value.data_type, BinaryType):
        if parameter("string").implicit(value.data_type, ansi=conf.ansi) is None:
            raise unexpected_type(call, 0, '("STRING" or "BINARY")')
        call = with_arguments(call, cast_unless_same(value, STRING, conf), separator)
    elif isinstance(separator.data_type, StringType):
        raise diff_types(call, choice=True)
    if not separator.foldable:
        from ..text.text import pretty

        raise mismatch(
            call,
            "NON_FOLDABLE_INPUT",
            f'the input `delimiter` should be a foldable "{separator.data_type.sql}" expression; '
            f'however, got "{pretty(separator)}".',
        )
    return call


def _list_name(call: Call, show: Show) -> str:
    """`listagg(a, ,) WITHIN GROUP (ORDER BY b ASC NULLS FIRST)`."""
    inside, order = call.arguments[:2], call.arguments[2:]
    text = f"{call.name}({', '.join(map(show, inside))})"
    return f"{text} WITHIN GROUP (ORDER BY {', '.join(map(show, order))})" if order else text


def lit_null() -> Literal:
    """NULL without a type."""
    return Literal(value=None, type_=NullType())


def _check_sketch(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    if len(call.arguments) == 1:
        call = with_arguments(call, *call.arguments, lit(12))
    return check_types(call, ["!int|bigint|string|binary", "!int"], conf)


def _sketch_forms(call: Call) -> AggregateForms:
    """HyperLogLog: the sketch as Spark serialises it."""
    value, slots = call.arguments
    known = evaluate(slots)
    bits = None if known is None else known.value
    if not isinstance(bits, int) or not 4 <= bits <= 21:
        return _OBJECT
    return gathered_forms(
        value,
        present(value),
        Merge("hll_sketches", (0,)),
        buffer=BINARY,
        start=Start("hll_sketches", (bits,), value.data_type),
        empty=bytes((2, 1, 7, bits, 3, 4, 0, 8)) + bytes(32),
        plan=_OBJECT.plan_buffers,
    )


# ------------------------------------------------------------------------------------ grouping


def _check_grouping(call: Call, conf: Conf) -> Expression:
    raise AnalysisError(
        "UNSUPPORTED_GROUPING_EXPRESSION",
        "[UNSUPPORTED_GROUPING_EXPRESSION] grouping()/grouping_id() can only be used with "
        "GroupingSets/Cube/Rollup. SQLSTATE: 42K0E",
        hint="Grouping sets are not supported on streams: group by plain columns.",
    )


def _one_name(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])})"


def _object(
    name: str,
    **how: object,
) -> FunctionSpec:
    defaults: dict[str, object] = {
        "kind": "aggregate",
        "nullable": nullable,
        "forms": _object_forms,
        "object_hash": True,
        "text": typed_text("0", "0"),
    }
    return FunctionSpec(name=name, **{**defaults, **how})  # type: ignore[arg-type]


SPECS = (
    _object(
        "percentile",
        data_type=_percentile_type,
        check=_check_percentile,
        text=_percentile_text,
        sql=percentile_sql,
        forms=percentile_forms,
        state="counts",
        used_at_the_end=(1,),
        state_object="counts",
    ),
    _object(
        "percentile_cont",
        data_type=_percentile_type,
        check=_check_ordered_percentile,
        replacement=_continuous,
        text=_ordered_pretty,
        pretty=_ordered_pretty,
        state="counts",
        used_at_the_end=(1,),
        state_object="counts",
    ),
    _object(
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
    ),
    *named(
        _object(
            "percentile_approx",
            data_type=_approximate_type,
            check=_check_approximate,
            forms=approximate_forms,
            used_at_the_end=(1,),
            state_object="quantiles",
        ),
        "approx_percentile",
    ),
    _object(
        "median",
        data_type=_percentile_type,
        check=_check_median,
        replacement=_median,
        text=None,
        state="counts",
        state_object="counts",
    ),
    _object(
        "mode",
        data_type=first_type,
        check=_check_mode,
        text=_mode_text,
        pretty=_one_name,
        sql=mode_sql,
        forms=mode_forms,
        state_object="counts",
    ),
    _object(
        "histogram_numeric",
        data_type=_histogram_type,
        check=_check_histogram,
        forms=_histogram_forms,
        state_object="histogram",
    ),
    *named(
        _object(
            "listagg",
            data_type=first_type,
            check=_check_listagg,
            pretty=_list_name,
            sql=listagg_sql,
            forms=listagg_forms,
            order_sensitive=True,
            used_at_the_end=(1,),
            state_object="texts",
        ),
        "string_agg",
    ),
    _object(
        "hll_sketch_agg",
        data_type=always(BINARY),
        check=_check_sketch,
        forms=_sketch_forms,
        state_object="hll sketch",
    ),
    *(
        FunctionSpec(
            name=name,
            kind="aggregate",
            data_type=always(LONG),
            nullable=not_nullable,
            check=_check_grouping,
        )
        for name in ("grouping", "grouping_id")
    ),
)
