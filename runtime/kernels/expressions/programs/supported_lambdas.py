"""The functions with lambdas that tasks compute. Neither Arrow nor numpy is needed.

A lambda is a program of its own. Its columns are the parameters of the lambda, in the number that
the function has at most, and behind them what the lambda captures: columns of the row, parameters
of lambdas around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .....planner.model.expressions.core import (
    AttributeReference,
    Expression,
    LambdaFunction,
    LambdaVariable,
)
from .operation_facts import FLOATS, family, leaves
from .program import Kind

Variable = AttributeReference | LambdaVariable


@dataclass(frozen=True)
class HigherOrder:
    """What is known of a function with lambdas.

    Attributes:
        families: the types of the arguments before the lambdas; `any`: any type.
        parameters: how many parameters each lambda has at most.
        raises: whether the function itself can fail.
        accepts: what else must hold, given the kinds of these arguments, those of the lambdas'
            results and that of the result.
    """

    families: tuple[str, ...]
    parameters: tuple[int, ...]
    raises: bool = False
    accepts: Callable[[Sequence[Kind], Sequence[Kind], Kind], bool] | None = None

    def takes(self, kinds: Sequence[Kind], bodies: Sequence[Kind], result: Kind) -> bool:
        """Whether it is computed of arguments, and of lambdas with results, of these kinds."""
        fits = all(
            wanted in ("any", family(kind))
            for wanted, kind in zip(self.families, kinds, strict=True)
        )
        return fits and (self.accepts is None or self.accepts(kinds, bodies, result))


def _accumulates(kinds: Sequence[Kind], bodies: Sequence[Kind], result: Kind) -> bool:
    """Whether each step gives what the next one takes."""
    return kinds[1] == bodies[0] and bodies[1] == result


def _makes_keys(kinds: Sequence[Kind], bodies: Sequence[Kind], result: Kind) -> bool:
    """Whether a result can be a key as it is: of NaN and -0.0 Spark makes others."""
    return isinstance(bodies[0], str) and bodies[0] not in (*FLOATS, "void")


def _joins_keys(kinds: Sequence[Kind], bodies: Sequence[Kind], result: Kind) -> bool:
    """Whether two maps have the same kind of keys, and equal ones are the same bytes."""
    keys = [kind[2][0] for kind in kinds]
    return keys[0] == keys[1] and not {*leaves(keys[0])} & {*FLOATS, "void"}


HIGHER_ORDER: dict[str, HigherOrder] = {
    "transform": HigherOrder(("array",), (2,)),
    "filter": HigherOrder(("array",), (2,)),
    "exists": HigherOrder(("array",), (1,)),
    "forall": HigherOrder(("array",), (1,)),
    "aggregate": HigherOrder(("array", "any"), (2, 1), accepts=_accumulates),
    "reduce": HigherOrder(("array", "any"), (2, 1), accepts=_accumulates),
    "zip_with": HigherOrder(("array", "array"), (2,)),
    "transform_keys": HigherOrder(("map",), (2,), raises=True, accepts=_makes_keys),
    "transform_values": HigherOrder(("map",), (2,)),
    "map_filter": HigherOrder(("map",), (2,)),
    "map_zip_with": HigherOrder(("map", "map"), (3,), accepts=_joins_keys),
    "array_sort": HigherOrder(("array",), (2,), raises=True),
}


def parameters_of(function: LambdaFunction, most: int) -> Iterator[Variable]:
    """The parameters of a lambda, and others that it does not name, as many as there are."""
    for parameter in function.parameters:
        assert isinstance(parameter, LambdaVariable)
        yield parameter
    for _ in range(most - len(function.parameters)):
        yield LambdaVariable(name="_", type_=function.data_type, expr_id=-1)


def captured(functions: Sequence[LambdaFunction]) -> tuple[Variable, ...]:
    """What lambdas name that is no parameter of theirs, each once."""
    found: dict[int, Variable] = {}
    for function in functions:
        for variable in free_variables(function):
            found.setdefault(variable.expr_id, variable)
    return tuple(found.values())


def free_variables(expression: Expression) -> Iterator[Variable]:
    """The columns that an expression names, and the parameters of lambdas around it."""
    match expression:
        case AttributeReference() | LambdaVariable():
            yield expression
        case LambdaFunction(body=body, parameters=parameters):
            own = {p.expr_id for p in parameters if isinstance(p, LambdaVariable)}
            yield from (found for found in free_variables(body) if found.expr_id not in own)
        case _:
            for child in expression.children:
                yield from free_variables(child)
