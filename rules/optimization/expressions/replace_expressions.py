"""Functions that are defined through others."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, Call, Expression
from ....planner.model.expressions.subqueries import SubqueryExpression
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from .common_expressions import Common, CommonReference, pull_out

# Functions that mention this argument twice: it is computed once where that costs something (the
# rule that takes it out decides; until then it is shared even if cheap, as that rule also takes
# aggregates apart).
_MENTIONED_TWICE = {"between": 0, "nullif": 0, "count_if": 0}


def replace_expressions(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """Functions that the registry defines through others give way to their definitions.

    `nvl(a, b)` -> `coalesce(a, b)`; `between(a, b, c)` -> `a >= b AND a <= c`, where a costly `a`
    becomes a common expression. Idempotent.
    """
    return replace_in(plan)


def replace_in(plan: LogicalPlan) -> LogicalPlan:
    """The same for a plan without settings: also for those of subqueries."""
    return plan.map_children(replace_in).map_expressions(replaced)


def replaced(expression: Expression) -> Expression:
    """The expression with all such functions replaced, inside out."""
    current = expression.map_children(replaced)
    if isinstance(current, SubqueryExpression):
        # At once: conditions leave the plan before it is optimized by itself.
        plan = pull_out(replace_in(current.plan))
        return current if plan is current.plan else replace(current, plan=plan)
    if isinstance(current, AggregateExpression):
        return _replace_aggregate(current)
    if not isinstance(current, Call):
        return current
    definition = current.spec.replacement
    if definition is None or current.spec.kind == "aggregate":
        return current
    if current.spec.of_types:
        return current  # it is a constant of the columns that it names: it moves with them first
    reference, call = _shared(current)
    body = replaced(definition(call))
    if reference is None:
        return body
    shared = current.arguments[_MENTIONED_TWICE[current.name]]
    return Common(body=body, definition=shared, reference=reference)


def _shared(call: Call) -> tuple[CommonReference | None, Call]:
    """The call over a reference to its argument, if its definition mentions that twice."""
    position = _MENTIONED_TWICE.get(call.name)
    if position is None:
        return None, call
    shared = call.arguments[position]
    reference = CommonReference(definition=shared)
    arguments = list(call.arguments)
    arguments[position] = reference
    return reference, replace(call, arguments=tuple(arguments))


def _replace_aggregate(aggregate: AggregateExpression) -> Expression:
    definition = aggregate.function.spec.replacement
    if definition is None:
        return aggregate
    reference, function = _shared(aggregate.function)
    result = definition(function)
    # The definition may be an expression over one or more aggregates.
    if not (isinstance(result, Call) and result.spec.kind == "aggregate"):
        return replaced(result)
    if reference is not None:
        shared = aggregate.function.arguments[_MENTIONED_TWICE[function.name]]
        (body,) = result.arguments
        inside = Common(body=body, definition=shared, reference=reference)
        result = replace(result, arguments=(inside,))
    return replaced(replace(aggregate, function=result))
