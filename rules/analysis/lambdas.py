"""Higher-order functions: the types of a lambda's parameters come from the other arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...planner.model.errors import AnalysisError
from ...planner.model.expressions import Expression, LambdaFunction, LambdaVariable, lit
from ...planner.model.tree import replace
from ...planner.model.types import INT, ArrayType, DataType, MapType, NullType
from ...planner.model.unresolved import (
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
)
from .context import Context
from .extraction import extract
from .failures import failure

if TYPE_CHECKING:
    from .expressions import Resolver

Parameter = tuple[DataType, bool]
HIGHER_ORDER = frozenset(
    ("transform", "filter", "exists", "any_match", "forall", "all_match", "aggregate", "reduce",
     "zip_with", "array_sort", "map_filter", "map_zip_with", "transform_keys", "transform_values")
)  # fmt: skip


# Those whose lambda may take the element's place, too; those whose lambda takes several.
_WITH_PLACE = frozenset(("transform", "filter"))
_TWO_OR_MORE = HIGHER_ORDER - _WITH_PLACE - {"exists", "any_match", "forall", "all_match"}


def is_higher_order(function: UnresolvedFunction) -> bool:
    """Whether a lambda stands among the arguments."""
    return any(isinstance(a, LambdaFunction) for a in function.arguments)


def resolve_higher_order(
    function: UnresolvedFunction, resolver: Resolver, context: Context
) -> Expression:
    """The call with its lambdas bound, once the other arguments are resolved."""
    arguments = [
        a if isinstance(a, LambdaFunction) else resolver.resolve(a) for a in function.arguments
    ]
    values = [a for a in arguments if not isinstance(a, LambdaFunction)]
    if function.name.lower() not in HIGHER_ORDER:
        raise _not_higher_order(function)
    if not all(value.resolved for value in values):
        return replace(function, arguments=tuple(arguments))
    if not all(_is_collection(function.name.lower(), value) for value in _walked(function, values)):
        # It is refused for that, whatever its lambdas do.
        return context.call(function.name, *arguments, origin=function.origin)
    bound: list[Expression] = []
    for position, argument in enumerate(arguments):
        if isinstance(argument, LambdaFunction):
            types = _parameters(function.name.lower(), position, values)
            types = _counted(function.name.lower(), argument, types)
            argument = _bind(argument, types, resolver)
        bound.append(argument)
    if not all(a.resolved for a in bound):
        return replace(function, arguments=tuple(bound))
    return context.call(function.name, *bound, origin=function.origin)


def _walked(function: UnresolvedFunction, values: list[Expression]) -> list[Expression]:
    """The arguments whose elements the lambdas get."""
    both = function.name.lower() in ("zip_with", "map_zip_with")
    return values if both else values[:1]


def _is_collection(name: str, value: Expression) -> bool:
    of_maps = name.startswith(("map_", "transform_"))
    return isinstance(value.data_type, (MapType if of_maps else ArrayType) | NullType)


def _not_higher_order(function: UnresolvedFunction) -> AnalysisError:
    name = function.name.title().replace("_", "")
    return failure(
        "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION",
        "Invalid lambda function call. A lambda function should only be used in a higher order"
        f" function. However, its class is org.apache.spark.sql.catalyst.expressions.{name}, which"
        " is not a higher order function.",
        state="42K0D",
        origin=function.origin,
    )


def _parameters(name: str, position: int, values: list[Expression]) -> list[Parameter]:
    """Types and nullability of the parameters that a function gives its lambda."""
    match name:
        case "aggregate" | "reduce":
            zero = (values[1].data_type, True)
            return [zero, *_elements(values[0])] if position == 2 else [zero]
        case "zip_with":
            return [(t, True) for value in values for t, _ in _elements(value)]
        case "array_sort":
            return _elements(values[0]) * 2
        case "map_zip_with":
            entries = [_entries(value) for value in values]
            return [entries[0][0], *((e[1][0], True) for e in entries)]
    if isinstance(values[0].data_type, MapType):
        return _entries(values[0])
    return [*_elements(values[0]), (INT, False)]


def _counted(name: str, function: LambdaFunction, types: list[Parameter]) -> list[Parameter]:
    """The parameters without a place in the array where the lambda takes none.

    Raises:
        AnalysisError: the lambda takes more or fewer.
    """
    taken = len(function.parameters)
    if len(types) > 1 and name not in _TWO_OR_MORE and (name not in _WITH_PLACE or taken < 2):
        types = types[:1]
    if taken == len(types):
        return types
    # With three names for `transform(array, element)` it is the element alone that Spark counts.
    given = 1 if name in _WITH_PLACE else len(types)
    raise failure(
        "INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH",
        f"Invalid lambda function call. A higher order function expects {taken} arguments, but got"
        f" {given}.",
        state="42K0D",
        origin=function.origin,
        hint="Write as many names before -> as the function has parameters for it.",
    )


def _elements(value: Expression) -> list[Parameter]:
    kind = value.data_type
    if isinstance(kind, ArrayType):
        return [(kind.element_type, kind.contains_null)]
    return [(kind, True)]


def _entries(value: Expression) -> list[Parameter]:
    kind = value.data_type
    if isinstance(kind, MapType):
        return [(kind.key_type, False), (kind.value_type, kind.value_contains_null)]
    return [(kind, True), (kind, True)]


def _bind(function: LambdaFunction, types: list[Parameter], resolver: Resolver) -> LambdaFunction:
    names = _names(function)
    variables = [
        LambdaVariable(name=name, type_=data_type, is_nullable=nullable)
        for name, (data_type, nullable) in zip(names, types, strict=False)
    ]
    fold = resolver.scope.fold
    known = {fold(name): v for name, v in zip(names, variables, strict=False)}
    body = resolver.resolve(_put(function.body, known, frozenset(), resolver))
    return LambdaFunction(body=body, parameters=tuple(variables), origin=function.origin)


def _names(function: LambdaFunction) -> list[str]:
    return [p.parts[0] for p in function.parameters if isinstance(p, UnresolvedLambdaVariable)]


def _put(
    expression: Expression,
    known: dict[str, LambdaVariable],
    hidden: frozenset[str],
    resolver: Resolver,
) -> Expression:
    """The expression with its parameters in; `hidden` are those of lambdas inside it."""
    match expression:
        case LambdaFunction():
            fold = resolver.scope.fold
            inner = hidden | {fold(name) for name in _names(expression)}
            return replace(expression, body=_put(expression.body, known, inner, resolver))
        case UnresolvedLambdaVariable(parts=parts):
            name = resolver.scope.fold(parts[0])
            if name in hidden:
                return expression
            if name not in known:
                return resolver.column(parts, expression) or UnresolvedAttribute(parts=parts)
            result: Expression = known[name]
            for part in parts[1:]:
                result = extract(result, lit(part), resolver.context, expression.origin)
            return result
        case _:
            return expression.map_children(lambda e: _put(e, known, hidden, resolver))
