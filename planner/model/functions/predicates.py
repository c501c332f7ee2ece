"""Comparisons, logic, null tests, IN, BETWEEN and the patterns."""

from __future__ import annotations

import math
from dataclasses import replace

from ..conf import Conf
from ..expressions import FALSE, TRUE, Call, Expression, Literal
from ..registry import FunctionSpec, Show, null_if_any, register
from ..text import pretty
from ..types import (
    BOOLEAN,
    DOUBLE,
    LONG,
    STRING,
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
)
from . import coercion
from . import operator_values as values
from .arithmetic import infix, promote, with_decimals
from .coercion import cast_to, tightest_common_type, wider_decimal
from .mismatch import binary_diff_types, diff_types, type_mismatch, wrong_argument_count
from .shapes import (
    always_null,
    check_types,
    never_null,
    resolve,
    resolve_like,
    scalar,
    with_arguments,
)

# ---------------------------------------------------------------------------------- comparisons


def coerce_comparison(call: Call, conf: Conf) -> Expression:
    """Both sides of a comparison at one type, decimals and constants included.

    Raises:
        AnalysisError: BINARY_OP_DIFF_TYPES or INVALID_ORDERING_TYPE.
    """
    if len(call.arguments) != 2:
        raise wrong_argument_count(call.name, "2", len(call.arguments))
    if not conf.ansi and call.name in ("=", "<=>"):
        found = _boolean_and_number(call, conf)
        if found is not None:
            return found
    typed = _promote_strings(call, conf)
    typed = _compare_decimals(typed, conf)
    rounded = _against_decimal_constant(typed)
    if isinstance(rounded, Literal):
        return rounded
    typed = with_decimals(rounded, conf) if rounded is typed else rounded
    typed = _compare_decimals(typed, conf)
    left, right = typed.arguments
    if left.data_type != right.data_type:
        common = tightest_common_type(left.data_type, right.data_type, conf)
        if common is not None:
            typed = with_arguments(
                typed, (cast_to(left, common, conf), cast_to(right, common, conf))
            )
    left, right = typed.arguments
    if not coercion.have_same_type([left.data_type, right.data_type]):
        raise binary_diff_types(typed)
    if not is_orderable(left.data_type):
        raise type_mismatch(
            "INVALID_ORDERING_TYPE",
            pretty(typed),
            f'The `{typed.name}` does not support ordering on type "{left.data_type.sql}".',
        )
    return typed


def _boolean_and_number(call: Call, conf: Conf) -> Expression | None:
    """Outside ANSI a boolean equals 1 or 0: the constants 1 and 0 are true and false."""
    for boolean, number in (call.arguments, call.arguments[::-1]):
        if not isinstance(boolean.data_type, BooleanType):
            continue
        if not isinstance(number.data_type, NumericType):
            continue
        constant = number.value if isinstance(number, Literal) else None
        if constant not in (0, 1):
            cast = coercion.implicit(boolean, number.data_type, conf)
            sides = [cast if side is boolean else side for side in call.arguments]
            return with_arguments(call, sides)
        test = boolean if constant == 1 else _call(call, "not", boolean)
        if call.name == "=":
            return test
        return _call(call, "and", _call(call, "isnotnull", boolean), test)
    return None


def _call(like: Call, name: str, *arguments: Expression) -> Call:
    return replace(like, name=name, arguments=arguments)


def _promote_strings(call: Call, conf: Conf) -> Call:
    left, right = call.arguments
    a, b = left.data_type, right.data_type
    if a == b or not (isinstance(a, StringType) or isinstance(b, StringType)):
        return call
    other = b if isinstance(a, StringType) else a
    target: DataType | None
    if isinstance(other, NullType):
        target = STRING
    elif conf.ansi:
        target = coercion.ansi_string_promotion(a, b)
    elif isinstance(other, DecimalType):
        target = DOUBLE
    elif isinstance(other, ArrayType | MapType | StructType):
        target = None
    else:
        target = other
    if target is None:
        return call
    return with_arguments(call, (promote(left, target, conf), promote(right, target, conf)))


