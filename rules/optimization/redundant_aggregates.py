"""Aggregations that only make rows distinct, below ones that do not mind."""

from __future__ import annotations

from ...planner.model.conf import Conf
from ...planner.model.expressions import AggregateExpression, Alias, AttributeReference
from ...planner.model.logical import Aggregate, Project
from ...planner.model.query_plan import LogicalPlan
from ...planner.model.tree import replace
from .trees import rewrite_up

_INSENSITIVE = frozenset(
    (
        *("max", "min", "bit_and", "bit_or", "collect_set", "first", "last", "any_value"),
        *("bool_and", "bool_or", "every", "some"),
    )
)


def remove_redundant_aggregates(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """An aggregation right above another that it takes only groups' own columns from.

    `Aggregate [a], [a], Aggregate [a, b], [a, b, sum(c)]` -> `Aggregate [a], [a], Project [a]`:
    it may get each row more than once. Not where the lower one has no keys: it gives a row for no
    rows. Idempotent.
    """
    return rewrite_up(plan, _remove, frozenset((Aggregate,)))


def _remove(node: LogicalPlan) -> LogicalPlan:
    if not isinstance(node, Aggregate) or not isinstance(node.child, Aggregate):
        return node
    lower = node.child
    if not lower.grouping or not _minds_no_duplicates(node):
        return node
    plain = {
        e.expr_id
        for e in lower.aggregates
        if isinstance(e, Alias | AttributeReference)
        and e.deterministic
        and not e.holds(AggregateExpression)
    }
    if not node.references <= plain:
        return node
    needed = tuple(
        e
        for e in lower.aggregates
        if isinstance(e, Alias | AttributeReference) and e.expr_id in node.references
    )
    return replace(node, child=Project(child=lower.child, project_list=needed))


def _minds_no_duplicates(plan: Aggregate) -> bool:
    return all(
        part.distinct or part.function.name in _INSENSITIVE
        for expression in plan.aggregates
        for part in expression.collect(AggregateExpression)
    )
