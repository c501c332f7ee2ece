"""raise_error and assert_true: rows that fail a query."""

from __future__ import annotations

from ..expressions.core import Call, Expression, Literal, lit
from ..registry import FunctionSpec, Show, register
from ..schemas.types import NULL, STRING, BooleanType, NullType
from ..settings.conf import Conf
from ..text.quoting import to_sql_expr, to_sql_type
from ..text.text import pretty
from .coercion import cast_unless_same
from .conditional import as_condition
from .mismatch import type_mismatch, wrong_argument_count
from .shapes import always_null, conf_of, like_call, resolve

_CLASS = lit("USER_RAISED_EXCEPTION")


def _raised(message: Expression, conf: Conf) -> Call:
    values = resolve("map", (lit("errorMessage"), cast_unless_same(message, STRING, conf)), conf)
    return Call(name="raise_error", arguments=(_CLASS, values))


def _check_raise(call: Call, conf: Conf) -> Expression:
    match call.arguments:
        case (message,):
            return _raised(message, conf)
        case (_, _):
            return call
    raise wrong_argument_count("raise_error", "[1, 2]", len(call.arguments))


def _raise_text(call: Call, show: Show) -> str:
    return f"raise_error({', '.join(map(show, call.arguments))}, NullType)"


def _raise_sql(call: Call, show: Show) -> str:
    return f"raise_error(element_at({show(call.arguments[1])}, 'errorMessage'))"


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
        raise type_mismatch(
            "UNEXPECTED_INPUT_TYPE",
            f"(IF({pretty(condition)}, NULL, raise_error({_CLASS.value}, {shown})))",
            call,
            paramIndex="first",
            requiredType='"BOOLEAN"',
            inputSql=to_sql_expr(condition),
            inputType=to_sql_type(condition.data_type),
        )
    return like_call(call, "assert_true", as_condition(call, 0, conf), message)


def _asserted(call: Call) -> Expression:
    condition, message = call.arguments
    null = Literal(value=None, type_=NULL)
    return like_call(call, "if", condition, null, _raised(message, conf_of(call)))


register(
    FunctionSpec(
        name="raise_error",
        data_type=lambda call: NULL,
        nullable=always_null,
        check=_check_raise,
        text=_raise_text,
        sql=_raise_sql,
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
