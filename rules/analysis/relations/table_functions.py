"""Functions in FROM: range, and generators over one row."""

from __future__ import annotations

from ....planner.model import registry
from ....planner.model.expressions.core import AttributeReference, Call, Expression
from ....planner.model.expressions.evaluation import evaluate
from ....planner.model.expressions.unresolved import UnresolvedFunction
from ....planner.model.plans.logical import Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.plans.relations import OneRowRelation, Range, UnresolvedTableFunction
from ....planner.model.schemas.types import LONG
from ....planner.model.text.quoting import to_sql_id
from ..context import Context
from ..expressions.expressions import Resolver
from ..failures import failure, wrong_argument_count
from ..selects.selects import generate_node


def resolve_table_function(function: UnresolvedTableFunction, context: Context) -> LogicalPlan:
    """The rows of the function; the function as it is while an argument cannot be resolved.

    Raises:
        AnalysisError: there is no such function, or its arguments are wrong.
    """
    name = function.name.lower()
    resolver = Resolver(context.scope(()), context)
    if name == "range":
        arguments = tuple(resolver.resolve(a) for a in function.arguments)
        return _range(function, arguments, context)
    spec = registry.find(name)
    if spec is not None and spec.kind != "generator":
        raise failure("NOT_A_TABLE_FUNCTION", origin=function.origin, functionName=to_sql_id(name))
    if spec is None:
        raise failure(
            "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
            origin=function.origin,
            name=to_sql_id(function.name.split(".")),
        )
    call = resolver.resolve(
        UnresolvedFunction(name=name, arguments=function.arguments, origin=function.origin)
    )
    if not call.resolved or not isinstance(call, Call):
        return function
    generate = generate_node(
        call, (), OneRowRelation(), outer=False, alias=None, origin=function.origin
    )
    return Project(project_list=generate.generated, child=generate)


def _range(
    function: UnresolvedTableFunction, arguments: tuple[Expression, ...], context: Context
) -> LogicalPlan:
    if not all(a.resolved for a in arguments):
        return function
    if not 1 <= len(arguments) <= 4:
        raise wrong_argument_count("range", "[1, 2, 3, 4]", len(arguments), function.origin)
    numbers: list[int] = []
    for argument in arguments:
        value = evaluate(context.cast(argument, LONG))
        if value is None or not isinstance(value.value, int):
            return function
        numbers.append(value.value)
    start, end = (0, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[1])
    return Range(
        start=start,
        end=end,
        step=numbers[2] if len(numbers) > 2 else 1,
        slices=numbers[3] if len(numbers) > 3 else None,
        attributes=(AttributeReference(name="id", type_=LONG, is_nullable=False),),
    )
