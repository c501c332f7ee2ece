"""Comparisons, logic, null tests, IN, BETWEEN and the patterns."""

from __future__ import annotations

from ..expressions.core import Call, Expression
from ..registry import FunctionSpec, Show, register
from ..schemas.types import BOOLEAN, BooleanType, NullType, same_shape
from ..settings.conf import Conf
from ..tree import replace
from . import coercion
from . import operator_values as values
from .coercion import cast_to
from .mismatch import (
    binary_diff_types,
    binary_wrong_type,
    diff_types,
    failed_call,
    require_count,
    require_orderable,
)
from .operands import coerce_operands
from .shapes import (
    check_types,
    common_reference,
    each,
    never_null,
    resolve_like,
    scalar,
    template,
    with_arguments,
)


def _check_logic(call: Call, conf: Conf) -> Expression:
    require_count(call, 2)
    typed = call
    if conf.ansi:
        # As for any operator: a string takes the other operand's type, whatever it is.
        typed = coerce_operands(call, conf, "boolean")
    typed = with_arguments(
        typed,
        [
            cast_to(a, BOOLEAN, conf) if isinstance(a.data_type, NullType) else a
            for a in typed.arguments
        ],
    )
    left, right = (a.data_type for a in typed.arguments)
    if left != right:
        raise binary_diff_types(typed)
    if not isinstance(left, BooleanType):
        raise binary_wrong_type(typed, '"BOOLEAN"')
    return typed


def _check_in(call: Call, conf: Conf) -> Expression:
    if not call.arguments:
        raise failed_call(call.name, "Give the value and what it may equal.")
    types = [a.data_type for a in call.arguments]
    typed = call
    if any(t != types[0] for t in types[1:]):
        found = coercion.common_type(types, conf)
        if found is not None:
            typed = with_arguments(
                call, [coercion.implicit(a, found, conf) for a in call.arguments]
            )
    first = typed.arguments[0].data_type
    if not all(same_shape(first, a.data_type) for a in typed.arguments[1:]):
        raise diff_types(call)
    require_orderable(typed, 0)
    return typed


def _in_text(call: Call, show: Show) -> str:
    value, *rest = (show(argument) for argument in call.arguments)
    return f"{value} IN ({','.join(rest)})"


def _in_pretty(call: Call, show: Show) -> str:
    value, *rest = (show(argument) for argument in call.arguments)
    return f"({value} IN ({', '.join(rest)}))"


def _inset_text(call: Call, show: Show) -> str:
    value, *rest = (show(argument) for argument in call.arguments)
    return f"{value} INSET {', '.join(sorted(rest))}"


def _check_between(call: Call, conf: Conf) -> Expression:
    require_count(call, 3)
    # Spark tests each side against a reference to the value, which stands in its messages.
    value, low, high = call.arguments
    reference = common_reference(value)
    resolve_like(call, ">=", reference, low)
    resolve_like(call, "<=", reference, high)
    return call


def between_replacement(call: Call) -> Expression:
    """`value >= low AND value <= high`, each side coerced for itself."""
    value, low, high = call.arguments
    return Call(
        name="and",
        arguments=(
            replace(resolve_like(call, ">=", value, low), origin=call.origin),
            replace(resolve_like(call, "<=", value, high), origin=call.origin),
        ),
        ansi=call.ansi,
        time_zone=call.time_zone,
        origin=call.origin,
    )


def _check_not(call: Call, conf: Conf) -> Expression:
    call = replace(call, name="not")
    require_count(call, 1)
    return check_types(call, ["boolean"], conf)


register(
    *each(
        *(
            FunctionSpec(
                name=name,
                data_type=lambda call: BOOLEAN,
                check=_check_logic,
                text=form,
                pretty=form,
                sql=form,
                evaluate=evaluate,
                commutative=True,
                associative=True,
                short_circuits=True,
                parsed_operands=(2, 2),
                treats_alike=True,
            )
            for name, evaluate, form in (
                ("and", values.both, template("({0} AND {1})")),
                ("or", values.either, template("({0} OR {1})")),
            )
        ),
        scalar(
            "not",
            "boolean",
            BOOLEAN,
            check=_check_not,
            text="NOT {0}",
            pretty="(NOT {0})",
            sql="(NOT {0})",
            evaluate=lambda call, value: not value,
            aliases=("!",),
            parsed_operands=(1, 1),
        ),
        *(
            scalar(
                name,
                "any",
                BOOLEAN,
                nullable=never_null,
                pretty=f"({{0}} {words})",
                sql=f"({{0}} {words})",
                evaluate=evaluate,
                pushed_into_branches=True,
                parsed_operands=(1, 1),
            )
            for name, words, evaluate in (
                ("isnull", "IS NULL", lambda call, value: value is None),
                ("isnotnull", "IS NOT NULL", lambda call, value: value is not None),
            )
        ),
        FunctionSpec(
            name="in",
            data_type=lambda call: BOOLEAN,
            check=_check_in,
            text=_in_text,
            pretty=_in_pretty,
            sql=_in_pretty,
            evaluate=values.is_in,
            short_circuits=True,
            parsed_operands=(1, 2147483647),
            treats_alike=True,
            constant_text="data",
        ),
        predicate=True,
        ansi_free=True,
        reads_clock="never",
    ),
    FunctionSpec(
        name="inset",
        data_type=lambda call: BOOLEAN,
        text=_inset_text,
        pretty=_in_pretty,
        sql=_in_pretty,
        evaluate=values.is_in,
        ansi_free=True,
        reads_clock="never",
        treats_alike=True,
        written=False,
        constant_text="data",
    ),
    FunctionSpec(
        name="between",
        data_type=lambda call: BOOLEAN,
        check=_check_between,
        replacement=between_replacement,
        predicate=True,
        reads_clock="never",
    ),
    scalar(
        "isnan",
        "double|float",
        BOOLEAN,
        nullable=never_null,
        evaluate=lambda call, value: value is not None and value != value,
    ),
)
