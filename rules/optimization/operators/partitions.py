"""Repartitions that another one over them makes pointless."""

from __future__ import annotations

from ....planner.model.plans.logical import Sort
from ....planner.model.plans.partitions import (
    RebalancePartitions,
    Repartition,
    RepartitionByExpression,
)
from ....planner.model.plans.query_plan import LogicalPlan, UnaryNode
from ....planner.model.settings.conf import Conf
from ....planner.model.tree import replace
from ...common.trees import bottom_up

REPARTITIONS = frozenset((Repartition, RepartitionByExpression, RebalancePartitions))


@bottom_up(*REPARTITIONS)
def collapse_repartitions(node: LogicalPlan, conf: Conf) -> LogicalPlan:
    """`Repartition 3, Repartition 2, t` -> `Repartition 3, t`; global sorts below one go, too.

    Putting partitions together stays over a shuffle into more of them. Constant expressions put
    all rows into one partition. Idempotent.
    """
    match node:
        case Repartition(shuffle=False, num_partitions=number, child=child) if _shuffles(child):
            made = _number(child)
            return child if made is not None and number >= made else node
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
