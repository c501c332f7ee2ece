"""Functions with lambdas, and with the clauses FILTER and WITHIN GROUP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....planner.model.errors import AnalysisError
from ....planner.model.expressions.core import (
    AggregateExpression,
    Call,
    Expression,
    LambdaFunction,
    LambdaVariable,
    Origin,
    SortOrder,
    lit,
)
from ....planner.model.expressions.unresolved import (
    UnresolvedAttribute,
    UnresolvedFunction,
    UnresolvedLambdaVariable,
)
from ....planner.model.expressions.windows import WindowExpression
from ....planner.model.registry import HigherOrder, Parameters, find
from ....planner.model.schemas.types import ArrayType, BooleanType, MapType, NullType
from ....planner.model.text.quoting import to_sql_expr, to_sql_id
from ....planner.model.tree import replace
from ..context import Context
from ..failures import catalyst_class, failure, unsupported_syntax
from ..names.extraction import extract

if TYPE_CHECKING:
    from .expressions import Resolver


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
    spec = find(function.name.lower())
    if spec is None or spec.higher_order is None:
        raise misplaced(function.name.title().replace("_", ""), function.origin)
    lambdas = spec.higher_order
    if any(not a.resolved for a in arguments if not isinstance(a, LambdaFunction)):
        return replace(function, arguments=tuple(arguments))
    values = arguments[: lambdas.first]
    if len(arguments) in lambdas.counts:
        _check_places(function, values)
    kind = (MapType if lambdas.of_maps else ArrayType) | NullType
    if len(arguments) not in lambdas.counts or not all(
        isinstance(value.data_type, kind) for value in values[: lambdas.walked]
    ):
        # It is refused for that, whatever its lambdas do.
        return context.call(function.name, *arguments, origin=function.origin)
    bound: list[Expression] = []
    for position, argument in enumerate(arguments):
        if isinstance(argument, LambdaFunction):
            types = _counted(lambdas, argument, lambdas.parameters(position, values))
            argument = _bind(argument, types, resolver)
        bound.append(argument)
    if not all(a.resolved for a in bound):
        return replace(function, arguments=tuple(bound))
    return context.call(function.name, *bound, origin=function.origin)


def _check_places(function: UnresolvedFunction, values: list[Expression]) -> None:
    """No lambda stands where a value belongs."""
    if not any(isinstance(value, LambdaFunction) for value in values):
        return
    raise failure(
        "INVALID_LAMBDA_FUNCTION_CALL.PARAMETER_DOES_NOT_ACCEPT_LAMBDA_FUNCTION",
        origin=function.origin,
    )


def misplaced(name: str, origin: Origin | None) -> AnalysisError:
    """The error for a lambda that a class of expressions does not take.

    Spark's own end of a lambda that is a column of a SELECT is an internal error.
    """
    return failure(
        "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION",
        origin=origin,
        class_=catalyst_class(name),
    )


def _counted(lambdas: HigherOrder, function: LambdaFunction, types: Parameters) -> Parameters:
    """The parameters without a place in the array where the lambda takes none.

    Raises:
        AnalysisError: the lambda takes more or fewer.
    """
    taken = len(function.parameters)
    if lambdas.with_place and taken < 2:
        types = types[:1]
    if taken == len(types):
        return types
    # With three names for `transform(array, element)` it is the element alone that Spark counts.
    given = 1 if lambdas.with_place else len(types)
    raise failure(
        "INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH",
        origin=function.origin,
        expectedNumArgs=taken,
        actualNumArgs=given,
    )


def _bind(function: LambdaFunction, types: Parameters, resolver: Resolver) -> LambdaFunction:
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


def check_aggregate_filter(function: UnresolvedFunction) -> None:
    """Check a FILTER whose names are resolved.

    Raises:
        AnalysisError: INVALID_AGGREGATE_FILTER.*.
    """
    condition = function.filter
    if condition is None or not condition.resolved:
        return
    if not condition.deterministic:
        raise _invalid(function, condition, "NON_DETERMINISTIC")
    if not isinstance(condition.data_type, BooleanType):
        raise _invalid(function, condition, "NOT_BOOLEAN")
    for node in condition.walk():
        match node:
            case AggregateExpression():
                case, parameter = "CONTAINS_AGGREGATE", "aggExpr"
            case WindowExpression():
                case, parameter = "CONTAINS_WINDOW_FUNCTION", "windowExpr"
            case _:
                continue
        raise _invalid(function, condition, case, **{parameter: to_sql_expr(node)})


def _invalid(
    function: UnresolvedFunction, condition: Expression, case: str, /, **parameters: Any
) -> AnalysisError:
    return failure(
        f"INVALID_AGGREGATE_FILTER.{case}",
        origin=function.origin,
        filterExpr=to_sql_expr(condition),
        **parameters,
    )


_PERCENTILES = ("percentile_cont", "percentile_disc")
_LISTS = ("listagg", "string_agg")


def ordered_call(function: UnresolvedFunction, name: str, context: Context) -> Expression | None:
    """The resolved call of a function with an order; None for one without.

    Raises:
        AnalysisError: the function takes no order, needs one, or another number of columns.
    """
    order = [o for o in function.within if isinstance(o, SortOrder)]
    if name in _PERCENTILES:
        return _percentile(function, name, order, context)
    if not order:
        return None
    if name == "mode":
        wanted = 0 if function.arguments else 1
        if len(order) != wanted:
            raise _refused_order(
                function, name, "WRONG_NUM_ORDERINGS", expectedNum=wanted, actualNum=len(order)
            )
        call = context.call(name, order[0].child, origin=function.origin)
        return _with_options(call, (order[0].ascending,))
    if name in _LISTS:
        call = context.call(name, *function.arguments, origin=function.origin)
        if not isinstance(call, Call):
            return call
        # With an order the function forgets by which of its names it was called.
        return replace(call, name=_LISTS[0], arguments=(*call.arguments, *order))
    raise unsupported_syntax(name, "WITHIN GROUP (ORDER BY ...)", function.origin)


def _percentile(
    function: UnresolvedFunction, name: str, order: list[SortOrder], context: Context
) -> Expression:
    if function.distinct:
        raise _refused_order(function, name, "DISTINCT_UNSUPPORTED")
    if not order:
        raise _refused_order(function, name, "WITHIN_GROUP_MISSING")
    if len(order) != 1:
        raise _refused_order(
            function, name, "WRONG_NUM_ORDERINGS", expectedNum=1, actualNum=len(order)
        )
    call = context.call(name, order[0].child, *function.arguments, origin=function.origin)
    return _with_options(call, (not order[0].ascending,))


def _with_options(call: Expression, options: tuple[object, ...]) -> Expression:
    return replace(call, options=options) if isinstance(call, Call) else call


def _refused_order(
    function: UnresolvedFunction, name: str, case: str, /, **parameters: Any
) -> AnalysisError:
    return failure(
        f"INVALID_WITHIN_GROUP_EXPRESSION.{case}",
        origin=function.origin,
        funcName=to_sql_id(name),
        **parameters,
    )
