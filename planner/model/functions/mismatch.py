"""Errors about arguments, in Spark's words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import AnalysisError
from ..expressions.core import AttributeReference, Call, Expression, LambdaFunction, LambdaVariable
from ..schemas.types import DataType, is_orderable
from ..text.quoting import in_quotes, to_sql_expr, to_sql_id, to_sql_type
from ..text.text import pretty
from ..tree import replace


class ArgumentError(AnalysisError):
    """What is wrong with a call's arguments.

    Attributes:
        call: the call as far as its arguments could be cast, or the argument that is wrong.
        placeless: Spark's message names no position.
    """

    call: Expression | None = None
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
    return "[" + ", ".join(map(to_sql_type, types)) + "]"


def type_choice(types: Sequence[DataType]) -> str:
    """`("INT" or "STRING")`."""
    return "(" + " or ".join(map(to_sql_type, types)) + ")"


def type_mismatch(
    case: str, call: Expression, sql: str = "", /, **parameters: Any
) -> ArgumentError:
    """DATATYPE_MISMATCH.<case> about an expression, which reads `sql`, or else as in names."""
    shown = in_quotes(sql or pretty(call))
    error = ArgumentError.of(f"DATATYPE_MISMATCH.{case}", sqlExpr=shown, **parameters)
    error.call = call
    return error


def function_mismatch(case: str, call: Call, /, **parameters: Any) -> ArgumentError:
    """The same where the message names the function, too."""
    return type_mismatch(case, call, functionName=to_sql_id(call.name), **parameters)


def input_of(position: int, argument: Expression, wanted: str) -> dict[str, str]:
    """What UNEXPECTED_INPUT_TYPE says of the argument at a position, counted from 0."""
    return {
        "paramIndex": ordinal(position),
        "requiredType": wanted,
        "inputSql": to_sql_expr(argument),
        "inputType": to_sql_type(argument.data_type),
    }


def unexpected_type(call: Call, position: int, wanted: str) -> AnalysisError:
    """The argument at a position (from 0) has not the type wanted, given quoted: `"INT"`."""
    sql = _with_plain_lambdas(call) if position == 0 else pretty(call)
    given = input_of(position, call.arguments[position], wanted)
    return type_mismatch("UNEXPECTED_INPUT_TYPE", call, sql, **given)


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
        call,
        inputName=to_sql_id(name),
        inputType=in_quotes(kind),
        inputExpr=to_sql_expr(given),
    )


def non_foldable_argument(function: str, name: str, kind: str) -> AnalysisError:
    """The same, found when the function is looked up."""
    return AnalysisError.of(
        "NON_FOLDABLE_ARGUMENT",
        funcName=to_sql_id(function),
        paramName=to_sql_id(name),
        paramType=in_quotes(kind),
    )


def diff_types(call: Call, *, choice: bool = False) -> AnalysisError:
    """Arguments that should all have one type have several, shown as a list or a choice."""
    types = [a.data_type for a in call.arguments]
    names = type_choice(types) if choice else type_names(types)
    return function_mismatch("DATA_DIFF_TYPES", call, dataType=names)


def binary_diff_types(call: Call) -> AnalysisError:
    """The two sides of an operator have different types."""
    left, right = (a.data_type.sql for a in call.arguments)
    return type_mismatch("BINARY_OP_DIFF_TYPES", call, left=in_quotes(left), right=in_quotes(right))


def binary_wrong_type(call: Call, wanted: str) -> AnalysisError:
    """Both sides of an operator have a type that it does not take."""
    actual = to_sql_type(call.arguments[0].data_type)
    return type_mismatch("BINARY_OP_WRONG_TYPE", call, inputType=wanted, actualDataType=actual)


def failed_call(name: str, hint: str) -> AnalysisError:
    """FAILED_FUNCTION_CALL: nothing can be made of the arguments."""
    return ArgumentError.of("FAILED_FUNCTION_CALL", hint=hint, funcName=to_sql_id(name))


def wrong_argument_count(
    name: str, expected: str, actual: int, *, placeless: bool = False
) -> AnalysisError:
    """WRONG_NUM_ARGS: `expected` reads `1`, `[1, 2]`, `> 0`, ...

    `placeless`: found when types are checked, not when the function is looked up.
    """
    condition = "WRONG_NUM_ARGS.WITHOUT_SUGGESTION"
    error = ArgumentError.of(
        condition, functionName=to_sql_id(name), expectedNum=expected, actualNum=actual
    )
    error.placeless = placeless
    return error


def require_count(call: Call, *counts: int) -> None:
    """Check how many arguments there are.

    Raises:
        AnalysisError: WRONG_NUM_ARGS.WITHOUT_SUGGESTION.
    """
    if len(call.arguments) not in counts:
        wanted = str(counts[0]) if len(counts) == 1 else f"[{', '.join(map(str, counts))}]"
        raise wrong_argument_count(call.name, wanted, len(call.arguments))


def require_orderable(call: Call, position: int) -> None:
    """Check that an argument's values can be compared.

    Raises:
        AnalysisError: DATATYPE_MISMATCH.INVALID_ORDERING_TYPE.
    """
    data_type = call.arguments[position].data_type
    if not is_orderable(data_type):
        raise function_mismatch("INVALID_ORDERING_TYPE", call, dataType=to_sql_type(data_type))
