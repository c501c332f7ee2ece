"""Aggregations that only make rows distinct, below ones that do not mind."""

from __future__ import annotations

from ....planner.model.expressions.core import (
    AggregateExpression,
    Alias,
    AttributeReference,
    Call,
    Expression,
    Literal,
)
from ....planner.model.expressions.equality import canonical
from ....planner.model.plans.logical import Aggregate, Project
from ....planner.model.plans.query_plan import LogicalPlan
from ....planner.model.schemas.types import LONG
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up
from .distinct_keys import distinct_keys

_EXTREMES = ("max", "min")


@bottom_up(Aggregate)
def remove_redundant_aggregates(node: Aggregate, conf: Conf) -> LogicalPlan:
    """An aggregation right above another that it takes only groups' own columns from.

    `Aggregate [a], [a], Aggregate [a, b], [a, b, sum(c)]` -> `Aggregate [a], [a], Project [a]`:
    it may get each row more than once. A sum of the groups' numbers of rows is one over the rows:
    `sum(n)` of `count(1) AS n` -> `sum(1)`. Not where the lower one has no keys: it gives a row for
    no rows. An aggregation by keys that no two rows below share, and of nothing else, is but a
    Project. Idempotent.
    """
    below = _remove_lower(node)
    assert isinstance(below, Aggregate)
    return below if below is not node else _remove_itself(node)


def _remove_itself(node: Aggregate) -> LogicalPlan:
    """Keys of which each row has its own: a group is a row."""
    if not node.grouping or not all(_is_key(e, node.grouping) for e in node.aggregates):
        return node
    keys = frozenset(e.expr_id for e in node.grouping if isinstance(e, AttributeReference))
    if not any(key <= keys for key in distinct_keys(node.child)):
        return node
    return Project(project_list=node.aggregates, child=node.child)


def _is_key(item: Expression, grouping: tuple[Expression, ...]) -> bool:
    value = item.child if isinstance(item, Alias) else item
    return value.foldable or canonical(value) in map(canonical, grouping)


def _remove_lower(node: Aggregate) -> LogicalPlan:
    if not isinstance(node.child, Aggregate):
        return node
    before, lower = node, node.child
    if not lower.grouping:
        return node
    numbers = {e.expr_id for e in lower.aggregates if isinstance(e, Alias) and _counts_rows(e)}
    if not _minds_no_duplicates(node, numbers):
        return node
    node = _summing_rows(node, numbers)
    plain = {
        e.expr_id
        for e in lower.aggregates
        if isinstance(e, Alias | AttributeReference)
        and e.deterministic
        and not e.holds(AggregateExpression)
    }
    if not node.references <= plain:
        return before
    needed = tuple(
        e
        for e in lower.aggregates
        if isinstance(e, Alias | AttributeReference) and e.expr_id in node.references
    )
    return replace(node, child=Project(child=lower.child, project_list=needed))


_ONE = Literal(value=1, type_=LONG)


def _summing_rows(node: Aggregate, numbers: set[int]) -> Aggregate:
    if not numbers:
        return node

    def replaced(expression: Expression) -> Expression:
        if not isinstance(expression, AggregateExpression) or not _sums(expression, numbers):
            return expression
        assert isinstance(expression.function, Call)
        return replace(expression, function=replace(expression.function, arguments=(_ONE,)))

    return replace(node, aggregates=tuple(e.transform_up(replaced) for e in node.aggregates))


def _sums(part: AggregateExpression, numbers: set[int]) -> bool:
    match part:
        case AggregateExpression(
            function=Call(name="sum", arguments=(AttributeReference(expr_id=i),)),
            distinct=False,
            filter=None,
        ):
            return i in numbers
    return False


def _counts_rows(item: Alias) -> bool:
    match item.child:
        case AggregateExpression(
            function=Call(name="count", arguments=arguments), distinct=False, filter=None
        ):
            return all(isinstance(a, Literal) and a.value is not None for a in arguments)
    return False


def _minds_no_duplicates(plan: Aggregate, numbers: set[int]) -> bool:
    parts = [p for e in plan.aggregates for p in e.collect(AggregateExpression)]
    if any(_sums(part, numbers) for part in parts):
        # A sum over the rows instead of the groups: only beside extremes.
        return all(p.distinct or p.function.name in _EXTREMES or _sums(p, numbers) for p in parts)
    return all(part.distinct or part.function.spec.duplicate_agnostic for part in parts)
