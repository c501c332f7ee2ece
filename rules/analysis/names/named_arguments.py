"""Arguments by name: put in the places that the function's signature gives them."""

from __future__ import annotations

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import Expression
from ....planner.model.expressions.unresolved import NamedArgument, UnresolvedFunction
from ....planner.model.registry import find
from ....planner.model.tree import replace
from ..failures import failure, quoted
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
        raise _error(
            function,
            "NAMED_PARAMETERS_NOT_SUPPORTED",
            f"Named parameters are not supported for function {quoted((name,))}; please retry the"
            " query with positional arguments to the function call instead.",
        )
    names = [parameter for parameter, _ in signature]
    given: dict[str, Expression] = {}
    last: str | None = None
    for place, argument in enumerate(function.arguments):
        if not isinstance(argument, NamedArgument):
            if last is not None:
                raise _error(
                    function,
                    "UNEXPECTED_POSITIONAL_ARGUMENT",
                    f"Cannot invoke routine {quoted((name,))} because it contains positional"
                    f" argument(s) following the named argument assigned to {quoted((last,))};"
                    " please rearrange them so the positional arguments come first and then retry"
                    " the query again.",
                )
            if place < len(names):
                given[names[place]] = argument
            continue
        last = argument.name
        known = next((n for n in names if n.lower() == argument.name.lower()), None)
        if known is None:
            raise _unknown(function, argument.name, names)
        if known in given:
            raise _twice(function, known, place)
        given[known] = argument.value
    arguments: list[Expression] = []
    for place, (parameter, default) in enumerate(signature):
        value = given.get(parameter, default)
        if value is None:
            raise _missing(function, parameter, place)
        arguments.append(value)
    return replace(function, arguments=tuple(arguments))


def _error(function: UnresolvedFunction, condition: str, message: str) -> AnalysisError:
    return failure(condition, message, state="4274K", origin=function.origin)


def _unknown(function: UnresolvedFunction, written: str, names: list[str]) -> AnalysisError:
    nearest = sorted(names, key=lambda n: distance(quoted((written,)), quoted((n,))))[:3]
    return _error(
        function,
        "UNRECOGNIZED_PARAMETER_NAME",
        f"Cannot invoke routine {quoted((function.name.lower(),))} because the routine call"
        f" included a named argument reference for the argument named {quoted((written,))}, but"
        " this routine does not include any signature containing an argument with this name. Did"
        f" you mean one of the following? [{' '.join(quoted((n,)) for n in nearest)}].",
    )


def _twice(function: UnresolvedFunction, name: str, place: int) -> AnalysisError:
    by_position = not isinstance(function.arguments[0], NamedArgument)
    kind = "BOTH_POSITIONAL_AND_NAMED" if by_position else "DOUBLE_NAMED_ARGUMENT_REFERENCE"
    detail = (
        "A positional argument and named argument both referred to the same parameter. Please"
        " remove the named argument referring to this parameter."
        if by_position
        else "More than one named argument referred to the same parameter. Please assign a value"
        " only once."
    )
    return _error(
        function,
        f"DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.{kind}",
        f"Call to routine {quoted((function.name.lower(),))} is invalid because it includes"
        f" multiple argument assignments to the same parameter name {quoted((name,))}. {detail}",
    )


def _missing(function: UnresolvedFunction, name: str, place: int) -> AnalysisError:
    return _error(
        function,
        "REQUIRED_PARAMETER_NOT_FOUND",
        f"Cannot invoke routine {quoted((function.name.lower(),))} because the parameter named"
        f" {quoted((name,))} is required, but the routine call did not supply a value. Please"
        f" update the routine call to supply an argument value (either positionally at index"
        f" {place} or by name) and retry the query again.",
    )
