"""collect_list, collect_set, listagg, approx_count_distinct."""

from __future__ import annotations

import math

from ..errors import AnalysisError
from ..expressions.core import Call, Cast, Expression, Literal, lit
from ..registry import AggregateForms, Buffer, Finish, FunctionSpec, Merge, Over, Show
from ..schemas.types import (
    BINARY,
    DOUBLE,
    INT,
    LONG,
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    contains_type,
)
from ..settings.conf import Conf
from ..text.quoting import to_sql_id
from ..tree import replace
from .aggregates_common import always, listed, mismatch, not_nullable
from .build import call as build
from .build import long, when
from .mismatch import failed_call, require_count
from .shapes import first_type

# ------------------------------------------------------------------------- collect_list and set


def _ignores_nulls(call: Call) -> bool:
    return not call.options or bool(call.options[0])


def _check_collect(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    if call.name == "collect_set" and contains_type(first_type(call), MapType):
        raise mismatch(
            call,
            "UNSUPPORTED_INPUT_TYPE",
            functionName=to_sql_id("collect_set"),
            dataType='"MAP" or "COLLATED STRING"',
        )
    ignore = bool(call.options[0]) if call.options else True
    return replace(call, options=(ignore,))


def _collect_type(call: Call) -> DataType:
    """Spark says that there may be nulls in the array even where none is kept."""
    return ArrayType(first_type(call), True)


def _collect_text(call: Call, show: Show) -> str:
    flag = "true" if _ignores_nulls(call) else "false"
    return f"{call.name}({show(call.arguments[0])}, 0, 0, {flag})"


def _collect_pretty(call: Call, show: Show) -> str:
    text = f"{call.name}({show(call.arguments[0])})"
    return text if _ignores_nulls(call) else text + " RESPECT NULLS"


def _collect_result_name(call: Call, show: Show) -> str:
    text = f"{call.name}({show(call.arguments[0])})"
    return text if _ignores_nulls(call) else text + " respect nulls"


def _collect_forms(call: Call) -> AggregateForms:
    value = call.arguments[0]

    def row() -> tuple[Expression, ...]:
        used = build("isnotnull", value) if _ignores_nulls(call) and value.nullable else None
        return (listed(value, used, value.data_type),)

    return AggregateForms(
        buffers=(Buffer("buf", call.data_type, empty=()),),
        merges=(Merge("concat" if call.name == "collect_list" else "union", (0,)),),
        partial=lambda over: (over(call),),
        row=row,
        plan=(Buffer("buf", BINARY),),
        finish=_finish(call),
    )


def _finish(call: Call) -> Finish | None:
    """A set has one zero and one NaN, as grouping keys have."""
    is_set = call.name == "collect_set"
    floats = is_set and contains_type(first_type(call), FloatType, DoubleType)
    return Finish("normalised", ()) if floats else None


def _collect_sql_suffix(call: Call) -> str:
    return "" if _ignores_nulls(call) else " RESPECT NULLS"


def _collect(name: str, *aliases: str, duplicate_agnostic: bool = False) -> FunctionSpec:
    return FunctionSpec(
        name=name,
        kind="aggregate",
        data_type=_collect_type,
        nullable=not_nullable,
        check=_check_collect,
        text=_collect_text,
        pretty=_collect_pretty,
        forms=_collect_forms,
        aliases=aliases,
        over_no_rows=(),
        object_hash=True,
        order_sensitive=True,
        sql_suffix=_collect_sql_suffix,
        null_treatment=True,
        result_name=_collect_result_name,
        duplicate_agnostic=duplicate_agnostic,
        state_object="array",
        by_width=True,
        constant_text="data",
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


def _distinct_text(call: Call, show: Show) -> str:
    return f"{call.name}({', '.join(show(a) for a in call.arguments)}, 0, 0)"


def _distinct_pretty(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])})"


def _distinct_forms(call: Call) -> AggregateForms:
    bits = precision_of(call)
    words = (1 << bits) // 10 + 1  # ten registers of six bits in a bigint
    value = call.arguments[0]

    def row() -> tuple[Expression, ...]:
        used = build("isnotnull", value) if value.nullable else None
        return (listed(_register(value, bits), used, INT),)

    def partial(over: Over) -> tuple[Expression, ...]:
        register = when(build("isnotnull", value), _register(value, bits))
        return (over(build("collect_set", register)),)

    return AggregateForms(
        buffers=(Buffer("registers", ArrayType(INT, False), empty=()),),
        merges=(Merge("registers", (0,)),),
        partial=partial,
        row=row,
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


SPECS = (
    _collect("collect_list", "array_agg"),
    _collect("collect_set", duplicate_agnostic=True),
    FunctionSpec(
        name="approx_count_distinct",
        kind="aggregate",
        data_type=always(LONG),
        nullable=not_nullable,
        check=_check_distinct,
        text=_distinct_text,
        pretty=_distinct_pretty,
        forms=_distinct_forms,
        over_no_rows=0,
        imperative=True,
        by_width=True,
    ),
)
