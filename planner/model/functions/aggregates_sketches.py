"""Modes, listagg, histograms and sketches: Spark keeps their state as an object."""

from __future__ import annotations

from ..errors import AnalysisError
from ..expressions.core import Call, Expression, Literal
from ..expressions.evaluation import constant_of
from ..expressions.literal import NULL_LITERAL
from ..registry import AggregateForms, Finish, Merge, Show, Start, register
from ..schemas.types import (
    BINARY,
    DOUBLE,
    INT,
    LONG,
    STRING,
    ArrayType,
    BinaryType,
    DataType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)
from ..settings.conf import Conf
from .aggregates_common import OBJECT_FORMS, aggregate, gathered_forms, object_aggregate, present
from .aggregates_counts import listagg_forms, listagg_sql, mode_forms, mode_pretty, mode_sql
from .aggregates_percentiles import MAX_INT, ordered, require_constant
from .coercion import cast_unless_same
from .inputs import parameter
from .mismatch import diff_types, non_foldable, require_count, unexpected_type
from .shapes import first_type, named, never_null, with_arguments

# ----------------------------------------------------------------------------- mode, histogram


def _check_mode(call: Call, conf: Conf) -> Expression:
    """`mode(x, false)`, as PySpark writes it, is `mode(x)`."""
    require_count(call, 1, 2)
    last = call.arguments[-1]
    if len(call.arguments) == 2 and isinstance(last, Literal) and last.value is False:
        return with_arguments(call, call.arguments[:1])
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
    typed = with_arguments(call, [value, cast_unless_same(bins, INT, conf)])
    allowed = f"[2, {MAX_INT}]"
    require_constant(typed, 1, "nb", "INT", lambda n: isinstance(n, int) and n >= 2, allowed)
    return typed


def _histogram_forms(call: Call) -> AggregateForms:
    value, bins = call.arguments
    most = constant_of(bins, int)
    if most is None or isinstance(value.data_type, YearMonthIntervalType):
        return OBJECT_FORMS
    return gathered_forms(
        value,
        present(value),
        Merge("histograms", (0,), (most,)),
        buffer=ArrayType(StructType((StructField("x", DOUBLE), StructField("y", DOUBLE))), False),
        start=Start("histogram", (most,), value.data_type),
        finish=Finish("histogram_points", ()),
        plan=OBJECT_FORMS.plan_buffers,
    )


def _histogram_type(call: Call) -> DataType:
    point = StructType((StructField("x", first_type(call)), StructField("y", DOUBLE)))
    return ArrayType(point, True)


# ------------------------------------------------------------------------------------- listagg


def _check_listagg(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    value = call.arguments[0]
    separator = call.arguments[1] if len(call.arguments) == 2 else NULL_LITERAL
    call = with_arguments(call, [value, separator])
    if not isinstance(value.data_type, BinaryType):
        if parameter("string").implicit(value.data_type, ansi=conf.ansi) is None:
            raise unexpected_type(call, 0, '("STRING" or "BINARY")')
        call = with_arguments(call, [cast_unless_same(value, STRING, conf), separator])
    elif isinstance(separator.data_type, StringType):
        raise diff_types(call, choice=True)
    if not separator.foldable:
        raise non_foldable(call, "delimiter", separator.data_type.sql, separator)
    return call


def _sketch_forms(call: Call) -> AggregateForms:
    """HyperLogLog: the sketch as Spark serialises it."""
    value, slots = call.arguments
    bits = constant_of(slots, int)
    if bits is None or not 4 <= bits <= 21:
        return OBJECT_FORMS
    return gathered_forms(
        value,
        present(value),
        Merge("hll_sketches", (0,)),
        buffer=BINARY,
        start=Start("hll_sketches", (bits,), value.data_type),
        empty=bytes((2, 1, 7, bits, 3, 4, 0, 8)) + bytes(32),
        plan=OBJECT_FORMS.plan_buffers,
    )


# ------------------------------------------------------------------------------------ grouping


def _check_grouping(call: Call, conf: Conf) -> Expression:
    raise AnalysisError.of(
        "UNSUPPORTED_GROUPING_EXPRESSION",
        hint="Grouping sets are not supported on streams: group by plain columns.",
    )


register(
    object_aggregate(
        "mode",
        0,
        _check_mode,
        text=_mode_text,
        pretty=mode_pretty,
        sql=mode_sql,
        forms=mode_forms,
        state="counts",
        state_object="counts",
        by_width=True,
    ),
    object_aggregate(
        "histogram_numeric",
        _histogram_type,
        _check_histogram,
        forms=_histogram_forms,
        state_object="histogram",
    ),
    *named(
        object_aggregate(
            "listagg",
            0,
            _check_listagg,
            pretty=listagg_sql,
            sql=listagg_sql,
            forms=listagg_forms,
            order_sensitive=True,
            used_at_the_end=(1,),
            state_object="texts",
        ),
        "string_agg",
    ),
    object_aggregate(
        "hll_sketch_agg",
        BINARY,
        "!int|bigint|string|binary, [!int=12]",
        forms=_sketch_forms,
        state_object="hll sketch",
    ),
    *(
        aggregate(name, LONG, _check_grouping, nullable=never_null)
        for name in ("grouping", "grouping_id")
    ),
)
