"""collect_list, collect_set, approx_count_distinct, pivotfirst."""

from __future__ import annotations

import math
from typing import Any

from ..errors import AnalysisError
from ..expressions.core import Call, Cast, Expression, Literal, lit
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Show, register
from ..schemas.types import (
    DOUBLE,
    INT,
    LONG,
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    MapType,
    NumericType,
    contains_type,
)
from ..settings.conf import Conf
from ..text.literal_text import literal_text
from ..tree import replace
from .aggregates_common import OBJECT_BUFFER, OBJECT_TEXT, aggregate, listed, present
from .build import call as build
from .build import if_else, long, null, when
from .mismatch import failed_call, function_mismatch, require_count
from .shapes import first_type, never_null

# ------------------------------------------------------------------------- collect_list and set


def _ignores_nulls(call: Call) -> bool:
    return not call.options or bool(call.options[0])


def _check_collect(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    if call.name == "collect_set" and contains_type(first_type(call), MapType):
        wrong = '"MAP" or "COLLATED STRING"'
        raise function_mismatch("UNSUPPORTED_INPUT_TYPE", call, dataType=wrong)
    return replace(call, options=(_ignores_nulls(call),))


def _collect_text(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])}, 0, 0, {str(_ignores_nulls(call)).lower()})"


def _respecting(call: Call) -> str:
    return "" if _ignores_nulls(call) else " RESPECT NULLS"


def _collect_pretty(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])}){_respecting(call)}"


def _collect_result_name(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])}){_respecting(call).lower()}"


def _collect_forms(call: Call) -> AggregateForms:
    (value,) = call.arguments
    used = present(value) if _ignores_nulls(call) else None
    is_set = call.name == "collect_set"
    return AggregateForms(
        # States written so far have this type, whatever is collected.
        buffers=(Buffer("buf", ArrayType(value.data_type, True), empty=()),),
        merges=(Merge("union" if is_set else "concat", (0,)),),
        partial=lambda over: (over(call),),
        row=lambda: (listed(value, used, value.data_type),),
        plan=(OBJECT_BUFFER,),
        finish=Finish("set_in_order", ()) if is_set else None,
    )


def _collect(name: str, **fields: Any) -> FunctionSpec:
    return aggregate(
        name,
        lambda call: ArrayType(first_type(call), not _ignores_nulls(call)),
        _check_collect,
        nullable=never_null,
        text=_collect_text,
        pretty=_collect_pretty,
        forms=_collect_forms,
        over_no_rows=(),
        object_hash=True,
        order_sensitive=True,
        sql_suffix=_respecting,
        null_treatment=True,
        result_name=_collect_result_name,
        state_object="array",
        by_width=True,
        constant_text="data",
        **fields,
    )


# ----------------------------------------------------------------------- approx_count_distinct


def _check_distinct(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    deviation = 0.05
    if len(call.arguments) == 2:
        given = call.arguments[1]
        if not (isinstance(given, Literal) and isinstance(given.type_, DoubleType | DecimalType)):
            raise AnalysisError.of("_LEGACY_ERROR_TEMP_1104")
        deviation = float(str(given.value))
    if not 0 < deviation <= 0.39:
        hint = "The relative standard deviation must lie above 0 and be at most 0.39."
        raise failed_call(call.name, hint)
    literal = Literal(value=deviation, type_=DOUBLE)
    return replace(call, arguments=(call.arguments[0], literal))


def precision_of(call: Call) -> int:
    """How many bits of a value's hash choose its register: 2^bits registers."""
    deviation = call.arguments[1]
    assert isinstance(deviation, Literal) and isinstance(deviation.value, float)
    return math.ceil(2 * math.log(1.106 / deviation.value) / math.log(2))


def _distinct_forms(call: Call) -> AggregateForms:
    bits = precision_of(call)
    words = (1 << bits) // 10 + 1  # ten registers of six bits in a bigint
    value = call.arguments[0]
    register_of = _register(value, bits)
    return AggregateForms(
        buffers=(Buffer("registers", ArrayType(INT, False), empty=()),),
        merges=(Merge("registers", (0,)),),
        partial=lambda over: (
            over(build("collect_set", when(build("isnotnull", value), register_of))),
        ),
        row=lambda: (listed(register_of, present(value), INT),),
        finish=Finish("distinct_estimate", (bits,)),
        plan=tuple(Buffer(f"MS[{i}]", LONG, False) for i in range(words)),
    )


def _register(value: Expression, bits: int) -> Expression:
    """The register that a value touches, `index * 64 + rank`: one of 64 * 2^bits numbers.

    A value's register is the first bits of its hash; its rank is one more than the number of
    leading zeros in the rest. The set is as good as the highest rank of each register, which the
    merge keeps.
    """
    # Spark hashes no maps in SQL, but the function does, as its entries one after the other.
    is_map = isinstance(value.data_type, MapType)
    hashed = build("xxhash64", build("map_entries", value) if is_map else value)
    rest = build("|", build("shiftleft", hashed, lit(bits)), long(1 << (bits - 1)))
    first = build("&", build("shiftright", hashed, lit(64 - bits)), long((1 << bits) - 1))
    index = Cast(child=first, type_=INT)
    digits = build("length", build("bin", rest))
    return build("+", build("*", index, lit(64)), build("-", lit(65), digits))


# ---------------------------------------------------------------------------------- pivotfirst


def keeps_values_of(data_type: DataType) -> bool:
    """Whether pivotfirst, which gathers the results of a pivot, can hold some of the type."""
    return isinstance(data_type, NumericType | BooleanType)


def _pivoted(call: Call) -> tuple[Expression, ...]:
    """The values of the pivot's column."""
    return tuple(value for value in call.options if isinstance(value, Expression))


def _pivot_text(call: Call, show: Show) -> str:
    values = [literal_text(v) if isinstance(v, Literal) else show(v) for v in _pivoted(call)]
    return f"pivotfirst({', '.join([*map(show, call.arguments), *values])}, 0, 0)"


def _pivot_forms(call: Call) -> AggregateForms:
    column, result = call.arguments
    kind = result.data_type
    literals = [value for value in _pivoted(call) if isinstance(value, Literal)]
    names = ["null" if v.value is None else literal_text(v) for v in literals]

    def chosen() -> tuple[Call, ...]:
        return tuple(if_else(build("<=>", column, v), result, null(kind)) for v in literals)

    return AggregateForms(
        buffers=tuple(Buffer(f"b{i}", kind) for i in range(len(literals))),
        merges=tuple(Merge("max", (i,)) for i in range(len(literals))),
        partial=lambda over: tuple(over(build("max", value)) for value in chosen()),
        row=chosen,
        final=lambda columns: build("array", *columns),
        plan=tuple(Buffer(name, kind) for name in names),
    )


register(
    _collect("collect_list", aliases=("array_agg",)),
    _collect("collect_set", duplicate_agnostic=True),
    aggregate(
        "approx_count_distinct",
        LONG,
        _check_distinct,
        nullable=never_null,
        text=OBJECT_TEXT,
        pretty="{name}({0})",
        forms=_distinct_forms,
        over_no_rows=0,
        imperative=True,
        by_width=True,
    ),
    # What a pivot gathers: an array of one result per value of its column.
    aggregate(
        "pivotfirst",
        lambda call: ArrayType(call.arguments[1].data_type),
        nullable=never_null,
        text=_pivot_text,
        forms=_pivot_forms,
        imperative=True,
        written=False,
    ),
)
