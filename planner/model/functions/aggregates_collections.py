"""collect_list, collect_set, listagg, approx_count_distinct."""

from __future__ import annotations

import math

from ..conf import Conf
from ..errors import AnalysisError
from ..expressions import Call, Expression, Literal
from ..registry import AggregateForms, Buffer, FunctionSpec, Merge, Show
from ..tree import replace
from ..types import (
    BINARY,
    DOUBLE,
    INT,
    LONG,
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    MapType,
    contains_type,
)
from .aggregates_common import (
    always,
    first_type,
    mismatch,
    not_nullable,
    require_count,
)

# ------------------------------------------------------------------------- collect_list and set


def _ignores_nulls(call: Call) -> bool:
    return not call.options or bool(call.options[0])


def _check_collect(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    if call.name == "collect_set" and contains_type(first_type(call), MapType):
        raise mismatch(
            call,
            "UNSUPPORTED_INPUT_TYPE",
            'The input of `collect_set` can\'t be "MAP" or "COLLATED STRING" type data.',
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
    respect = "" if _ignores_nulls(call) else " RESPECT NULLS"
    return AggregateForms(
        buffers=(Buffer("buf", call.data_type),),
        partial=(f"{call.name}({{0}}){{filter}}{respect}",),
        merges=(Merge("concat" if call.name == "collect_list" else "union", (0,)),),
        final="{b0}",
        plan=(Buffer("buf", BINARY),),
    )


def _collect(name: str, *aliases: str) -> FunctionSpec:
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
        object_hash=True,
        order_sensitive=True,
        notes={"null_treatment": True, "result_name": _collect_result_name},
    )


# ----------------------------------------------------------------------- approx_count_distinct


def _check_distinct(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    deviation = 0.05
    if len(call.arguments) == 2:
        given = call.arguments[1]
        if not (isinstance(given, Literal) and isinstance(given.type_, DoubleType | DecimalType)):
            raise AnalysisError(
                "_LEGACY_ERROR_TEMP_1104",
                "The second argument should be a double literal.",
                hint="Write the relative standard deviation as a constant such as 0.05.",
            )
        deviation = float(str(given.value))
    if not 0 < deviation <= 0.39:
        raise AnalysisError(
            "FAILED_FUNCTION_CALL",
            "[FAILED_FUNCTION_CALL] Failed preparing of the function `approx_count_distinct` for "
            "call. Please, double check function's arguments. SQLSTATE: 38000",
            hint="The relative standard deviation must lie above 0 and be at most 0.39.",
        )
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
    return AggregateForms(
        buffers=(Buffer("registers", ArrayType(INT, False)),),
        partial=(_register_sql(first_type(call), bits),),
        merges=(Merge("registers", (0,)),),
        final="{b0}",
        finish=f"distinct_estimate:{bits}",
        plan=tuple(Buffer(f"MS[{i}]", LONG, False) for i in range(words)),
    )


def _register_sql(data_type: DataType, bits: int) -> str:
    """The registers that the values touch, each `index * 64 + rank`: at most 64 * 2^bits numbers.

    A value's register is the first bits of its hash; its rank is one more than the number of
    leading zeros in the rest. The set is as good as the highest rank of each register, which the
    merge keeps.
    """
    # Spark hashes no maps in SQL, but the function does, as its entries one after the other.
    value = "map_entries({0})" if isinstance(data_type, MapType) else "{0}"
    hashed = f"xxhash64({value})"
    rest = f"shiftleft({hashed}, {bits}) | {1 << (bits - 1)}L"
    register = f"CAST(shiftrightunsigned({hashed}, {64 - bits}) AS INT) * 64"
    return (
        f"collect_set(CASE WHEN {{0}} IS NOT NULL THEN {register} + 65 - length(bin({rest})) END)"
    )


SPECS = (
    _collect("collect_list", "array_agg"),
    _collect("collect_set"),
    FunctionSpec(
        name="approx_count_distinct",
        kind="aggregate",
        data_type=always(LONG),
        nullable=not_nullable,
        check=_check_distinct,
        text=_distinct_text,
        pretty=_distinct_pretty,
        forms=_distinct_forms,
        imperative=True,
    ),
)