def _compare_decimals(call: Call, conf: Conf) -> Call:
    left, right = call.arguments
    a, b = left.data_type, right.data_type
    if isinstance(a, DecimalType) and isinstance(b, DecimalType) and a != b:
        common = wider_decimal(a, b)
        return with_arguments(call, (cast_to(left, common, conf), cast_to(right, common, conf)))
    return call


_FLOOR = {"<=", ">"}


def _against_decimal_constant(call: Call) -> Call | Literal:
    """A whole number against a decimal constant is compared with the constant rounded."""
    left, right = call.arguments
    if call.name not in ("<", "<=", ">", ">="):
        return call
    for position, (number, constant) in enumerate(((left, right), (right, left))):
        value = coercion.decimal_literal(constant)
        if value is None or not isinstance(number.data_type, IntegralType):
            continue
        # Turned so that the number stands on the left.
        name = call.name if position == 0 else _MIRROR[call.name]
        if value < -(2**63):
            return TRUE if name in (">", ">=") else FALSE
        if value > 2**63 - 1:
            return FALSE if name in (">", ">=") else TRUE
        whole = math.floor(value) if name in _FLOOR else math.ceil(value)
        rounded = Literal(value=whole, type_=LONG)
        sides = (number, rounded) if position == 0 else (rounded, number)
        return with_arguments(call, sides)
    return call


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def is_orderable(data_type: DataType) -> bool:
    """Whether values of the type can be compared: no maps, no calendar intervals inside."""
    match data_type:
        case ArrayType(element_type=element):
            return is_orderable(element)
        case StructType(fields=fields):
            return all(is_orderable(field.data_type) for field in fields)
        case MapType():
            return False
        case _:
            return data_type.simple != "interval"


def _comparison(name: str, aliases: tuple[str, ...] = ()) -> FunctionSpec:
    null_safe = name == "<=>"
    return FunctionSpec(
        name=name,
        kind="scalar",
        data_type=lambda call: BOOLEAN,
        nullable=never_null if null_safe else null_if_any,
        check=coerce_comparison,
        text=infix,
        pretty=infix,
        sql=infix,
        null_intolerant=not null_safe,
        evaluate=values.COMPARISONS[name],
        aliases=aliases,
    )


# ---------------------------------------------------------------------------------------- logic


def _check_logic(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) != 2:
        raise wrong_argument_count(call.name, "2", len(call.arguments))
    typed = call
    types = [a.data_type for a in call.arguments]
    if types[0] != types[1]:
        typed = with_arguments(call, [_as_boolean(a, conf) for a in call.arguments])
    left, right = (a.data_type for a in typed.arguments)
    if left != right:
        raise binary_diff_types(typed)
    if not isinstance(left, BooleanType):
        typed = with_arguments(typed, [_as_boolean(a, conf) for a in typed.arguments])
        if not isinstance(typed.arguments[0].data_type, BooleanType):
            from .mismatch import binary_wrong_type

            raise binary_wrong_type(typed, '"BOOLEAN"')
    return typed


def _as_boolean(expression: Expression, conf: Conf) -> Expression:
    if isinstance(expression.data_type, NullType):
        return cast_to(expression, BOOLEAN, conf)
    if conf.ansi and isinstance(expression.data_type, StringType):
        return cast_to(expression, BOOLEAN, conf)
    return expression


def _logic_spec(name: str) -> FunctionSpec:
    word = name.upper()

    def show_logic(call: Call, show: Show) -> str:
        left, right = call.arguments
        return f"({show(left)} {word} {show(right)})"

    return FunctionSpec(
        name=name,
        kind="scalar",
        data_type=lambda call: BOOLEAN,
        check=_check_logic,
        text=show_logic,
        pretty=show_logic,
        sql=show_logic,
        evaluate=values.both if name == "and" else values.either,
    )


# ------------------------------------------------------------------------------- IN and BETWEEN


