"""if, coalesce, nvl, nullif, greatest, least and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expressions.core import Call, Expression, Literal
from ..registry import FunctionSpec, Show, register
from ..schemas.types import (
    BOOLEAN,
    DOUBLE,
    BooleanType,
    DataType,
    FloatType,
    NullType,
    NumericType,
    StringType,
)
from ..settings.conf import Conf
from ..text.quoting import to_sql_id
from ..text.text import pretty
from ..tree import replace
from .coercion import cast_to, coerce_to_common, merge_types
from .collections import merged
from .math_values import unless_nan
from .mismatch import (
    diff_types,
    require_count,
    require_orderable,
    type_mismatch,
    unexpected_type,
    wrong_argument_count,
)
from .operator_values import extreme
from .shapes import (
    check_types,
    common_reference,
    named,
    never_null,
    resolve_like,
    scalar,
    with_arguments,
)


def _count(call: Call, expected: int) -> None:
    require_count(call, expected)


def as_condition(call: Call, position: int, conf: Conf) -> Expression:
    """The argument as a boolean.

    Raises:
        AnalysisError: it is none and no bare null either.
    """
    condition = call.arguments[position]
    if isinstance(condition, Literal) and isinstance(condition.data_type, NullType):
        condition = Literal(value=None, type_=BOOLEAN)
    if not isinstance(condition.data_type, BooleanType):
        raise unexpected_type(call, position, '"BOOLEAN"')
    return condition


def _check_if(call: Call, conf: Conf) -> Expression:
    _count(call, 3)
    values = coerce_to_common(call.arguments[1:], conf)
    condition = as_condition(call, 0, conf)
    if values is None:
        raise _if_types(call)
    return with_arguments(call, (condition, *values))


def _if_types(call: Call) -> Exception:
    from .mismatch import type_names

    names = type_names([a.data_type for a in call.arguments[1:]])
    return type_mismatch(
        "DATA_DIFF_TYPES", pretty(call), call, functionName=to_sql_id("if"), dataType=names
    )


def _same_types(
    least: int, *, strings: bool = True, ordered: bool = False
) -> Callable[[Call, Conf], Expression]:
    def check(call: Call, conf: Conf) -> Expression:
        if len(call.arguments) < least:
            expected = f"> {least - 1}"
            raise wrong_argument_count(call.name, expected, len(call.arguments), placeless=True)
        values = coerce_to_common(call.arguments, conf, strings=strings)
        if values is None:
            raise diff_types(call, choice=call.name == "coalesce")
        typed = with_arguments(call, values)
        if ordered:
            require_orderable(typed, 0)
        return typed

    return check


def _all_nullable(call: Call) -> bool:
    return all(a.nullable for a in call.arguments)


def _branches(call: Call) -> DataType:
    return merge_types([a.data_type for a in call.arguments[1:]])


def _branch_nullable(call: Call) -> bool:
    return any(a.nullable for a in call.arguments[1:])


def _replaced(
    name: str,
    count: int,
    build: Callable[[Call], Expression],
    **fields: Any,
) -> FunctionSpec:
    """A function that stands for another expression: its type and nullability are that one's."""

    def check(call: Call, conf: Conf) -> Expression:
        _count(call, count)
        build(call)
        return call

    return FunctionSpec(
        name=name,
        data_type=lambda call: build(call).data_type,
        nullable=lambda call: build(call).nullable,
        check=check,
        replacement=build,
        **fields,
    )


def _nvl(call: Call) -> Expression:
    return resolve_like(call, "coalesce", *call.arguments)


def _nvl2(call: Call) -> Expression:
    test, value, other = call.arguments
    return resolve_like(call, "if", resolve_like(call, "isnotnull", test), value, other)


def _nullif(call: Call) -> Expression:
    left, right = call.arguments
    null = Literal(value=None, type_=left.data_type)
    return resolve_like(call, "if", resolve_like(call, "=", left, right), null, left)


def _check_nullif(call: Call, conf: Conf) -> Expression:
    _count(call, 2)
    # Spark compares a reference to the value, which stands in its messages.
    left, right = call.arguments
    resolve_like(call, "=", common_reference(left), right)
    return call


