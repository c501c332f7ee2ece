"""Sorts and repartitions of which nobody sees anything."""

from __future__ import annotations

from ....planner.model.expressions.core import AggregateExpression, AttributeReference, Expression
from ....planner.model.plans.logical import Aggregate, Filter, Join, Project, Sort
from ....planner.model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
)
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.schemas.types import DoubleType, FloatType
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up, rewrite_down, with_sides

REPARTITIONS = (Repartition, RepartitionByExpression, RebalancePartitions)
_ORDERLESS = (Project, Filter, *REPARTITIONS)


def eliminate_sorts(plan: LogicalPlan, conf: Conf) -> LogicalPlan:
    """A sort below another sort, a join, or an aggregate that does not care, goes.

    Constant sort keys go too: `Sort [1, a]` -> `Sort [a]`. Idempotent.
    """
    return rewrite_down(plan, _eliminate, frozenset((Sort,)))


def _eliminate(node: LogicalPlan) -> LogicalPlan:
    match node:
        case Sort(order=order) if any(o.child.foldable for o in order) or not order:
            kept = tuple(o for o in order if not o.child.foldable)
            return replace(node, order=kept) if kept else _eliminate(node.child)
        case Sort(is_global=is_global, child=child):
            below = _without_sorts(child, is_global)
            return node if below is child else replace(node, child=below)
        case Join(left=left, right=right):
            return with_sides(node, _without_sorts(left, True), _without_sorts(right, True))
        case Aggregate(child=child) if all(_ignores_order(e) for e in node.aggregates):
            below = _without_sorts(child, True)
            return node if below is child else replace(node, child=below)
    return node


def _without_sorts(plan: LogicalPlan, all_sorts: bool) -> LogicalPlan:
    if Sort not in plan.classes:
        return plan
    match plan:
        case Sort(is_global=is_global, child=child) if all_sorts or not is_global:
            return _without_sorts(child, all_sorts)
        case _ if isinstance(plan, _ORDERLESS) and all(e.deterministic for e in plan.expressions):
            node: LogicalPlan = plan
            return node.map_children(lambda child: _without_sorts(child, all_sorts))
    return plan


def _ignores_order(expression: Expression) -> bool:
    if isinstance(expression, AttributeReference):
        return True
    if isinstance(expression, AggregateExpression):
        function = expression.function
        if function.spec.order_irrelevant == "always":
            return True
        return function.spec.order_irrelevant == "exact" and not isinstance(
            function.arguments[0].data_type, FloatType | DoubleType
        )
    return all(_ignores_order(child) for child in expression.children)


@bottom_up(*REPARTITIONS)
def collapse_repartitions(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Repartition 3, Repartition 2, t` -> `Repartition 3, t`; global sorts below one go, too.

    Putting partitions together stays over a shuffle into more of them. Constant expressions put
    all rows into one partition. Idempotent.
    """
    match node:
        case Repartition(shuffle=False, num_partitions=number, child=child) if _shuffles(child):
            below = _number(child)
            return child if below is not None and number >= below else node
        case Repartition(child=Repartition() | RepartitionByExpression() as child):
            return replace(node, child=child.child)
        case RepartitionByExpression(child=child) if _is_redundant(child):
            return replace(node, child=_below(child))
        case RepartitionByExpression(by=by, num_partitions=None) if by:
            if all(e.foldable or (all(c.foldable for c in e.children) and e.children) for e in by):
                return replace(node, num_partitions=1)
        case RebalancePartitions(child=child) if _is_redundant(child) or isinstance(
            child, Sort | RebalancePartitions
        ):
            return replace(node, child=_below(child))
    return node


def _shuffles(plan: LogicalPlan) -> bool:
    return isinstance(plan, RepartitionByExpression) or (
        isinstance(plan, Repartition) and plan.shuffle
    )


def _number(plan: LogicalPlan) -> int | None:
    return plan.num_partitions if isinstance(plan, Repartition | RepartitionByExpression) else None


def _is_redundant(plan: LogicalPlan) -> bool:
    if isinstance(plan, Sort):
        return plan.is_global
    return isinstance(plan, Repartition | RepartitionByExpression)


def _below(plan: LogicalPlan) -> LogicalPlan:
    assert isinstance(plan, UnaryNode)
    return plan.child