def _check_in(call: Call, conf: Conf) -> Expression:
    types = [a.data_type for a in call.arguments]
    typed = call
    if any(t != types[0] for t in types[1:]):
        found = coercion.common_type(types, conf)
        if found is not None:
            typed = with_arguments(
                call, [coercion.implicit(a, found, conf) for a in call.arguments]
            )
    if not coercion.have_same_type([a.data_type for a in typed.arguments]):
        raise diff_types(call)
    if not is_orderable(typed.arguments[0].data_type):
        kind = typed.arguments[0].data_type.sql
        detail = f'The `in` does not support ordering on type "{kind}".'
        raise type_mismatch("INVALID_ORDERING_TYPE", pretty(call), detail)
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
    if len(call.arguments) != 3:
        raise wrong_argument_count(call.name, "3", len(call.arguments))
    between_replacement(call)
    return call


def between_replacement(call: Call) -> Expression:
    """`value >= low AND value <= high`, each side coerced for itself."""
    value, low, high = call.arguments
    return Call(
        name="and",
        arguments=(
            resolve_like(call, ">=", value, low),
            resolve_like(call, "<=", value, high),
        ),
        ansi=call.ansi,
        time_zone=call.time_zone,
    )


# ------------------------------------------------------------------------------------- patterns


def _check_like(call: Call, conf: Conf) -> Expression:
    """`value LIKE pattern [ESCAPE character]`: the character is an option, not an argument."""
    if len(call.arguments) not in (2, 3):
        raise wrong_argument_count(call.name, "[2, 3]", len(call.arguments))
    if len(call.arguments) == 3:
        escape = call.arguments[2]
        character = escape.value if isinstance(escape, Literal) else "\\"
        call = replace(call, arguments=call.arguments[:2], options=(character,))
    return check_types(call, ["string", "string"], conf)


def like_escape(call: Call) -> str:
    """The escape character of a LIKE."""
    if call.options:
        return str(call.options[0])
    if len(call.arguments) == 3 and isinstance(call.arguments[2], Literal):
        return str(call.arguments[2].value)
    return "\\"


def _like_text(call: Call, show: Show) -> str:
    value, pattern = (show(argument) for argument in call.arguments[:2])
    escape = like_escape(call)
    suffix = "" if escape == "\\" else f" ESCAPE '{escape}'"
    return f"{value} LIKE {pattern}{suffix}"


def _like_sql(call: Call, show: Show) -> str:
    value, pattern = (show(argument) for argument in call.arguments[:2])
    escape = like_escape(call)
    suffix = "" if escape == "\\" else f" ESCAPE '{escape}'"
    return f"({value} LIKE {pattern}{suffix})"


def _ilike_text(call: Call, show: Show) -> str:
    value, pattern = (show(argument) for argument in call.arguments[:2])
    return f"ilike({value}, {pattern}, {like_escape(call)})"


def _ilike_pretty(call: Call, show: Show) -> str:
    value, pattern = (show(argument) for argument in call.arguments[:2])
    return f"ilike({value}, {pattern})"


def _ilike_replacement(call: Call) -> Expression:
    lowered = [resolve_like(call, "lower", argument) for argument in call.arguments]
    return replace(call, name="like", arguments=tuple(lowered))


def _many_patterns(name: str, word: str, negated: bool) -> FunctionSpec:
    def show_sql(call: Call, show: Show) -> str:
        value, *patterns = (show(argument) for argument in call.arguments)
        maybe_not = "NOT " if negated else ""
        return f"({value} {maybe_not}LIKE {word} ({', '.join(patterns)}))"

    return scalar(
        name,
        "string, string...",
        BOOLEAN,
        pretty=name + "({0})",
        sql=show_sql,
        nullable=always_null,
    )


def _not_equal(call: Call, conf: Conf) -> Expression:
    equal = resolve("=", call.arguments, conf)
    return Call(name="not", arguments=(equal,), ansi=conf.ansi, time_zone=conf.time_zone)


