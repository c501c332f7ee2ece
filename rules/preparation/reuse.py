"""Exchanges of the same rows: shuffled once, read twice."""

from __future__ import annotations

from collections.abc import Hashable

from ...physical.basic import AdaptiveSparkPlanExec, EventTimeWatermarkExec
from ...physical.exchange import BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec
from ...physical.plan import SparkPlan, StatefulOperator
from ...planner.model.expressions.equality import signature
from .execution import Execution


def reuse_exchanges(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Replace an exchange by the first one to the left or below that moves the same rows.

    The same: equal but for the ids and names of columns. `Union(Exchange(a), Exchange(a))` becomes
    `Union(Exchange(a), ReusedExchange)`. Operators with state are never the same, and watermarks
    only where a definition is used twice. Idempotent.
    """
    # On a single chain one exchange lies within the other: they cannot be the same.
    # A plan that adapts finds out while it runs.
    chain = all(len(node.children) < 2 for node in plan.walk())
    if chain or isinstance(plan, AdaptiveSparkPlanExec):
        return plan
    found = (*plan.collect(ShuffleExchangeExec), *plan.collect(BroadcastExchangeExec))
    if len(set(map(_outline, found))) == len(found):
        return plan
    seen: dict[Hashable, ShuffleExchangeExec | BroadcastExchangeExec] = {}

    def reused(node: SparkPlan) -> SparkPlan:
        rows: Hashable = None
        if isinstance(node, ShuffleExchangeExec | BroadcastExchangeExec):
            rows = signature(node, {})
            if rows in seen:
                return ReusedExchangeExec(exchange=seen[rows], attributes=node.output)
        new = node.map_children(reused)
        if isinstance(new, ShuffleExchangeExec | BroadcastExchangeExec):
            seen[rows] = new
        return new

    return reused(plan)


def _outline(exchange: SparkPlan) -> Hashable:
    """What is quickly told, and the same where the exchanges are."""
    return tuple((type(node), _identity(node)) for node in exchange.walk())


def _identity(node: SparkPlan) -> Hashable:
    if isinstance(node, EventTimeWatermarkExec):
        return node.node_id
    if isinstance(node, StatefulOperator) and node.state_info is not None:
        return node.state_info.operator_id
    return None
