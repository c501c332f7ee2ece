"""count, min, max, first, last, any_value, bool_and and the like, bit_and, max_by."""

from __future__ import annotations

from typing import Any

from ..errors import AnalysisError
from ..expressions.core import TRUE, Call, Expression, Literal
from ..expressions.evaluation import constant_of, evaluate
from ..registry import (
    AggregateForms,
    Buffer,
    Finish,
    FunctionSpec,
    Merge,
    Show,
    Start,
    one_function,
    register,
)
from ..schemas.types import (
    BINARY,
    BOOLEAN,
    INT,
    LONG,
    ArrayType,
    BooleanType,
    DataType,
    IntegralType,
    NullType,
    StringType,
    StructField,
    StructType,
)
from ..settings.conf import Conf
from ..text.quoting import to_sql_id
from ..text.text import pretty
from ..tree import replace
from .aggregates_common import (
    COUNT_BUFFER,
    aggregate,
    counted,
    gathered_forms,
    planned_only,
    present,
    simple_forms,
)
from .build import call as build
from .build import if_else, long, null, struct
from .coercion import cast_unless_same
from .inputs import parameter
from .mismatch import (
    ArgumentError,
    require_count,
    require_orderable,
    type_mismatch,
    unexpected_type,
)
from .shapes import Check, first_type, never_null, with_arguments

# ------------------------------------------------------------------------------------- count


def _check_count(call: Call, conf: Conf) -> Expression:
    if not call.arguments:
        error = ArgumentError.of(
            "WRONG_NUM_ARGS.WITH_SUGGESTION",
            functionName=to_sql_id("count"),
            expectedNum=" >= 1",
            actualNum="0",
            legacyNum="0",
            legacyConfKey='"spark.sql.legacy.allowParameterlessCount"',
            legacyConfValue='"true"',
        )
        error.placeless = True
        raise error
    return call


