"""Adaptive execution: what Spark shows of plans that it re-plans while they run."""

from __future__ import annotations

from ...physical.basic import AdaptiveSparkPlanExec, StreamingRelationExec
from ...physical.distribution import UnspecifiedDistribution
from ...physical.exchange import ShuffleExchangeExec
from ...physical.plan import SparkPlan, StatefulOperator
from ...physical.subqueries import PlannedSubquery
from ...planner.model.expressions.core import Expression
from ...planner.model.expressions.subqueries import SubqueryExpression
from .execution import Execution

_STATELESS = "spark.sql.adaptive.streaming.stateless.enabled"


def mark_adaptive(plan: SparkPlan, execution: Execution) -> SparkPlan:
    """Put AdaptiveSparkPlan over a stateless plan with a shuffle; stateful plans never adapt.

    Idempotent: a marked plan has its exchanges below the mark.
    """
    if isinstance(plan, AdaptiveSparkPlanExec) or not adapts(plan, execution):
        return plan
    return AdaptiveSparkPlanExec(child=plan)


def adapts(plan: SparkPlan, execution: Execution) -> bool:
    """Whether a plan is re-planned while it runs; a subquery's is where the plan around it is."""
    if execution.adaptive is not None:
        return execution.adaptive
    if not execution.conf.flag("spark.sql.adaptive.enabled"):
        return False
    if plan.holds(StatefulOperator):
        return False
    if not execution.conf.flag(_STATELESS) and plan.holds(StreamingRelationExec):
        return False
    return execution.conf.flag("spark.sql.adaptive.forceApply") or plan.exists(_shuffles)


def _is_subquery(expression: Expression) -> bool:
    return isinstance(expression, SubqueryExpression | PlannedSubquery)


def _shuffles(node: SparkPlan) -> bool:
    if any(e.exists(_is_subquery) for e in node.expressions):
        return True
    return isinstance(node, ShuffleExchangeExec) or any(
        not isinstance(d, UnspecifiedDistribution) for d in node.required_child_distribution
    )
