"""if, coalesce, nvl, nullif, greatest, least and the like; raise_error and assert_true."""

from __future__ import annotations

from collections.abc import Callable

from ..expressions.core import NULL_LITERAL, Call, CaseWhen, Expression, Literal, lit
from ..registry import FunctionSpec, register
from ..schemas.types import (
    BOOLEAN,
    DOUBLE,
    NULL,
    STRING,
    BooleanType,
    FloatType,
    NullType,
    NumericType,
    StringType,
)
from ..settings.conf import Conf
from ..text.quoting import to_sql_id
from ..text.text import pretty
from ..tree import replace
from .build import null
from .coercion import cast_to, cast_unless_same, coerce_to_common, merge_types
from .collections import merged
from .math_values import unless_nan
from .mismatch import (
    diff_types,
    function_mismatch,
    input_of,
    require_count,
    require_orderable,
    type_mismatch,
    type_names,
    unexpected_type,
    wrong_argument_count,
)
from .operator_values import extreme
from .shapes import (
    always_null,
    check_types,
    common_reference,
    conf_of,
    each,
    first_type,
    like_call,
    named,
    never_null,
    replaced,
    resolve,
    resolve_like,
    scalar,
    template,
    with_arguments,
)


def as_condition(call: Call) -> Expression:
    """The first argument as a boolean.

    Raises:
        AnalysisError: it is none and no bare null either.
    """
    condition = call.arguments[0]
    if isinstance(condition, Literal) and isinstance(condition.data_type, NullType):
        condition = Literal(value=None, type_=BOOLEAN)
    if not isinstance(condition.data_type, BooleanType):
        raise unexpected_type(call, 0, '"BOOLEAN"')
    return condition


def _check_if(call: Call, conf: Conf) -> Expression:
    require_count(call, 3)
    values = coerce_to_common(call.arguments[1:], conf)
    condition = as_condition(call)
    if values is None:
        names = type_names([a.data_type for a in call.arguments[1:]])
        raise function_mismatch("DATA_DIFF_TYPES", call, dataType=names)
    return with_arguments(call, (condition, *values))


def coerce_case_when(case: CaseWhen, conf: Conf) -> CaseWhen:
    """CASE with its values at their common type and its conditions as booleans.

    Raises:
        AnalysisError: DATATYPE_MISMATCH.DATA_DIFF_TYPES or UNEXPECTED_INPUT_TYPE.
    """
    rest = () if case.otherwise is None else (case.otherwise,)
    values = coerce_to_common((*case.values, *rest), conf)
    if values is None:
        names = type_names([v.data_type for v in (*case.values, *rest)])
        name = to_sql_id("casewhen")
        raise type_mismatch("DATA_DIFF_TYPES", case, functionName=name, dataType=names)
    for position, condition in enumerate(case.conditions):
        if not isinstance(condition.data_type, BooleanType):
            given = input_of(2 * position, condition, '"BOOLEAN"')
            raise type_mismatch("UNEXPECTED_INPUT_TYPE", case, **given)
    count = len(case.values)
    return replace(case, values=values[:count], otherwise=values[count] if rest else None)


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


def _nvl2(call: Call) -> Expression:
    test, value, other = call.arguments
    return resolve_like(call, "if", resolve_like(call, "isnotnull", test), value, other)


def _nullif(call: Call) -> Expression:
    left, right = call.arguments
    equal = resolve_like(call, "=", left, right)
    return resolve_like(call, "if", equal, null(left.data_type), left)


