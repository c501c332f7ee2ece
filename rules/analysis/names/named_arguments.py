"""Arguments by name: put in the places that the function's signature gives them."""

from __future__ import annotations

from typing import Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Expression
from ....planner.model.expressions.unresolved import NamedArgument, UnresolvedFunction
from ....planner.model.registry import find
from ....planner.model.text.quoting import to_sql_id
from ....planner.model.tree import replace
from ..failures import failure
from .suggestions import distance


def with_positions(function: UnresolvedFunction) -> UnresolvedFunction:
    """The call with all arguments by position, defaults filled in.

    Raises:
        AnalysisError: the function takes no names, not this one, or the argument is there already.
    """
    if not any(isinstance(a, NamedArgument) for a in function.arguments):
        return function
    name = function.name.lower()
    spec = find(name)
    signature = () if spec is None else spec.named_parameters
    if not signature:
        raise failure(
            "NAMED_PARAMETERS_NOT_SUPPORTED", origin=function.origin, functionName=to_sql_id(name)
        )
    names = [parameter for parameter, _ in signature]
    given: dict[str, Expression] = {}
    last: str | None = None
    for place, argument in enumerate(function.arguments):
        if not isinstance(argument, NamedArgument):
            if last is not None:
                raise _refused(
                    function, "UNEXPECTED_POSITIONAL_ARGUMENT", parameterName=to_sql_id(last)
                )
            if place < len(names):
                given[names[place]] = argument
            continue
        last = argument.name
        known = next((n for n in names if n.lower() == argument.name.lower()), None)
        if known is None:
            raise _unknown(function, argument.name, names)
        if known in given:
            raise _twice(function, known, names)
        given[known] = argument.value
    arguments: list[Expression] = []
    for place, (parameter, default) in enumerate(signature):
        value = given.get(parameter, default)
        if value is None:
            raise _refused(
                function,
                "REQUIRED_PARAMETER_NOT_FOUND",
                parameterName=to_sql_id(parameter),
                index=place,
            )
        arguments.append(value)
    return replace(function, arguments=tuple(arguments))


def _unknown(function: UnresolvedFunction, written: str, names: list[str]) -> AnalysisError:
    nearest = sorted(names, key=lambda n: distance(to_sql_id(written), to_sql_id(n)))[:3]
    proposal = " ".join(to_sql_id(n) for n in nearest)
    return _refused(
        function,
        "UNRECOGNIZED_PARAMETER_NAME",
        argumentName=to_sql_id(written),
        proposal=proposal,
    )


def _twice(function: UnresolvedFunction, name: str, names: list[str]) -> AnalysisError:
    positional = sum(not isinstance(a, NamedArgument) for a in function.arguments)
    by_position = names.index(name) < positional
    case = "BOTH_POSITIONAL_AND_NAMED" if by_position else "DOUBLE_NAMED_ARGUMENT_REFERENCE"
    condition = f"DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.{case}"
    return _refused(function, condition, parameterName=to_sql_id(name))


def _refused(function: UnresolvedFunction, condition: str, /, **parameters: Any) -> AnalysisError:
    routine = to_sql_id(function.name.lower())
    return failure(condition, origin=function.origin, routineName=routine, **parameters)
