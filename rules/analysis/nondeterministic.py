"""What gives another value every time is computed once, in a Project below who uses it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...planner.model.expressions.core import Alias, Expression
from ...planner.model.expressions.equality import Canonical, canonical
from ...planner.model.plans.logical import Aggregate, Project, Sort
from ...planner.model.plans.partitions import RepartitionByExpression
from ...planner.model.plans.query_plan import LogicalPlan
from ...planner.model.tree import replace
from ..common.trees import rewrite_up

_KINDS = frozenset((Aggregate, Sort, RepartitionByExpression))


def pull_out_nondeterministic(plan: LogicalPlan) -> LogicalPlan:
    """Keys of a grouping, a sort or a repartitioning mention a column instead of such a call.

    `Aggregate [rand()], [rand() AS r]` -> `Aggregate [_nondeterministic], [_nondeterministic AS r]`
    over `Project [.., rand() AS _nondeterministic]`. Requires a resolved plan. Idempotent.
    """
    return rewrite_up(plan, _pulled_out, _KINDS)


def _pulled_out(node: LogicalPlan) -> LogicalPlan:
    match node:
        case Aggregate():
            columns = _columns(node.grouping)
        case Sort() | RepartitionByExpression():
            columns = _columns(node.expressions)
        case _:
            return node
    if not columns:
        return node

    def mention(expression: Expression) -> Expression:
        if expression.deterministic:
            return expression
        # An alias means the same as what it names, but its name is the query's.
        known = None if isinstance(expression, Alias) else columns.get(canonical(expression))
        return known.to_attribute() if known else expression.map_children(mention)

    child = Project(child=node.child, project_list=(*node.child.output, *columns.values()))
    above = replace(node.map_expressions(mention), child=child)
    return above if isinstance(above, Aggregate) else Project(child=above, project_list=node.output)


def _columns(expressions: Iterable[Expression]) -> dict[Canonical, Alias]:
    """A column for each call that is not deterministic whatever its arguments are."""
    found: dict[Canonical, Alias] = {}
    for expression in expressions:
        for call in _calls(expression):
            found.setdefault(canonical(call), Alias(child=call, name="_nondeterministic"))
    return found


def _calls(expression: Expression) -> Iterator[Expression]:
    if expression.deterministic:
        return
    if all(child.deterministic for child in expression.children):
        yield expression
    for child in expression.children:
        yield from _calls(child)
