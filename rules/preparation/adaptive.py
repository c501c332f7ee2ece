"""Adaptive execution: what Spark shows of plans that it re-plans while they run."""

from __future__ import annotations

from ...physical.basic import AdaptiveSparkPlanExec
from ...physical.distribution import UnspecifiedDistribution
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan, StatefulOperator
from .execution import Execution


def mark_adaptive(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Put AdaptiveSparkPlan over a stateless plan with a shuffle; stateful plans never adapt.

    Idempotent: a marked plan has its exchanges below the mark.
    """
    if isinstance(plan, AdaptiveSparkPlanExec) or not execution.conf.flag(
        "spark.sql.adaptive.enabled"
    ):
        return plan
    if plan.exists(lambda node: isinstance(node, StatefulOperator)):
        return plan
    return AdaptiveSparkPlanExec(child=plan) if plan.exists(_shuffles) else plan


def _shuffles(node: SparkPlan) -> bool:
    return isinstance(node, ShuffleExchangeExec) or any(
        not isinstance(d, UnspecifiedDistribution) for d in node.required_child_distribution
    )