def _check_nullif(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    # Spark compares a reference to the value, which stands in its messages.
    left, right = call.arguments
    resolve_like(call, "=", common_reference(left), right)
    return call


def _nullifzero(call: Call) -> Expression:
    (value,) = call.arguments
    zero = resolve_like(call, "=", value, lit(0))
    return resolve_like(call, "if", zero, null(value.data_type), value)


def _check_nanvl(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    left, right = call.arguments
    if isinstance(right.data_type, NullType) and isinstance(left.data_type, FloatType):
        return with_arguments(call, [left, cast_to(right, left.data_type, conf)])
    if left.data_type != right.data_type or not isinstance(left.data_type, FloatType):
        call = with_arguments(call, [_as_double(left, conf), _as_double(right, conf)])
    return check_types(call, ["double|float", "double|float"], conf)


def _as_double(expression: Expression, conf: Conf) -> Expression:
    number = isinstance(expression.data_type, NumericType | StringType | NullType)
    return cast_to(expression, DOUBLE, conf) if number else expression


# ------------------------------------------------------------------------- rows that fail

_ERROR_CLASS = lit("USER_RAISED_EXCEPTION")


def _raised(message: Expression, conf: Conf) -> Call:
    values = resolve("map", (lit("errorMessage"), cast_unless_same(message, STRING, conf)), conf)
    return Call(name="raise_error", arguments=(_ERROR_CLASS, values))


def _check_raise(call: Call, conf: Conf) -> Expression:
    match call.arguments:
        case (message,):
            return _raised(message, conf)
        case (_, _):
            return call
    raise wrong_argument_count("raise_error", "[1, 2]", len(call.arguments))


def _check_assert(call: Call, conf: Conf) -> Expression:
    match call.arguments:
        case (condition,):
            message: Expression = lit(f"'{pretty(condition)}' is not true!")
        case (condition, message):
            pass
        case _:
            raise wrong_argument_count("assert_true", "[1, 2]", len(call.arguments))
    if not isinstance(condition.data_type, BooleanType | NullType):
        shown = f"map(errorMessage, {pretty(message)})"
        sql = f"(IF({pretty(condition)}, NULL, raise_error({_ERROR_CLASS.value}, {shown})))"
        given = input_of(0, condition, '"BOOLEAN"')
        raise type_mismatch("UNEXPECTED_INPUT_TYPE", call, sql, **given)
    return like_call(call, "assert_true", as_condition(call), message)


def _asserted(call: Call) -> Expression:
    condition, message = call.arguments
    return like_call(call, "if", condition, NULL_LITERAL, _raised(message, conf_of(call)))


register(
    *each(
        *each(
            FunctionSpec(
                name="if",
                data_type=lambda call: merge_types([a.data_type for a in call.arguments[1:]]),
                nullable=lambda call: any(a.nullable for a in call.arguments[1:]),
                check=_check_if,
                evaluate=lambda call, test, yes, no: yes() if test() else no(),
                text=template("if ({0}) {1} else {2}"),
                pretty=template("(IF({args}))"),
                sql=template("if({args})"),
            ),
            FunctionSpec(
                name="coalesce",
                data_type=merged,
                nullable=_all_nullable,
                check=_same_types(1),
                evaluate=lambda call, *values: next(
                    (v for f in values if (v := f()) is not None), None
                ),
            ),
            conditional=True,
            ansi_free=True,
            treats_alike=True,
        ),
        *named(
            replaced(
                "nvl",
                "any, any",
                lambda call: resolve_like(call, "coalesce", *call.arguments),
                treats_alike=True,
            ),
            "ifnull",
        ),
        replaced("nvl2", "any, any, any", _nvl2),
        replace(replaced("nullif", "any, any", _nullif), check=_check_nullif),
        reads_clock="never",
        short_circuits=True,
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
    replaced(
        "zeroifnull", "any", lambda call: resolve_like(call, "coalesce", *call.arguments, lit(0))
    ),
    replaced("nullifzero", "any", _nullifzero),
    FunctionSpec(
        name="nanvl",
        data_type=first_type,
        check=_check_nanvl,
        conditional=True,
        evaluate=unless_nan,
        short_circuits=True,
    ),
    # What the planner itself puts around expressions.
    *each(
        scalar(
            "knownnullable", "any", 0, nullable=always_null, null_intolerant=False, ansi_free=True
        ),
        scalar("knownnotnull", "any", 0, nullable=never_null),
        scalar("knownfloatingpointnormalized", "any", 0),
        sql=template("{0}"),
        tagging=True,
        written=False,
    ),
    scalar("normalizenanandzero", "double|float", 0, sql="{0}", written=False),
    # Rows that fail a query.
    FunctionSpec(
        name="raise_error",
        data_type=lambda call: NULL,
        nullable=always_null,
        check=_check_raise,
        text=template("raise_error({args}, NullType)"),
        sql=template("raise_error(element_at({1}, 'errorMessage'))"),
        constant=False,
    ),
    FunctionSpec(
        name="assert_true",
        data_type=lambda call: NULL,
        nullable=always_null,
        check=_check_assert,
        replacement=_asserted,
        reads_clock="never",
    ),
)
