"""Exchanges of the same rows: shuffled once, read twice."""

from __future__ import annotations

from collections.abc import Hashable

from ...physical.basic import AdaptiveSparkPlanExec
from ...physical.exchange import BroadcastExchangeExec, ReusedExchangeExec, ShuffleExchangeExec
from ...physical.plan import SparkPlan
from ..signatures import signature
from .execution import Execution


def reuse_exchanges(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Replace an exchange by the first one to the left or below that moves the same rows.

    The same: equal but for the ids and names of columns. `Union(Exchange(a), Exchange(a))` becomes
    `Union(Exchange(a), ReusedExchange)`. Operators with state or a watermark are never the same,
    so only scans and stateless operators are shared. Idempotent.
    """
    # On a single chain one exchange lies within the other: they cannot be the same.
    # A plan that adapts finds out while it runs.
    chain = all(len(node.children) < 2 for node in plan.walk())
    if chain or isinstance(plan, AdaptiveSparkPlanExec):
        return plan
    found = (*plan.collect(ShuffleExchangeExec), *plan.collect(BroadcastExchangeExec))
    if len(found) < 2:
        return plan
    seen: dict[Hashable, ShuffleExchangeExec | BroadcastExchangeExec] = {}

    def reused(node: SparkPlan) -> SparkPlan:
        if not isinstance(node, ShuffleExchangeExec | BroadcastExchangeExec):
            return node
        first = seen.setdefault(signature(node, {}), node)
        if first is node:
            return node
        return ReusedExchangeExec(exchange=first, attributes=node.output)

    return plan.transform_up(reused)