def _check_boolean(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    argument = call.arguments[0]
    match argument.data_type:
        case BooleanType():
            return call
        case NullType():
            return with_arguments(call, [cast_unless_same(argument, BOOLEAN, conf)])
        case StringType() if conf.ansi:
            return with_arguments(call, [cast_unless_same(argument, BOOLEAN, conf)])
        case _:
            raise unexpected_type(call, 0, '"BOOLEAN"')


def _count_if(call: Call) -> Expression:
    (condition,) = call.arguments
    return build("count", build("if", build("not", condition), null(BOOLEAN), condition))


# --------------------------------------------------------------------------------- min and max


def _check_ordered(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    require_orderable(call, 0)
    return call


def _boolean(name: str, target: str) -> FunctionSpec:
    return aggregate(
        name,
        BOOLEAN,
        _check_boolean,
        replacement=lambda call: build(target, *call.arguments),
        forms=lambda call: simple_forms(Buffer(target, BOOLEAN), call, target),
        state=target,
    )


# ------------------------------------------------------------------------------- first and last


def ignores_nulls(call: Call) -> bool:
    """Whether a resolved first, last, any_value or collect_* skips nulls."""
    return bool(call.options and call.options[0])


def _check_first(call: Call, conf: Conf) -> Expression:
    require_count(call, 1, 2)
    ignore = bool(call.options and call.options[0])
    if len(call.arguments) == 2:
        flag = call.arguments[1]
        if not (isinstance(flag, Literal) and isinstance(flag.value, bool)):
            raise AnalysisError.of(
                "_LEGACY_ERROR_TEMP_1210",
                hint=f"Write {call.name}(x, true) to skip nulls.",
                funcName=call.spec.one_name,
            )
        ignore = ignore or flag.value
    return replace(call, arguments=call.arguments[:1], options=(ignore,))


def _first_text(call: Call, show: Show) -> str:
    return f"{call.name}({show(call.arguments[0])}, {str(ignores_nulls(call)).lower()})"


def _first_result_name(call: Call, show: Show) -> str:
    shown = f"{call.name}({show(call.arguments[0])})"
    return shown + (" ignore nulls" if ignores_nulls(call) else "()")


def _first_forms(call: Call) -> AggregateForms:
    operation = "last" if call.name.startswith("last") else "first"
    value = call.arguments[0]
    chosen = build("isnotnull", value) if ignores_nulls(call) else TRUE
    return AggregateForms(
        buffers=(Buffer(operation, call.data_type), Buffer("valueSet", BOOLEAN)),
        merges=(Merge(operation, (0, 1)),),
        partial=lambda over: (over(replace(call, name=operation)), over(build("bool_or", chosen))),
        row=lambda: (value, chosen),
    )


def _first_sql(call: Call, show: Show) -> str:
    shown = show(call.arguments[0])
    return f"{call.name}({shown}, true)" if ignores_nulls(call) else f"{call.name}({shown})"


def _positional(name: str, **fields: Any) -> FunctionSpec:
    return aggregate(
        name,
        0,
        _check_first,
        text=_first_text,
        pretty="{name}({args})",
        sql=_first_sql,
        duplicate_agnostic=True,
        forms=_first_forms,
        order_sensitive=True,
        null_treatment=True,
        result_name=_first_result_name,
        **fields,
    )


# -------------------------------------------------------------------------------------- bits


def _check_bits(call: Call, conf: Conf) -> Expression:
    require_count(call, 1)
    argument = call.arguments[0]
    match argument.data_type:
        case IntegralType():
            return call
        case NullType():
            return with_arguments(call, [null(INT)])
        case _:
            raise unexpected_type(call, 0, '"INTEGRAL"')


# ----------------------------------------------------------------------------- max_by, min_by

_MOST_VALUES = 100_000


def _check_by(call: Call, conf: Conf) -> Expression:
    require_count(call, 2, 3)
    require_orderable(call, 1)
    if len(call.arguments) == 2:
        return call
    value, order, count = call.arguments
    if parameter("int").implicit(count.data_type, ansi=conf.ansi) is None:
        raise unexpected_type(call, 2, '"INT"')
    if not count.foldable:
        raise type_mismatch(
            "NON_FOLDABLE_INPUT", call, inputName="k", inputType="int", inputExpr=pretty(count)
        )
    typed = with_arguments(call, [value, order, cast_unless_same(count, INT, conf)])
    known = evaluate(typed.arguments[2])
    found = 0 if known is None or not isinstance(known.value, int) else known.value
    if known is not None and not 1 <= found <= _MOST_VALUES:
        raise type_mismatch(
            "VALUE_OUT_OF_RANGE",
            call,
            exprName=to_sql_id("k"),
            valueRange=f"[1, {_MOST_VALUES}]",
            currentValue=found,
        )
    return typed


def _by_type(call: Call) -> DataType:
    value = first_type(call)
    return value if len(call.arguments) == 2 else ArrayType(value, call.arguments[0].nullable)


def _by_text(call: Call, show: Show) -> str:
    shown = [show(argument) for argument in call.arguments]
    if len(shown) == 3:
        shown += ["false" if call.name == "max_by" else "true", "0", "0"]
    return f"{call.name}({', '.join(shown)})"


def _by_forms(call: Call) -> AggregateForms:
    ordering = call.arguments[1].data_type
    extremum = call.name.removesuffix("_by")
    if len(call.arguments) == 3:
        return _several_by_forms(call)
    value, order = call.arguments
    # A row without an ordering counts as none: nulls merge so.
    return AggregateForms(
        buffers=(
            Buffer("valueWithExtremumOrdering", call.data_type),
            Buffer("extremumOrdering", ordering),
        ),
        merges=(Merge(call.name, (0, 1)),),
        partial=lambda over: (over(call), over(build(extremum, order))),
        row=lambda: (if_else(build("isnull", order), null(call.data_type), value), order),
    )


def _several_by_forms(call: Call) -> AggregateForms:
    """Pairs of value and ordering, those with the best orderings, as Spark's heap has them."""
    value, order, count = call.arguments
    plan = (
        Buffer("values", ArrayType(value.data_type)),
        Buffer("orderings", ArrayType(order.data_type)),
        Buffer("heapIndices", BINARY),
    )
    most = constant_of(count, int)
    if most is None:
        return planned_only(*plan)
    sign = 1 if call.name == "max_by" else -1
    fields = (StructField("v", value.data_type), StructField("o", order.data_type))
    element, several = StructType(fields), (most, sign)
    return gathered_forms(
        struct(v=value, o=order),
        present(order),
        Merge("top", (0,), several),
        buffer=ArrayType(element, False),
        start=Start("top", several, element),
        finish=Finish("ordered_values", (sign,)),
        plan=plan,
    )


def _kept(name: str, check: Check, **fields: Any) -> FunctionSpec:
    """An aggregate that keeps one value of the argument's type, in any order of the rows."""
    return aggregate(
        name,
        0,
        check,
        forms=lambda call: simple_forms(Buffer(name, call.data_type), call, name),
        order_irrelevant="always",
        **fields,
    )


register(
    aggregate(
        "count",
        LONG,
        _check_count,
        nullable=never_null,
        forms=lambda call: simple_forms(COUNT_BUFFER, call, "sum_wrap", counted(call.arguments)),
        over_no_rows=0,
        order_irrelevant="always",
        constant_text="data",
    ),
    aggregate(
        "count_if",
        LONG,
        _check_boolean,
        nullable=never_null,
        replacement=_count_if,
        forms=lambda call: simple_forms(
            COUNT_BUFFER, call, "sum_wrap", if_else(call.arguments[0], long(1), long(0))
        ),
    ),
    *(
        _kept(name, _check_ordered, duplicate_agnostic=True, constant_text="data")
        for name in ("min", "max")
    ),
    *one_function(*(_boolean(name, "min") for name in ("bool_and", "every"))),
    *one_function(*(_boolean(name, "max") for name in ("bool_or", "some", "any"))),
    *one_function(
        _positional("first", nulls_in_arguments=True, constant_text="data"),
        _positional("first_value"),
    ),
    *one_function(
        _positional("last", nulls_in_arguments=True, constant_text="data"),
        _positional("last_value"),
    ),
    _positional(
        "any_value",
        replacement=lambda call: replace(call, name="first"),
        state="first",
        nulls_in_arguments=True,
        constant_text="data",
    ),
    *(_kept(name, _check_bits, duplicate_agnostic=True) for name in ("bit_and", "bit_or")),
    _kept("bit_xor", _check_bits),
    *(
        aggregate(
            name,
            _by_type,
            _check_by,
            text=_by_text,
            pretty="{name}({args})",
            forms=_by_forms,
            constant_text="data",
        )
        for name in ("max_by", "min_by")
    ),
)