def _check_not(call: Call, conf: Conf) -> Expression:
    if len(call.arguments) != 1:
        raise wrong_argument_count("not", "1", len(call.arguments))
    return check_types(replace(call, name="not"), ["boolean"], conf)


register(
    _comparison("=", ("==",)),
    _comparison("<=>"),
    _comparison("<"),
    _comparison("<="),
    _comparison(">"),
    _comparison(">="),
    FunctionSpec(
        name="<>", kind="scalar", data_type=lambda call: BOOLEAN, check=_not_equal, aliases=("!=",)
    ),
    _logic_spec("and"),
    _logic_spec("or"),
    scalar(
        "not",
        "boolean",
        BOOLEAN,
        check=_check_not,
        text="NOT {0}",
        pretty="(NOT {0})",
        sql="(NOT {0})",
        null_intolerant=True,
        evaluate=lambda call, value: not value,
        aliases=("!",),
    ),
    scalar(
        "isnull",
        "any",
        BOOLEAN,
        nullable=never_null,
        pretty="({0} IS NULL)",
        sql="({0} IS NULL)",
        evaluate=lambda call, value: value is None,
    ),
    scalar(
        "isnotnull",
        "any",
        BOOLEAN,
        nullable=never_null,
        pretty="({0} IS NOT NULL)",
        sql="({0} IS NOT NULL)",
        evaluate=lambda call, value: value is not None,
    ),
    scalar(
        "isnan",
        "double|float",
        BOOLEAN,
        nullable=never_null,
        evaluate=lambda call, value: value is not None and value != value,
    ),
    FunctionSpec(
        name="in",
        kind="scalar",
        data_type=lambda call: BOOLEAN,
        check=_check_in,
        text=_in_text,
        pretty=_in_pretty,
        sql=_in_pretty,
        evaluate=values.is_in,
    ),
    FunctionSpec(
        name="inset",
        kind="scalar",
        data_type=lambda call: BOOLEAN,
        text=_inset_text,
        pretty=_in_pretty,
        sql=_in_pretty,
        evaluate=values.is_in,
    ),
    FunctionSpec(
        name="between",
        kind="scalar",
        data_type=lambda call: BOOLEAN,
        check=_check_between,
        replacement=between_replacement,
    ),
    scalar(
        "like",
        "string, string",
        BOOLEAN,
        check=_check_like,
        text=_like_text,
        pretty=_like_text,
        sql=_like_sql,
    ),
    scalar(
        "ilike",
        "string, string",
        BOOLEAN,
        check=_check_like,
        text=_ilike_text,
        pretty=_ilike_pretty,
        sql=lambda call, show: _like_sql(call, show).replace(" LIKE ", " ILIKE ", 1),
        replacement=_ilike_replacement,
    ),
    scalar(
        "rlike",
        "string, string",
        BOOLEAN,
        text="RLIKE({0}, {1})",
        pretty="RLIKE({0}, {1})",
        sql="rlike({0}, {1})",
    ),
    *(
        scalar(
            name,
            "string, string",
            BOOLEAN,
            text="RLIKE({0}, {1})",
            pretty="{upper}({0}, {1})",
            sql="rlike({0}, {1})",
        )
        for name in ("regexp", "regexp_like")
    ),
    _many_patterns("likeany", "ANY", False),
    _many_patterns("likeall", "ALL", False),
    _many_patterns("notlikeany", "ANY", True),
    _many_patterns("notlikeall", "ALL", True),
    # LIKE '%text%' and its kin after the optimizer; also functions of their own.
    scalar(
        "contains",
        "string|binary, string|binary",
        BOOLEAN,
        text="Contains({0}, {1})",
        evaluate=lambda call, text, part: part in text,
    ),
    scalar(
        "startswith",
        "string|binary, string|binary",
        BOOLEAN,
        text="StartsWith({0}, {1})",
        evaluate=lambda call, text, part: text.startswith(part),
    ),
    scalar(
        "endswith",
        "string|binary, string|binary",
        BOOLEAN,
        text="EndsWith({0}, {1})",
        evaluate=lambda call, text, part: text.endswith(part),
    ),
)
