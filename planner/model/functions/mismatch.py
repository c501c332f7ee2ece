"""Errors about arguments, in Spark's words."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import AnalysisError
from ..expressions.core import AttributeReference, Call, Expression, LambdaFunction, LambdaVariable
from ..schemas.types import DataType
from ..text.text import pretty
from ..tree import replace


class ArgumentError(AnalysisError):
    """What is wrong with a call's arguments.

    Attributes:
        call: the call as far as its arguments could be cast, for the plan in the message.
        placeless: Spark's message names no position.
    """

    call: Call | None = None
    placeless: bool = False


_WITHOUT_FINISH = 3
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth", "tenth"),
)


def ordinal(position: int) -> str:
    """`first`, `second`, ... for the position from 0; `11th` and so on after the tenth."""
    return _ORDINALS[position] if position < len(_ORDINALS) else f"{position + 1}th"


def type_names(types: Sequence[DataType]) -> str:
    """`["INT", "STRING"]`."""
    return "[" + ", ".join(f'"{t.sql}"' for t in types) + "]"


def type_choice(types: Sequence[DataType]) -> str:
    """`("INT" or "STRING")`."""
    return "(" + " or ".join(f'"{t.sql}"' for t in types) + ")"


def type_mismatch(
    sub_condition: str, sql: str, detail: str, call: Call | None = None
) -> ArgumentError:
    """DATATYPE_MISMATCH.<sub_condition> about the expression that reads `sql`."""
    condition = f"DATATYPE_MISMATCH.{sub_condition}"
    error = ArgumentError(
        condition,
        f'[{condition}] Cannot resolve "{sql}" due to data type mismatch: {detail} SQLSTATE: 42K09',
    )
    error.call = call
    return error


def unexpected_type(call: Call, position: int, wanted: str) -> AnalysisError:
    """The argument at a position (from 0) has not the type wanted, given quoted: `"INT"`."""
    argument = call.arguments[position]
    return type_mismatch(
        "UNEXPECTED_INPUT_TYPE",
        _with_plain_lambdas(call) if position == 0 else pretty(call),
        f"The {ordinal(position)} parameter requires the {wanted} type, however "
        f'"{pretty(argument)}" has the type "{argument.data_type.sql}".',
        call,
    )


def _with_plain_lambdas(call: Call) -> str:
    """The call, its lambdas as written: they have no types while what they go over has a wrong one.

    `transform(user, lambdafunction(upper(x), x))`.
    """
    if not any(isinstance(argument, LambdaFunction) for argument in call.arguments):
        return pretty(call)

    def plain(node: Expression) -> Expression:
        if isinstance(node, LambdaVariable):
            return AttributeReference(name=node.name, type_=node.type_)
        return node

    arguments = tuple(argument.transform_up(plain) for argument in call.arguments)
    text = pretty(replace(call, arguments=arguments))
    if call.name in ("aggregate", "reduce") and len(call.arguments) == _WITHOUT_FINISH:
        return f"{text[:-1]}, lambdafunction(id, id))"
    return text


def non_foldable(call: Call, name: str, kind: str, given: Expression) -> AnalysisError:
    """A parameter must be a constant of a type, and is none."""
    return type_mismatch(
        "NON_FOLDABLE_INPUT",
        pretty(call),
        f'the input `{name}` should be a foldable "{kind}" expression; however, got '
        f'"{pretty(given)}".',
        call,
    )


def non_foldable_argument(function: str, name: str, kind: str) -> AnalysisError:
    """The same, found when the function is looked up."""
    return AnalysisError(
        "NON_FOLDABLE_ARGUMENT",
        f"[NON_FOLDABLE_ARGUMENT] The function `{function}` requires the parameter `{name}` to be "
        f'a foldable expression of the type "{kind}", but the actual argument is a non-foldable. '
        "SQLSTATE: 42K08",
    )


def diff_types(call: Call, *, choice: bool = False) -> AnalysisError:
    """Arguments that should all have one type have several, shown as a list or a choice."""
    types = [a.data_type for a in call.arguments]
    names = type_choice(types) if choice else type_names(types)
    return type_mismatch(
        "DATA_DIFF_TYPES",
        pretty(call),
        f"Input to `{call.name}` should all be the same type, but it's {names}.",
    )


def binary_diff_types(call: Call) -> AnalysisError:
    """The two sides of an operator have different types."""
    left, right = (a.data_type.sql for a in call.arguments)
    return type_mismatch(
        "BINARY_OP_DIFF_TYPES",
        pretty(call),
        f"the left and right operands of the binary operator have incompatible types "
        f'("{left}" and "{right}").',
        call,
    )


def binary_wrong_type(call: Call, wanted: str) -> AnalysisError:
    """Both sides of an operator have a type that it does not take."""
    actual = call.arguments[0].data_type.sql
    return type_mismatch(
        "BINARY_OP_WRONG_TYPE",
        pretty(call),
        f'the binary operator requires the input type {wanted}, not "{actual}".',
        call,
    )


def failed_call(name: str, hint: str) -> AnalysisError:
    """FAILED_FUNCTION_CALL: nothing can be made of the arguments."""
    return ArgumentError(
        "FAILED_FUNCTION_CALL",
        f"[FAILED_FUNCTION_CALL] Failed preparing of the function `{name}` for call. Please, double"
        " check function's arguments. SQLSTATE: 38000",
        hint=hint,
    )


def wrong_argument_count(
    name: str, expected: str, actual: int, *, placeless: bool = False
) -> AnalysisError:
    """WRONG_NUM_ARGS: `expected` reads `1`, `[1, 2]`, `> 0`, ...

    `placeless`: found when types are checked, not when the function is looked up.
    """
    condition = "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"
    error = ArgumentError(
        condition,
        f"[{condition}] The `{name}` requires {expected} parameters but the actual number is "
        f"{actual}. Please, refer to 'https://spark.apache.org/docs/latest/sql-ref-functions.html'"
        " for a fix. SQLSTATE: 42605",
    )
    error.placeless = placeless
    return error