def _zeroifnull(call: Call) -> Expression:
    from ..expressions.core import lit

    return resolve_like(call, "coalesce", call.arguments[0], lit(0))


def _nullifzero(call: Call) -> Expression:
    from ..expressions.core import lit

    value = call.arguments[0]
    null = Literal(value=None, type_=value.data_type)
    return resolve_like(call, "if", resolve_like(call, "=", value, lit(0)), null, value)


def _if_text(call: Call, show: Show) -> str:
    condition, yes, no = (show(argument) for argument in call.arguments)
    return f"if ({condition}) {yes} else {no}"


def _check_nanvl(call: Call, conf: Conf) -> Expression:
    _count(call, 2)
    left, right = call.arguments
    if isinstance(right.data_type, NullType) and isinstance(left.data_type, FloatType):
        return with_arguments(call, [left, cast_to(right, left.data_type, conf)])
    if left.data_type != right.data_type or not isinstance(left.data_type, FloatType):
        call = with_arguments(call, [_as_double(left, conf), _as_double(right, conf)])
    return check_types(call, ["double|float", "double|float"], conf)


def _as_double(expression: Expression, conf: Conf) -> Expression:
    number = isinstance(expression.data_type, NumericType | StringType | NullType)
    return cast_to(expression, DOUBLE, conf) if number else expression


register(
    FunctionSpec(
        name="if",
        data_type=_branches,
        nullable=_branch_nullable,
        check=_check_if,
        conditional=True,
        evaluate=lambda call, test, yes, no: yes() if test() else no(),
        text=_if_text,
        pretty=lambda call, show: f"(IF({', '.join(show(a) for a in call.arguments)}))",
        sql=lambda call, show: f"if({', '.join(show(a) for a in call.arguments)})",
        ansi_free=True,
        reads_clock="never",
        short_circuits=True,
        treats_alike=True,
        constant_text="data",
    ),
    FunctionSpec(
        name="coalesce",
        data_type=merged,
        nullable=_all_nullable,
        check=_same_types(1),
        conditional=True,
        evaluate=lambda call, *values: next((v for f in values if (v := f()) is not None), None),
        ansi_free=True,
        reads_clock="never",
        short_circuits=True,
        treats_alike=True,
        constant_text="data",
    ),
    *(
        FunctionSpec(
            name=name,
            data_type=merged,
            evaluate=extreme(sign),
            nullable=_all_nullable,
            check=_same_types(2, strings=False, ordered=True),
            commutative=True,
            associative=True,
            ansi_free=True,
            reads_clock="never",
            treats_alike=True,
            constant_text="data",
        )
        for name, sign in (("greatest", 1), ("least", -1))
    ),
    *named(
        _replaced(
            "nvl",
            2,
            _nvl,
            reads_clock="never",
            short_circuits=True,
            treats_alike=True,
            constant_text="data",
        ),
        "ifnull",
    ),
    _replaced("nvl2", 3, _nvl2, reads_clock="never", short_circuits=True, constant_text="data"),
    replace(
        _replaced(
            "nullif", 2, _nullif, reads_clock="never", short_circuits=True, constant_text="data"
        ),
        check=_check_nullif,
    ),
    _replaced("zeroifnull", 1, _zeroifnull),
    _replaced("nullifzero", 1, _nullifzero),
    FunctionSpec(
        name="nanvl",
        data_type=lambda call: call.arguments[0].data_type,
        check=_check_nanvl,
        conditional=True,
        evaluate=unless_nan,
        short_circuits=True,
    ),
    # What the planner itself puts around expressions.
    scalar(
        "knownnullable",
        "any",
        0,
        nullable=lambda call: True,
        sql="{0}",
        ansi_free=True,
        tagging=True,
    ),
    scalar("knownnotnull", "any", 0, nullable=never_null, sql="{0}", tagging=True),
    scalar("knownfloatingpointnormalized", "any", 0, sql="{0}", tagging=True),
    scalar("normalizenanandzero", "double|float", 0, sql="{0}"),
)
